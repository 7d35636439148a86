//! Sums of sums: a long sum in parts loses less.

use crate::f32x4::{self, VEC};
use crate::ptx::wgmma::WARPGROUP;
use crate::ring::CONSUMERS;
use cuda_std::prelude::*;

/// Bytes from four of a thread's totals to the next four: neighbouring threads' are neighbours.
const APART: u32 = CONSUMERS * WARPGROUP * 4 * VEC;

/// The most sums of a thread that have totals in registers, beside two sets of sums that the tensor cores work on.
const IN_REGISTERS: usize = 48;

/// A thread's totals: in registers where there is room, or behind the stages in shared memory. ONE: the tensor cores have one
/// set of sums, not two.
pub(crate) struct Totals<const ACC: usize, const ONE: bool> {
    registers: [f32; ACC],
    smem: *mut f32,
    is_empty: bool,
}

#[allow(clippy::needless_range_loop)] // an iterator would keep the sums in memory
impl<const ACC: usize, const ONE: bool> Totals<ACC, ONE> {
    const IN_SMEM: bool = !ONE && ACC > IN_REGISTERS;
    /// The shared memory that they need.
    pub const SMEM_BYTES: u32 = if Self::IN_SMEM { ACC as u32 / VEC * APART } else { 0 };

    /// Totals of nothing, `offset` bytes behind the start of dynamic shared memory.
    ///
    /// # Safety
    /// A thread that multiplies calls it; nothing else is in the [`Self::SMEM_BYTES`] there.
    #[inline(always)]
    pub unsafe fn new(offset: u32) -> Self {
        let number = thread::thread_idx_x() - WARPGROUP;
        let smem = shared::dynamic_shared_mem::<f32>().wrapping_add((offset / 4 + number * VEC) as usize);
        Self { registers: [0.0; ACC], smem, is_empty: true }
    }

    /// Adds the sums, which begin again at zero.
    #[inline(always)]
    pub unsafe fn add(&mut self, sums: &mut [f32; ACC]) {
        if Self::IN_SMEM {
            if !self.is_empty {
                // SAFETY: the caller's own totals.
                unsafe { self.add_to(sums) };
            }
            for i in 0..ACC / VEC as usize {
                let part = [sums[4 * i], sums[4 * i + 1], sums[4 * i + 2], sums[4 * i + 3]];
                // SAFETY: a multiple of 16 bytes, inside what the totals have, and the thread's own.
                unsafe { f32x4::store(self.at(i), part) };
            }
            self.is_empty = false;
        } else {
            for i in 0..ACC {
                self.registers[i] += sums[i];
            }
        }
        *sums = [0.0; ACC];
    }

    /// Adds the totals to the sums.
    #[inline(always)]
    pub unsafe fn add_to(&self, sums: &mut [f32; ACC]) {
        if !Self::IN_SMEM {
            for i in 0..ACC {
                sums[i] += self.registers[i];
            }
        } else if !self.is_empty {
            for i in 0..ACC / VEC as usize {
                // SAFETY: as in `add`, and written there.
                let part = unsafe { f32x4::load(self.at(i)) };
                for j in 0..VEC as usize {
                    sums[4 * i + j] += part[j];
                }
            }
        }
    }

    #[inline(always)]
    fn at(&self, i: usize) -> *mut f32 {
        self.smem.wrapping_add(i * APART as usize / 4)
    }
}
