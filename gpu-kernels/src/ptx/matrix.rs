//! Matrices of 8 x 8 elements of 16 bits, spread over a warp as the tensor cores have them. PTX ISA, "Warp-level Descriptor Store
//! Instruction: stmatrix".

use cuda_std::gpu_only;

/// Stores four matrices: of each, a lane has two contiguous elements in row lane / 4, as one word. Row i of matrix j goes to the shared
/// address that lane 8j + i gives. `stmatrix`.
///
/// # Safety
/// All lanes are here, each with an address of 16 bytes in shared memory, a multiple of 16, that nobody else touches.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn store(address: u32, [first, second, third, fourth]: [u32; 4]) {
    // SAFETY: into shared memory, upheld by the caller.
    unsafe {
        core::arch::asm!(
            "stmatrix.sync.aligned.m8n8.x4.shared.b16 [{}], {{{}, {}, {}, {}}};",
            in(reg32) address, in(reg32) first, in(reg32) second, in(reg32) third, in(reg32) fourth,
        );
    }
}

/// Loads four matrices: row i of matrix j lies at the shared address that lane 8j + i gives. Of each, a lane gets two contiguous elements of row
/// lane / 4, or, where they are TRANSPOSED, of column lane / 4. PTX ISA, "Warp-level matrix load instruction: ldmatrix".
///
/// # Safety
/// All lanes are here, each with an address of 16 bytes in shared memory, a multiple of 16, which nobody writes.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn load_4<const TRANSPOSED: bool>(address: u32) -> [u32; 4] {
    let (first, second, third, fourth);
    // SAFETY: inside shared memory, upheld by the caller.
    unsafe {
        if TRANSPOSED {
            core::arch::asm!(
                "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {{{}, {}, {}, {}}}, [{}];",
                out(reg32) first, out(reg32) second, out(reg32) third, out(reg32) fourth, in(reg32) address,
            );
        } else {
            core::arch::asm!(
                "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{}, {}, {}, {}}}, [{}];",
                out(reg32) first, out(reg32) second, out(reg32) third, out(reg32) fourth, in(reg32) address,
            );
        }
    }
    [first, second, third, fourth]
}

/// The same of two transposed matrices, whose addresses the first 16 lanes give.
///
/// # Safety
/// As of [`load_4`].
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn load_2_transposed(address: u32) -> [u32; 2] {
    let (first, second);
    // SAFETY: inside shared memory, upheld by the caller.
    unsafe {
        core::arch::asm!(
            "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {{{}, {}}}, [{}];",
            out(reg32) first, out(reg32) second, in(reg32) address,
        );
    }
    [first, second]
}
