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
