//! The narrow operand: all threads load a chunk of it to registers, element by element, and from there to shared memory.

use super::{CHUNK, OCTETS, THREADS, VECTOR};
use crate::mainloop::gemv::Strided;
use crate::ptx::{compiler, matrix, read_only};
use cuda_std::prelude::*;

/// Elements of eight vectors that a thread loads of a chunk.
const OF_OCTET: usize = (CHUNK * VECTOR / THREADS) as usize;

/// What a thread loads of a chunk.
pub(super) type Raw = [[u32; OF_OCTET]; OCTETS];

/// A block's part of the narrow operand.
#[derive(Clone, Copy)]
pub(super) struct Vectors {
    pub from: Strided<u16>,
    /// How many there are.
    pub few: u32,
    /// Where k ends.
    pub end: u32,
}

impl Vectors {
    /// Whether there are vectors beyond so many times eight.
    #[inline(always)]
    pub fn has(&self, octet: usize) -> bool {
        octet == 0 || self.few > octet as u32 * VECTOR
    }

    /// This thread's first k and vector of a chunk, and from one element to its next: adjacent threads have adjacent elements.
    #[inline(always)]
    fn places(&self) -> ([u32; 2], [u32; 2]) {
        let tid = compiler::opaque(thread::thread_idx_x()); // or registers would keep what is computed from it
        if self.from.along_k == 1 { ([tid, 0], [0, 1]) } else { ([tid / VECTOR, tid % VECTOR], [THREADS / VECTOR, 0]) }
    }

    /// Loads this thread's elements of the chunk that begins at `k`, with zeros for what is out of bounds.
    ///
    /// # Safety
    /// What is in bounds of the operand may be read.
    #[inline(always)]
    pub unsafe fn load(&self, k: u32) -> Raw {
        let ([first_k, first_vector], [step_k, step_vector]) = self.places();
        let step = step_k as usize * self.from.along_k as usize + step_vector as usize * self.from.across as usize;
        let mut raw = [[0; OF_OCTET]; OCTETS];
        for (octet, raw) in raw.iter_mut().enumerate() {
            if self.has(octet) {
                let (mut k, mut vector) = (k + first_k, octet as u32 * VECTOR + first_vector);
                let mut source = self.from.at(vector, k);
                for raw in raw.iter_mut() {
                    // SAFETY: in bounds, or not loaded.
                    *raw = unsafe { read_only::load_16_below(source, k, if vector < self.few { self.end } else { 0 }) };
                    source = source.wrapping_add(step);
                    (k, vector) = (k + step_k, vector + step_vector);
                }
            }
        }
        raw
    }

    /// Stores them to that byte of shared memory: eight vectors of each k.
    ///
    /// # Safety
    /// Nobody reads the buffer.
    #[inline(always)]
    pub unsafe fn store(&self, buffer: u32, raw: Raw) {
        let smem = shared::dynamic_shared_mem::<u16>();
        let ([first_k, first_vector], [step_k, step_vector]) = self.places();
        let (first, step) = (buffer / 2 + place(first_k) * VECTOR + first_vector, step_k * VECTOR + step_vector);
        for (octet, raw) in raw.into_iter().enumerate() {
            if self.has(octet) {
                let mut at = first + octet as u32 * CHUNK * VECTOR;
                for raw in raw {
                    // SAFETY: of the buffer, upheld by the caller.
                    unsafe { *smem.add(at as usize) = raw as u16 }
                    at += step;
                }
            }
        }
    }
}

/// Where the eight vectors of a k are. Steps of 32 of k are steps of 32 places.
#[inline(always)]
fn place(k: u32) -> u32 {
    k ^ (k / VECTOR % 4 * 2)
}

/// Where a lane's row of matrices begins in a buffer: those of two MMAs, in the order of the words of a vector that is contiguous along k.
#[inline(always)]
pub(super) fn row_of_vectors(k: u32) -> u32 {
    let (word, row) = (warp::lane_id() / 8, warp::lane_id() % 8);
    place(k + row / 2 * VECTOR + word * 2 + row % 2) * VECTOR * 2
}

/// The same of one MMA, in the order of k.
#[inline(always)]
pub(super) fn row_in_order(k: u32) -> u32 {
    place(k + warp::lane_id() % 16) * VECTOR * 2
}

/// The words of eight vectors for two MMAs, of rows as of [`row_of_vectors`].
///
/// # Safety
/// The whole warp calls it; the chunk is complete.
#[inline(always)]
pub(super) unsafe fn load_2_mmas(row: u32, octet: usize) -> [u32; 4] {
    // SAFETY: upheld by the caller (see `# Safety`).
    unsafe { matrix::load_4::<true>(address(row, octet)) }
}

/// The words of eight vectors for an MMA, of rows as of [`row_in_order`].
///
/// # Safety
/// As of [`load_2_mmas`].
#[inline(always)]
pub(super) unsafe fn load_mma(row: u32, octet: usize) -> [u32; 2] {
    // SAFETY: upheld by the caller (see `# Safety`).
    unsafe { matrix::load_2_transposed(address(row, octet)) }
}

#[inline(always)]
unsafe fn address(row: u32, octet: usize) -> u32 {
    // SAFETY: it is of shared memory.
    let smem = unsafe { shared::address(shared::dynamic_shared_mem::<u8>()) };
    smem + row + octet as u32 * CHUNK * VECTOR * 2
}
