//! A warp: its registers, and which of its lanes are where.

use crate::memory::window;
use crate::program::{AddressExpr, Pc, Program};
use crate::registers::{ALL_LANES, LANES, Mask, Registers, Slot};
use crate::special::Special;

use super::copy::Copies;
use super::grid::Grid;
use super::in_flight::InFlight;
use super::poll::Poll;

/// Instructions after which lanes of a warp that others of it could run beside are interrupted for once: the others may hold
/// the lock that they spin on. Each time that it happens, it takes only half as many, until all lanes are together.
const PATIENCE: u64 = 1 << 18;
const LEAST_PATIENCE: u64 = 1 << 8;

/// Lanes that are at the same place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Split {
    pub pc: Pc,
    pub mask: Mask,
    pub wait: Wait,
}

/// What lanes wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    Nothing,
    /// The barrier of that number, to open once more than so often.
    Barrier(usize, u64),
    /// The barrier of the cluster, to open once more than so often.
    Cluster(u64),
    /// The other warps of its group, to come to so many multiplications.
    Products(u64),
    /// These lanes of the warp, to come to the same place.
    Lanes(Mask),
}

/// A warp of a block.
#[derive(Debug)]
pub(super) struct Warp {
    /// Its number in the block, and in the cluster, one block after the other.
    pub index: usize,
    pub number: usize,
    pub registers: Registers,
    /// Lanes that have not left the kernel, by place. No two are at one place and wait for nothing.
    pub splits: Vec<Split>,
    /// Local memory, one lane's after the other's.
    pub local: Vec<u8>,
    /// What its lanes copy in the background.
    pub copies: Copies,
    /// What is known of registers that it multiplies there.
    pub in_flight: InFlight,
    /// By lane, how often the cluster's barrier will have opened when it can go on that has arrived there; 0 where it has not.
    pub arrivals: [u64; LANES],
    /// Instructions that lanes of this warp ran while others of it could have run, and how many of them are too many.
    alone: u64,
    patience: u64,
    /// Lanes that go first, for so many more instructions; and how often there were any.
    pub favoured: Mask,
    pub favour: u64,
    pub favours: usize,
    /// Whether it waits for memory to change.
    pub poll: Poll,
}

impl Warp {
    /// A warp of those numbers; `rank` is its block's in the cluster, if that has other blocks.
    pub(super) fn new(program: &Program, index: usize, number: usize, rank: Option<u32>) -> Self {
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
            alone: 0,
            patience: PATIENCE,
            favoured: 0,
            favour: 0,
            favours: 0,
            poll: Poll::default(),
        }
    }

    /// Puts the warp at the beginning of the kernel, for a block of the grid.
    pub(super) fn start(&mut self, grid: &Grid<'_>, block: [u32; 3]) {
        let threads = grid.threads();
        let first = (self.index * LANES) as u32;
        let lanes = threads.saturating_sub(first).min(LANES as u32);
        let mask = if lanes == LANES as u32 { ALL_LANES } else { (1 << lanes) - 1 };
        self.splits = vec![Split { pc: 0, mask, wait: Wait::Nothing }];
        (self.alone, self.patience, self.favour, self.favours) = (0, PATIENCE, 0, 0);
        self.copies = Copies::default();
        self.in_flight.start(grid.program.watched.len());
        self.poll.end();
        self.arrivals = [0; LANES];
        for &(special, slot, rows) in &grid.program.specials {
            let values: [u64; LANES] =
                std::array::from_fn(|lane| grid.special(special, block, self.index, first + lane as u32));
            self.set(slot, rows, &values);
        }
    }

    fn set(&mut self, slot: Slot, rows: u32, values: &[u64; LANES]) {
        match rows {
            1 => self.registers.write(slot, &values.map(|value| value as u32), ALL_LANES),
            _ => self.registers.write(slot, values, ALL_LANES),
        }
    }

    /// The lanes that have not left the kernel.
    pub(super) fn live(&self) -> Mask {
        self.splits.iter().fold(0, |mask, split| mask | split.mask)
    }

    /// The address in each lane.
    pub(super) fn addresses(&self, address: &AddressExpr) -> [u64; LANES] {
        let offset = address.offset as u64;
        match address.base {
            None => [offset; LANES],
            Some(base) if base.is_64 => self.registers.read::<u64>(base.slot).map(|base| base.wrapping_add(offset)),
            Some(base) => self.registers.read::<u32>(base.slot).map(|base| u64::from(base.wrapping_add(offset as u32))),
        }
    }

    /// Joins lanes that have come to the same place, and chooses which to run: those that come first in the program's
    /// order, but those that are favoured before. `None` where all of them wait.
    pub(super) fn choose(&mut self, program: &Program) -> Option<usize> {
        let mut index = 0;
        while index < self.splits.len() {
            let split = self.splits[index];
            let is_free =
                |split: &Split| !matches!(split.wait, Wait::Barrier(..) | Wait::Cluster(_) | Wait::Products(_));
            let twin =
                self.splits[..index].iter().position(|other| other.pc == split.pc && is_free(other) && is_free(&split));
            match twin {
                Some(twin) => {
                    self.splits[twin].mask |= split.mask;
                    self.splits[twin].wait = Wait::Nothing;
                    self.splits.swap_remove(index);
                }
                None => index += 1,
            }
        }
        let not_favoured = |split: &Split| self.favour > 0 && split.mask & self.favoured == 0;
        let ready = self.splits.iter().enumerate().filter(|(_, split)| split.wait == Wait::Nothing);
        let first = ready.min_by_key(|(_, split)| (not_favoured(split), program.instructions[split.pc].order));
        first.map(|(index, _)| index)
    }

    /// Lanes have run so many instructions: see [`PATIENCE`].
    pub(super) fn lose_patience(&mut self, instructions: u64) {
        if self.splits.len() == 1 {
            (self.alone, self.patience, self.favour) = (0, PATIENCE, 0);
            return;
        }
        if self.favour > 0 {
            self.favour = self.favour.saturating_sub(instructions);
            return;
        }
        self.alone += instructions;
        if self.alone < self.patience {
            return;
        }
        if self.favour_others() {
            self.patience = (self.patience / 2).max(LEAST_PATIENCE);
        }
        self.alone = 0;
    }

    /// Takes lanes out: they have left the kernel.
    pub(super) fn exit(&mut self, index: usize, mask: Mask) {
        self.splits[index].mask &= !mask;
        if self.splits[index].mask == 0 {
            self.splits.swap_remove(index);
        }
    }
}

impl Grid<'_> {
    /// The special register of a thread, counted from 0 in its block.
    fn special(&self, special: Special, block: [u32; 3], warp: usize, thread: u32) -> u64 {
        use Special as S;
        let [tx, ty, _] = self.block;
        let tid = self.thread(thread);
        let lane = thread % LANES as u32;
        let value = match special {
            S::TidX => tid[0],
            S::TidY => tid[1],
            S::TidZ => tid[2],
            S::NtidX => tx,
            S::NtidY => ty,
            S::NtidZ => self.block[2],
            S::CtaidX => block[0],
            S::CtaidY => block[1],
            S::CtaidZ => block[2],
            S::NctaidX => self.grid[0],
            S::NctaidY => self.grid[1],
            S::NctaidZ => self.grid[2],
            S::ClusterIdX => block[0] / self.cluster[0],
            S::ClusterIdY => block[1] / self.cluster[1],
            S::ClusterIdZ => block[2] / self.cluster[2],
            S::NclusterIdX => self.grid[0] / self.cluster[0],
            S::NclusterIdY => self.grid[1] / self.cluster[1],
            S::NclusterIdZ => self.grid[2] / self.cluster[2],
            S::ClusterCtaidX => block[0] % self.cluster[0],
            S::ClusterCtaidY => block[1] % self.cluster[1],
            S::ClusterCtaidZ => block[2] % self.cluster[2],
            S::ClusterNctaidX => self.cluster[0],
            S::ClusterNctaidY => self.cluster[1],
            S::ClusterNctaidZ => self.cluster[2],
            S::ClusterCtarank => self.rank(block) as u32,
            S::ClusterNctarank => self.cluster_blocks() as u32,
            S::IsExplicitCluster => {
                (self.cluster_blocks() > 1 || self.program.bounds.required_cluster.is_some()).into()
            }
            S::LaneId => lane,
            S::WarpId => warp as u32,
            S::NwarpId => self.warps() as u32,
            S::LanemaskEq => 1 << lane,
            S::LanemaskLe => u32::MAX >> (31 - lane),
            S::LanemaskLt => !(u32::MAX << lane),
            S::LanemaskGe => u32::MAX << lane,
            S::LanemaskGt => !(u32::MAX >> (31 - lane)),
            S::NsmId => self.sm_count,
            S::SmId => (block[0] + block[1] * self.grid[0]) % self.sm_count.max(1),
            S::TotalSmemSize => self.shared_bytes() as u32,
            S::DynamicSmemSize => self.dynamic_shared,
            S::AggrSmemSize => self.shared_bytes() as u32,
            S::GridId => 0,
            // Read anew by each instruction.
            S::Clock | S::ClockHi | S::Clock64 | S::GlobalTimer | S::GlobalTimerLo | S::GlobalTimerHi => 0,
        };
        value.into()
    }
}
