//! The ring of stages: CUTLASS's `PipelineTmaAsync`.

use super::smem_bytes;
use crate::hardware::WARP;
use crate::planned::Peers;
use crate::ptx::mbarrier::Mbarrier;
use crate::ptx::{cluster, compiler, lanes, smem};
use cuda_std::prelude::*;

/// A ring of stages, in a cluster of CLUSTER blocks.
#[derive(Clone, Copy)]
pub(crate) struct Ring<const CLUSTER: u32> {
    /// The shared address of the first stage.
    address: u32,
    pub stages: u32,
    pub stage_bytes: u32,
    /// Completes a phase when the TMA loads have written all bytes of a stage.
    pub full: Mbarrier,
    /// Completes a phase when every consumer warp of the cluster has released a stage.
    pub empty: Mbarrier,
    state: PipelineState,
    /// The first rank of the blocks that share stages, and how many these are.
    peers: [u32; 2],
}

/// As many blocks as the launch says.
pub(crate) const OF_LAUNCH: u32 = 0;

impl Ring<OF_LAUNCH> {
    /// As [`new`](Ring::new), for a block that shares stages with these of its cluster, and waits for no others: as many stages as there is
    /// dynamic shared memory for, a multiple of MULTIPLE.
    ///
    /// # Safety
    /// Every thread of the block calls it once, with at least [`smem_bytes`](super::smem_bytes) of so many stages of dynamic shared memory.
    #[inline(always)]
    pub unsafe fn of_block<const MULTIPLE: u32>(stage_bytes: u32, consumer_threads: u32, peers: Peers) -> Self {
        let stages = smem::dynamic_bytes() / smem_bytes(1, stage_bytes) / MULTIPLE * MULTIPLE;
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { Self::of_stages(stages, stage_bytes, consumer_threads, peers) }
    }

    /// The same with so many stages.
    ///
    /// # Safety
    /// Every thread of the block calls it once, with [`smem_bytes`](super::smem_bytes) of dynamic shared memory.
    #[inline(always)]
    pub unsafe fn of_stages(stages: u32, stage_bytes: u32, consumer_threads: u32, peers: Peers) -> Self {
        // SAFETY: upheld by the caller (see `# Safety`); all threads wait for the one that initialises the barriers.
        let ring = unsafe { Self::init(stages, stage_bytes, consumer_threads, [peers.first, peers.count()]) };
        if peers.count() > 1 {
            cluster::arrive_relaxed();
            cluster::wait(); // the barriers of all blocks are initialised
        } else {
            thread::sync_threads(); // the barriers are initialised
        }
        ring
    }
}

/// The next stage, and the parity of its barriers' phase.
#[derive(Clone, Copy)]
struct PipelineState {
    stage: u32,
    phase: u32,
}

/// An acquired stage.
#[derive(Clone, Copy)]
pub(crate) struct Stage {
    index: u32,
    /// Its shared address.
    pub address: u32,
    /// The barrier that counts the bytes of its TMA loads.
    pub full: Mbarrier,
}

impl Stage {
    /// Its content from that byte on.
    #[inline(always)]
    pub fn words(self, byte: u32) -> *const f32 {
        let smem = shared::dynamic_shared_mem::<f32>();
        // SAFETY: into shared memory.
        let start = unsafe { shared::address(smem) };
        smem.wrapping_add(((self.address - start + byte) / 4) as usize)
    }
}

impl<const CLUSTER: u32> Ring<CLUSTER> {
    /// Initialises the barriers, for the consumer warps of `consumer_threads` threads in each block.
    ///
    /// # Safety
    /// Every thread of the cluster calls it once, with [`smem_bytes`](super::smem_bytes) of dynamic shared memory.
    #[inline(always)]
    pub unsafe fn new(stages: u32, stage_bytes: u32, consumer_threads: u32) -> Self {
        // SAFETY: upheld by the caller (see `# Safety`); all threads wait for the one that initialises the barriers.
        unsafe {
            let ring = Self::init(stages, stage_bytes, consumer_threads, [0, CLUSTER]);
            cluster::sync(); // the barriers of all blocks are initialised
            ring
        }
    }

    /// The same without waiting for the barriers.
    #[inline(always)]
    unsafe fn init(stages: u32, stage_bytes: u32, consumer_threads: u32, peers: [u32; 2]) -> Self {
        let smem = shared::dynamic_shared_mem::<u8>();
        // SAFETY: the barriers lie behind the stages, at a multiple of 8 bytes; one thread initialises them.
        unsafe {
            let full = Mbarrier::at(smem.wrapping_add((stages * stage_bytes) as usize).cast());
            let empty = full.add(stages);
            if thread::thread_idx_x() == 0 {
                for stage in 0..stages {
                    full.add(stage).init(1);
                    empty.add(stage).init(consumer_threads / WARP * peers[1]);
                }
                cluster::fence_barrier_init();
            }
            let state = PipelineState { stage: 0, phase: 0 };
            Self { address: shared::address(smem), stages, stage_bytes, full, empty, state, peers }
        }
    }

    /// Waits until the next stage is empty, and expects its bytes at its `full` barrier.
    ///
    /// # Safety
    /// The producer thread calls it, and issues TMA loads of a whole stage.
    #[inline(always)]
    pub unsafe fn producer_acquire(&mut self) -> Stage {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { self.producer_acquire_for(self.stage_bytes) }
    }

    /// The same for TMA loads of so many bytes.
    ///
    /// # Safety
    /// The producer thread calls it, and issues such loads into the stage.
    #[inline(always)]
    pub unsafe fn producer_acquire_for(&mut self, bytes: u32) -> Stage {
        // SAFETY: the barriers are initialised.
        unsafe {
            let stage = self.producer_wait();
            stage.full.arrive_and_expect(bytes);
            stage
        }
    }

    /// Waits until the next stage is empty. One arrival at its `full` barrier says that it is full.
    ///
    /// # Safety
    /// Producers call it.
    #[inline(always)]
    pub unsafe fn producer_wait(&mut self) -> Stage {
        let (stage, phase) = self.advance();
        // SAFETY: the barriers are initialised.
        unsafe { self.empty.add(stage.index).wait(phase ^ 1) } // in the first round every stage is empty
        stage
    }

    /// The same ring, of which the assembler knows that all lanes are at the same stage ([`lanes::warp_index`]).
    ///
    /// # Safety
    /// All lanes of the warp are here.
    #[inline(always)]
    pub unsafe fn uniform(self) -> Self {
        let PipelineState { stage, phase } = self.state;
        // SAFETY: upheld by the caller (see `# Safety`).
        let state = unsafe { PipelineState { stage: lanes::shuffle(stage, 0), phase: lanes::shuffle(phase, 0) } };
        Self { state, ..self }
    }

    /// Steps over so many stages, which another thread produces.
    #[inline(always)]
    pub fn skip(&mut self, stages: u32) {
        let next = self.state.stage + stages;
        self.state = PipelineState { stage: next % self.stages, phase: self.state.phase ^ (next / self.stages % 2) };
    }

    /// Steps over a stage, which another slice of the consumers takes.
    #[inline(always)]
    pub fn skip_one(&mut self) {
        self.advance();
    }

    /// Waits, where blocks share stages, until all are empty: then no other block arrives at this one's barriers any more.
    ///
    /// # Safety
    /// The producer thread calls it, after the last k-tile; the consumers call [`consumer_tail`](Self::consumer_tail).
    #[inline(always)]
    pub unsafe fn producer_tail(&mut self) {
        let mut left = if self.peers[1] > 1 { self.stages } else { 0 };
        while left > 0 {
            let (stage, phase) = self.advance();
            // SAFETY: the barriers are initialised.
            unsafe { self.empty.add(stage.index).wait(phase ^ 1) };
            left = compiler::opaque(left - 1); // or LLVM would unroll the loop
        }
    }

    /// Waits until the next stage is full.
    ///
    /// # Safety
    /// Every consumer thread calls it, once for each stage that is produced.
    #[inline(always)]
    pub unsafe fn consumer_wait(&mut self) -> Stage {
        let (stage, phase) = self.advance();
        // SAFETY: the barriers are initialised.
        unsafe { stage.full.wait(phase) };
        stage
    }

    /// The same, which the next wait is for again.
    ///
    /// # Safety
    /// As of [`consumer_wait`](Self::consumer_wait).
    #[inline(always)]
    pub unsafe fn consumer_peek(&self) -> Stage {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { { *self }.consumer_wait() }
    }

    /// Releases a stage: this warp no longer reads it.
    ///
    /// # Safety
    /// Every lane of the consumer warp calls it, after its last read of the stage.
    #[inline(always)]
    pub unsafe fn consumer_release(&self, stage: Stage) {
        // SAFETY: the barriers are initialised, and no block exits before its cluster.
        unsafe {
            let [first, count] = self.peers;
            if warp::lane_id() < count {
                let empty = self.empty.add(stage.index);
                if count == 1 { empty.arrive() } else { empty.arrive_at(first + warp::lane_id()) }
            }
        }
    }

    /// Releases the stage of the k-tile before, if there is one.
    ///
    /// # Safety
    /// As of [`consumer_release`](Self::consumer_release).
    #[inline(always)]
    pub unsafe fn consumer_release_previous(&self, stage: Option<Stage>) {
        if let Some(stage) = stage {
            // SAFETY: upheld by the caller (see `# Safety`).
            unsafe { self.consumer_release(stage) }
        }
    }

    /// Releases the stage that was waited for so many stages ago, the last one 1 ago. It is found by counting back: carried from one
    /// iteration of a loop to the next, its index would be undefined in the first one, and ptxas took the index of the wrong iteration then.
    ///
    /// # Safety
    /// As of [`consumer_release`](Self::consumer_release): as many stages were waited for.
    #[inline(always)]
    pub unsafe fn consumer_release_ago(&self, ago: u32) {
        let next = self.state.stage;
        let index = if next >= ago { next - ago } else { next + self.stages - ago };
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { self.consumer_release(Stage { index, address: 0, full: self.full }) }
    }

    /// Releases the last of so many stages, for which no producer waits but in [`producer_tail`](Self::producer_tail).
    ///
    /// # Safety
    /// As of [`consumer_release`](Self::consumer_release).
    #[inline(always)]
    pub unsafe fn consumer_tail(&self, k_tiles: u32) {
        if self.peers[1] > 1 && k_tiles > 0 {
            // SAFETY: upheld by the caller (see `# Safety`).
            unsafe { self.consumer_release_ago(1) }
        }
    }

    /// The next stage and its phase; steps to the one after it.
    #[inline(always)]
    fn advance(&mut self) -> (Stage, u32) {
        let PipelineState { stage: index, phase } = self.state;
        self.state.stage += 1;
        if self.state.stage == self.stages {
            self.state = PipelineState { stage: 0, phase: phase ^ 1 };
        }
        let address = compiler::opaque(self.address + index * self.stage_bytes);
        (Stage { index, address, full: self.full.add(index) }, phase)
    }
}
