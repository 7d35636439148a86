//! Shared memory: one copy per block, static ([`shared_array!`](crate::shared_array), `#[address_space(shared)]`) or
//! sized at launch ([`dynamic_shared_mem`]).
//!
//! `cuda_builder` moves all of it to address space 3, and refuses a kernel in which an access to it is left generic.

use crate::gpu_only;

/// Allocates shared memory for `$len` elements of type `$element` and yields a `*mut $element` to the first one.
/// `$len` is a constant expression. Each use of the macro is an allocation of its own; its content is uninitialised.
///
/// ```
/// use cuda_std::shared_array;
///
/// let tile: *mut f32 = shared_array![f32; 32 * 33];
/// ```
#[macro_export]
macro_rules! shared_array {
    ($element:ty; $len:expr) => {{
        #[$crate::address_space(shared)]
        static mut SHARED: ::core::mem::MaybeUninit<[$element; $len]> = ::core::mem::MaybeUninit::uninit();
        (&raw mut SHARED).cast::<$element>()
    }};
}

/// The dynamic shared memory that the launch asked for, aligned to 1024 bytes and uninitialised. Every call yields the
/// same pointer, whatever the type.
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn dynamic_shared_mem<T>() -> *mut T {
    unsafe extern "C" {
        // `cuda_builder` knows this name and turns the symbol into PTX's `.extern .shared` array.
        static mut __cuda_std_dynamic_shared_mem: [u8; 0];
    }
    (&raw mut __cuda_std_dynamic_shared_mem).cast()
}

/// The address of something in shared memory as PTX's own instructions take it, such as `cp.async` and `mbarrier`: a
/// 32-bit offset in the block's window.
///
/// # Safety
/// `pointer` is into shared memory.
#[gpu_only]
#[inline(always)]
#[must_use]
pub unsafe fn address<T>(pointer: *const T) -> u32 {
    unsafe extern "C" {
        // `cuda_builder` knows this name and gives it a body.
        fn __cuda_std_shared_address(pointer: *const u8) -> u32;
    }
    // SAFETY: into shared memory, upheld by the caller.
    unsafe { __cuda_std_shared_address(pointer.cast()) }
}
