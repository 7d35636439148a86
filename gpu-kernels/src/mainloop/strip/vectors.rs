//! A warp's part of B: copied asynchronously to shared memory of the warp, eight columns of a step after the other.

use super::{OCTET_BYTES, OCTETS, STEP_K, VECTOR, WARP_BYTES};
use crate::mainloop::gemv::Strided;
use crate::ptx::{compiler, cp_async, f32x4, lanes, matrix};
use cuda_std::prelude::*;

/// A block's columns of B.
#[derive(Clone, Copy)]
pub(super) struct Vectors {
    pub from: Strided<u16>,
    /// How many there are.
    pub few: u32,
}

/// A lane's copies, from step to step: its row of eight columns, or, where k is contiguous, its vector along k of one.
pub(super) struct Copies {
    source: *const u16,
    at: u32,
    end: u32,
    /// Elements from eight columns to the next.
    octet: usize,
    /// k from a step to the next, and elements.
    step: u32,
    stride: usize,
    /// The first k of the copy is in bounds of the first eight columns, and of the others.
    is_inside: [bool; OCTETS],
    has_rows: bool,
    /// Where the copy goes in the first slot, and where the lane reads for two MMAs.
    target: u32,
    frags: [*mut f32; 2],
}

impl Vectors {
    /// Whether there are columns beyond so many times eight.
    #[inline(always)]
    pub fn has(&self, octet: usize) -> bool {
        octet == 0 || self.few > octet as u32 * VECTOR
    }

    #[inline(always)]
    fn has_rows(&self) -> bool {
        self.from.across == 1
    }

    /// Whether they are copied in vectors.
    #[inline(always)]
    pub fn is_aligned(&self) -> bool {
        if self.has_rows() {
            has_vectors(&self.from, self.from.along_k) & self.few.is_multiple_of(VECTOR)
        } else {
            has_vectors(&self.from, self.from.across)
        }
    }

    /// The copies of a warp's steps, the first from `k` on, each `step` of k behind the one before.
    #[inline(always)]
    pub fn copies(&self, k: u32, end: u32, step: u32) -> Copies {
        let lane = warp::lane_id();
        let (row, of_lane, place) =
            if self.has_rows() { (0, lane, place(lane)) } else { (lane / 4, lane % 4 * VECTOR, lane) };
        let smem = shared::dynamic_shared_mem::<f32>().wrapping_add((lanes::warp_index() * WARP_BYTES / 4) as usize);
        let at = |place: u32| smem.wrapping_add(compiler::opaque(place * VECTOR / 2) as usize);
        Copies {
            source: self.from.at(row, k + of_lane),
            at: k + of_lane,
            end,
            octet: VECTOR as usize * self.from.across as usize,
            step,
            stride: step as usize * self.from.along_k as usize,
            is_inside: core::array::from_fn(|octet| octet as u32 * VECTOR + row < self.few),
            has_rows: self.has_rows(),
            // Opaque, or there would be a register for each slot.
            target: compiler::opaque(unsafe { shared::address(at(place)) }),
            frags: [0, 1].map(|mma| at(if self.has_rows() { matrix_row(mma) } else { lane })),
        }
    }
}

impl Copies {
    /// Starts those of the next step, to the slot of that number.
    ///
    /// # Safety
    /// No lane reads the slot, and what is in bounds of the operand may be read.
    #[inline(always)]
    pub unsafe fn start(&mut self, slot: u32) {
        for octet in 0..OCTETS {
            let source = self.source.wrapping_add(octet * self.octet);
            let is_inside = self.is_inside[octet] & (self.at < self.end);
            // SAFETY: in bounds and aligned, or not read; the slot is free, upheld by the caller.
            unsafe { cp_async::copy_or_zero::<4>(self.target + byte(slot, octet), source.cast(), is_inside) }
        }
        cp_async::commit_group();
        self.source = self.source.wrapping_add(self.stride);
        self.at += self.step;
    }

    /// The columns' fragments for two MMAs, in the order of the words of a vector along k.
    ///
    /// # Safety
    /// The whole warp calls it; the slot is complete.
    #[inline(always)]
    pub unsafe fn frags(&self, slot: u32) -> [[u32; 4]; 2] {
        let of_slot = |frags: *const f32, octet| frags.wrapping_add(byte(slot, octet) as usize / 4);
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            if self.has_rows {
                self.frags.map(|frags| matrix::load_4::<true>(shared::address(of_slot(frags, 0))))
            } else {
                columns([0, 1].map(|octet| f32x4::load(of_slot(self.frags[0], octet)).map(f32::to_bits)))
            }
        }
    }
}

/// Vectors along k of two columns, as two MMAs take them.
#[inline(always)]
pub(super) fn columns([left, right]: [[u32; 4]; OCTETS]) -> [[u32; 4]; 2] {
    [[left[0], right[0], left[1], right[1]], [left[2], right[2], left[3], right[3]]]
}

/// Whether vectors of lines so many elements apart are aligned.
#[inline(always)]
pub(super) fn has_vectors(from: &Strided<u16>, ld: u32) -> bool {
    from.start.addr().is_multiple_of(VECTOR as usize * 2) & ld.is_multiple_of(VECTOR)
}

/// Where eight columns of a slot begin.
#[inline(always)]
fn byte(slot: u32, octet: usize) -> u32 {
    (slot * OCTETS as u32 + octet as u32) * OCTET_BYTES
}

/// Where the eight columns of a k are: rows of a matrix are in different banks.
#[inline(always)]
fn place(k: u32) -> u32 {
    k ^ (k / VECTOR % 4 * 2)
}

/// The place that a lane gives of the rows of an MMA's matrices, or the next one's: those of either eight columns, then of the next word.
#[inline(always)]
fn matrix_row(mma: u32) -> u32 {
    let (matrix, row) = (warp::lane_id() / 8, warp::lane_id() % 8);
    let word = mma * 2 + matrix / 2;
    matrix % 2 * STEP_K + place(row / 2 * VECTOR + word * 2 + row % 2)
}

const _: () = assert!(STEP_K == crate::hardware::WARP, "a lane has a row of a step");
