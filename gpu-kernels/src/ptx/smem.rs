//! The size of shared memory. PTX ISA, "%dynamic_smem_size".

use cuda_std::gpu_only;

/// Bytes of dynamic shared memory that the launch has given each block.
#[gpu_only]
#[inline(always)]
pub(crate) fn dynamic_bytes() -> u32 {
    let bytes: u32;
    // SAFETY: reads a special register.
    unsafe { core::arch::asm!("mov.u32 {}, %dynamic_smem_size;", out(reg32) bytes, options(pure, nomem)) }
    bytes
}
