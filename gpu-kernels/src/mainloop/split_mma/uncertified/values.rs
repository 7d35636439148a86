//! A and B as they are, in stages of the ring: what the producers copy, and where the consumers find it.
//!
//! ```text
//!   a stage: A (BM, 32), the vectors of row i at their index XOR i % 8, B (32, BN)
//! ```

use super::PRODUCERS;
use crate::gemm::Gemm;
use crate::hardware::{VEC, WARPGROUP};
use crate::mainloop::split_mma::{A_BYTES, BM, STAGE_K, SplitMma};
use crate::mainloop::warp_specialized::{Ring, Stage};
use crate::prepass::split::hi_lo::HiLo;
use crate::ptx::{barrier, compiler, cp_async, f32x4, wgmma};
use crate::{Coord, Extent, Operand};
use cuda_std::prelude::*;

/// Rows with different places for the same vector.
const SWIZZLED_ROWS: u32 = STAGE_K / VEC;

/// Where a value of A is in a stage.
#[inline(always)]
pub(super) fn place_of_a(row: u32, k: u32) -> u32 {
    row * STAGE_K + (k ^ (row % SWIZZLED_ROWS * VEC))
}

impl<P: HiLo, const ACC: usize, const STAGES: u32> SplitMma<P, ACC, STAGES> {
    /// The values of an operand in a stage.
    #[inline(always)]
    pub(super) fn values(stage: Stage, of: Operand) -> *const f32 {
        stage.words(if of == Operand::A { 0 } else { A_BYTES })
    }

    /// Fills stages with the values of a tile. At the end, all producers are at the same stage.
    ///
    /// # Safety
    /// All producers call it, and are at the same stage; else as of the kernels.
    #[inline(always)]
    pub(super) unsafe fn produce_values(g: &Gemm, tile: Coord, ring: &mut Ring<1>) {
        let a = Source { values: g.a, ld: g.lda, extent: Extent { rows: g.m, cols: g.k } };
        let b = Source { values: g.b, ld: g.ldb, extent: Extent { rows: g.k, cols: g.n } };
        let a_box = Extent { rows: BM, cols: STAGE_K };
        let b_box = Extent { rows: STAGE_K, cols: Self::BN };
        for k in (0..g.k).step_by(STAGE_K as usize) {
            // SAFETY: the stage is empty, and the boxes fill it.
            unsafe {
                let stage = ring.producer_wait();
                a.copy(a_box, Coord { row: tile.row, col: k }, stage.address, place_of_a);
                b.copy(b_box, Coord { row: k, col: tile.col }, stage.address + A_BYTES, |row, col| {
                    row * Self::BN + col
                });
                stage.full.await_copies();
                barrier::sync(PRODUCERS, WARPGROUP); // the phase waits for all copies
                if thread::thread_idx_x() == 0 {
                    stage.full.arrive();
                }
            }
        }
        cp_async::commit_group();
        cp_async::wait_group::<0>();
        wgmma::fence_operands(); // before TMA writes there
        // SAFETY: all producers are here.
        unsafe { barrier::sync(PRODUCERS, WARPGROUP) }
    }
}

/// A row-major matrix in global memory.
struct Source {
    values: *const f32,
    ld: usize,
    extent: Extent,
}

impl Source {
    /// Issues this thread's copies of a box to shared memory, to `place(row, column)` from `target` on; zeros replace what is out of bounds.
    ///
    /// # Safety
    /// The source can be read, the box has room there, and nobody else uses it.
    #[inline(always)]
    unsafe fn copy(&self, of: Extent, at: Coord, target: u32, place: impl Fn(u32, u32) -> u32) {
        // SAFETY: upheld by the caller; vectors are at multiples of 16 bytes.
        unsafe {
            if f32x4::aligned(self.values, self.ld) && self.extent.cols.is_multiple_of(VEC) {
                self.copy_by::<VEC>(of, at, target, place);
            } else {
                self.copy_by::<1>(of, at, target, place);
            }
        }
    }

    /// The same, of N contiguous values each.
    ///
    /// # Safety
    /// As of [`Self::copy`]; such values are at multiples of their bytes.
    #[inline(always)]
    unsafe fn copy_by<const N: u32>(&self, of: Extent, at: Coord, target: u32, place: impl Fn(u32, u32) -> u32) {
        let threads = of.cols / N; // of a row
        let thread = compiler::opaque(thread::thread_idx_x()); // what depends on it would stay in registers beyond its loop
        let (mut row, col) = (thread / threads, thread % threads * N);
        let end = if at.col + col < self.extent.cols { self.extent.rows } else { 0 };
        let mut source = self.values.wrapping_add((at.row + row) as usize * self.ld + (at.col + col) as usize);
        while row < of.rows {
            // SAFETY: in the box; the source is in bounds, or not read.
            unsafe { cp_async::copy_or_zero::<N>(target + place(row, col) * 4, source, at.row + row < end) }
            source = source.wrapping_add((WARPGROUP / threads) as usize * self.ld);
            row = compiler::opaque(row + WARPGROUP / threads); // or LLVM would unroll the loop
        }
    }
}
