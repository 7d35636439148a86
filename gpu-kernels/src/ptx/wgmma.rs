//! Products of the tensor cores, of a warpgroup each, which go on in the background. PTX ISA, "Asynchronous Warpgroup Level
//! Matrix Multiply-Accumulate Instructions: wgmma".
//!
//! A warpgroup's sums are 64 x 2 ACC, of which a thread has ACC: those at ([`row`], [`column`]). Between a product and the
//! [`wait`] that ends it nobody may touch them, nor what it reads.

use cuda_std::{gpu_only, thread};

/// Threads of a warpgroup.
pub(crate) const WARPGROUP: u32 = 128;
/// Rows of its products.
pub(crate) const ROWS: u32 = 64;
/// Bytes of a row of an operand in shared memory, which the copy engine has swizzled.
pub(crate) const ROW_BYTES: u32 = 128;
/// Bytes of a row that one product takes along k.
pub(crate) const STEP_BYTES: u32 = 32;
/// Rows that are swizzled in turn: what a matrix in shared memory is made of, and a multiple of which it starts at.
pub(crate) const ATOM_BYTES: u32 = 8 * ROW_BYTES;

/// A matrix in shared memory, as the tensor cores are told of it. PTX ISA, "Matrix Descriptor Format".
#[derive(Clone, Copy)]
pub(crate) struct Matrix(u64);

impl Matrix {
    /// Rows of k, one after another, at a shared address.
    #[inline(always)]
    pub fn along_k(address: u32) -> Self {
        Self::new(address, 0)
    }

    /// Rows of 64 elements across k, one for each k; the next 64 columns lie `apart` bytes on.
    #[inline(always)]
    pub fn across_k(address: u32, apart: u32) -> Self {
        Self::new(address, apart)
    }

    /// Addresses count units of 16 bytes; 1 in the upper bits means swizzled within 128 bytes. In a cluster the upper bits of an
    /// address are the block's rank, which has no place here.
    #[inline(always)]
    fn new(address: u32, apart: u32) -> Self {
        let address = address & 0x3_ffff;
        let [address, apart, atom] = [address, apart, ATOM_BYTES].map(|bytes| u64::from(bytes / 16));
        Self(address | apart << 16 | atom << 32 | 1 << 62)
    }

    /// The same, so many bytes further on: of the lower word, which has room for that, without a carry.
    #[inline(always)]
    pub fn add(self, bytes: u32) -> Self {
        let low = self.0 as u32 + bytes / 16;
        Self(self.0 >> 32 << 32 | u64::from(low))
    }
}

/// The row, of the warpgroup's 64, of this thread's sums 0, 1, 4, 5, ... The others are 8 rows further down.
#[inline(always)]
pub(crate) fn row() -> u32 {
    let tid = thread::thread_idx_x() % WARPGROUP;
    tid / 32 * 16 + tid % 32 / 4
}

/// The column of this thread's sums 0 and 2. Sums 4 to 7 are 8 columns further on, and so forth.
#[inline(always)]
pub(crate) fn column() -> u32 {
    thread::thread_idx_x() % 4 * 2
}

/// Starts: registers that the next products take are as they should be. `wgmma.fence`.
#[gpu_only]
#[inline(always)]
pub(crate) fn fence() {
    // SAFETY: orders accesses to registers; every thread of the warpgroup is here.
    unsafe { core::arch::asm!("wgmma.fence.sync.aligned;") }
}

/// Closes a group of products: `wgmma.commit_group`.
#[gpu_only]
#[inline(always)]
pub(crate) fn commit() {
    // SAFETY: changes nothing but what later waits mean.
    unsafe { core::arch::asm!("wgmma.commit_group.sync.aligned;") }
}

/// Has the threads of this warpgroup keep N registers each, and give the others back: `setmaxnreg.dec`.
#[gpu_only]
#[inline(always)]
pub(crate) fn give_registers<const N: u32>() {
    // SAFETY: the assembler keeps to it.
    unsafe { core::arch::asm!("setmaxnreg.dec.sync.aligned.u32 {};", const N) }
}

/// Waits until the threads of this warpgroup have N registers each: `setmaxnreg.inc`.
#[gpu_only]
#[inline(always)]
pub(crate) fn take_registers<const N: u32>() {
    // SAFETY: others give as many, by the kernel's arrangement.
    unsafe { core::arch::asm!("setmaxnreg.inc.sync.aligned.u32 {};", const N) }
}

/// The numbers of ACC registers but the first, for a macro.
#[cfg(target_arch = "nvptx64")]
macro_rules! for_registers {
    ($acc:expr, $count:ident, $then:ident!($($arguments:tt)*)) => {{
        // SAFETY: of this very type, by its size.
        match $count {
            32 => $then!(&mut *$acc.as_mut_ptr().cast::<[f32; 32]>(), "n64", $($arguments)*; 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31),
            64 => $then!(&mut *$acc.as_mut_ptr().cast::<[f32; 64]>(), "n128", $($arguments)*; 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63),
            96 => $then!(&mut *$acc.as_mut_ptr().cast::<[f32; 96]>(), "n192", $($arguments)*; 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95),
            128 => $then!(&mut *$acc.as_mut_ptr().cast::<[f32; 128]>(), "n256", $($arguments)*; 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127),
            _ => unreachable!(),
        }
    }};
}

/// One product of matrices in shared memory.
#[cfg(target_arch = "nvptx64")]
macro_rules! product {
    ($acc:expr, $n:literal, $kind:literal, $modifiers:literal, $a:expr, $b:expr, $adds:expr; $($i:literal)*) => {{
        let acc = $acc;
        core::arch::asm!(
            concat!(
                "{{ .reg .pred adds; setp.ne.b32 adds, {adds}, 0; wgmma.mma_async.sync.aligned.m64", $n, $kind,
                " {{{0}" $(, ", {", $i, "}")*, "}}, {a}, {b}, adds, 1, 1", $modifiers, "; }}"
            ),
            inout(reg32) acc[0], $(inout(reg32) acc[$i],)*
            a = in(reg64) $a.0, b = in(reg64) $b.0, adds = in(reg32) u32::from($adds),
        );
    }};
}

/// One product of fragments and a matrix in shared memory.
#[cfg(target_arch = "nvptx64")]
macro_rules! fragment_product {
    ($acc:expr, $n:literal, $kind:literal, $a:expr, $b:expr, $adds:expr; $($i:literal)*) => {{
        let acc = $acc;
        core::arch::asm!(
            concat!(
                "{{ .reg .pred adds; setp.ne.b32 adds, {adds}, 0; wgmma.mma_async.sync.aligned.m64", $n, $kind,
                " {{{0}" $(, ", {", $i, "}")*, "}}, {{{a0}, {a1}, {a2}, {a3}}}, {b}, adds, 1, 1; }}"
            ),
            inout(reg32) acc[0], $(inout(reg32) acc[$i],)*
            a0 = in(reg32) $a[0], a1 = in(reg32) $a[1], a2 = in(reg32) $a[2], a3 = in(reg32) $a[3],
            b = in(reg64) $b.0, adds = in(reg32) u32::from($adds),
        );
    }};
}

/// A wait that the compiler knows to change the sums.
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

/// Waits until all of this warpgroup's groups but the last N are done, whose sums go on: `wgmma.wait_group`.
#[gpu_only]
#[inline(always)]
pub(crate) fn wait_before<const N: u32>() {
    // SAFETY: waits, and has no preconditions.
    unsafe { core::arch::asm!("wgmma.wait_group.sync.aligned {};", const N) }
}

/// Keeps fragments in their registers up to here: the compiler does not know that products still read them.
#[gpu_only]
#[inline(always)]
pub(crate) fn keep<const N: usize>(fragments: &[[f32; 4]; N]) {
    for i in 0..N {
        let [x, y, z, w] = fragments[i];
        // SAFETY: nothing is done.
        unsafe { core::arch::asm!("// {} {} {} {}", in(reg32) x, in(reg32) y, in(reg32) z, in(reg32) w) }
    }
}

/// Waits until all of this warpgroup's groups but the last N are done, `acc` being sums of those: `wgmma.wait_group`.
#[gpu_only]
#[inline(always)]
pub(crate) fn wait<const N: u32, const ACC: usize>(acc: &mut [f32; ACC]) {
    // SAFETY: waits, and has no preconditions.
    unsafe { for_registers!(acc, ACC, wait_for!(N)) }
}

/// acc = A*B, or acc += A*B if it `adds`: f16, k = 16, both along k.
///
/// # Safety
/// Every thread of the warpgroup is here, with the same matrices, which are inside shared memory; nobody writes to them, nor
/// touches `acc`, before the product is waited for.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn f16<const ACC: usize>(acc: &mut [f32; ACC], a: Matrix, b: Matrix, adds: bool) {
    // SAFETY: by the caller's promise.
    unsafe { for_registers!(acc, ACC, product!("k16.f32.f16.f16", ", 0, 0", a, b, adds)) }
}

/// As [`f16`], with B across k.
///
/// # Safety
/// Every thread of the warpgroup is here, with the same matrices, which are inside shared memory; nobody writes to them, nor
/// touches `acc`, before the product is waited for.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn f16_across<const ACC: usize>(acc: &mut [f32; ACC], a: Matrix, b: Matrix, adds: bool) {
    // SAFETY: by the caller's promise.
    unsafe { for_registers!(acc, ACC, product!("k16.f32.f16.f16", ", 0, 1", a, b, adds)) }
}

/// As [`f16_across`], of bf16.
///
/// # Safety
/// Every thread of the warpgroup is here, with the same matrices, which are inside shared memory; nobody writes to them, nor
/// touches `acc`, before the product is waited for.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn bf16_across<const ACC: usize>(acc: &mut [f32; ACC], a: Matrix, b: Matrix, adds: bool) {
    // SAFETY: by the caller's promise.
    unsafe { for_registers!(acc, ACC, product!("k16.f32.bf16.bf16", ", 0, 1", a, b, adds)) }
}

/// As [`f16`], of the first 19 bits of f32, k = 8.
///
/// # Safety
/// Every thread of the warpgroup is here, with the same matrices, which are inside shared memory; nobody writes to them, nor
/// touches `acc`, before the product is waited for.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn tf32<const ACC: usize>(acc: &mut [f32; ACC], a: Matrix, b: Matrix, adds: bool) {
    // SAFETY: by the caller's promise.
    unsafe { for_registers!(acc, ACC, product!("k8.f32.tf32.tf32", "", a, b, adds)) }
}

/// As [`tf32`], with A in registers: its elements at ([`row`], tid % 4), 8 rows further down, 4 columns further on, both.
///
/// # Safety
/// Every thread of the warpgroup is here, with the same matrices, which are inside shared memory; nobody writes to them, nor
/// touches `acc`, before the product is waited for.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn tf32_fragments<const ACC: usize>(acc: &mut [f32; ACC], a: [f32; 4], b: Matrix, adds: bool) {
    // SAFETY: by the caller's promise.
    unsafe { for_registers!(acc, ACC, fragment_product!("k8.f32.tf32.tf32", a, b, adds)) }
}
