//! Rows of the matrix that are contiguous along k: a thread's fragments of them, and what it makes of them.

use cuda_std::GpuFloat;
use cuda_std::prelude::*;

use super::load::{Load, Raw};
use super::placement::Placement;
use super::{CHUNK, SIDE, Share, THREADS};
use crate::ptx::{compiler, f32x4};

/// By vector, then by row of the fragments.
type Accumulators<const FEW: usize> = [[f32; SIDE as usize]; FEW];

/// What four rows of loads bring, each of four elements, or of one.
type RawFragment = [Raw; SIDE as usize];

/// The fragments of a thread: four rows of each, as far apart as there are bundles. A block has as few bundles of threads along the rows as
/// these take, and so the more groups along k.
pub(crate) struct Fragments<I> {
    share: Share<I>,
    placement: Placement,
    /// Whether vectors are loaded. Otherwise, four loads along k are of the same sectors.
    is_aligned: bool,
    /// The address of the fragment at k = 0.
    start: *const I,
    /// Rows that are in bounds.
    rows: u32,
}

impl<I: Load> Fragments<I> {
    #[inline(always)]
    pub fn new(share: Share<I>) -> Self {
        let Share { matrix, rows, .. } = share;
        let bundles_log2 = 32 - ((rows - 1) / SIDE).leading_zeros();
        let groups_log2 = THREADS.ilog2() - bundles_log2;
        // Adjacent lanes have adjacent fragments.
        let tid = thread::thread_idx_x();
        let (bundle, group) = (tid >> groups_log2, tid & ((1 << groups_log2) - 1));
        let placement = Placement { bundles_log2, bundle, group, rows_log2: SIDE.ilog2(), has_adjacent_rows: false };
        let across = if rows == 1 { 0 } else { matrix.across };
        let is_aligned = matrix.is_aligned(across) && share.k.end.is_multiple_of(SIDE);
        let rows = (rows.saturating_sub(bundle) + (1 << bundles_log2) - 1) >> bundles_log2;
        Self { share, placement, is_aligned, start: matrix.at(bundle, group * SIDE), rows }
    }

    /// Publishes the sums of the products of this thread's fragments and the vectors.
    ///
    /// Loads are one iteration ahead of the products. There is one loop, whatever the access; the first iteration only loads.
    ///
    /// # Safety
    /// As of [`publish_sums`](super::publish_sums).
    #[allow(clippy::needless_range_loop)] // an iterator would keep the accumulators in memory
    #[inline(always)]
    pub unsafe fn publish<const FEW: usize>(&self, smem: *mut f32) -> Placement {
        let mut acc = [[0.0; SIDE as usize]; FEW];
        let (start, depth) = (self.share.k.start, self.depth());
        let length = self.share.k.end - start;
        let at_once = if self.is_aligned { depth * I::AT_ONCE } else { depth };
        let mut next = [[0; SIDE as usize]; SIDE as usize];
        let mut loaded = compiler::opaque(0); // or LLVM would peel the first iteration
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            while loaded < length + at_once {
                let mut raw = next;
                next = self.load(start + loaded);
                let mut done = loaded.saturating_sub(at_once);
                while done < loaded && done < length {
                    let within = done % CHUNK;
                    if within == 0 {
                        self.share.stage_vectors::<FEW>(smem, start + done, depth);
                        thread::sync_threads(); // the vectors are complete
                    }
                    self.add(raw, smem.add((within + self.placement.group * SIDE) as usize), &mut acc);
                    done += depth;
                    raw = raw.map(I::rest);
                    if done >= length || done.is_multiple_of(CHUNK) {
                        thread::sync_threads(); // every warp has read the vectors: others may be stored
                    }
                }
                loaded += at_once;
            }
            for f in 0..FEW {
                for i in 0..SIDE as usize {
                    self.placement.publish(smem, f, i, acc[f][i]);
                }
            }
        }
        self.placement
    }

    /// k of the fragments of all groups, which divides CHUNK.
    #[inline(always)]
    fn depth(&self) -> u32 {
        self.placement.groups() * SIDE
    }

    /// Loads this thread's fragments from k on, with zeros for what is out of bounds.
    #[inline(always)]
    unsafe fn load(&self, k: u32) -> RawFragment {
        let ld = self.share.matrix.across as usize;
        let start = self.start.wrapping_add(k as usize);
        let row = |i: usize| start.wrapping_add((i << self.placement.bundles_log2) * ld);
        let end = |i: usize| if (i as u32) < self.rows { self.share.k.end } else { 0 };
        // SAFETY: in bounds, or not loaded.
        unsafe {
            let k = k + self.placement.group * SIDE;
            if self.is_aligned {
                let depth = self.depth();
                core::array::from_fn(|i| I::load_fours_below(row(i), depth as usize, k, depth, end(i)))
            } else {
                core::array::from_fn(|i| {
                    core::array::from_fn(|d| I::load_below(row(i).wrapping_add(d), k + d as u32, end(i)))
                })
            }
        }
    }

    /// Adds the products of a fragment and the vectors at `smem`.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the accumulators in memory
    #[inline(always)]
    unsafe fn add<const FEW: usize>(&self, raw: RawFragment, smem: *const f32, acc: &mut Accumulators<FEW>) {
        let matrix = if self.is_aligned { raw.map(I::numbers) } else { raw.map(|raw| raw.map(I::number)) };
        for f in 0..FEW {
            // SAFETY: within the chunk.
            let vector = unsafe { f32x4::load(smem.add(f * CHUNK as usize)) };
            for d in 0..SIDE as usize {
                for i in 0..SIDE as usize {
                    acc[f][i] = GpuFloat::mul_add(matrix[i][d], vector[d], acc[f][i]);
                }
            }
        }
    }
}
