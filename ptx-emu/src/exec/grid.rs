//! A launch: which blocks run, on how many cores, and what comes of it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use super::block::Block;
use crate::check::{Checks, GlobalRaces};
use crate::counters::Count;
use crate::finding::Finding;
use crate::memory::GlobalMemory;
use crate::program::Program;
use crate::registers::LANES;
use crate::sample::BlockIndex;

/// Everything about a launch that its blocks share.
pub(crate) struct Grid<'a> {
    pub program: &'a Program,
    pub memory: &'a GlobalMemory,
    /// The kernel's parameters, as bytes.
    pub params: &'a [u8],
    /// Blocks, and threads of a block, by dimension.
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared: u32,
    pub sm_count: u32,
    pub checks: Checks,
    /// Who accessed which global memory, where it is watched.
    pub global_races: Option<GlobalRaces>,
    /// Held while a value in global memory is replaced that is no single word.
    pub wide_atomics: Mutex<()>,
    /// Instructions that the warps of one block may run.
    pub max_instructions: u64,
}

impl Grid<'_> {
    pub(super) fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    pub(super) fn warps(&self) -> usize {
        (self.threads() as usize).div_ceil(LANES)
    }

    /// x, y, z of a thread, counted from 0 in its block.
    pub(super) fn thread(&self, thread: u32) -> [u32; 3] {
        let [x, y, _] = self.block;
        [thread % x, thread / x % y, thread / x / y]
    }

    /// The number of a block, counted along x, then y, then z; [`Grid::block_index`] is the opposite.
    pub(super) fn number(&self, [x, y, z]: BlockIndex) -> u32 {
        let number = |size: u32, last: u32, number: u32| last.wrapping_mul(size).wrapping_add(number);
        number(self.grid[0], number(self.grid[1], z, y), x)
    }

    pub(super) fn block_index(&self, number: u32) -> BlockIndex {
        let [x, y, _] = self.grid;
        [number % x, number / x % y, number / x / y]
    }

    pub(super) fn shared_bytes(&self) -> usize {
        match self.dynamic_shared {
            0 => self.program.shared_bytes as usize,
            dynamic => self.program.dynamic_shared_offset as usize + dynamic as usize,
        }
    }
}

/// What a launch did.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Counts by class of block and by instruction, and how many blocks of each class ran.
    pub classes: Vec<(u64, Vec<Count>)>,
    /// The blocks that ran.
    pub blocks: Vec<BlockIndex>,
    pub findings: Vec<Finding>,
    /// What ended the launch before its time.
    pub fault: Option<Finding>,
}

/// Runs blocks, given with the class that each is counted in, on `threads` threads; `go_on` is asked before each.
pub(crate) fn run(
    grid: &Grid<'_>,
    blocks: &(dyn Fn(usize) -> Option<(BlockIndex, usize)> + Sync),
    classes: usize,
    threads: usize,
    go_on: &(dyn Fn(usize) -> bool + Sync),
) -> Outcome {
    let outcome = Mutex::new(Outcome {
        classes: vec![(0, vec![Count::default(); grid.program.instructions.len()]); classes],
        ..Outcome::default()
    });
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || {
        let mut block = Block::new(grid);
        let (mut own, mut ran) = (vec![(0, Vec::new()); classes], Vec::new());
        loop {
            let index = next.fetch_add(1, Relaxed);
            let Some((place, class)) = blocks(index).filter(|_| !stop.load(Relaxed) && go_on(index)) else { break };
            let (count, counts): &mut (u64, Vec<Count>) = &mut own[class];
            counts.resize(grid.program.instructions.len(), Count::default());
            *count += 1;
            ran.push(place);
            if let Err(fault) = block.run(grid, place, counts) {
                stop.store(true, Relaxed);
                let mut outcome = outcome.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                outcome.fault.get_or_insert(*fault);
            }
        }
        let mut outcome = outcome.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for ((blocks, counts), (own_blocks, own_counts)) in outcome.classes.iter_mut().zip(own) {
            *blocks += own_blocks;
            counts.iter_mut().zip(own_counts).for_each(|(count, own)| *count += own);
        }
        outcome.blocks.append(&mut ran);
        outcome.findings.append(&mut block.take_findings());
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    outcome.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}
