//! A warp's steps on their way through its shared memory: a ring of slots.
//!
//! A lane gets its own vectors of A back. B's rows are loaded as matrices, in the order in which A's vectors have k.

use super::kernel::{BLOCKS, Rows};
use super::vectors::{self, Vectors};
use super::{OCTET_BYTES, OCTETS, RING_BYTES, SLOT_BYTES, STEP_K, VECTOR, WARP_BYTES};
use crate::hardware::WARP;
use crate::ptx::{compiler, cp_async, f32x4, lanes, matrix};
use cuda_std::prelude::*;

/// A lane's copies, from step to step.
pub(super) struct Copies {
    /// Its vectors of A along k.
    rows: [*const u16; BLOCKS],
    /// Its row of eight columns of B, or, where k is contiguous, its vector along k of one; and the same eight columns further.
    columns: [*const u16; OCTETS],
    /// The first k of these, and where k ends, there or, for columns that are not, nowhere.
    at: [u32; 2],
    ends: [u32; 1 + OCTETS],
    /// From a step to the next: k, and elements of B.
    step: u32,
    stride: usize,
    has_rows: bool,
    /// Bytes of the ring before the slots of the next copy, and of the next step.
    copied: u32,
    read: u32,
    /// Bytes of shared memory where the ring begins for the lane: its vector, its row of B, and what it reads for two MMAs.
    vector: u32,
    column: u32,
    matrices: [u32; 2],
}

impl Copies {
    /// Those of a warp whose first step begins at `k`, one of so many.
    #[inline(always)]
    pub fn new<const WARPS: u32>(a: Rows, b: Vectors, k: u32, end: u32) -> Self {
        let lane = warp::lane_id();
        let ring = lanes::warp_index() * WARP_BYTES;
        // Opaque, or there would be a register for each of their uses.
        let at = |vector: u32| compiler::opaque(ring + vector * VECTOR * 2);
        let of_a = k + lane % 4 * VECTOR;
        let rows = a.of_lane().map(|row| a.from.at(row, of_a));
        let has_rows = b.has_rows();
        let (column, of_b, place) = if has_rows { (0, k + lane, place(lane)) } else { (lane / 4, of_a, lane) };
        let [left, right] = [0, 1].map(|octet| if octet * VECTOR + column < b.few { end } else { 0 });
        let of_a_slot = BLOCKS as u32 * WARP;
        let matrices = [0, 1].map(|mma| at(of_a_slot + if has_rows { matrix_row(mma) } else { lane }));
        Self {
            rows,
            columns: core::array::from_fn(|octet| b.from.at(octet as u32 * VECTOR + column, of_b)),
            at: [of_a, of_b],
            ends: [end, left, right],
            step: WARPS * STEP_K,
            stride: (WARPS * STEP_K) as usize * b.from.along_k as usize,
            has_rows,
            copied: 0,
            read: 0,
            vector: at(lane),
            column: at(of_a_slot + place),
            matrices,
        }
    }

    /// Starts those of the next step, as a group. What is out of bounds is zeros.
    ///
    /// # Safety
    /// Every lane has read the step that was in the slot; what is in bounds of the operands may be read.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the addresses in memory
    #[inline(always)]
    pub unsafe fn start(&mut self) {
        let ([at_a, at_b], [end, ends @ ..]) = (self.at, self.ends);
        // SAFETY: in bounds and aligned, or not read; the slot is free, upheld by the caller.
        unsafe {
            let address = |first: u32, part: usize| shared::address(pointer(first + self.copied, part));
            for block in 0..BLOCKS {
                let bytes = if at_a < end { VECTOR * 2 } else { 0 };
                cp_async::copy_first::<4>(address(self.vector, block), self.rows[block], bytes, true);
            }
            for octet in 0..OCTETS {
                let column = self.columns[octet].cast();
                cp_async::copy_or_zero::<4>(address(self.column, octet), column, at_b < ends[octet]);
            }
        }
        cp_async::commit_group();
        self.rows = self.rows.map(|row| row.wrapping_add(self.step as usize));
        self.columns = self.columns.map(|column| column.wrapping_add(self.stride));
        self.at = [at_a + self.step, at_b + self.step];
        self.copied = next(self.copied);
    }

    /// B's fragments for two MMAs, and a vector along k of each block of A's rows.
    ///
    /// # Safety
    /// The whole warp calls it; the step's copies are complete.
    #[inline(always)]
    pub unsafe fn next(&mut self) -> ([[u32; 4]; 2], [[u32; 4]; BLOCKS]) {
        let at = |first: u32, part: usize| pointer(first + self.read, part);
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            let words = |first: u32, part: usize| f32x4::load(at(first, part)).map(f32::to_bits);
            let columns = if self.has_rows {
                self.matrices.map(|matrices| matrix::load_4::<true>(shared::address(at(matrices, 0))))
            } else {
                vectors::columns(core::array::from_fn(|octet| words(self.matrices[0], octet)))
            };
            let rows = core::array::from_fn(|block| words(self.vector, block));
            self.read = next(self.read);
            (columns, rows)
        }
    }
}

/// A vector of that part of a slot.
#[inline(always)]
fn pointer(byte: u32, part: usize) -> *mut f32 {
    shared::dynamic_shared_mem::<f32>().wrapping_add(byte as usize / 4).wrapping_add(part * OCTET_BYTES as usize / 4)
}

/// The slot behind that one.
#[inline(always)]
fn next(slot: u32) -> u32 {
    const { assert!(RING_BYTES.is_power_of_two()) }
    (slot + SLOT_BYTES) & (RING_BYTES - 1)
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

const _: () = assert!(STEP_K == WARP && OCTET_BYTES == WARP * VECTOR * 2, "a lane has a vector of each part of a slot");
