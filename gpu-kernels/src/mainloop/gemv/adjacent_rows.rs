//! Rows of the matrix that are adjacent in memory: a lane has some of them, and adds their products over k.
//!
//! ```text
//!              rows, 16 bytes of each lane                    rows, a word of each lane
//!          ┌─────────┬─────────┬─────────┬── ─            ┌─┬─┬─┬─┬─┬─┬─┬─┬── ─
//!   k, 4   │ lane 0  │ lane 1  │ lane 2  │        k, 16   │0│1│2│3│4│5│6│7│        where they are not aligned
//!          └─────────┴─────────┴─────────┴── ─            └─┴─┴─┴─┴─┴─┴─┴─┴── ─
//! ```

use cuda_std::GpuFloat;
use cuda_std::prelude::*;

use super::load::Load;
use super::placement::Placement;
use super::{CHUNK, SIDE, Share, THREADS};
use crate::ptx::{compiler, f32x4, read_only};

/// What a thread loads at once: so many words of rows, of so many lines along k.
type Lines<const WORDS: usize, const LINES: usize> = [[u32; WORDS]; LINES];

/// By vector, word and number of the word.
type Accumulators<const FEW: usize, const WORDS: usize> = [[[f32; 2]; WORDS]; FEW];

/// The rows of a thread: those of WORDS adjacent words.
pub(crate) struct AdjacentRows<'s, I, const WORDS: usize, const LINES: usize> {
    share: &'s Share<I>,
    placement: Placement,
    /// The thread's first row.
    row: u32,
    /// Whether words are whole and aligned. Otherwise, elements of 16 bits are loaded one by one.
    has_words: bool,
}

impl<'s, I: Load, const WORDS: usize, const LINES: usize> AdjacentRows<'s, I, WORDS, LINES> {
    /// Of the share, whose rows are aligned to WORDS if that is more than one.
    #[inline(always)]
    pub fn new(share: &'s Share<I>) -> Self {
        const {
            assert!(WORDS == 1 || WORDS == SIDE as usize);
            assert!(LINES.is_multiple_of(SIDE as usize) && THREADS as usize * LINES >= CHUNK as usize);
        }
        let per_thread = WORDS as u32 * I::PER_WORD;
        // All groups' lines are not more than there is of the vectors.
        let least_log2 = (THREADS * LINES as u32 / CHUNK).ilog2();
        let bundles_log2 = (32 - ((share.rows - 1) / per_thread).leading_zeros()).max(least_log2);
        let tid = thread::thread_idx_x();
        let (bundle, group) = (tid & ((1 << bundles_log2) - 1), tid >> bundles_log2);
        let rows_log2 = per_thread.ilog2();
        let placement = Placement { bundles_log2, bundle, group, rows_log2, has_adjacent_rows: true };
        let has_words = I::PER_WORD == 1 || share.has_adjacent(I::PER_WORD);
        Self { share, placement, row: bundle * per_thread, has_words }
    }

    /// Publishes the sums of the products of this thread's rows and the vectors. There are two buffers of lines: while one is waited for,
    /// the other is on its way, too. The first iteration only loads, and the vectors come right behind.
    ///
    /// # Safety
    /// As of [`publish_sums`](super::publish_sums).
    #[allow(clippy::needless_range_loop)] // an iterator would keep the accumulators in memory
    #[inline(always)]
    pub unsafe fn publish<const FEW: usize>(&self, smem: *mut f32) -> Placement {
        let mut acc = [[[0.0; 2]; WORDS]; FEW];
        let (start, depth) = (self.share.k.start, self.placement.groups() * LINES as u32);
        let length = self.share.k.end - start;
        let first = self.placement.group * LINES as u32;
        let ahead = 2 * depth;
        let mut buffers = [[[0; WORDS]; LINES]; 2];
        let mut loaded = compiler::opaque(0); // or LLVM would peel the first iteration
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            while loaded < length + ahead {
                for i in 0..2 {
                    let done = loaded.wrapping_sub(ahead);
                    if done < length {
                        if done.is_multiple_of(CHUNK) {
                            thread::sync_threads(); // every warp has read the vectors: others may be stored
                            self.share.stage_vectors::<FEW>(smem, start + done, depth);
                            thread::sync_threads(); // the vectors are complete
                        }
                        self.add(&buffers[i], smem.add((done % CHUNK + first) as usize), &mut acc);
                    }
                    buffers[i] = self.load(start + loaded + first);
                    loaded += depth;
                }
            }
            thread::sync_threads(); // every warp has read the vectors
            for f in 0..FEW {
                for w in 0..WORDS {
                    for i in 0..I::PER_WORD as usize {
                        self.placement.publish(smem, f, w * I::PER_WORD as usize + i, acc[f][w][i]);
                    }
                }
            }
        }
        self.placement
    }

    /// Loads this thread's lines from k on, with zeros for what is out of bounds. All loads are in flight together.
    #[allow(clippy::needless_range_loop)] // likewise
    #[inline(always)]
    unsafe fn load(&self, k: u32) -> Lines<WORDS, LINES> {
        let Share { matrix, rows, .. } = self.share;
        let left = |row: u32| if row < *rows { self.share.k.end.saturating_sub(k) } else { 0 };
        let (of_first, of_second) = (left(self.row), left(self.row + 1));
        let mut line = matrix.at(self.row, k);
        let mut lines = [[0; WORDS]; LINES];
        // SAFETY: upheld by the caller: in bounds, or not loaded, and aligned where it is said to be.
        unsafe {
            if WORDS > 1 || self.has_words {
                for i in 0..LINES {
                    if WORDS > 1 {
                        let vector = read_only::load_4_below(line.cast(), i as u32, of_first);
                        for w in 0..WORDS {
                            lines[i][w] = vector[w].to_bits();
                        }
                    } else {
                        lines[i][0] = read_only::load_below(line.cast(), i as u32, of_first).to_bits();
                    }
                    line = line.wrapping_add(matrix.along_k as usize);
                }
            } else {
                let mut halves = [[0; 2]; LINES];
                for i in 0..LINES {
                    halves[i][0] = I::load_below(line, i as u32, of_first);
                    halves[i][1] = I::load_below(line.wrapping_add(1), i as u32, of_second);
                    line = line.wrapping_add(matrix.along_k as usize);
                }
                for i in 0..LINES {
                    lines[i][0] = halves[i][0] | halves[i][1] << 16;
                }
            }
        }
        lines
    }

    /// Adds the products of the lines and the vectors at `smem`.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the accumulators in memory
    #[inline(always)]
    unsafe fn add<const FEW: usize>(
        &self,
        lines: &Lines<WORDS, LINES>,
        smem: *const f32,
        acc: &mut Accumulators<FEW, WORDS>,
    ) {
        for four in 0..LINES / SIDE as usize {
            let numbers: [_; SIDE as usize] = core::array::from_fn(|d| lines[four * SIDE as usize + d].map(I::unpack));
            for f in 0..FEW {
                // SAFETY: within the chunk.
                let factors = unsafe { f32x4::load(smem.add(f * CHUNK as usize + four * SIDE as usize)) };
                for d in 0..SIDE as usize {
                    for w in 0..WORDS {
                        for n in 0..I::PER_WORD as usize {
                            acc[f][w][n] = GpuFloat::mul_add(numbers[d][w][n], factors[d], acc[f][w][n]);
                        }
                    }
                }
            }
        }
    }
}
