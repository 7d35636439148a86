//! Parts of A and B as bf16, from a stage's values to where MMAs read them.
//!
//! ```text
//!   of a k-step: A (3, BM, 16), B (3, BN, 16), each part in core matrices of 8 rows by 16 bytes, those of a row of them adjacent
//! ```

use super::thread_index;
use super::values::place_of_a;
use crate::hardware::{VEC, WGMMA_M};
use crate::mainloop::split_mma::{BM, DEPTH, PARTS, STAGE_K, SplitMma};
use crate::mainloop::warp_specialized::{self, CONSUMER_THREADS, Ring, Stage};
use crate::prepass::split::hi_lo::HiLo;
use crate::ptx::wgmma::{Descriptor, Input, WGMMA_K_BYTES};
use crate::ptx::{convert, f32x4};
use crate::{Ab, Operand};
use cuda_std::prelude::*;
use half::bf16;

/// Values that a thread has of an operand in a k-step: in a part, they are a vector.
const VALUES: u32 = 8;
const _: () = assert!(DEPTH * 2 == WGMMA_K_BYTES, "a k-step of each part");
/// Eight rows of a part: twice 16 bytes each.
const EIGHT_ROWS_BYTES: u32 = 8 * WGMMA_K_BYTES;

/// Values along k of a row of A, or a column of B.
pub(super) type Values = [f32; VALUES as usize];

/// Which values of a k-step are this thread's.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub row: u32,
    k: u32,
}

impl Piece {
    /// Eight lanes have eight rows: they write to different banks.
    #[inline(always)]
    pub fn this() -> Self {
        let thread = thread_index();
        Self { row: thread / 16 * 8 + thread % 8, k: thread / 8 % 2 * VALUES }
    }
}

/// The values as bf16, by pairs.
#[inline(always)]
pub(super) fn pairs(values: &Values) -> [u32; VEC as usize] {
    core::array::from_fn(|i| convert::bf16x2(values[2 * i], values[2 * i + 1]))
}

impl<P: HiLo, const ACC: usize, const STAGES: u32> SplitMma<P, ACC, STAGES> {
    /// Whether this thread has a piece of an operand: there may be fewer of B.
    #[inline(always)]
    pub(super) fn has_piece(of: Operand) -> bool {
        const {
            assert!(
                BM * (DEPTH / VALUES) == CONSUMER_THREADS && Self::BN <= BM,
                "a thread has a piece of A, and one of B"
            )
        };
        Self::BN == BM || of == Operand::A || thread_index() < Self::BN * (DEPTH / VALUES)
    }

    /// The values of this thread's piece in a k-step.
    ///
    /// # Safety
    /// The stage has them, and the thread has a piece.
    #[inline(always)]
    pub(super) unsafe fn piece(stage: Stage, step: u32, of: Operand) -> Values {
        let piece = Piece::this();
        let k = step * DEPTH % STAGE_K + piece.k;
        let values = Self::values(stage, of);
        // SAFETY: in the stage, upheld by the caller.
        unsafe {
            if of == Operand::A {
                let [[x, y, z, w], [q, r, s, t]] =
                    [k, k + VEC].map(|k| f32x4::load(values.add(place_of_a(piece.row, k) as usize)));
                [x, y, z, w, q, r, s, t]
            } else {
                let values = values.add((k * Self::BN + piece.row) as usize);
                [0, 1, 2, 3, 4, 5, 6, 7].map(|i| *values.add((i * Self::BN) as usize))
            }
        }
    }

    /// Releases the stage of a k-step whose values are read, if no other step has values there.
    ///
    /// # Safety
    /// The stage is full, and the consumers are at it.
    #[inline(always)]
    pub(super) unsafe fn release_behind(step: u32, steps: u32, ring: &mut Ring<1>) {
        if !step.is_multiple_of(STAGE_K / DEPTH) || step + 1 == steps {
            // SAFETY: upheld by the caller.
            unsafe {
                let stage = ring.consumer_wait();
                ring.consumer_release(stage);
            }
        }
    }

    /// Stores a part of this thread's piece.
    ///
    /// # Safety
    /// The thread has a piece, and nobody else uses its place.
    #[inline(always)]
    pub(super) unsafe fn store_part(parts: *mut f32, of: Operand, part: u32, pairs: [u32; VEC as usize]) {
        let (offset, rows) = if of == Operand::A { (0, BM) } else { (BM * DEPTH * PARTS / 2, Self::BN) };
        let piece = Piece::this();
        let at = piece.row / 8 * EIGHT_ROWS_BYTES + piece.k / VALUES * (EIGHT_ROWS_BYTES / 2) + piece.row % 8 * 16;
        let parts = parts.wrapping_add(offset as usize);
        // SAFETY: in the part, upheld by the caller.
        unsafe {
            let at = parts.wrapping_add(((part * rows * WGMMA_K_BYTES + at) / 4) as usize);
            f32x4::store(at, pairs.map(f32::from_bits));
        }
    }

    /// Where this warpgroup's rows of A, and B, have their first parts.
    #[inline(always)]
    pub(super) fn first_parts(parts: *const f32) -> Ab<Descriptor> {
        // SAFETY: the address of shared memory.
        let parts = unsafe { shared::address(parts) };
        let a = parts + warp_specialized::consumer() * WGMMA_M * WGMMA_K_BYTES;
        let b = parts + PARTS * BM * WGMMA_K_BYTES;
        Ab { a: Descriptor::k_major_unswizzled(a), b: Descriptor::k_major_unswizzled(b) }
    }

    /// An MMA of these parts of A and B, which is added to `acc` if it `goes_on`.
    ///
    /// # Safety
    /// As of [`Input::mma`].
    #[inline(always)]
    pub(super) unsafe fn mma_of_parts(
        first: Ab<Descriptor>,
        [of_a, of_b]: [u32; 2],
        acc: &mut [f32; ACC],
        goes_on: bool,
    ) {
        let a = first.a.add(of_a * BM * WGMMA_K_BYTES);
        let b = first.b.add(of_b * Self::BN * WGMMA_K_BYTES);
        // SAFETY: upheld by the caller.
        unsafe { <bf16 as Input>::mma::<ACC, 0, 0>(acc, a, b, goes_on) }
    }
}
