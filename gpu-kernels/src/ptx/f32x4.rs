//! Four contiguous values by one 128-bit load or store, and two by one of 64 bits.

use crate::hardware::VEC;

/// Four f32 at a multiple of 16 bytes. Its fields are read and written one by one: LLVM makes one 128-bit access of the
/// four, but two 64-bit accesses of a copy of the whole.
#[repr(C, align(16))]
struct F32x4(f32, f32, f32, f32);

/// Whether a row-major matrix has all its rows at a multiple of 16 bytes.
#[inline(always)]
pub(crate) fn aligned(matrix: *const f32, ld: usize) -> bool {
    matrix.addr().is_multiple_of(align_of::<F32x4>()) && ld.is_multiple_of(VEC as usize)
}

/// Loads four values.
///
/// # Safety
/// The four are inside one buffer, the first at a multiple of 16 bytes.
#[inline(always)]
pub(crate) unsafe fn load(source: *const f32) -> [f32; VEC as usize] {
    // SAFETY: inside a buffer and aligned, upheld by the caller.
    let vector = unsafe { &*source.cast::<F32x4>() };
    [vector.0, vector.1, vector.2, vector.3]
}

/// Two f32 at a multiple of 8 bytes.
#[repr(C, align(8))]
struct F32x2(f32, f32);

/// Loads two values.
///
/// # Safety
/// The two are inside one buffer, the first at a multiple of 8 bytes.
#[inline(always)]
pub(crate) unsafe fn load_2(source: *const f32) -> [f32; 2] {
    // SAFETY: inside a buffer and aligned, upheld by the caller.
    let vector = unsafe { &*source.cast::<F32x2>() };
    [vector.0, vector.1]
}

/// Stores four values.
///
/// # Safety
/// The four are inside one buffer that no other thread touches meanwhile, the first at a multiple of 16 bytes.
#[inline(always)]
pub(crate) unsafe fn store(target: *mut f32, values: [f32; VEC as usize]) {
    // SAFETY: inside a buffer, aligned and exclusive, upheld by the caller.
    let vector = unsafe { &mut *target.cast::<F32x4>() };
    [vector.0, vector.1, vector.2, vector.3] = values;
}

/// Stores two values.
///
/// # Safety
/// There is room for two in one buffer, the first at a multiple of 8 bytes.
#[inline(always)]
pub(crate) unsafe fn store_2(target: *mut f32, [x, y]: [f32; 2]) {
    // SAFETY: inside a buffer and aligned, upheld by the caller.
    unsafe { target.cast::<F32x2>().write(F32x2(x, y)) }
}
