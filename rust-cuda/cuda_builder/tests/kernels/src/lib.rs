//! Small kernels, one for each guarantee of `cuda_builder`: `tests/pipeline.rs` builds them and looks at the PTX.
//!
//! Each is launched with one block of 64 threads, and leaves what its comment says.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
#![allow(clippy::missing_safety_doc, clippy::undocumented_unsafe_blocks)]

use cuda_std::prelude::*;
use cuda_std::shared_array;
use half::f16;

const THREADS: u32 = 64;
const N: usize = THREADS as usize;

#[address_space(shared)]
static mut FIRST: MaybeUninit<[f32; N]> = MaybeUninit::uninit();
#[address_space(shared)]
static mut SECOND: MaybeUninit<[f32; N]> = MaybeUninit::uninit();

/// `out[t] = 1000 * (63 - t) + t`: two arrays, each read by another thread than wrote it.
#[kernel]
#[launch_bounds(THREADS)]
pub unsafe fn two_arrays(out: *mut f32) {
    let t = thread::thread_idx_x() as usize;
    let (first, second) = ((&raw mut FIRST).cast::<f32>(), (&raw mut SECOND).cast::<f32>());
    unsafe {
        *first.add(t) = t as f32;
        *second.add(N - 1 - t) = t as f32;
        thread::sync_threads();
        *out.add(t) = 1000.0 * *first.add(N - 1 - t) + *second.add(N - 1 - t);
    }
}

/// `out[t] = 63 - t`, through arrays of `u8`, `f64`, `f16` and a struct in turn.
#[kernel]
#[launch_bounds(THREADS, 4)]
pub unsafe fn other_types(out: *mut f32) {
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Pair {
        left: u32,
        right: f32,
    }
    let t = thread::thread_idx_x() as usize;
    let bytes = shared_array![u8; N];
    let doubles = shared_array![f64; N];
    let halves = shared_array![f16; N];
    let pairs = shared_array![Pair; N];
    unsafe {
        *bytes.add(t) = t as u8;
        thread::sync_threads();
        *doubles.add(t) = f64::from(*bytes.add(N - 1 - t));
        thread::sync_threads();
        *halves.add(t) = f16::from_bits(*doubles.add(N - 1 - t) as u16);
        thread::sync_threads();
        *pairs.add(t) = Pair { left: u32::from((*halves.add(t)).to_bits()), right: 0.5 };
        thread::sync_threads();
        let pair = *pairs.add(N - 1 - t);
        *out.add(t) = (pair.left as f32 + pair.right) - 0.5;
    }
}

/// `out[t] = 3 * (63 - t)`: dynamic shared memory of 64 `u32` beside a static array.
#[kernel]
pub unsafe fn dynamic_and_static(out: *mut f32) {
    let t = thread::thread_idx_x() as usize;
    let dynamic = shared::dynamic_shared_mem::<u32>();
    let fixed = shared_array![u32; N];
    unsafe {
        *dynamic.add(t) = t as u32;
        *fixed.add(t) = 2 * t as u32;
        thread::sync_threads();
        *out.add(t) = (*dynamic.add(N - 1 - t) + *fixed.add(N - 1 - t)) as f32;
    }
}

/// `out[t] = input[t] + 1` for even t, 0 for odd t: shared memory written and read inside a branch, and slices.
#[kernel]
pub unsafe fn in_a_branch(input: &[f32], out: &mut [f32]) {
    let t = thread::index_1d() as usize;
    let shared = shared_array![f32; N];
    unsafe {
        *shared.add(t) = 0.0;
        if t.is_multiple_of(2) && t < input.len() {
            *shared.add(t) = *input.get_unchecked(t) + 1.0;
        }
        thread::sync_threads();
        if t < out.len() {
            *out.get_unchecked_mut(t) = *shared.add(t);
        }
    }
}

/// `out[t] = 63 - t`, read through an address in shared memory by an instruction of PTX.
#[kernel]
pub unsafe fn by_address(out: *mut f32) {
    let t = thread::thread_idx_x() as usize;
    let array = shared_array![f32; N];
    unsafe {
        *array.add(t) = t as f32;
        thread::sync_threads();
        let address = shared::address(array.add(N - 1 - t));
        #[cfg(target_arch = "nvptx64")]
        core::arch::asm!("ld.shared.f32 {value}, [{address}];", value = out(reg32) *out.add(t), address = in(reg32) address);
        #[cfg(not(target_arch = "nvptx64"))]
        let _ = (address, out);
    }
}

/// `out[t] = t ^ 5`, exchanged by shuffles in groups of 8 lanes.
#[kernel]
pub unsafe fn shuffled(out: *mut f32) {
    let t = thread::thread_idx_x();
    unsafe {
        let (from, is_valid) = warp::warp_shuffle_xor(u32::MAX, t as f32, 5, 8);
        *out.add(t as usize) = if is_valid { from } else { -1.0 };
    }
}

/// `out[t] = t * t + 1`, rounded once.
#[kernel]
pub unsafe fn fused(out: *mut f64) {
    let t = thread::thread_idx_x();
    unsafe { *out.add(t as usize) = f64::from(t).mul_add(f64::from(t), 1.0) };
}

/// As large and as aligned as a tensor map.
#[cfg(feature = "grid-constant")]
#[repr(C, align(64))]
pub struct Table([u32; 32]);

/// `out[t] = table.0[t % 32]`, by the table's generic address.
#[cfg(feature = "grid-constant")]
#[kernel]
pub unsafe fn by_value(out: *mut u32, table: &Table) {
    let t = thread::thread_idx_x() as usize;
    #[cfg(target_arch = "nvptx64")]
    unsafe {
        let address = (&raw const table.0).cast::<u32>().add(t % 32);
        core::arch::asm!("ld.b32 {value}, [{address}];", value = out(reg32) *out.add(t), address = in(reg64) address);
    }
    #[cfg(not(target_arch = "nvptx64"))]
    let _ = (t, table, out);
}

/// A pointer that may be to shared or to global memory.
#[cfg(feature = "generic-access")]
#[kernel]
pub unsafe fn shared_or_global(data: *mut f32, global: u32) {
    let t = thread::thread_idx_x() as usize;
    let shared = shared_array![f32; N];
    unsafe {
        *shared.add(t) = 1.0;
        thread::sync_threads();
        let source = if global != 0 { data } else { shared };
        *data.add(t) = *source.add(N - 1 - t);
    }
}

/// A shared array with an initial value.
#[cfg(feature = "initialised-shared")]
#[kernel]
pub unsafe fn initialised(out: *mut f32) {
    #[address_space(shared)]
    static mut ONES: [f32; N] = [1.0; N];
    let t = thread::thread_idx_x() as usize;
    let ones = (&raw mut ONES).cast::<f32>();
    unsafe { *ones.add(t) += 1.0 };
    thread::sync_threads();
    unsafe { *out.add(t) = *ones.add(N - 1 - t) };
}

/// An error of the ordinary kind.
#[cfg(feature = "compile-error")]
#[kernel]
pub unsafe fn does_not_compile(out: *mut f32) {
    unsafe { *out = "not a number" };
}
