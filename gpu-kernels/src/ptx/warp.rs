//! The lanes of a warp. PTX ISA, "bar.warp.sync".

use cuda_std::gpu_only;

/// Waits until every lane of the warp is here; what each did to memory before is done for the others.
#[gpu_only]
#[inline(always)]
pub(crate) fn sync() {
    // SAFETY: a barrier; a breach of its rule, that every lane reaches it, hangs the kernel.
    unsafe { core::arch::asm!("bar.warp.sync 0xffffffff;") }
}
