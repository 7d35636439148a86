//! Elements of C or of a bias, whose type a launch tells.

use super::direct::Output;
use crate::hardware::VEC;
use crate::ptx::f32x4;

/// C or a bias from an element on: of f32, or of O.
#[derive(Clone, Copy)]
pub(crate) struct Elements<O> {
    pub first: *mut O,
    pub is_f32: bool,
}

impl<O: Output> Elements<O> {
    #[inline(always)]
    pub fn new(first: *mut O, is_f32: bool) -> Self {
        Self { first, is_f32: is_f32 || !O::IS_NARROW }
    }

    /// Those from that index on.
    #[inline(always)]
    pub fn from(self, index: usize) -> Self {
        let bytes = if self.is_f32 { size_of::<f32>() } else { size_of::<O>() };
        Self { first: self.first.wrapping_byte_add(index * bytes), ..self }
    }

    /// Whether one access has VEC elements.
    #[inline(always)]
    pub fn is_aligned(self) -> bool {
        let bytes = if self.is_f32 { size_of::<f32>() } else { size_of::<O>() };
        self.first.addr().is_multiple_of(VEC as usize * bytes)
    }

    /// Elements before the first that is at a multiple of 16 bytes.
    #[inline(always)]
    pub fn before_boundary(self) -> u32 {
        let bytes = self.first.addr().wrapping_neg() as u32 % 16;
        if self.is_f32 { bytes / size_of::<f32>() as u32 } else { bytes / size_of::<O>() as u32 }
    }

    /// The first one.
    ///
    /// # Safety
    /// It is in bounds.
    #[inline(always)]
    pub unsafe fn get(self) -> f32 {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { if self.is_f32 { *self.first.cast::<f32>() } else { (*self.first).get() } }
    }

    /// Sets the first one.
    ///
    /// # Safety
    /// It is in bounds, and no other thread accesses it.
    #[inline(always)]
    pub unsafe fn set(self, value: f32) {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            match self.is_f32 {
                true => *self.first.cast::<f32>() = value,
                false => *self.first = O::new(value),
            }
        }
    }

    /// The first VEC.
    ///
    /// # Safety
    /// They are in bounds, and aligned.
    #[inline(always)]
    pub unsafe fn load(self) -> [f32; VEC as usize] {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { if self.is_f32 { f32::load(self.first.cast()) } else { O::load(self.first) } }
    }

    /// Stores the first VEC.
    ///
    /// # Safety
    /// They are in bounds and aligned, and no other thread accesses them.
    #[inline(always)]
    pub unsafe fn store(self, values: [f32; VEC as usize]) {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            match self.is_f32 {
                true => f32::store(self.first.cast(), values),
                false => O::store(self.first, values),
            }
        }
    }

    /// Stores the first eight, which are narrow or of f32.
    ///
    /// # Safety
    /// They are in bounds and at a multiple of 16 bytes, and no other thread accesses them.
    #[inline(always)]
    pub unsafe fn store_8(self, values: [f32; 8]) {
        let [x0, x1, x2, x3, x4, x5, x6, x7] = values;
        let c = self.first.cast::<f32>();
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            if self.is_f32 {
                f32x4::store(c, [x0, x1, x2, x3]);
                f32x4::store(c.add(VEC as usize), [x4, x5, x6, x7]);
            } else {
                let words = [O::pair(x0, x1), O::pair(x2, x3), O::pair(x4, x5), O::pair(x6, x7)];
                f32x4::store(c, words.map(f32::from_bits));
            }
        }
    }
}
