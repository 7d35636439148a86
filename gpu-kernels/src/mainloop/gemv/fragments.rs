//! A thread's fragments of the matrix, and what it makes of them.

use cuda_std::GpuFloat;
use cuda_std::prelude::*;

use super::load::{Load, Raw};
use super::{CHUNK, ROWS, SIDE, STAGED, Share, THREADS, vector_values};
use crate::ptx::{compiler, f32x4};

/// By vector, then by row of the fragments.
pub(crate) type Accumulators<const FEW: usize> = [[f32; SIDE as usize]; FEW];

/// What four lines of loads bring, each of four elements, or of one.
type RawFragment = [Raw; SIDE as usize];

/// How a fragment is loaded: by vectors along k, by vectors along the rows, or one element after the other. The last takes any strides:
/// four loads along k are of the same sectors, or adjacent lanes have adjacent rows.
const ALONG_K: u32 = 0;
const ALONG_ROWS: u32 = 1;
const SINGLY: u32 = 2;

/// The fragments of a thread. A block has as few bundles of threads along the rows as these take, and so the more groups along k.
pub(crate) struct Fragments<I> {
    share: Share<I>,
    access: u32,
    bundles_log2: u32,
    bundle: u32,
    group: u32,
    /// The address of the fragment at k = 0.
    start: *const I,
    /// A fragment is four lines: rows, or columns of it where vectors are along the rows. From one to the next: `step` times `ld`
    /// elements.
    step: u32,
    ld: u32,
    /// Lines that are in bounds.
    lines: u32,
}

impl<I: Load> Fragments<I> {
    #[inline(always)]
    pub fn new(share: Share<I>) -> Self {
        let Share { matrix, rows, .. } = share;
        let access = share.access();
        let bundles_log2 = 32 - ((rows.min(ROWS) - 1) / SIDE).leading_zeros();
        // Adjacent lanes have adjacent fragments.
        let tid = thread::thread_idx_x();
        let (bundle, group) = if matrix.along_k == 1 {
            let groups_log2 = THREADS.ilog2() - bundles_log2;
            (tid >> groups_log2, tid & ((1 << groups_log2) - 1))
        } else {
            (tid & ((1 << bundles_log2) - 1), tid >> bundles_log2)
        };
        let (first, step_log2, ld) = if access == ALONG_ROWS {
            (bundle * SIDE, 0, matrix.along_k)
        } else {
            (bundle, bundles_log2, matrix.across)
        };
        let step = 1 << step_log2;
        let lines = (rows.saturating_sub(first) + step - 1) >> step_log2; // whole vectors along the rows
        Self { share, access, bundles_log2, bundle, group, start: matrix.at(first, group * SIDE), step, ld, lines }
    }

    /// Bundles of threads along the rows, a power of two.
    #[inline(always)]
    fn bundles(&self) -> u32 {
        1 << self.bundles_log2
    }

    /// Groups of threads along k, a power of two.
    #[inline(always)]
    pub fn groups(&self) -> u32 {
        1 << self.groups_log2()
    }

    #[inline(always)]
    fn groups_log2(&self) -> u32 {
        THREADS.ilog2() - self.bundles_log2
    }

    /// Rows of all bundles: 2^that.
    #[inline(always)]
    pub fn rows_log2(&self) -> u32 {
        self.bundles_log2 + SIDE.ilog2()
    }

    /// The row of the fragments and the bundle that have a row of the block.
    #[inline(always)]
    pub fn of_row(&self, row: u32) -> (u32, u32) {
        if self.access == ALONG_ROWS {
            (row % SIDE, row / SIDE)
        } else {
            (row >> self.bundles_log2, row & (self.bundles() - 1))
        }
    }

    /// Where this thread's partial sums are among those of all threads, so that neither those of adjacent bundles nor those of adjacent
    /// groups share a bank.
    #[inline(always)]
    pub fn place(&self) -> u32 {
        self.place_of(self.bundle, self.group)
    }

    /// Likewise of a bundle and group.
    #[inline(always)]
    pub fn place_of(&self, bundle: u32, group: u32) -> u32 {
        (group << self.bundles_log2) | (bundle ^ (group & (self.bundles() - 1)))
    }

    /// The sums of the products of this thread's fragments and the vectors. Shared memory may be used for something else afterwards.
    ///
    /// Loads are one iteration ahead of the products. There is one loop, whatever the access; the first iteration only loads.
    ///
    /// # Safety
    /// Every thread of the block calls it; `smem` has [`vector_values`]; what is in bounds of the share may be read.
    #[inline(always)]
    pub unsafe fn sums<const FEW: usize>(&self, smem: *mut f32) -> Accumulators<FEW> {
        let mut acc = [[0.0; SIDE as usize]; FEW];
        let (start, depth) = (self.share.k.start, self.depth());
        let length = self.share.k.end - start;
        let at_once = if self.access == SINGLY { depth } else { depth * I::AT_ONCE };
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
                        self.stage::<FEW>(smem, start + done);
                        thread::sync_threads(); // the vectors are complete
                    }
                    self.add(raw, smem.add((within + self.group * SIDE) as usize), &mut acc);
                    done += depth;
                    raw = raw.map(I::rest);
                    if done >= length || done.is_multiple_of(CHUNK) {
                        thread::sync_threads(); // every warp has read the vectors: others may be stored
                    }
                }
                loaded += at_once;
            }
        }
        acc
    }

    /// k of the fragments of all groups, which divides CHUNK.
    #[inline(always)]
    fn depth(&self) -> u32 {
        self.groups() * SIDE
    }

    /// Loads this thread's fragments from k on, with zeros for what is out of bounds: by row, or along the rows by column.
    #[inline(always)]
    unsafe fn load(&self, k: u32) -> RawFragment {
        let (ld, lines) = (self.ld, self.lines);
        let along_k = self.share.matrix.along_k;
        let start = self.start.wrapping_add(k as usize * along_k as usize);
        let line = |i: usize| start.wrapping_add((i as u32 * self.step) as usize * ld as usize);
        let end = |i: usize| if (i as u32) < lines { self.share.k.end } else { 0 };
        // SAFETY: in bounds, or not loaded.
        unsafe {
            let k = k + self.group * SIDE;
            if self.access == SINGLY {
                core::array::from_fn(|i| {
                    let element = |d: usize| line(i).wrapping_add(d * along_k as usize);
                    core::array::from_fn(|d| I::load_below(element(d), k + d as u32, end(i)))
                })
            } else {
                let more = u32::from(self.access == ALONG_ROWS);
                let further = self.depth();
                let apart = further as usize * along_k as usize;
                core::array::from_fn(|i| I::load_fours_below(line(i), apart, k + i as u32 * more, further, end(i)))
            }
        }
    }

    /// Brings the vectors from k on to shared memory, (FEW, CHUNK), with zeros for what is out of bounds. A
    /// thread has one of the vectors.
    #[inline(always)]
    unsafe fn stage<const FEW: usize>(&self, smem: *mut f32, k: u32) {
        const { assert!(THREADS.is_multiple_of(FEW as u32) && vector_values(FEW as u32).is_multiple_of(STAGED * THREADS)) }
        let Share { vectors, few, .. } = self.share;
        let threads = THREADS / FEW as u32;
        let (f, first) = (thread::thread_idx_x() / threads, thread::thread_idx_x() % threads);
        let end = if f < few { self.share.k.end } else { 0 };
        let depth = (self.share.k.end - k + self.depth() - 1).min(CHUNK); // and more, up to a whole fragment
        let smem = smem.wrapping_add((f * CHUNK) as usize);
        let mut p = first;
        // SAFETY: in bounds, or not loaded; within shared memory, which what all threads store at once divides.
        unsafe {
            while p < depth {
                let at = |i: usize| p + i as u32 * threads;
                let raw: [u32; STAGED as usize] =
                    core::array::from_fn(|i| I::load_below(vectors.at(f, k + at(i)), k + at(i), end));
                for (i, raw) in raw.into_iter().enumerate() {
                    *smem.add(at(i) as usize) = I::number(raw);
                }
                p += STAGED * threads;
            }
        }
    }

    /// Adds the products of a fragment and the vectors at `smem`.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the accumulators in memory
    #[inline(always)]
    unsafe fn add<const FEW: usize>(&self, raw: RawFragment, smem: *const f32, acc: &mut Accumulators<FEW>) {
        let lines = if self.access == SINGLY { raw.map(|raw| raw.map(I::number)) } else { raw.map(I::numbers) };
        let is_by_column = self.access == ALONG_ROWS;
        let select = |column: f32, row: f32| if is_by_column { column } else { row };
        let matrix: [[f32; SIDE as usize]; SIDE as usize] =
            core::array::from_fn(|i| core::array::from_fn(|d| select(lines[d][i], lines[i][d])));
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

impl<I: Load> Share<I> {
    /// The widest access that strides and alignment allow.
    #[inline(always)]
    fn access(&self) -> u32 {
        let Self { matrix, rows, .. } = *self;
        let is_whole = |size: u32| size.is_multiple_of(SIDE);
        let across = if rows == 1 { 0 } else { matrix.across };
        if matrix.along_k == 1 && matrix.is_aligned(across) && is_whole(self.k.end) {
            ALONG_K
        } else if matrix.across == 1 && matrix.is_aligned(matrix.along_k) && (rows >= ROWS || is_whole(rows)) {
            ALONG_ROWS
        } else {
            SINGLY
        }
    }
}
