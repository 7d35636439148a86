//! stream-k: every block multiplies as much, even if it ends in the middle of a tile.
//!
//! ```text
//!   tiles      0         1         2         3          each of so many slices along k
//!          ├─────────┼─────────┼─────────┼─────────┤
//!   blocks ├──── 0 ──────┼──── 1 ──────┼──── 2 ────┤    the block that has a tile's last slice stores it
//! ```
//!
//! Changed since autotuned: the tiles that are left over when the others fill the device evenly, and one more for each place,
//! are cut along k into equal parts. A block works from the end of its part to its start. So what it begins with are the
//! first slices of a tile that the block after it has the rest of: it leaves these sums in the workspace, and sets a flag. And
//! it ends with the last slices of a tile of which the blocks before it have left sums, long ago.
//!
//! ```text
//!   tiles      0                        1                            fewer of them than places
//!              ├────────────────────────┼────────────────────────┤
//!   many parts ├─── 0 ───┼─── 1 ───┼─── 2 ───┼─── 3 ───┼─── 4 ───┤   2 adds what 0 and 1 have left, 4 what 2 and 3 have
//! ```
//!
//! Where a tile may have many parts, fewer tiles than places are cut, too. split-k does as much in clusters, and needs no
//! workspace; but a cluster's blocks must be in one group of multiprocessors. The groups of a chip are not equally large: with
//! eight blocks in a cluster, as many as there are places do not all fit at once, and the last ones are a wave of their own.
//! Blocks that stream are not in clusters, and every place has one.
//!
//! Where the cycles go in the shape that is the fastest at 4096 on an H200 (SASS, Nsight Compute): of the 1621 instructions of
//! its inner loop 1536 are FMAs, and 72 load from shared memory. Of 100 cycles of a scheduler 86 issue an FMA, 5 something else,
//! and 9 nothing: each load of 128 bits costs FMAs about three slots, its own and two in which its values go to the registers,
//! which are these nine. Only larger tiles for each thread would load less, and there are no registers for them.
//!
//! Source: M. Osama et al., Stream-K: Work-centric Parallel Decomposition for Dense Matrix-Matrix Multiplication on the GPU
//! (2023), the hybrid of two tiles; none of the seeds.

use crate::gemm::Gemm;
use crate::pipeline::{Pipeline, Work, pipeline_kernel};
use crate::ptx::compiler;
use crate::ptx::global;
use crate::{Schedule, Step};
use core::ops::Range;
use cuda_std::prelude::*;

const BASE: &str = "autotuned";
const SUMMARY: &str = "tiles that would leave multiprocessors idle are cut along k into equal parts";
const SOURCE: &str = "M. Osama et al., Stream-K (2023); none of the seeds";

/// This step's entry in the registry: the shape for large matrices.
pub const STEP: Step = Step { variants: ALL.split_at(1).1, ..ALL[0] };

/// Makes a kernel and a [`Step`] of each shape, given with the blocks that a multiprocessor is to hold, and whether a tile may
/// have many parts.
macro_rules! kernels {
    ($($kernel:ident $slug:literal $shape:ty, $blocks:literal $many:literal;)*) => {
        const ALL: &[Step] = &[$(Step {
            slug: $slug,
            kernel: stringify!($kernel),
            base: Some(BASE),
            summary: SUMMARY,
            source: SOURCE,
            schedule: Schedule::StreamK { blocks_per_sm: $blocks, many_parts: $many },
            ..<$shape>::STEP
        }),*];

        $(pipeline_kernel! { $kernel, $shape, $blocks, (streamed_tiles: u32, workspace: *mut f32), stream_k(streamed_tiles, workspace, $many) })*
    };
}

kernels! {
    sgemm_stream_k "stream-k" Pipeline<4, 2, 8, 16, 48, 3, false>, 1 false;
    sgemm_stream_k_256x128t "stream-k/256x128t" Pipeline<4, 2, 8, 16, 32, 3, true>, 1 false;
    sgemm_stream_k_256x128_16x8 "stream-k/256x128-16x8" Pipeline<2, 4, 16, 8, 48, 3, false>, 1 false;
    sgemm_stream_k_128x256 "stream-k/128x256" Pipeline<2, 4, 8, 16, 24, 4, false>, 1 false;
    sgemm_stream_k_128x128_8x16 "stream-k/128x128-8x16" Pipeline<2, 2, 8, 16, 24, 4, false>, 2 false;
    sgemm_stream_k_64x128t "stream-k/64x128t" Pipeline<1, 4, 8, 8, 16, 4, true>, 3 false;
    sgemm_stream_k_128x64t "stream-k/128x64t" Pipeline<2, 2, 8, 8, 16, 4, true>, 3 false;
    sgemm_stream_k_64x128t_many "stream-k/64x128t-many" Pipeline<1, 4, 8, 8, 16, 4, true>, 3 true;
    sgemm_stream_k_128x64t_many "stream-k/128x64t-many" Pipeline<2, 2, 8, 8, 16, 4, true>, 3 true;
    sgemm_stream_k_64x256_many "stream-k/64x256-many" Pipeline<1, 4, 8, 16, 24, 3, false>, 2 true;
    sgemm_stream_k_128x128_8x16_many "stream-k/128x128-8x16-many" Pipeline<2, 2, 8, 16, 24, 4, false>, 2 true;
}

impl<
    const WARPS_M: u32,
    const WARPS_N: u32,
    const TM: usize,
    const TN: usize,
    const BK: u32,
    const STAGES: u32,
    const TRANSPOSES: bool,
> Pipeline<WARPS_M, WARPS_N, TM, TN, BK, STAGES, TRANSPOSES>
{
    /// The part of a block in the streamed tiles, or the tile of a block after those.
    ///
    /// # Safety
    /// As the kernels.
    #[inline(always)]
    unsafe fn stream_k(mut self, g: &Gemm, streamed_tiles: u32, workspace: *mut f32, many_parts: bool) {
        let (bm, bn) = (Self::BM, Self::BN);
        let columns = g.n.div_ceil(bn);
        let streams = thread::grid_dim_x() - (columns * g.m.div_ceil(bm) - streamed_tiles);
        // SAFETY: nothing is launched where C has no columns.
        unsafe { core::hint::assert_unchecked(columns > 0) };
        let slices = g.k.div_ceil(BK);
        let depth = slices.max(1); // C is scaled by beta even if there is no slice
        let all = u64::from(streamed_tiles) * u64::from(depth);
        // The tile and the slice in it where a streamed block's part begins.
        let start_of = |block: u32| {
            let position = u64::from(block) * all / u64::from(streams);
            ((position / u64::from(depth)) as u32, (position % u64::from(depth)) as u32)
        };
        let block = thread::block_idx_x();
        let ((first_tile, first_slice), (mut tile, mut end)) = if block < streams {
            (start_of(block), start_of(block + 1))
        } else {
            let tile = block - streams + streamed_tiles;
            ((tile, 0), (tile + 1, 0))
        };
        if many_parts && (first_tile, first_slice) == (tile, end) {
            return; // k is too short for a part of it
        }
        let sums = Sums {
            of_blocks: workspace,
            tile: bm * bn,
            threads: Self::THREADS,
            flags: workspace.wrapping_add((streams * bm * bn) as usize),
        };
        loop {
            if end == 0 {
                (tile, end) = (tile - 1, depth);
            }
            let start = if tile == first_tile { first_slice } else { 0 };
            let (row, col) = (tile / columns * bm, tile % columns * bn);
            let mut acc = Self::zeros();
            // SAFETY: a tile below their number starts inside C. A block leaves one tile's sums at most: of its last tile, if
            // the block after it has the rest. The one whose part of it is the last takes them.
            unsafe {
                if start > 0 && end == depth && !many_parts {
                    sums.take(block - 1, &mut acc);
                }
                self.accumulate(&Work { row, col, slices: start..end.min(slices) }, &mut acc);
                if start > 0 && end == depth && many_parts {
                    core::hint::assert_unchecked(streams > 0); // this is one
                    let mut first = block; // these others are at work as long as this one
                    while start_of(first) > (tile, 0) {
                        first -= 1;
                    }
                    sums.add(first..block, |other| start_of(other) != start_of(other + 1), &mut acc);
                }
                if end == depth {
                    Self::store(g, row, col, &acc);
                } else {
                    sums.leave(block, &acc);
                }
            }
            if (tile, start) == (first_tile, first_slice) {
                return;
            }
            end = start;
        }
    }
}

/// The sums that blocks leave for those after them: BM x BN for each block, in the order of its threads; then a flag for each.
struct Sums {
    of_blocks: *mut f32,
    tile: u32,
    threads: u32,
    flags: *mut f32,
}

impl Sums {
    #[inline(always)]
    fn flag(&self, block: u32) -> *mut u32 {
        self.flags.wrapping_add(block as usize).cast()
    }

    /// Where this thread's sum of that index lies: beside that of the next thread. Pieces of 128 bits would tie four sums
    /// to neighbouring registers, and so to the banks of their operands.
    #[inline(always)]
    fn place(&self, block: u32, index: usize) -> *mut f32 {
        let first = block as usize * self.tile as usize + thread::thread_idx_x() as usize;
        self.of_blocks.wrapping_add(first).wrapping_add(index * self.threads as usize)
    }

    /// Leaves this block's sums.
    #[inline(always)]
    unsafe fn leave<const TM: usize, const TN: usize>(&self, block: u32, acc: &[[f32; TN]; TM]) {
        let block = compiler::anew(block);
        // SAFETY: the block's own place, which holds TM x TN for each thread.
        unsafe {
            for (index, sum) in acc.as_flattened().iter().enumerate() {
                *self.place(block, index) = *sum;
            }
            thread::sync_threads(); // all sums are left
            if thread::thread_idx_x() == 0 {
                global::release(self.flag(block), 1);
            }
        }
    }

    /// What another block has left, to go on with. Takes its flag down for the next launch.
    #[inline(always)]
    unsafe fn take<const TM: usize, const TN: usize>(&self, block: u32, acc: &mut [[f32; TN]; TM]) {
        let block = compiler::anew(block);
        // SAFETY: that block's place, which it does not touch any more once its flag is set.
        unsafe {
            if thread::thread_idx_x() == 0 {
                global::wait(self.flag(block));
                global::release(self.flag(block), 0);
            }
            thread::sync_threads(); // the sums are there
            for (index, sum) in acc.as_flattened_mut().iter_mut().enumerate() {
                *sum = *self.place(block, index);
            }
        }
    }

    /// Adds what other blocks have left that had a part. Takes their flags down for the next launch.
    #[inline(always)]
    unsafe fn add<const TM: usize, const TN: usize>(
        &self,
        others: Range<u32>,
        has_part: impl Fn(u32) -> bool,
        acc: &mut [[f32; TN]; TM],
    ) {
        // SAFETY: these blocks' places, which they do not touch any more once their flags are set.
        unsafe {
            let mut other = others.start + thread::thread_idx_x();
            while other < others.end {
                if has_part(other) {
                    global::wait(self.flag(other));
                    global::release(self.flag(other), 0);
                }
                other += self.threads;
            }
            thread::sync_threads(); // all sums are there
            for other in others.filter(|&other| has_part(other)) {
                let other = compiler::anew(other);
                for (index, sum) in acc.as_flattened_mut().iter_mut().enumerate() {
                    *sum += *self.place(other, index);
                }
            }
        }
    }
}
