//! The mainloop of CUDA-core kernels for operands in any order: `cp.async` to stages of k-tiles, outer products from there.
//!
//! ```text
//!   A (m, k) or (k, m)   ┐ copies, which     ┌ a_smem (BK, BM) ┐
//!                        ├ transpose or not ─┤                 ├─► acc (TM, TN)
//!   B (k, n) or (n, k)   ┘                   └ b_smem (BK, BN) ┘
//! ```

use crate::hardware::VEC;
use crate::mainloop::{LANES_M, LANES_N};
use crate::{Schedule, Step, Tile};

/// Floats between the rows of a_smem, of b_smem and of a partial tile: copies that transpose go to 32 banks.
pub(crate) const PAD: u32 = VEC;

/// The k that a thread multiplies of a k-tile.
const DEPTH: u32 = 8;

/// Tiles of BM x BN with TM x TN elements per thread, BK deep. While one k-tile is computed, AHEAD are in flight, and one more is
/// issued. If TURNED, such a tile of C^T, the product of B^T and A^T. If NN_GAIN is not 0, operands that are not transposed have a mainloop of
/// their own, where rows of B are aligned; it is faster by so many per cent. Most of what generic copies issue is under a false predicate.
///
/// Where there are more threads than a tile has thread tiles, they are slices: each computes all of the tile from its part of every
/// k-tile, and the first one adds the accumulators of the others to its own.
///
/// The loop has no branches. A k-tile's last fragments are multiplied behind the barrier for the next one, whose first fragments are loaded
/// meanwhile; and ptxas puts the copies between FMAs, so that a warp needs no others to hide their latencies.
pub(crate) struct AnyLayout<
    const BM: u32,
    const BN: u32,
    const TM: usize,
    const TN: usize,
    const THREADS: u32,
    const BK: u32,
    const AHEAD: u32,
    const TURNED: bool,
    const NN_GAIN: u32,
>;

impl<
    const BM: u32,
    const BN: u32,
    const TM: usize,
    const TN: usize,
    const THREADS: u32,
    const BK: u32,
    const AHEAD: u32,
    const TURNED: bool,
    const NN_GAIN: u32,
> AnyLayout<BM, BN, TM, TN, THREADS, BK, AHEAD, TURNED, NN_GAIN>
{
    pub const THREADS: u32 = THREADS;
    /// Rows and columns of a warp tile.
    const WM: u32 = LANES_M * TM as u32;
    const WN: u32 = LANES_N * TN as u32;
    /// Threads that have a tile together, and how often there are as many.
    const SLICE: u32 = BM * BN / (TM * TN) as u32;
    pub const SLICES: u32 = THREADS / Self::SLICE;
    /// Floats from one row of a_smem and of b_smem to the next.
    const A_PITCH: u32 = BM + PAD;
    const B_PITCH: u32 = BN + PAD;
    const STAGES: u32 = AHEAD + 2;
    const STAGE: u32 = BK * (Self::A_PITCH + Self::B_PITCH);

    /// A step of this shape, without its names.
    pub const fn step(blocks_per_sm: u32) -> Step {
        assert!(BM.is_multiple_of(Self::WM) && BN.is_multiple_of(Self::WN), "warp tiles fill the block tile");
        assert!(THREADS == Self::SLICES * Self::SLICE, "and threads fill them");
        assert!(BK == Self::SLICES * DEPTH, "slices share a k-tile");
        let (tm, tn) = (TM as u32, TN as u32);
        let tile = match TURNED {
            false => Tile { bm: BM, bn: BN, bk: BK, tm, tn },
            true => Tile { bm: BN, bn: BM, bk: BK, tm: tn, tn: tm },
        };
        let stages = Self::STAGES * Self::STAGE;
        let partial_tile = tile.bm * (tile.bn + PAD) + (Self::SLICES - 1) * BM * BN;
        Step {
            tile,
            block: [Self::THREADS, 1, 1],
            dynamic_smem_bytes: 4 * if stages > partial_tile { stages } else { partial_tile },
            schedule: Schedule::PlannedSplitK { blocks_per_sm, reduction_k: 64, is_busy: true },
            nn_gain: NN_GAIN,
            ..Step::PLAIN
        }
    }
}

#[cfg(feature = "device")]
mod device {
    use super::*;
    use crate::Coord;
    use crate::mainloop::operand_copy::{AnyOrder, Narrow, OperandCopy, Order, Source, Wide};
    use crate::mainloop::warp_tile::{for_each, for_each_down, fragment, outer_product, thread_coord_in_quads};
    use crate::ptx::{compiler, cp_async, f32x4};
    use cuda_std::prelude::*;

    impl<
        const BM: u32,
        const BN: u32,
        const TM: usize,
        const TN: usize,
        const THREADS: u32,
        const BK: u32,
        const AHEAD: u32,
        const TURNED: bool,
        const NN_GAIN: u32,
    > AnyLayout<BM, BN, TM, TN, THREADS, BK, AHEAD, TURNED, NN_GAIN>
    {
        /// The first element of this thread's tile in (BM, BN), and its slice.
        #[inline(always)]
        fn thread() -> (Coord, u32) {
            let Coord { row, col } = thread_coord_in_quads(BN / Self::WN, TM as u32, TN as u32);
            (Coord { row: row % BM, col }, row / BM)
        }

        /// Whether this thread has the block's accumulators, after [`Self::add_slices`].
        #[inline(always)]
        pub fn is_first_slice() -> bool {
            thread::thread_idx_x() < Self::SLICE
        }

        /// acc += A (BM, k) * B (k, BN), of so many k-tiles, which begin where the operands do. Zeros replace what is out of bounds.
        ///
        /// # Safety
        /// Every thread of the block calls it.
        #[inline(always)]
        pub unsafe fn mainloop([a, b]: [Source; 2], k: u32, k_tiles: u32, acc: &mut [[f32; TN]; TM]) {
            // SAFETY: upheld by the caller (see `# Safety`); the orders were asked for.
            unsafe {
                if NN_GAIN > 0 && !TURNED && a.is_k_contiguous && b.is_wide(BN) {
                    Self::multiply::<Narrow, Wide>([a, b], k, k_tiles, acc);
                } else if NN_GAIN > 0 && TURNED && a.is_wide(BM) && b.is_k_contiguous {
                    Self::multiply::<Wide, Narrow>([a, b], k, k_tiles, acc);
                } else {
                    Self::multiply::<AnyOrder, AnyOrder>([a, b], k, k_tiles, acc);
                }
            }
        }

        /// The mainloop of operands in these orders.
        ///
        /// # Safety
        /// As of [`Self::mainloop`]; the operands have these orders.
        #[inline(always)]
        unsafe fn multiply<A: Order, B: Order>(
            [a, b]: [Source; 2],
            mut k: u32,
            k_tiles: u32,
            acc: &mut [[f32; TN]; TM],
        ) {
            // tile coordinates
            let (thread, slice) = Self::thread();

            // shared memory
            let smem = shared::dynamic_shared_mem::<f32>(); // (STAGES, STAGE)
            let a_smem = smem.wrapping_add((slice * DEPTH * Self::A_PITCH + thread.row) as usize); // (DEPTH, A_PITCH)
            let b_first = BK * Self::A_PITCH + slice * DEPTH * Self::B_PITCH + thread.col;
            let b_smem = smem.wrapping_add(b_first as usize); // (DEPTH, B_PITCH)

            // global to shared
            // SAFETY: shared memory.
            let stages = unsafe { shared::address(smem) };
            let mut a_copy = OperandCopy::<A, BM, BK, PAD, THREADS>::new(a, stages);
            let mut b_copy = OperandCopy::<B, BN, BK, PAD, THREADS>::new(b, stages + BK * Self::A_PITCH * 4);
            let mut copy_next = |stage: u32| {
                // SAFETY: the stage is free.
                unsafe {
                    a_copy.issue(k, stage * 4);
                    b_copy.issue(k, stage * 4);
                }
                cp_async::commit_group();
                k = k.saturating_sub(BK);
            };
            let mut write = 0; // the stage of the next k-tile
            while compiler::opaque(write) < (Self::STAGES - 1) * Self::STAGE {
                copy_next(write);
                write += Self::STAGE;
            }

            // mainloop
            let mut read = 0; // the stage of the k-tile to compute on
            cp_async::wait_group::<AHEAD>();
            thread::sync_threads();
            let (mut a_stage, mut b_stage) = (a_smem, b_smem); // (DEPTH, A_PITCH), (DEPTH, B_PITCH)
            // SAFETY: fragments lie in BM and BN, and the stage is complete.
            let (mut a_frag, mut b_frag): ([f32; TM], [f32; TN]) =
                unsafe { (fragment(a_stage, LANES_M), fragment(b_stage, LANES_N)) };
            for _ in 0..k_tiles {
                let next_stage = if read == (Self::STAGES - 1) * Self::STAGE { 0 } else { read + Self::STAGE };
                for d in 1..DEPTH + 1 {
                    if d == DEPTH {
                        cp_async::wait_group::<AHEAD>();
                        thread::sync_threads(); // the next k-tile is complete, and every warp has read this one
                        a_stage = a_smem.wrapping_add(next_stage as usize);
                        b_stage = b_smem.wrapping_add(next_stage as usize);
                    }
                    let next = d % DEPTH;
                    // SAFETY: fragments lie in BM and BN, and the stage is complete. Behind the last k-tile there is one of zeros.
                    let (a_next, b_next) = unsafe {
                        (
                            fragment(a_stage.add((next * Self::A_PITCH) as usize), LANES_M),
                            fragment(b_stage.add((next * Self::B_PITCH) as usize), LANES_N),
                        )
                    };
                    compiler::keep_loads_above();
                    if d == 1 {
                        copy_next(write);
                    }
                    outer_product(acc, &a_frag, &b_frag);
                    (a_frag, b_frag) = (a_next, b_next);
                }
                (write, read) = (read, next_stage);
            }
            cp_async::wait_group::<0>();
        }

        /// Adds the accumulators of the other slices to those of the first one, in their order. Where there are others, the partial tile's
        /// shared memory is free from then on.
        ///
        /// # Safety
        /// Every thread of the block calls it.
        #[allow(clippy::needless_range_loop)] // an iterator would keep the accumulators in memory
        #[inline(always)]
        pub unsafe fn add_slices(acc: &mut [[f32; TN]; TM]) {
            if Self::SLICES == 1 {
                return;
            }
            // (SLICES - 1, TM * TN / VEC, SLICE, VEC), behind the partial tile
            let (rows, cols) = if TURNED { (BN, BM) } else { (BM, BN) };
            let smem = shared::dynamic_shared_mem::<f32>().wrapping_add((rows * (cols + PAD)) as usize);
            let (slice, tid) = (thread::thread_idx_x() / Self::SLICE, thread::thread_idx_x() % Self::SLICE);
            let at = |slice: u32, vector: usize| {
                let vectors = slice * (TM * TN) as u32 / VEC + vector as u32;
                smem.wrapping_add(((vectors * Self::SLICE + tid) * VEC) as usize)
            };
            thread::sync_threads(); // every warp has read the last stage
            // SAFETY: in bounds; a thread's own, or complete.
            unsafe {
                if slice > 0 {
                    for i in 0..TM {
                        for j in (0..TN).step_by(VEC as usize) {
                            let values = core::array::from_fn(|v| acc[i][j + v]);
                            f32x4::store(at(slice - 1, (i * TN + j) / VEC as usize), values);
                        }
                    }
                }
                thread::sync_threads();
                if slice == 0 {
                    for slice in 0..Self::SLICES - 1 {
                        for i in 0..TM {
                            for j in (0..TN).step_by(VEC as usize) {
                                let values = f32x4::load(at(slice, (i * TN + j) / VEC as usize));
                                for v in 0..VEC as usize {
                                    acc[i][j + v] += values[v];
                                }
                            }
                        }
                    }
                }
            }
        }

        /// Calls `f` with each VEC accumulators of this thread that are adjacent in a row of C, and where they belong in its tile.
        #[inline(always)]
        pub fn for_each_vector(acc: &[[f32; TN]; TM], mut f: impl FnMut(Coord, [f32; VEC as usize])) {
            let (thread, _) = Self::thread();
            if TURNED {
                for_each_down(thread, acc, |row, col, values| f(Coord { row: col, col: row }, values));
            } else {
                for_each(thread, false, acc, |row, col, values| f(Coord { row, col }, values));
            }
        }
    }
}
