//! Asynchronous MMAs of a warpgroup. PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions: wgmma".
//!
//! The accumulators of a warpgroup are 64 x 2 ACC. A thread holds ACC of them, at ([`acc_row`], [`acc_col`]). From an MMA to the
//! [`wait_acc`] that completes it, neither the accumulators nor the operands may be touched.

use crate::hardware::{SWIZZLE_BYTES, WARPGROUP};
use cuda_std::{gpu_only, thread};

/// Bytes of a row that one `wgmma` reads along k.
pub(crate) const WGMMA_K_BYTES: u32 = 32;

/// An operand in shared memory. PTX ISA, "Matrix Descriptor Format".
#[derive(Clone, Copy)]
pub(crate) struct Descriptor(u64);

impl Descriptor {
    /// A k-major operand at a shared address.
    #[inline(always)]
    pub fn k_major(address: u32) -> Self {
        Self::new(address, 0, SWIZZLE_BYTES)
    }

    /// An M- or N-major operand: one row of 64 elements for each k; the next 64 columns lie `stride` bytes on.
    #[inline(always)]
    pub fn mn_major(address: u32, stride: u32) -> Self {
        Self::panels(address, stride, SWIZZLE_BYTES)
    }

    /// The same of panels whose rows have `row_bytes`, under the swizzle of 32, 64 or 128 bytes.
    #[inline(always)]
    pub fn panels(address: u32, stride: u32, row_bytes: u32) -> Self {
        Self::new(address, stride, row_bytes)
    }

    /// A k-major operand of which each eight rows of 16 bytes are adjacent: the next 16 bytes along k follow on these, and the next rows on those.
    #[inline(always)]
    pub fn k_major_unswizzled(address: u32) -> Self {
        const UNITS: u64 = 8; // of 16 bytes, in eight rows
        let address = u64::from(address & 0x3_ffff) / 16;
        Self(address | UNITS << 16 | (2 * UNITS) << 32)
    }

    /// Addresses count units of 16 bytes; the upper bits are the swizzle mode, whose atom is eight rows. In a cluster the upper bits of
    /// a shared address are the block's rank, for which the descriptor has no room.
    #[inline(always)]
    fn new(address: u32, stride: u32, row_bytes: u32) -> Self {
        let address = address & 0x3_ffff;
        let mode = u64::from(SWIZZLE_BYTES / row_bytes).ilog2() + 1; // 1 is 128 bytes, 2 is 64, 3 is 32
        let [address, stride, atom] = [address, stride, 8 * row_bytes].map(|bytes| u64::from(bytes / 16));
        Self(address | stride << 16 | atom << 32 | u64::from(mode) << 62)
    }

    /// The operand `bytes` further on. The lower word alone changes: the address field does not overflow.
    #[inline(always)]
    pub fn add(self, bytes: u32) -> Self {
        let low = self.0 as u32 + bytes / 16;
        Self(self.0 >> 32 << 32 | u64::from(low))
    }
}

/// The row, of the warpgroup's 64, of this thread's accumulators 0, 1, 4, 5, ... The others are 8 rows further down.
#[inline(always)]
pub(crate) fn acc_row() -> u32 {
    let tid = thread::thread_idx_x() % WARPGROUP;
    tid / 32 * 16 + tid % 32 / 4
}

/// The column of this thread's accumulators 0 and 2. Accumulators 4 to 7 are 8 columns further on, and so forth.
#[inline(always)]
pub(crate) fn acc_col() -> u32 {
    thread::thread_idx_x() % 4 * 2
}

/// Orders accesses to registers before the MMAs that follow: `wgmma.fence`.
#[gpu_only]
#[inline(always)]
pub(crate) fn fence() {
    // SAFETY: orders accesses to registers; every thread of the warpgroup is here.
    unsafe { core::arch::asm!("wgmma.fence.sync.aligned;") }
}

/// Orders what this thread wrote to shared memory before the MMAs of those whom it meets at a barrier behind: `fence.proxy.async`.
#[gpu_only]
#[inline(always)]
pub(crate) fn fence_operands() {
    // SAFETY: orders accesses to memory.
    unsafe { core::arch::asm!("fence.proxy.async.shared::cta;") }
}

/// Commits the MMAs issued so far as a group: `wgmma.commit_group`.
#[gpu_only]
#[inline(always)]
pub(crate) fn commit_group() {
    // SAFETY: changes nothing but what later waits mean.
    unsafe { core::arch::asm!("wgmma.commit_group.sync.aligned;") }
}

/// Lowers this warpgroup's registers per thread to N: `setmaxnreg.dec`. ptxas wants it at the start of the role's branch.
#[gpu_only]
#[inline(always)]
pub(crate) fn setmaxnreg_dec<const N: u32>() {
    // SAFETY: ptxas allocates at most N registers behind it.
    unsafe { core::arch::asm!("setmaxnreg.dec.sync.aligned.u32 {};", const N) }
}

/// Raises this warpgroup's registers per thread to N, and waits until they are free: `setmaxnreg.inc`.
#[gpu_only]
#[inline(always)]
pub(crate) fn setmaxnreg_inc<const N: u32>() {
    // SAFETY: other warpgroups of the kernel release as many.
    unsafe { core::arch::asm!("setmaxnreg.inc.sync.aligned.u32 {};", const N) }
}

/// The numbers of ACC registers but the first, for a macro.
#[cfg(target_arch = "nvptx64")]
macro_rules! for_registers {
    ($acc:expr, $count:ident, $then:ident!($($arguments:tt)*)) => {{
        // SAFETY: of this very type, by its size.
        match $count {
            8 => $then!(&mut *$acc.as_mut_ptr().cast::<[f32; 8]>(), "n16", $($arguments)*; 1 2 3 4 5 6 7),
            16 => $then!(&mut *$acc.as_mut_ptr().cast::<[f32; 16]>(), "n32", $($arguments)*; 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15),
            32 => $then!(&mut *$acc.as_mut_ptr().cast::<[f32; 32]>(), "n64", $($arguments)*; 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31),
            48 => $then!(&mut *$acc.as_mut_ptr().cast::<[f32; 48]>(), "n96", $($arguments)*; 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47),
            64 => $then!(&mut *$acc.as_mut_ptr().cast::<[f32; 64]>(), "n128", $($arguments)*; 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63),
            80 => $then!(&mut *$acc.as_mut_ptr().cast::<[f32; 80]>(), "n160", $($arguments)*; 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79),
            96 => $then!(&mut *$acc.as_mut_ptr().cast::<[f32; 96]>(), "n192", $($arguments)*; 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95),
            112 => $then!(&mut *$acc.as_mut_ptr().cast::<[f32; 112]>(), "n224", $($arguments)*; 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111),
            128 => $then!(&mut *$acc.as_mut_ptr().cast::<[f32; 128]>(), "n256", $($arguments)*; 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127),
            _ => unreachable!(),
        }
    }};
}

/// One MMA with both operands in shared memory.
#[cfg(target_arch = "nvptx64")]
macro_rules! mma {
    (
        $acc:expr, $n:literal, $kind:literal, $modifiers:literal,
        $a:expr, $b:expr, $accumulate:expr $(, $a_major:ident, $b_major:ident)?; $($i:literal)*
    ) => {{
        let acc = $acc;
        core::arch::asm!(
            concat!(
                "{{ .reg .pred scale_d; setp.ne.b32 scale_d, {accumulate}, 0; wgmma.mma_async.sync.aligned.m64", $n, $kind,
                " {{{0}" $(, ", {", $i, "}")*, "}}, {a}, {b}, scale_d, 1, 1", $modifiers, "; }}"
            ),
            inout(reg32) acc[0], $(inout(reg32) acc[$i],)*
            a = in(reg64) $a.0, b = in(reg64) $b.0, accumulate = in(reg32) u32::from($accumulate),
            $(a_major = const $a_major, b_major = const $b_major,)?
        );
    }};
}

/// One MMA with A in registers.
#[cfg(target_arch = "nvptx64")]
macro_rules! fragment_mma {
    ($acc:expr, $n:literal, $kind:literal, $a:expr, $b:expr, $accumulate:expr; $($i:literal)*) => {{
        let acc = $acc;
        core::arch::asm!(
            concat!(
                "{{ .reg .pred scale_d; setp.ne.b32 scale_d, {accumulate}, 0; wgmma.mma_async.sync.aligned.m64", $n, $kind,
                " {{{0}" $(, ", {", $i, "}")*, "}}, {{{a0}, {a1}, {a2}, {a3}}}, {b}, scale_d, 1, 1; }}"
            ),
            inout(reg32) acc[0], $(inout(reg32) acc[$i],)*
            a0 = in(reg32) $a[0], a1 = in(reg32) $a[1], a2 = in(reg32) $a[2], a3 = in(reg32) $a[3],
            b = in(reg64) $b.0, accumulate = in(reg32) u32::from($accumulate),
        );
    }};
}

/// A wait that the compiler knows to change the accumulators.
#[cfg(target_arch = "nvptx64")]
macro_rules! wait_for {
    ($acc:expr, $n:literal, $groups:expr; $($i:literal)*) => {{
        let acc = $acc;
        core::arch::asm!(
            concat!("// {0}" $(, " {", $i, "}")*, "\n wgmma.wait_group.sync.aligned {groups};"),
            inout(reg32) acc[0], $(inout(reg32) acc[$i],)*
            groups = const $groups,
        );
    }};
}

/// Zeros in registers.
#[cfg(target_arch = "nvptx64")]
macro_rules! zero {
    ($acc:expr, $n:literal,; $($i:literal)*) => {{
        let acc = $acc;
        core::arch::asm!("mov.f32 {0}, 0f00000000;", $(concat!("mov.f32 {", $i, "}, 0f00000000;"),)* out(reg32) acc[0], $(out(reg32) acc[$i],)*);
    }};
}

/// Waits until all groups of this warpgroup but the last N are complete; the accumulators stay in flight: `wgmma.wait_group`.
#[gpu_only]
#[inline(always)]
pub(crate) fn wait_group<const N: u32>() {
    // SAFETY: waits, and has no preconditions.
    unsafe { core::arch::asm!("wgmma.wait_group.sync.aligned {};", const N) }
}

/// Keeps fragments in their registers up to here: the compiler does not know that an MMA in flight reads them.
#[gpu_only]
#[inline(always)]
pub(crate) fn pin_fragments<const N: usize>(fragments: &[[f32; 4]; N]) {
    for i in 0..N {
        let [x, y, z, w] = fragments[i];
        // SAFETY: nothing is done.
        unsafe { core::arch::asm!("// {} {} {} {}", in(reg32) x, in(reg32) y, in(reg32) z, in(reg32) w) }
    }
}

/// Accumulators of zero. LLVM does not know the value, which it would make again for each mainloop that may follow.
#[gpu_only]
#[inline(always)]
pub(crate) fn zeros<const ACC: usize>() -> [f32; ACC] {
    let mut acc = [0.0; ACC];
    // SAFETY: writes registers.
    unsafe { for_registers!(acc, ACC, zero!()) }
    acc
}

/// As [`wait_group`], after which `acc` may be read.
#[gpu_only]
#[inline(always)]
pub(crate) fn wait_acc<const N: u32, const ACC: usize>(acc: &mut [f32; ACC]) {
    // SAFETY: waits, and has no preconditions.
    unsafe { for_registers!(acc, ACC, wait_for!(N)) }
}

/// acc = A*B, or acc += A*B if `accumulate` (`scale-d`): f16, k = 16, both operands k-major.
///
/// # Safety
/// Every thread of the warpgroup is here, with the same matrices, which are inside shared memory; nobody writes to them, nor
/// touches `acc`, before the MMA is waited for.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn f16<const ACC: usize>(acc: &mut [f32; ACC], a: Descriptor, b: Descriptor, accumulate: bool) {
    // SAFETY: upheld by the caller (see `# Safety`).
    unsafe { for_registers!(acc, ACC, mma!("k16.f32.f16.f16", ", 0, 0", a, b, accumulate)) }
}

/// An element type of 16 bits.
pub(crate) trait Input {
    /// As [`f16`], of this type. A is m-major if `A_MAJOR` is 1, and k-major if it is 0; B likewise n-major or k-major.
    ///
    /// # Safety
    /// Every thread of the warpgroup is here, with the same matrices, which are inside shared memory; nobody writes to them,
    /// nor touches `acc`, before the MMA is waited for.
    unsafe fn mma<const ACC: usize, const A_MAJOR: u32, const B_MAJOR: u32>(
        acc: &mut [f32; ACC],
        a: Descriptor,
        b: Descriptor,
        accumulate: bool,
    );
}

/// The implementation for a type, by its kind of MMA.
macro_rules! input {
    ($type:ty, $kind:literal) => {
        impl Input for $type {
            #[gpu_only]
            #[inline(always)]
            unsafe fn mma<const ACC: usize, const A_MAJOR: u32, const B_MAJOR: u32>(
                acc: &mut [f32; ACC],
                a: Descriptor,
                b: Descriptor,
                accumulate: bool,
            ) {
                // SAFETY: upheld by the caller (see `# Safety`).
                unsafe {
                    for_registers!(acc, ACC, mma!($kind, ", {a_major}, {b_major}", a, b, accumulate, A_MAJOR, B_MAJOR))
                }
            }
        }
    };
}

input!(half::f16, "k16.f32.f16.f16");
input!(half::bf16, "k16.f32.bf16.bf16");

/// As [`f16`], on the first 19 bits of f32, k = 8.
///
/// # Safety
/// Every thread of the warpgroup is here, with the same matrices, which are inside shared memory; nobody writes to them, nor
/// touches `acc`, before the MMA is waited for.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn tf32<const ACC: usize>(acc: &mut [f32; ACC], a: Descriptor, b: Descriptor, accumulate: bool) {
    // SAFETY: upheld by the caller (see `# Safety`).
    unsafe { for_registers!(acc, ACC, mma!("k8.f32.tf32.tf32", "", a, b, accumulate)) }
}

/// As [`tf32`], with A in registers: its elements at ([`acc_row`], tid % 4), 8 rows further down, 4 columns further on, both.
///
/// # Safety
/// Every thread of the warpgroup is here, with the same matrices, which are inside shared memory; nobody writes to them, nor
/// touches `acc`, before the MMA is waited for.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn tf32_fragments<const ACC: usize>(
    acc: &mut [f32; ACC],
    a: [f32; 4],
    b: Descriptor,
    accumulate: bool,
) {
    // SAFETY: upheld by the caller (see `# Safety`).
    unsafe { for_registers!(acc, ACC, fragment_mma!("k8.f32.tf32.tf32", a, b, accumulate)) }
}
