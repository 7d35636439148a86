//! A, transposed, for kernels that copy slices of A and of B alike: a column of A is then a row.
//!
//! ```text
//!       A (m, k)                      Aᵀ (k, m)
//!     ┌───────────────┐             ┌─────────┐
//!     │ 0  1  2 ┄┄  7 │             │ 0 8 ┄ 24│     a warp: 4 x 8 squares of 4 x 4, one for each lane;
//!     │ 8  9 10 ┄┄ 15 │      →      │ 1 9 ┄ 25│     rows of 128 bytes to load, of 64 bytes to store
//!     │ ┄┄            │             │ ┄┄      │
//!     │24 25 26 ┄┄ 31 │             │ 7 15┄ 31│
//!     └───────────────┘             └─────────┘
//! ```
//!
//! A square is transposed in the registers of a thread, so that both sides have 128-bit accesses, whole sectors in each. There
//! is no shared memory to fill and no barrier: a thread waits for its own four loads alone, which are on their way at
//! once. Where rows of A do not start at multiples of 16 bytes, values are loaded one by one; rows of Aᵀ do.

use crate::hardware::{VEC, WARP};
use crate::{Extent, Operand, Prepass};

/// Rows and columns of a block's tile.
const SIDE: u32 = 64;
const THREADS: u32 = (SIDE / VEC) * (SIDE / VEC);
/// Lanes of a warp along the rows and the columns of A.
const LANES_M: u32 = 4;
const LANES_K: u32 = WARP / LANES_M;
/// Columns of a warp's part of the tile.
const WARP_K: u32 = LANES_K * VEC;
const _: () = assert!(SIDE.is_multiple_of(LANES_M * VEC) && SIDE.is_multiple_of(WARP_K), "warps fill the tile");

/// A, transposed.
pub(crate) const TRANSPOSE_A: Prepass = Prepass {
    kernel: "transpose",
    operand: Operand::A,
    transposes: true,
    split: None,
    only_unaligned: false,
    tile: Extent { rows: SIDE, cols: SIDE },
    threads: THREADS,
    cluster: [1; 3],
};

/// What runs on the device.
#[cfg(feature = "device")]
pub mod kernel {
    use super::*;
    use crate::ptx::{compiler, f32x4};
    use cuda_std::prelude::*;

    /// The target is the source, transposed: see [`Prepass`].
    ///
    /// # Safety
    /// `source` is a device buffer of `rows` x `columns`, `target` one of `columns` x `rows` whose rows start at multiples of 16
    /// bytes, with those leading dimensions; launched as the [`Prepass`](crate::Prepass) says.
    #[kernel]
    #[launch_bounds(THREADS)]
    pub unsafe fn transpose(rows: u32, columns: u32, source: *const f32, ld: u32, target: *mut f32, target_ld: u32) {
        let (warp, lane) = (thread::thread_idx_x() / WARP, thread::thread_idx_x() % WARP);
        // Eight lanes, which are served at once, are two by four: whole sectors on both sides.
        let (lane_row, lane_col) = (lane / 16 * 2 + lane % 2, lane / 2 % LANES_K);
        let (tile_row, tile_col) = (thread::block_idx_y() * SIDE, thread::block_idx_x() * SIDE);
        let row = tile_row + (warp / (SIDE / WARP_K) * LANES_M + lane_row) * VEC;
        let warp_col = tile_col + warp % (SIDE / WARP_K) * WARP_K;
        let (ld, target_ld) = (ld as usize, target_ld as usize);

        // global to registers: VEC adjacent columns; those of adjacent lanes alternate where rows are not aligned
        let inside = tile_row + SIDE <= rows && tile_col + SIDE <= columns;
        let (col, step, square): (u32, u32, [[f32; VEC as usize]; VEC as usize]);
        // SAFETY: in a tile inside the source, or moved to its last row or column, whose value is not stored.
        unsafe {
            if inside && f32x4::aligned(source, ld) {
                (col, step) = (warp_col + lane_col * VEC, 1);
                let source = source.add(row as usize * ld + col as usize);
                square = core::array::from_fn(|i| f32x4::load(source.add(i * ld)));
                compiler::keep_loads_above(); // or else both kinds of loads would become one
            } else {
                (col, step) = (warp_col + lane_col, LANES_K);
                square = core::array::from_fn(|i| {
                    let source = source.add((row + i as u32).min(rows - 1) as usize * ld);
                    core::array::from_fn(|j| *source.add((col + j as u32 * step).min(columns - 1) as usize))
                });
            }
        }

        // Store.
        for j in 0..VEC {
            let col = col + j * step;
            let column: [f32; VEC as usize] = core::array::from_fn(|i| square[i][j as usize]); // (1, VEC)
            // SAFETY: below `columns` and `rows`, both checked; row is a multiple of VEC. No other thread has these elements.
            unsafe {
                let target = target.add(col as usize * target_ld + row as usize);
                if col < columns && row + VEC <= rows {
                    f32x4::store(target, column);
                    compiler::keep_loads_above(); // and of stores
                } else if col < columns {
                    for i in 0..VEC {
                        if row + i < rows {
                            *target.add(i as usize) = column[i as usize];
                        }
                    }
                }
            }
        }
    }
}
