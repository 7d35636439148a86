//! What the consumers of a block do whose k-tiles several slices of them take in turn.

use super::HalfTile;
use crate::Ab;
use crate::hardware::{WARP, WGMMA_M};
use crate::mainloop::warp_specialized::{OF_LAUNCH, Ring, producer_warp};
use crate::planned::Peers;
use crate::ptx::lanes;
use crate::ptx::tensor::TensorMap;
use crate::ptx::wgmma::Input;
use cuda_std::prelude::*;

impl<const BM: u32, const BN: u32, const ACC: usize, const STAGES: u32> HalfTile<BM, BN, ACC, STAGES> {
    /// As [`ring`](Self::ring): each stage is always the same one's of so many slices. Were it now one's and now another's, one could be a round
    /// of the ring ahead of the other, and find the stage full of what it had there before.
    ///
    /// # Safety
    /// Every thread of the block calls it once.
    #[inline(always)]
    pub unsafe fn ring_of_slices<const SLICES: u32>(maps: Ab<*const TensorMap>, peers: Peers) -> Ring<OF_LAUNCH> {
        producer_warp::prefetch(maps, SLICES * Self::CONSUMER_THREADS);
        // SAFETY: upheld by the caller (see `# Safety`); the step has as much shared memory.
        unsafe { Ring::of_block::<SLICES>(Self::STAGE_BYTES, Self::CONSUMER_THREADS, peers) }
    }

    /// A thread's slice of the consumers; the producer warp is behind the last one.
    #[inline(always)]
    pub fn slice() -> u32 {
        lanes::warp_index() / (Self::CONSUMER_THREADS / WARP)
    }

    /// A*B over so many k-tiles, of which each slice takes every SLICES-th: the accumulators of this thread's.
    ///
    /// # Safety
    /// Every consumer thread calls it, and as many k-tiles are produced.
    #[inline(always)]
    pub unsafe fn consume_slice<I: Input, const SLICES: u32>(
        ring: &mut Ring<OF_LAUNCH>,
        k_tiles: u32,
        is_transposed: Ab<bool>,
    ) -> [f32; ACC] {
        let (slice, warpgroup) = (Self::slice(), Self::warpgroup() % (BM / WGMMA_M));
        let k_tiles = (k_tiles + (SLICES - 1 - slice)) / SLICES;
        for before in 0..SLICES - 1 {
            if before < slice {
                ring.skip_one();
            }
        }
        // SAFETY: upheld by the caller (see `# Safety`); the MMAs are complete.
        unsafe {
            let acc = Self::accumulate::<I, SLICES>(ring, warpgroup, k_tiles, is_transposed, &mut |_| ());
            ring.consumer_tail(k_tiles);
            acc
        }
    }

    /// Adds the accumulators of the other slices to those of the first one, in order, where the stages were.
    ///
    /// # Safety
    /// Every consumer thread calls it, with what [`consume_slice`](Self::consume_slice) returned.
    #[inline(always)]
    pub unsafe fn add_slices<const SLICES: u32>(acc: &mut [f32; ACC]) {
        const { assert!((SLICES - 1) * BM * BN <= STAGES * Self::STAGE_BYTES / 4) }
        if SLICES == 1 {
            return;
        }
        let (slice, thread) = (Self::slice(), thread::thread_idx_x() % Self::CONSUMER_THREADS);
        let of = |slice: u32, i: usize| {
            let word = ((slice - 1) * ACC as u32 + i as u32) * Self::CONSUMER_THREADS + thread;
            shared::dynamic_shared_mem::<f32>().wrapping_add(word as usize)
        };
        // SAFETY: upheld by the caller (see `# Safety`): each word is one thread's, and there is as much shared memory.
        unsafe {
            producer_warp::sync_consumers(SLICES * Self::CONSUMER_THREADS); // the MMAs of all warpgroups are complete
            if slice > 0 {
                let mut i = 0; // an iterator would keep the array in memory
                while i < ACC {
                    *of(slice, i) = acc[i];
                    i += 1;
                }
            }
            producer_warp::sync_consumers(SLICES * Self::CONSUMER_THREADS); // the accumulators are there
            if slice == 0 {
                for other in 1..SLICES {
                    let mut i = 0;
                    while i < ACC {
                        acc[i] += *of(other, i);
                        i += 1;
                    }
                }
            }
        }
    }
}
