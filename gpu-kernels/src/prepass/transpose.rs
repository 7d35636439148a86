//! A or B, transposed: for kernels that copy slices of A and of B alike (a column of A is then a row), and for operands that the
//! caller has the other way.
//!
//! ```text
//!       A (m, k)                      Aᵀ (k, m)
//!     ┌───────────────┐             ┌─────────┐
//!     │ 0  1  2 ┄┄  7 │             │ 0 8 ┄ 24│     a warp of f32: 4 x 8 squares of 4 x 4, one for each lane;
//!     │ 8  9 10 ┄┄ 15 │      →      │ 1 9 ┄ 25│     rows of 128 bytes to load, of 64 bytes to store
//!     │ ┄┄            │             │ ┄┄      │
//!     │24 25 26 ┄┄ 31 │             │ 7 15┄ 31│     a warp of 16-bit elements: 2 x 16 squares of 8 x 8;
//!     └───────────────┘             └─────────┘     rows of 256 bytes to load, of 32 bytes to store
//! ```
//!
//! A square is transposed in the registers of a thread, so that both sides have 128-bit accesses, whole sectors in each. There
//! is no shared memory to fill and no barrier: a thread waits for its own loads alone, which are on their way at once. Where rows
//! of the source do not start at multiples of 16 bytes, values are loaded one by one, adjacent ones by adjacent lanes, a sector's
//! worth in each request; rows of the target do.

use crate::hardware::{SECTOR_BYTES, WARP};
use crate::{Element, Extent, Operand, Prepass};

/// Squares along each side of a block's tile.
const SQUARES: u32 = 16;
const THREADS: u32 = SQUARES * SQUARES;

/// Values of so many bytes in a 128-bit access: the side of a square.
const fn vec(bytes: usize) -> usize {
    16 / bytes
}

/// Lanes of a warp along the columns of the source: where values are loaded one by one, they have a sector's worth of them.
const fn lanes_k(bytes: usize) -> u32 {
    SECTOR_BYTES / bytes as u32
}

const fn fill_the_tile(bytes: usize) -> bool {
    SQUARES.is_multiple_of(lanes_k(bytes)) && SQUARES.is_multiple_of(WARP / lanes_k(bytes))
}
const _: () = assert!(fill_the_tile(2) && fill_the_tile(4), "warps fill the tile");

/// The pre-pass that transposes an operand of such elements. The source is aligned to an element, no more.
#[must_use]
pub const fn transpose(operand: Operand, element: Element) -> Prepass {
    let side = SQUARES * vec(element.bytes() as usize) as u32;
    Prepass {
        kernel: if element.bytes() == 4 { "transpose" } else { "transpose_16" },
        operand,
        transposes: true,
        split: None,
        only_unaligned: false,
        tile: Extent { rows: side, cols: side },
        threads: THREADS,
        shared_rows: None,
        waits_last: false,
    }
}

/// A, transposed.
pub(crate) const TRANSPOSE_A: Prepass = transpose(Operand::A, Element::F32);

/// What runs on the device.
#[cfg(feature = "device")]
pub mod kernel {
    use super::*;
    use crate::ptx::{compiler, f32x4, griddepcontrol};
    use cuda_std::prelude::*;

    /// The target is the source, transposed, for each size of an element.
    macro_rules! kernels {
        ($($kernel:ident $bits:ty;)*) => {$(
            /// The target is the source, transposed: see [`Prepass`].
            ///
            /// # Safety
            /// `source` is a device buffer of `rows` x `columns`, `target` one of `columns` x `rows` whose rows start at
            /// multiples of 16 bytes, with those leading dimensions; launched as the [`Prepass`] says.
            #[kernel]
            #[launch_bounds(THREADS, 3)] // 80 registers a thread
            pub unsafe fn $kernel(
                rows: u32,
                columns: u32,
                source: *const $bits,
                ld: u64,
                target: *mut $bits,
                target_ld: u32,
            ) {
                griddepcontrol::wait_then_launch_dependents();
                // SAFETY: upheld by the caller (see `# Safety`).
                unsafe { transpose_tile::<$bits, { vec(size_of::<$bits>()) }>(rows, columns, source, ld, target, target_ld) }
            }
        )*};
    }

    kernels! {
        transpose f32;
        transpose_16 u16;
    }

    /// N values in the four words of a 128-bit access.
    trait Packed<const N: usize>: Copy {
        fn unpack(words: [f32; 4]) -> [Self; N];
        fn pack(values: [Self; N]) -> [f32; 4];
    }

    impl Packed<4> for f32 {
        #[inline(always)]
        fn unpack(words: [f32; 4]) -> [Self; 4] {
            words
        }

        #[inline(always)]
        fn pack(values: [Self; 4]) -> [f32; 4] {
            values
        }
    }

    impl Packed<8> for u16 {
        #[inline(always)]
        fn unpack(words: [f32; 4]) -> [Self; 8] {
            core::array::from_fn(|i| (words[i / 2].to_bits() >> (i % 2 * 16)) as u16)
        }

        #[inline(always)]
        fn pack(values: [Self; 8]) -> [f32; 4] {
            core::array::from_fn(|i| f32::from_bits(u32::from(values[2 * i]) | u32::from(values[2 * i + 1]) << 16))
        }
    }

    #[inline(always)]
    unsafe fn transpose_tile<T: Packed<N>, const N: usize>(
        rows: u32,
        columns: u32,
        source: *const T,
        ld: u64,
        target: *mut T,
        target_ld: u32,
    ) {
        let (vec, lanes_k) = (N as u32, lanes_k(size_of::<T>()));
        let (side, warp_k) = (SQUARES * vec, lanes_k * vec);
        let (warp, lane) = (thread::thread_idx_x() / WARP, thread::thread_idx_x() % WARP);
        // Eight lanes, which are served at once, are two by four: whole sectors on both sides.
        let (lane_row, lane_col) = (lane / (2 * lanes_k) * 2 + lane % 2, lane / 2 % lanes_k);
        let (tile_row, tile_col) = (thread::block_idx_y() * side, thread::block_idx_x() * side);
        let row = tile_row + (warp / (side / warp_k) * (WARP / lanes_k) + lane_row) * vec;
        let warp_col = tile_col + warp % (side / warp_k) * warp_k;
        let (ld, target_ld) = (ld as usize, target_ld as usize);

        // global to registers: N adjacent columns; those of adjacent lanes alternate where rows are not aligned
        let is_full_tile = tile_row + side <= rows && tile_col + side <= columns;
        let is_aligned = source.addr().is_multiple_of(16) && ld.is_multiple_of(N);
        let (col, step, square): (u32, u32, [[T; N]; N]);
        // SAFETY: in a tile in bounds of the source, or moved to its last row or column, whose value is not stored.
        unsafe {
            if is_full_tile && is_aligned {
                (col, step) = (warp_col + lane_col * vec, 1);
                let source = source.add(row as usize * ld + col as usize);
                square = core::array::from_fn(|i| T::unpack(f32x4::load(source.add(i * ld).cast())));
                compiler::keep_loads_above(); // or else both kinds of loads would become one
            } else {
                (col, step) = (warp_col + lane_col, lanes_k);
                square = core::array::from_fn(|i| {
                    let source = source.add((row + i as u32).min(rows - 1) as usize * ld);
                    core::array::from_fn(|j| *source.add((col + j as u32 * step).min(columns - 1) as usize))
                });
            }
        }

        // Store.
        for j in 0..vec {
            let col = col + j * step;
            let column: [T; N] = core::array::from_fn(|i| square[i][j as usize]); // (1, N)
            // SAFETY: below `columns` and `rows`, both checked; row is a multiple of N. No other thread has these elements.
            unsafe {
                let target = target.add(col as usize * target_ld + row as usize);
                if col < columns && row + vec <= rows {
                    f32x4::store(target.cast(), T::pack(column));
                    compiler::keep_loads_above(); // and of stores
                } else if col < columns {
                    for i in 0..vec {
                        if row + i < rows {
                            *target.add(i as usize) = column[i as usize];
                        }
                    }
                }
            }
        }
    }
}
