//! Arithmetic that `core` lacks.

/// Floating-point operations that are one instruction on the GPU.
pub trait GpuFloat: Copy + private::Sealed {
    /// Fused multiply-add, `self * a + b`, rounded once (`fma.rn`). Rust never contracts `self * a + b` on its own.
    fn mul_add(self, a: Self, b: Self) -> Self;
}

mod private {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

macro_rules! gpu_float {
    ($float:ty, $fma:ident) => {
        impl GpuFloat for $float {
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                #[crate::gpu_only]
                #[inline(always)]
                fn fma(x: $float, a: $float, b: $float) -> $float {
                    core::intrinsics::$fma(x, a, b)
                }
                fma(self, a, b)
            }
        }
    };
}

gpu_float!(f32, fmaf32);
gpu_float!(f64, fmaf64);
