//! Rust's types of elements.

use gpu_kernels::Element;

/// A type of which matrices are made: `f32`, and with the feature `f16` also `half::f16` and `half::bf16`.
///
/// # Safety
/// The type has the size and the representation of [`Self::ELEMENT`], and any bits are a value of it.
pub unsafe trait Scalar: Copy + Send + Sync + 'static {
    /// Which one it is.
    const ELEMENT: Element;
}

// SAFETY: IEEE single precision.
unsafe impl Scalar for f32 {
    const ELEMENT: Element = Element::F32;
}

// SAFETY: IEEE half precision in 16 bits.
#[cfg(feature = "f16")]
unsafe impl Scalar for half::f16 {
    const ELEMENT: Element = Element::F16;
}

// SAFETY: bfloat16 in 16 bits.
#[cfg(feature = "f16")]
unsafe impl Scalar for half::bf16 {
    const ELEMENT: Element = Element::Bf16;
}
