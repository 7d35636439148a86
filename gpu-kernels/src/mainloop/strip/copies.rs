//! A warp's steps on their way through its shared memory: a ring of slots.
//!
//! A lane gets its own vectors of A back. B's rows are loaded as matrices, in the order in which A's vectors have k.

use super::kernel::Rows;
use super::steps::Ring;
use super::vectors::{self, Vectors};
use super::{OCTETS, PART_BYTES, STEP_K, VECTOR};
use crate::hardware::WARP;
use crate::ptx::{compiler, cp_async, f32x4, lanes, matrix};
use core::ops::Range;
use cuda_std::prelude::*;

/// A lane's copies, from step to step.
pub(super) struct Copies<const BLOCKS: usize, const STEPS: u32, const RUN: u32> {
    /// Its vectors of A along k.
    rows: [*const u16; BLOCKS],
    /// Its two vectors of B: of adjacent columns, or, where k is contiguous, along k.
    columns: [*const u16; OCTETS],
    /// The first k of each, and where k ends: of columns that are not there, before it begins.
    at: [u32; 1 + OCTETS],
    ends: [u32; 1 + OCTETS],
    /// From the last step of a run to the first one of the next.
    step: u32,
    along_k: u32,
    has_rows: bool,
    /// Bytes of the ring before this slot.
    slot: u32,
    /// Bytes of shared memory where the ring begins for the lane: its vectors of A and of B, and what it reads for two MMAs.
    vector: u32,
    targets: [u32; OCTETS],
    matrices: [u32; 2],
}

impl<const BLOCKS: usize, const STEPS: u32, const RUN: u32> Copies<BLOCKS, STEPS, RUN> {
    const SLOT_BYTES: u32 = (BLOCKS + OCTETS) as u32 * PART_BYTES;

    /// Those of a warp of that k, one of so many.
    #[inline(always)]
    pub fn new(a: Rows, b: Vectors, Range { start: k, end }: Range<u32>, warps: u32) -> Self {
        const { assert!(STEPS.is_multiple_of(RUN)) }
        let lane = warp::lane_id();
        let of_warp = lanes::warp_index() * STEPS * Self::SLOT_BYTES;
        let of_b = of_warp + BLOCKS as u32 * PART_BYTES;
        let of_a = k + lane % 4 * VECTOR;
        let has_rows = b.has_rows();
        // The column, k and place of the lane's vectors: two columns' halves of a row are of adjacent lanes, which share sectors.
        let place_of = |part: u32| {
            if !has_rows {
                (part * VECTOR + lane / 4, of_a, part * WARP + lane)
            } else if vectors::has(b.few, 1) {
                let row = part * WARP / 2 + lane / 2;
                (lane % 2 * VECTOR, k + row, lane % 2 * WARP + place(row))
            } else {
                (part * VECTOR, k + lane, part * WARP + place(lane))
            }
        };
        let [left, right] = [0, 1].map(place_of);
        let end_of = |column: u32| if column < b.few { end } else { 0 };
        let target = |place: u32| compiler::opaque(of_b + place * VECTOR * 2);
        Self {
            rows: core::array::from_fn(|block| a.from.at(a.of_lane(block), of_a)),
            columns: [left, right].map(|(column, k, _)| b.from.at(column, k)),
            at: [of_a, left.1, right.1],
            ends: [end, end_of(left.0), end_of(right.0)],
            step: (warps * RUN - RUN + 1) * STEP_K,
            along_k: b.from.along_k,
            has_rows,
            slot: 0,
            vector: compiler::opaque(of_warp + lane * VECTOR * 2),
            targets: [target(left.2), target(right.2)],
            matrices: [0, 1].map(|mma| target(if has_rows { matrix_row(mma) } else { lane })),
        }
    }
}

impl<const BLOCKS: usize, const STEPS: u32, const RUN: u32> Ring<STEPS> for Copies<BLOCKS, STEPS, RUN> {
    /// B's for two MMAs, and a vector along k of each block of A's rows.
    type Fragments = ([[u32; 4]; 2], [[u32; 4]; BLOCKS]);

    #[allow(clippy::needless_range_loop)] // an iterator would keep the addresses in memory
    #[inline(always)]
    unsafe fn start(&mut self) -> u32 {
        // SAFETY: in bounds and aligned, or not read; the slot is free, upheld by the caller.
        unsafe {
            for block in 0..BLOCKS {
                let target = shared::address(pointer(self.vector + self.slot, block));
                let bytes = if self.at[0] < self.ends[0] { VECTOR * 2 } else { 0 };
                cp_async::copy_first::<4>(target, self.rows[block], bytes, true);
            }
            for part in 0..OCTETS {
                let target = shared::address(pointer(self.targets[part] + self.slot, 0));
                let is_inside = self.at[1 + part] < self.ends[1 + part];
                cp_async::copy_shared_or_zero(target, self.columns[part], is_inside);
            }
        }
        cp_async::commit_group();
        let is_last = (self.slot / Self::SLOT_BYTES + 1).is_multiple_of(RUN);
        let step = if is_last { self.step } else { STEP_K };
        self.rows = self.rows.map(|row| row.wrapping_add(step as usize));
        self.columns = self.columns.map(|column| column.wrapping_add(step as usize * self.along_k as usize));
        self.at = self.at.map(|at| at + step);
        self.slot += Self::SLOT_BYTES;
        if self.slot == STEPS * Self::SLOT_BYTES {
            self.slot = 0;
        }
        step
    }

    #[inline(always)]
    unsafe fn read(&self) -> Self::Fragments {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            let words = |first: u32, part: usize| f32x4::load(pointer(first + self.slot, part)).map(f32::to_bits);
            let columns = if self.has_rows {
                self.matrices.map(|first| matrix::load_4::<true>(shared::address(pointer(first + self.slot, 0))))
            } else {
                vectors::columns(core::array::from_fn(|octet| words(self.matrices[0], octet)))
            };
            (columns, core::array::from_fn(|block| words(self.vector, block)))
        }
    }
}

/// A vector of that part of a slot.
#[inline(always)]
fn pointer(byte: u32, part: usize) -> *mut f32 {
    shared::dynamic_shared_mem::<f32>().wrapping_add(byte as usize / 4).wrapping_add(part * PART_BYTES as usize / 4)
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

const _: () = assert!(STEP_K == WARP && PART_BYTES == WARP * VECTOR * 2, "a lane has a vector of each part of a slot");
