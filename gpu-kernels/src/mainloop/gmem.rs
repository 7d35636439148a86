//! Bounds-checked loads from global memory to registers.

use crate::gemm::Gemm;
use crate::hardware::VEC;
use crate::ptx::f32x4;

/// Whether the BM x BN tile at the start of `g` is in bounds and the rows of A, B and C start at multiples of 16 bytes: the
/// block then needs no bounds checks but along k.
#[inline(always)]
pub(crate) fn is_full_tile<const BM: u32, const BN: u32>(g: &Gemm) -> bool {
    let is_aligned = f32x4::aligned(g.a, g.lda) & f32x4::aligned(g.b, g.ldb) & f32x4::aligned(g.c, g.ldc);
    (g.m >= BM) & (g.n >= BN) & is_aligned
}

/// Loads VEC adjacent values of a row. If BOUNDS_CHECKED, zeros replace those out of bounds: all of them if the row is, or
/// those from `cols_left` on.
///
/// # Safety
/// What is in bounds may be read; without BOUNDS_CHECKED all VEC values may, at a multiple of 16 bytes.
#[inline(always)]
pub(crate) unsafe fn load<const BOUNDS_CHECKED: bool>(
    source: *const f32,
    is_row_in_bounds: bool,
    cols_left: u32,
) -> [f32; VEC as usize] {
    // SAFETY: in bounds and aligned, upheld by the caller, or checked.
    unsafe { load_with::<BOUNDS_CHECKED>(is_row_in_bounds, cols_left, |v| *source.add(v), || f32x4::load(source)) }
}

/// [`load`] by other instructions: `scalar` loads one of the VEC values, `vector` all of them.
#[inline(always)]
pub(crate) fn load_with<const BOUNDS_CHECKED: bool>(
    is_row_in_bounds: bool,
    cols_left: u32,
    scalar: impl Fn(usize) -> f32,
    vector: impl Fn() -> [f32; VEC as usize],
) -> [f32; VEC as usize] {
    if BOUNDS_CHECKED {
        core::array::from_fn(|v| if is_row_in_bounds && (v as u32) < cols_left { scalar(v) } else { 0.0 })
    } else {
        vector()
    }
}
