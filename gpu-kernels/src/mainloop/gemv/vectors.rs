//! The vectors in shared memory, as f32.

use cuda_std::prelude::*;

use super::load::Load;
use super::{CHUNK, SIDE, Share, THREADS};
use crate::ptx::{f32x4, read_only};

/// Loads that a thread has in flight, of 16 bytes or of one element, at most: fewer where these are a chunk.
const WIDE: usize = 4;
const STAGED: usize = 8;

impl<I: Load> Share<I> {
    /// Brings the vectors from k on to shared memory, (FEW, CHUNK), with zeros for what is out of bounds, up to a multiple of `depth`. A
    /// thread has one of the vectors.
    ///
    /// # Safety
    /// Every thread of the block calls it; `smem` has FEW chunks, which no thread uses any more.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the values in memory
    #[inline(always)]
    pub unsafe fn stage_vectors<const FEW: usize>(&self, smem: *mut f32, k: u32, depth: u32) {
        const { assert!(THREADS.is_multiple_of(FEW as u32)) }
        let Self { vectors, few, .. } = *self;
        let threads = THREADS / FEW as u32;
        let (f, thread) = (thread::thread_idx_x() / threads, thread::thread_idx_x() % threads);
        let depth = (self.k.end - k + depth - 1).min(CHUNK); // and more, up to a whole fragment
        let left = if f < few { self.k.end - k } else { 0 };
        let of_load = SIDE * I::PER_WORD;
        let is_whole = |count: u32| count.is_multiple_of(of_load);
        let is_aligned = vectors.start.addr().is_multiple_of((SIDE * 4) as usize);
        let is_wide = vectors.along_k == 1 && is_aligned && is_whole(vectors.across) && is_whole(self.k.end);
        let (source, smem) = (vectors.at(f, k), smem.wrapping_add((f * CHUNK) as usize));
        // SAFETY: in bounds, or not loaded, and aligned, just checked; within the chunk.
        unsafe {
            if is_wide {
                let mut p = thread * of_load;
                while p < depth {
                    let mut raw = [[0.0; SIDE as usize]; WIDE];
                    let at = |i: usize| i as u32 * threads * of_load;
                    for i in 0..WIDE {
                        if at(i) < CHUNK {
                            let from = source.wrapping_add((p + at(i)) as usize);
                            raw[i] = read_only::load_4_below(from.cast(), p + at(i), left);
                        }
                    }
                    for i in 0..WIDE {
                        if at(i) < CHUNK && p + at(i) < depth {
                            let words = raw[i].map(|word| I::unpack(word.to_bits()));
                            store(smem.add((p + at(i)) as usize), words, I::PER_WORD);
                        }
                    }
                    p += WIDE as u32 * threads * of_load;
                }
            } else {
                let mut p = thread;
                while p < depth {
                    let mut raw = [0; STAGED];
                    let at = |i: usize| i as u32 * threads;
                    for i in 0..STAGED {
                        if at(i) < CHUNK {
                            let from = source.wrapping_add((p + at(i)) as usize * vectors.along_k as usize);
                            raw[i] = I::load_below(from, p + at(i), left);
                        }
                    }
                    for i in 0..STAGED {
                        if at(i) < CHUNK {
                            *smem.add((p + at(i)) as usize) = I::number(raw[i]);
                        }
                    }
                    p += (STAGED as u32 * threads).min(CHUNK);
                }
            }
        }
    }
}

/// Stores the numbers of four words, so many of each.
///
/// # Safety
/// They are in shared memory, at a multiple of 16 bytes.
#[inline(always)]
unsafe fn store(smem: *mut f32, words: [[f32; 2]; SIDE as usize], of_word: u32) {
    let [a, b, c, d] = words;
    // SAFETY: upheld by the caller (see `# Safety`).
    unsafe {
        if of_word == 1 {
            f32x4::store(smem, [a[0], b[0], c[0], d[0]]);
        } else {
            f32x4::store(smem, [a[0], a[1], b[0], b[1]]);
            f32x4::store(smem.add(SIDE as usize), [c[0], c[1], d[0], d[1]]);
        }
    }
}
