//! Loads through the read-only cache. PTX ISA, "Data Movement and Conversion Instructions: ld.global.nc".
//!
//! A generic address is the global one where it points to global memory ("Generic Addressing"). The loads have no effect
//! and depend on their address alone, since nothing writes there: the compiler may move them as it likes.

use crate::hardware::VEC;
use cuda_std::gpu_only;

/// Loads a value.
///
/// # Safety
/// It is in bounds of a buffer in global memory that nothing writes while the kernel runs.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn load(source: *const f32) -> f32 {
    let value;
    // SAFETY: inside a buffer that nothing writes, upheld by the caller.
    unsafe {
        core::arch::asm!(
            "ld.global.nc.f32 {}, [{}];",
            out(reg32) value,
            in(reg64) source,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    value
}

/// Loads four contiguous values.
///
/// # Safety
/// As of [`load`] for each of them, the first at a multiple of 16 bytes.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn load_4(source: *const f32) -> [f32; VEC as usize] {
    let (x, y, z, w);
    // SAFETY: inside a buffer that nothing writes and aligned, upheld by the caller.
    unsafe {
        core::arch::asm!(
            "ld.global.nc.v4.f32 {{{}, {}, {}, {}}}, [{}];",
            out(reg32) x,
            out(reg32) y,
            out(reg32) z,
            out(reg32) w,
            in(reg64) source,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    [x, y, z, w]
}

/// Loads a value if `index` is below `end`, and is zero otherwise. The load stays where it is.
///
/// # Safety
/// As of [`load`], if it is loaded.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn load_below(source: *const f32, index: u32, end: u32) -> f32 {
    let value;
    // SAFETY: inside a buffer that nothing writes, upheld by the caller.
    unsafe {
        core::arch::asm!(
            "{{ .reg .pred inside; setp.lt.u32 inside, {index}, {end}; mov.f32 {value}, 0f00000000;",
            "@inside ld.global.nc.f32 {value}, [{source}]; }}",
            index = in(reg32) index,
            end = in(reg32) end,
            value = out(reg32) value,
            source = in(reg64) source,
        );
    }
    value
}

/// Makes a function that loads four contiguous values with that instruction, or is zeros.
macro_rules! load_4_below {
    ($(#[$attribute:meta])* $name:ident $load:literal) => {
        $(#[$attribute])*
        #[gpu_only]
        #[inline(always)]
        pub(crate) unsafe fn $name(source: *const f32, index: u32, end: u32) -> [f32; VEC as usize] {
            let (x, y, z, w);
            // SAFETY: inside a buffer that nothing writes and aligned, upheld by the caller.
            unsafe {
                core::arch::asm!(
                    "{{ .reg .pred inside; setp.lt.u32 inside, {index}, {end};",
                    "mov.f32 {x}, 0f00000000; mov.f32 {y}, 0f00000000; mov.f32 {z}, 0f00000000; mov.f32 {w}, 0f00000000;",
                    concat!("@inside ", $load, " {{{x}, {y}, {z}, {w}}}, [{source}]; }}"),
                    index = in(reg32) index,
                    end = in(reg32) end,
                    x = out(reg32) x,
                    y = out(reg32) y,
                    z = out(reg32) z,
                    w = out(reg32) w,
                    source = in(reg64) source,
                );
            }
            [x, y, z, w]
        }
    };
}

load_4_below! {
    /// The same of four contiguous values.
    ///
    /// # Safety
    /// As of [`load_4`], if they are loaded.
    load_4_below "ld.global.nc.v4.f32"
}

load_4_below! {
    /// The same; L2 gets all of the 256 bytes around them.
    ///
    /// # Safety
    /// As of [`load_4_below`].
    load_4_of_line_below "ld.global.nc.L2::256B.v4.f32"
}

/// Loads 16 bits if `index` is below `end`, and is zero otherwise. The load stays where it is.
///
/// # Safety
/// As of [`load`], if they are loaded.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn load_16_below(source: *const u16, index: u32, end: u32) -> u32 {
    let bits;
    // SAFETY: inside a buffer that nothing writes, upheld by the caller.
    unsafe {
        core::arch::asm!(
            "{{ .reg .pred inside; setp.lt.u32 inside, {index}, {end}; mov.b32 {bits}, 0;",
            "@inside ld.global.nc.u16 {bits}, [{source}]; }}",
            index = in(reg32) index,
            end = in(reg32) end,
            bits = out(reg32) bits,
            source = in(reg64) source,
        );
    }
    bits
}

/// The same of two contiguous words.
///
/// # Safety
/// As of [`load`] for both of them, the first at a multiple of 8 bytes, if they are loaded.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn load_2_below(source: *const u32, index: u32, end: u32) -> [u32; 2] {
    let (first, second);
    // SAFETY: inside a buffer that nothing writes and aligned, upheld by the caller.
    unsafe {
        core::arch::asm!(
            "{{ .reg .pred inside; setp.lt.u32 inside, {index}, {end}; mov.b32 {first}, 0; mov.b32 {second}, 0;",
            "@inside ld.global.nc.v2.b32 {{{first}, {second}}}, [{source}]; }}",
            index = in(reg32) index,
            end = in(reg32) end,
            first = out(reg32) first,
            second = out(reg32) second,
            source = in(reg64) source,
        );
    }
    [first, second]
}
