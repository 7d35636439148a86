//! Rust's types of elements.

use cudarc::driver::DeviceRepr;
use gpu_kernels::Element;

/// A type of which matrices are made: `f32`, and with the feature `f16` also `half::f16` and `half::bf16`.
pub trait Scalar: DeviceRepr + Copy + Send + Sync + Sealed + 'static {
    /// Which one it is.
    const ELEMENT: Element;
}

impl Scalar for f32 {
    const ELEMENT: Element = Element::F32;
}

#[cfg(feature = "f16")]
impl Scalar for half::f16 {
    const ELEMENT: Element = Element::F16;
}

#[cfg(feature = "f16")]
impl Scalar for half::bf16 {
    const ELEMENT: Element = Element::Bf16;
}

use sealed::Sealed;

mod sealed {
    /// Kernels know these types and no others: plain numbers, without padding, of which any bits are one.
    pub trait Sealed {}
    impl Sealed for f32 {}
    #[cfg(feature = "f16")]
    impl Sealed for half::f16 {}
    #[cfg(feature = "f16")]
    impl Sealed for half::bf16 {}
}

/// The bytes of elements.
#[cfg(feature = "emulator")]
pub(crate) fn bytes<T: Scalar>(elements: &[T]) -> &[u8] {
    // SAFETY: a `Scalar` is a plain number, without padding.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast::<u8>(), size_of_val(elements)) }
}

/// The same, to be written.
#[cfg(feature = "emulator")]
pub(crate) fn bytes_mut<T: Scalar>(elements: &mut [T]) -> &mut [u8] {
    // SAFETY: as above, and any bytes are a `Scalar`.
    unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast::<u8>(), size_of_val(elements)) }
}
