//! Barriers in shared memory that count arrivals and bytes. PTX ISA, "Parallel Synchronization and Communication
//! Instructions: mbarrier".

use cuda_std::{gpu_only, shared};

/// An `mbarrier`: a phase ends when so many threads have arrived as it was made for, and the bytes that were announced
/// have been copied. Phases alternate in parity, and the first one's is 0.
#[derive(Clone, Copy)]
pub(crate) struct Mbarrier {
    /// In shared memory, at a multiple of 8 bytes.
    address: u32,
}

impl Mbarrier {
    /// The barrier at that place.
    ///
    /// # Safety
    /// `pointer` is into shared memory, at a multiple of 8 bytes, and nothing but barriers uses those 8 bytes.
    #[inline(always)]
    pub unsafe fn at(pointer: *mut u64) -> Self {
        // SAFETY: into shared memory, upheld by the caller.
        Self { address: unsafe { shared::address(pointer) } }
    }

    /// The barrier `index` barriers further on.
    #[inline(always)]
    pub fn add(self, index: u32) -> Self {
        Self { address: self.address + index * 8 }
    }

    /// Its shared address, an operand of TMA loads.
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    pub fn address(self) -> u32 {
        self.address
    }

    /// Makes it, for phases of `arrivals` arrivals: `mbarrier.init`. One thread does, and others wait for that.
    #[gpu_only]
    #[inline(always)]
    pub unsafe fn init(self, arrivals: u32) {
        // SAFETY: the address of a barrier, upheld by the caller of `at`.
        unsafe {
            core::arch::asm!("mbarrier.init.shared::cta.b64 [{}], {};", in(reg32) self.address, in(reg32) arrivals)
        }
    }

    /// Arrives: `mbarrier.arrive`. What the thread did before is done for those who wait for the phase.
    #[gpu_only]
    #[inline(always)]
    pub unsafe fn arrive(self) {
        // SAFETY: the barrier was made, upheld by the caller.
        unsafe { core::arch::asm!("mbarrier.arrive.shared::cta.b64 _, [{}];", in(reg32) self.address) }
    }

    /// Arrives at the same barrier of another block of the cluster. What the thread read is read; what it wrote is not made
    /// known there: a release to the whole cluster would wait for all its writes to global memory, too.
    #[gpu_only]
    #[inline(always)]
    pub unsafe fn arrive_at(self, rank: u32) {
        // SAFETY: the barrier was made there, and that block is still there, upheld by the caller.
        unsafe {
            core::arch::asm!(
                "{{ .reg .b32 remote; mapa.shared::cluster.u32 remote, {}, {};",
                "mbarrier.arrive.shared::cluster.b64 _, [remote]; }}",
                in(reg32) self.address, in(reg32) rank
            )
        }
    }

    /// The same, where what the thread wrote is known there.
    #[gpu_only]
    #[inline(always)]
    pub unsafe fn release_at(self, rank: u32) {
        // SAFETY: as of `arrive_at`.
        unsafe {
            core::arch::asm!(
                "{{ .reg .b32 remote; mapa.shared::cluster.u32 remote, {}, {};",
                "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote]; }}",
                in(reg32) self.address, in(reg32) rank
            )
        }
    }

    /// Arrives, and announces bytes that copies will bring before the phase ends: `mbarrier.arrive.expect_tx`.
    #[gpu_only]
    #[inline(always)]
    pub unsafe fn arrive_and_expect(self, bytes: u32) {
        // SAFETY: the barrier was made, upheld by the caller.
        unsafe {
            core::arch::asm!(
                "mbarrier.arrive.expect_tx.shared::cta.b64 _, [{}], {};",
                in(reg32) self.address, in(reg32) bytes
            )
        }
    }

    /// Makes the phase wait for this thread's copies to shared memory so far, which counts none of its arrivals:
    /// `cp.async.mbarrier.arrive`.
    #[gpu_only]
    #[inline(always)]
    pub unsafe fn await_copies(self) {
        // SAFETY: the barrier was made, upheld by the caller.
        unsafe { core::arch::asm!("cp.async.mbarrier.arrive.shared::cta.b64 [{}];", in(reg32) self.address) }
    }

    /// Spins until the phase of that parity has completed: `mbarrier.try_wait`.
    #[inline(always)]
    pub unsafe fn wait(self, parity: u32) {
        // SAFETY: the barrier was made, upheld by the caller.
        while !unsafe { self.has_ended(parity) } {}
    }

    #[gpu_only]
    #[inline(always)]
    unsafe fn has_ended(self, parity: u32) -> bool {
        let ended: u32;
        // SAFETY: the barrier was made, upheld by the caller.
        unsafe {
            core::arch::asm!(
                "{{ .reg .pred ended; mbarrier.try_wait.parity.shared::cta.b64 ended, [{}], {};",
                "selp.b32 {}, 1, 0, ended; }}",
                in(reg32) self.address, in(reg32) parity, out(reg32) ended
            );
        }
        ended != 0
    }
}
