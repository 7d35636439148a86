//! Entry points with a fused epilogue: of most kernels one beside that which stores alpha\*acc + beta\*C, of planned ones the only one.

use super::deferred::Deferred;
use super::direct::{self, Output};
use super::fused::Fused;
use super::simt;
use super::staged::{Layout, Rows, StagingBuffer};
use crate::Coord;
use crate::gemm::Gemm;
use crate::hardware::VEC;

/// Declares two entry points of a kernel, of matrices of f32 or of `$input` and `$output`: one as [`gemm_kernel`](crate::gemm::gemm_kernel) does, and one of the
/// name with `_fused`, which has bias and activation in its epilogue and takes [`FUSION_ARGUMENTS`](crate::FUSION_ARGUMENTS) last.
/// `$body` gets a [`Fusion`] after the operands.
///
/// ```ignore
/// gemm_kernels! { hgemm_f16, launch_bounds(THREADS, 1), f16 => f16, hgemm, a_map: &TensorMap, b_map: &TensorMap }
/// ```
macro_rules! gemm_kernels {
    ($kernel:ident, launch_bounds($($bound:expr),+), $input:ty => $output:ty, $body:expr $(, $extra:ident: $type:ty)*) => {
        $crate::gemm::entry_point! {
            [] $kernel, [$($bound),+], $input => $output,
            [$($extra: $type),*],
            $crate::ptx::griddepcontrol::wait_then_launch_dependents(),
            $body, [$crate::epilogue::fusion::Plain $(, $extra)*]
        }
        $crate::gemm::entry_point! {
            [fused] $kernel, [$($bound),+], $input => $output,
            [$($extra: $type,)* bias: *const $output, bias_per: u32, activation: u32],
            $crate::ptx::griddepcontrol::wait_then_launch_dependents(),
            $body, [$crate::epilogue::fused::Fused { bias, bias_per, activation } $(, $extra)*]
        }
    };
    ($kernel:ident, launch_bounds($($bound:expr),+), $($body:tt)+) => {
        $crate::epilogue::fusion::gemm_kernels! { $kernel, launch_bounds($($bound),+), f32 => f32, $($body)+ }
    };
}
pub(crate) use gemm_kernels;

/// Declares a kernel of [`Schedule::PlannedSplitK`](crate::Schedule::PlannedSplitK), whose only entry point is fused: a step's
/// [`kernel`](crate::Step::kernel) and its [`fused`](crate::Step::fused) one. `$body` gets a [`Fused`] after the operands, and
/// [`Planned`](crate::planned::Planned) last, which it [begins](crate::planned::Planned::begin) with.
macro_rules! planned_kernel {
    ($kernel:ident, launch_bounds($($bound:expr),+), $input:ty => $output:ty, $body:expr $(, $extra:ident: $type:ty)*) => {
        $crate::gemm::entry_point! {
            [] $kernel, [$($bound),+], $input => $output,
            [
                $($extra: $type,)*
                a_stride: u64, b_stride: u64, c_stride: u64, c_is_f32: u32, planes: u32, plane_stride: u64,
                bias: *const $output, bias_per: u32, activation: u32
            ],
            (), $body, [
                $crate::epilogue::fused::Fused { bias, bias_per, activation } $(, $extra)*,
                $crate::planned::Planned { a_stride, b_stride, c_stride, c_is_f32: c_is_f32 != 0, planes, plane_stride }
            ]
        }
    };
}
pub(crate) use planned_kernel;

/// What an entry point does beside alpha and beta: nothing, or what is [`Fused`]. Stores are methods, not branches of one function: even
/// a branch that is never taken can change what LLVM makes of the other.
pub(crate) trait Fusion<O>: Copy {
    /// What is fused, where a branch changes nothing.
    fn get(self) -> Option<Fused<O>>;

    /// The same for a block whose tile starts at (`row`, `col`) of C.
    fn block_at(self, row: u32, col: u32) -> Self;

    /// Stores an accumulator.
    ///
    /// # Safety
    /// As of [`Gemm::store`].
    unsafe fn store_1(self, g: &Gemm, row: u32, col: u32, acc: f32);

    /// Stores VEC accumulators that are adjacent in a row of C, from (`row`, `col`) on.
    ///
    /// # Safety
    /// As of [`simt::store_4`].
    unsafe fn store_4(self, g: &Gemm, is_full_tile: bool, row: u32, col: u32, acc: [f32; VEC as usize]);

    /// Stores a thread's accumulators of a warpgroup's, the first at (`row`, `col`).
    ///
    /// # Safety
    /// As of [`direct::store`].
    unsafe fn store_direct<const ACC: usize>(self, g: &Gemm, row: u32, col: u32, acc: &[f32; ACC]);

    /// Stores a warpgroup's accumulators, the first at `at`.
    ///
    /// # Safety
    /// As of [`StagingBuffer::store`].
    unsafe fn store_staged<L: Layout, const ACC: usize>(
        self,
        g: &Gemm,
        staging: StagingBuffer,
        at: Coord,
        acc: &[f32; ACC],
    );

    /// Stores a warpgroup's accumulators, the first at `at`, or leaves that to `deferred`.
    ///
    /// # Safety
    /// As of [`StagingBuffer::store`].
    unsafe fn store_or_defer<const ACC: usize>(
        self,
        g: &Gemm,
        deferred: &mut Deferred<O, ACC>,
        at: Coord,
        acc: &mut [f32; ACC],
    );
}

/// Nothing.
#[derive(Clone, Copy)]
pub(crate) struct Plain;

impl<O: Output> Fusion<O> for Plain {
    #[inline(always)]
    fn get(self) -> Option<Fused<O>> {
        None
    }

    #[inline(always)]
    fn block_at(self, _: u32, _: u32) -> Self {
        self
    }

    #[inline(always)]
    unsafe fn store_1(self, g: &Gemm, row: u32, col: u32, acc: f32) {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { g.store(row, col, acc) }
    }

    #[inline(always)]
    unsafe fn store_4(self, g: &Gemm, is_full_tile: bool, row: u32, col: u32, acc: [f32; VEC as usize]) {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { simt::store_4(g, is_full_tile, row, col, acc) }
    }

    #[inline(always)]
    unsafe fn store_direct<const ACC: usize>(self, g: &Gemm, row: u32, col: u32, acc: &[f32; ACC]) {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { direct::store(g, row, col, acc) }
    }

    #[inline(always)]
    unsafe fn store_staged<L: Layout, const ACC: usize>(
        self,
        g: &Gemm,
        staging: StagingBuffer,
        at: Coord,
        acc: &[f32; ACC],
    ) {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { staging.store::<L, O, ACC>(g, at, acc) }
    }

    #[inline(always)]
    unsafe fn store_or_defer<const ACC: usize>(
        self,
        g: &Gemm,
        deferred: &mut Deferred<O, ACC>,
        at: Coord,
        acc: &mut [f32; ACC],
    ) {
        if !deferred.take(g, at, acc) {
            // SAFETY: upheld by the caller (see `# Safety`).
            unsafe { deferred.staging().store::<Rows, O, ACC>(g, at, acc) }
        }
    }
}

impl<O: Output> Fusion<O> for Fused<O> {
    #[inline(always)]
    fn get(self) -> Option<Self> {
        Some(self)
    }

    #[inline(always)]
    fn block_at(self, row: u32, col: u32) -> Self {
        let first = if self.is_per_row() { row } else { col };
        let bias = if self.bias.is_null() { self.bias } else { self.bias.wrapping_add(first as usize) };
        Self { bias, ..self }
    }

    #[inline(always)]
    unsafe fn store_1(self, g: &Gemm, row: u32, col: u32, acc: f32) {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { self.store(g, false, [[acc]], |_| Coord { row, col }) }
    }

    #[inline(always)]
    unsafe fn store_4(self, g: &Gemm, is_full_tile: bool, row: u32, col: u32, acc: [f32; VEC as usize]) {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { self.store(g, is_full_tile, [acc], |_| Coord { row, col }) }
    }

    #[inline(always)]
    unsafe fn store_direct<const ACC: usize>(self, g: &Gemm, row: u32, col: u32, acc: &[f32; ACC]) {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { direct::store_fused(g, self, row, col, acc) }
    }

    #[inline(always)]
    unsafe fn store_staged<L: Layout, const ACC: usize>(
        self,
        g: &Gemm,
        staging: StagingBuffer,
        at: Coord,
        acc: &[f32; ACC],
    ) {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { staging.store_fused::<L, O, ACC>(g, self, at, acc) }
    }

    #[inline(always)]
    unsafe fn store_or_defer<const ACC: usize>(
        self,
        g: &Gemm,
        deferred: &mut Deferred<O, ACC>,
        at: Coord,
        acc: &mut [f32; ACC],
    ) {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { deferred.staging().store_fused::<Rows, O, ACC>(g, self, at, acc) }
    }
}
