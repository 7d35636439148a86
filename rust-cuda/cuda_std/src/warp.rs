//! What the lanes of a warp tell each other, and where they wait. PTX ISA, "Data Movement and Conversion Instructions:
//! shfl.sync", "Parallel Synchronization and Communication Instructions: bar.warp.sync".

use crate::gpu_only;

/// Lanes of a warp.
const LANES: u32 = 32;

/// The thread's lane in its warp, below 32.
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn lane_id() -> u32 {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.read.ptx.sreg.laneid"]
        safe fn lane_id() -> u32;
    }
    lane_id()
}

/// Waits until every lane of `mask` is here; what each did to memory before is done for the others.
///
/// # Safety
/// The calling lane is in `mask`, and all lanes of `mask` make this very call, none having exited.
#[gpu_only]
#[inline(always)]
pub unsafe fn sync_warp(mask: u32) {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.bar.warp.sync"]
        fn sync(mask: u32);
    }
    // SAFETY: the same conditions.
    unsafe { sync(mask) }
}

/// Exchanges values between lanes: each gets that of the lane whose number differs from its own in the bits of
/// `lane_mask`, and whether that lane is in the same group of `width` lanes or one before it; if not, its own value.
/// The lanes of `mask` wait for each other first.
///
/// # Panics
/// `width` is no power of two up to 32.
///
/// # Safety
/// The calling lane and the one that it asks are in `mask`, and all lanes of `mask` make this very call, none having
/// exited.
#[inline(always)]
pub unsafe fn warp_shuffle_xor<T: WarpShuffleValue>(mask: u32, value: T, lane_mask: u32, width: u32) -> (T, bool) {
    assert!(width.is_power_of_two() && width <= LANES);
    let is_valid = lane_id() ^ lane_mask <= lane_id() | (width - 1);
    let segment_mask = LANES - width;
    // SAFETY: the same conditions.
    (unsafe { T::shuffle_xor(mask, value, lane_mask, segment_mask << 8 | (LANES - 1)) }, is_valid)
}

/// What one instruction shuffles.
pub trait WarpShuffleValue: Copy + private::Sealed {
    /// `shfl.sync.bfly`; `clamp` is its operand c.
    ///
    /// # Safety
    /// As of [`warp_shuffle_xor`].
    #[doc(hidden)]
    unsafe fn shuffle_xor(mask: u32, value: Self, lane_mask: u32, clamp: u32) -> Self;
}

mod private {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for i32 {}
    impl Sealed for f32 {}
}

macro_rules! warp_shuffle_value {
    ($($value:ty: $xor:literal;)*) => {$(
        impl WarpShuffleValue for $value {
            #[inline(always)]
            unsafe fn shuffle_xor(mask: u32, value: Self, lane_mask: u32, clamp: u32) -> Self {
                #[crate::gpu_only]
                #[inline(always)]
                unsafe fn shuffle(mask: u32, value: $value, lane_mask: u32, clamp: u32) -> $value {
                    unsafe extern "C" {
                        #[link_name = $xor]
                        fn shuffle(mask: u32, value: $value, lane_mask: u32, clamp: u32) -> $value;
                    }
                    // SAFETY: the same conditions.
                    unsafe { shuffle(mask, value, lane_mask, clamp) }
                }
                // SAFETY: the same conditions.
                unsafe { shuffle(mask, value, lane_mask, clamp) }
            }
        }
    )*};
}

warp_shuffle_value! {
    u32: "llvm.nvvm.shfl.sync.bfly.i32";
    i32: "llvm.nvvm.shfl.sync.bfly.i32";
    f32: "llvm.nvvm.shfl.sync.bfly.f32";
}
