//! Addresses in the shared memory of the own block and of the cluster's other blocks.

use super::request::Request;
use crate::check::{Discovery, What};
use crate::exec::state::{End, Grid, Site, Warp};
use crate::lanes::{LANES, Mask, lanes_of};
use crate::memory::window;
use crate::program::Pc;
use crate::types::Space;

/// Addresses within shared memory. Generic ones outside of its window stay as they are, out of bounds.
pub(crate) fn shared(space: Space, addresses: [u64; LANES]) -> [u64; LANES] {
    match space {
        Space::Generic => addresses.map(|address| match window::resolve(address) {
            (Space::Shared, offset) => offset,
            _ => address,
        }),
        _ => addresses,
    }
}

impl Site {
    /// Swaps the shared memory at hand with that of the block of that rank.
    pub(crate) fn swap_memory(&mut self, rank: usize) {
        let memory = &mut self.cluster.memories[rank];
        std::mem::swap(&mut self.shared, memory);
        // The checkers' state moves to where they expect it.
        std::mem::swap(&mut self.checks.memory, &mut self.shared.checks);
        std::mem::swap(&mut memory.checks, &mut self.shared.checks);
    }

    /// The lanes that access the same block's shared memory as the first, and that block's rank if another's. Leaves
    /// the offsets in `addresses`.
    pub(crate) fn same_block(&self, addresses: &mut [u64; LANES], lanes: Mask) -> (Option<usize>, Mask) {
        let (blocks, own) = (self.cluster.memories.len() as u64, self.rank as u64);
        let named = window::of_rank(0, self.rank as u32);
        if addresses.iter().fold(0, |all, address| all | (address ^ named)) < window::RANK {
            *addresses = addresses.map(|address| address ^ named);
            return (None, lanes);
        }
        let ranks = addresses.map(|address| Some(window::rank(address).unwrap_or(own)).filter(|&rank| rank < blocks));
        let first = ranks[lanes.trailing_zeros() as usize % LANES];
        let same = lanes_of(lanes).filter(|&lane| ranks[lane] == first).fold(0, |mask, lane| mask | 1 << lane);
        let Some(rank) = first else { return (None, same) };
        *addresses = addresses.map(|address| address % window::RANK);
        (Some(rank as usize).filter(|&rank| rank != self.rank), same)
    }

    /// The address without the block's rank, if that is the own one.
    pub(crate) fn own_offset(&self, address: u64) -> u64 {
        if window::rank(address) == Some(self.rank as u64) { address % window::RANK } else { address }
    }

    /// Runs `f` on the shared memory of the block of that rank, if given.
    pub(crate) fn in_memory_of<R>(&mut self, rank: Option<usize>, f: impl FnOnce(&mut Self) -> R) -> R {
        let Some(rank) = rank else { return f(self) };
        self.swap_memory(rank);
        let result = f(self);
        self.swap_memory(rank);
        result
    }

    /// Where memory was read that was never written: says which copy is to write it, if one is still under way.
    pub(crate) fn name_copy(&self, grid: &Grid<'_>, warp: &Warp, request: &Request, discovery: &mut Discovery) {
        let own = request.remote.is_none().then_some(warp);
        if let What::Text(text) = &mut discovery.what
            && let Some(pc) = self.copy_under_way(own, request.addresses[discovery.lane], request.bytes)
        {
            let copy = &grid.program.instructions[pc];
            *text += &format!("; a copy to it is still under way: line {}, `{}`", copy.line, copy.mnemonic);
            discovery.other = Some(pc);
        }
    }

    /// The asynchronous copy to these bytes that is under way, of this warp or by TMA.
    fn copy_under_way(&self, warp: Option<&Warp>, address: u64, bytes: u32) -> Option<Pc> {
        let touches = |start: u64, size: u32| address < start + u64::from(size) && start < address + u64::from(bytes);
        let mut of_warp = warp.into_iter().flat_map(|warp| warp.copies.pending.iter());
        let own = of_warp.find(|copy| lanes_of(copy.mask).any(|lane| touches(copy.to[lane], copy.bytes)));
        own.map(|copy| copy.pc).or_else(|| {
            let mut loads = self.shared.bulk.iter().filter(|bulk| matches!(bulk.end, End::Barrier(_)));
            let writes = loads.find(|bulk| bulk.copy.chunks().iter().any(|&(start, size)| touches(start, size)));
            writes.map(|bulk| bulk.pc)
        })
    }
}
