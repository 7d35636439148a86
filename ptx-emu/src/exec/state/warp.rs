//! A warp: its registers, and the positions of its lanes.

use super::copies::Copies;
use super::grid::Grid;
use super::in_flight::InFlight;
use super::poll::Poll;
use crate::lanes::{ALL_LANES, LANES, Mask, Registers, Slot};
use crate::memory::window;
use crate::program::{AddressExpr, Pc, Program};

/// Lanes of a warp at the same instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Split {
    pub pc: Pc,
    pub mask: Mask,
    pub wait: Wait,
}

/// What a split waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    Nothing,
    /// Barrier id and phase.
    Barrier(usize, u64),
    /// Phase of the cluster barrier.
    Cluster(u64),
    /// MMAs that the other warps of the warpgroup must issue.
    Mmas(u64),
    /// These lanes of the warp, to arrive at the same instruction.
    Lanes(Mask),
}

/// Instructions that lanes may run while others of the warp are ready, before those get priority: they may hold the
/// lock that the first spin on. The limit halves each time, until the warp reconverges.
pub(crate) const SPIN_LIMIT: u64 = 1 << 18;

/// A warp of a block.
#[derive(Debug)]
pub(crate) struct Warp {
    /// Its index in the block and in the cluster.
    pub index: usize,
    pub number: usize,
    pub registers: Registers,
    /// Lanes that have not exited. No two ready splits are at the same instruction.
    pub splits: Vec<Split>,
    /// Local memory, lane by lane.
    pub local: Vec<u8>,
    /// `cp.async` copies in flight.
    pub copies: Copies,
    /// Registers of MMAs in flight.
    pub in_flight: InFlight,
    /// By lane, one past the phase of the cluster barrier that it arrived in; 0 if it has not.
    pub arrivals: [u64; LANES],
    /// Instructions run while other lanes were ready, and their limit.
    pub spun: u64,
    pub spin_limit: u64,
    /// Prioritised lanes, the instructions for which they stay so, and how often priority changed.
    pub prioritised: Mask,
    pub priority_left: u64,
    pub priority_changes: usize,
    /// Whether it polls memory.
    pub poll: Poll,
}

impl Warp {
    /// A warp of those indices; `rank` is its block's, if the cluster has several.
    pub(crate) fn new(program: &Program, index: usize, number: usize, rank: Option<u32>) -> Self {
        let mut registers = Registers::new(program.rows, program.predicates);
        let mut preset = |slot: Slot, value: u128, rows: u32| match rows {
            1 => registers.write(slot, &[value as u32; LANES], ALL_LANES),
            2 => registers.write(slot, &[value as u64; LANES], ALL_LANES),
            _ => registers.write(slot, &[value; LANES], ALL_LANES),
        };
        program.constants.iter().for_each(|&(slot, value, rows)| preset(slot, value, rows));
        for &(slot, address, rows) in &program.shared {
            let address = rank.map_or(address, |rank| window::of_rank(address, rank));
            preset(slot, address.into(), rows);
        }
        if let Some(always) = program.always {
            registers.predicates[always] = ALL_LANES;
        }
        let local = vec![0; program.local_bytes as usize * LANES];
        Self {
            index,
            number,
            registers,
            splits: vec![],
            local,
            copies: Copies::default(),
            in_flight: InFlight::default(),
            arrivals: [0; LANES],
            spun: 0,
            spin_limit: SPIN_LIMIT,
            prioritised: 0,
            priority_left: 0,
            priority_changes: 0,
            poll: Poll::default(),
        }
    }

    /// Starts the warp at the kernel's entry.
    pub(crate) fn start(&mut self, grid: &Grid<'_>, block: [u32; 3]) {
        let threads = grid.threads();
        let first = (self.index * LANES) as u32;
        let lanes = threads.saturating_sub(first).min(LANES as u32);
        let mask = if lanes == LANES as u32 { ALL_LANES } else { (1 << lanes) - 1 };
        self.splits = vec![Split { pc: 0, mask, wait: Wait::Nothing }];
        (self.spun, self.spin_limit, self.priority_left, self.priority_changes) = (0, SPIN_LIMIT, 0, 0);
        self.copies = Copies::default();
        self.in_flight.start(grid.program.watched.len());
        self.poll.end();
        self.arrivals = [0; LANES];
        if grid.recording.is_some() {
            // What another block has left there is in no trace.
            self.local.fill(0);
        }
        for &(special, slot, rows) in &grid.program.specials {
            let values: [u64; LANES] =
                std::array::from_fn(|lane| grid.special(special, block, self.index, first + lane as u32));
            self.set(slot, rows, &values);
        }
    }

    pub(crate) fn set(&mut self, slot: Slot, rows: u32, values: &[u64; LANES]) {
        match rows {
            1 => self.registers.write(slot, &values.map(|value| value as u32), ALL_LANES),
            _ => self.registers.write(slot, values, ALL_LANES),
        }
    }

    /// Lanes that have not exited.
    pub(crate) fn live(&self) -> Mask {
        self.splits.iter().fold(0, |mask, split| mask | split.mask)
    }

    /// The address in each lane.
    pub(crate) fn addresses(&self, address: &AddressExpr) -> [u64; LANES] {
        let offset = address.offset as u64;
        match address.base {
            None => [offset; LANES],
            Some(base) if base.is_64 => self.registers.read::<u64>(base.slot).map(|base| base.wrapping_add(offset)),
            Some(base) => self.registers.read::<u32>(base.slot).map(|base| u64::from(base.wrapping_add(offset as u32))),
        }
    }

    /// Merges splits that have reconverged, and chooses the next to run: prioritised lanes first, then program order.
    /// `None` if all wait.
    pub(crate) fn choose(&mut self, program: &Program) -> Option<usize> {
        let mut index = 0;
        while index < self.splits.len() {
            let split = self.splits[index];
            let is_free = |split: &Split| !matches!(split.wait, Wait::Barrier(..) | Wait::Cluster(_) | Wait::Mmas(_));
            let same =
                self.splits[..index].iter().position(|other| other.pc == split.pc && is_free(other) && is_free(&split));
            match same {
                Some(same) => {
                    self.splits[same].mask |= split.mask;
                    self.splits[same].wait = Wait::Nothing;
                    self.splits.swap_remove(index);
                }
                None => index += 1,
            }
        }
        let not_prioritised = |split: &Split| self.priority_left > 0 && split.mask & self.prioritised == 0;
        let ready = self.splits.iter().enumerate().filter(|(_, split)| split.wait == Wait::Nothing);
        let first = ready.min_by_key(|(_, split)| (not_prioritised(split), program.instructions[split.pc].order));
        first.map(|(index, _)| index)
    }

    /// Removes lanes that exit.
    pub(crate) fn exit(&mut self, index: usize, mask: Mask) {
        self.splits[index].mask &= !mask;
        if self.splits[index].mask == 0 {
            self.splits.swap_remove(index);
        }
    }
}
