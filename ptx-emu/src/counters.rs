//! What a launch did, counted.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::Serialize;

use crate::Space;
use crate::coalesce::{SECTOR_BYTES, WAVEFRONT_BYTES};
use crate::exec::ClassCounts;
use crate::ops::tensor_core::{Format, ROWS};
use crate::program::{Action, Async, Bulk, BulkEnd, ClusterBarrier, Instruction, Program, Tensor, Wgmma};
use crate::registers::LANES;
use crate::waits::{Waits, waits};

/// What one instruction of the PTX did, over all warps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Count {
    /// Warps that ran it.
    pub warps: u64,
    /// Lanes that ran it, its guard holding.
    pub lanes: u64,
    /// Of an access to memory: warps that had a lane to access for.
    pub requests: u64,
    /// Of an access to global or local memory: sectors of 32 bytes.
    pub sectors: u64,
    /// Of an access: passes through the first-level cache, which shared memory is part of; see `coalesce`.
    pub wavefronts: u64,
    /// Of a copy to shared memory: passes of its second half.
    pub copy_wavefronts: u64,
    /// Branches that lanes left in both directions.
    pub diverged: u64,
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.warps += other.warps;
        self.lanes += other.lanes;
        self.requests += other.requests;
        self.sectors += other.sectors;
        self.wavefronts += other.wavefronts;
        self.copy_wavefronts += other.copy_wavefronts;
        self.diverged += other.diverged;
    }
}

/// What a launch did, in all and line by line.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Counters {
    /// Warp instructions, by class.
    pub instructions: BTreeMap<Class, u64>,
    /// Warp instructions of the GPU's own code, estimated: an operation on 64-bit integers is two of them, a jump to what
    /// follows, a parameter that is only read and a product that is twice as wide as its factors are none.
    pub machine_instructions: u64,
    /// Instructions, counted once for each lane that ran one, its guard holding.
    pub thread_instructions: u64,
    /// Fused multiply-adds of fp32, counted once for each lane.
    pub thread_fmas: u64,
    /// Multiply-adds of the tensor cores.
    pub tensor_core_fmas: TensorCoreFmas,
    /// Loads from global memory.
    pub global_loads: GlobalCounters,
    /// Stores to global memory, atomic operations included.
    pub global_stores: GlobalCounters,
    /// Of the loads from global memory, copies in bulk to shared memory: a request each. What they write is not counted.
    pub copies: GlobalCounters,
    /// Loads from shared memory.
    pub shared_loads: SharedCounters,
    /// Stores to shared memory, atomic operations included.
    pub shared_stores: SharedCounters,
    /// What the tensor cores read of shared memory by themselves; of a group of warps, its first reads the matrix that all need.
    pub tensor_core_reads: SharedCounters,
    /// Loads from and stores to local memory: spilled registers, and arrays that are indexed at run time.
    pub local: GlobalCounters,
    /// Warps that came to a barrier of the block.
    pub barriers: u64,
    /// Words of a warp that loads from shared memory brought beyond one for each of their wavefronts.
    pub crowded_words: u64,
    /// Shuffles.
    pub shuffles: u64,
    /// Waits for global memory.
    pub waits: Waits,
    /// Branches at which the lanes of a warp went different ways.
    pub divergent_branches: u64,
    /// Distinct sectors of global memory that each block touched, added up over the blocks: what must pass between the
    /// multiprocessors and the L2 cache at the least. Measured in some blocks and scaled up.
    pub block_sectors: u64,
    /// Bytes of the allocations that were touched.
    pub touched_bytes: u64,
    /// Line by line, for the lines that some warp ran.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<LineCounters>,
}

/// Accesses to global or local memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct GlobalCounters {
    /// Warps that accessed it.
    pub requests: u64,
    /// Sectors of 32 bytes that they touched.
    pub sectors: u64,
    /// Bytes that their lanes asked for.
    pub bytes: u64,
    /// Passes through the first-level cache that they took: more than the least where lanes met in a bank of its data or
    /// of its tags.
    pub wavefronts: u64,
}

/// Accesses to shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct SharedCounters {
    /// Warps that accessed it.
    pub requests: u64,
    /// Passes that they took: more than the least where lanes met in a bank.
    pub wavefronts: u64,
    /// Bytes that their lanes asked for.
    pub bytes: u64,
}

/// Multiply-adds of the tensor cores, by the type of what is multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[allow(missing_docs)] // their names say it
pub struct TensorCoreFmas {
    pub f16: u64,
    pub bf16: u64,
    pub tf32: u64,
}

/// What one line of the PTX did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LineCounters {
    /// Counted from 1.
    pub line: u32,
    /// The opcode.
    pub instruction: String,
    /// Its class.
    pub class: Class,
    /// Warps that ran it.
    pub warps: u64,
    /// Lanes that did, its guard holding.
    pub lanes: u64,
    /// Of an access: warps that had a lane to access for.
    pub requests: u64,
    /// Of an access to global or local memory: sectors.
    pub sectors: u64,
    /// Of an access: wavefronts.
    pub wavefronts: u64,
    /// Of a branch: how often lanes of a warp went different ways.
    pub diverged: u64,
}

/// What an instruction does, roughly: by what executes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // their names say it
pub enum Class {
    Fma,
    FloatArithmetic,
    DoubleArithmetic,
    HalfArithmetic,
    TensorCore,
    SpecialFunction,
    IntegerArithmetic,
    Logic,
    Comparison,
    Conversion,
    Move,
    Lanes,
    GlobalLoad,
    GlobalStore,
    SharedLoad,
    SharedStore,
    LocalAccess,
    OtherLoad,
    GenericAccess,
    Branch,
    Barrier,
    Other,
}

impl Class {
    fn of(instruction: &Instruction) -> Self {
        let mnemonic = &*instruction.mnemonic;
        let is_store = matches!(instruction.action, Action::Store(_) | Action::Atomic(_));
        let space = match &instruction.action {
            Action::Load(access) | Action::Store(access) => Some(access.space),
            Action::Atomic(atomic) => Some(atomic.space),
            Action::Branch(_) | Action::BranchIndex(..) | Action::Exit | Action::Trap => return Self::Branch,
            Action::Barrier(_)
            | Action::ClusterBarrier(_)
            | Action::WarpBarrier(_)
            | Action::Fence
            | Action::ProxyFence => {
                return Self::Barrier;
            }
            Action::Converge(..) => return Self::Lanes,
            Action::Async(action) => {
                return match &**action {
                    Async::Copy(_) => Self::GlobalLoad,
                    Async::Bulk(Bulk { end, .. }) | Async::Tensor(Tensor { end, .. }) => match end {
                        BulkEnd::Barrier { .. } => Self::GlobalLoad,
                        BulkEnd::Group => Self::GlobalStore,
                    },
                    _ => Self::Other,
                };
            }
            Action::Mbarrier(_) => return Self::Barrier,
            Action::Matrices(access) => {
                return if access.is_store { Self::SharedStore } else { Self::SharedLoad };
            }
            Action::Wgmma(action) => {
                return if matches!(**action, Wgmma::Multiply(_)) { Self::TensorCore } else { Self::Other };
            }
            Action::Nop => return Self::Other,
            Action::Compute(_) => None,
        };
        match space {
            Some(Space::Global) if is_store => Self::GlobalStore,
            Some(Space::Global) => Self::GlobalLoad,
            Some(Space::Shared) if is_store => Self::SharedStore,
            Some(Space::Shared) => Self::SharedLoad,
            Some(Space::Local) => Self::LocalAccess,
            Some(Space::Generic) => Self::GenericAccess,
            Some(Space::Const | Space::Param) => Self::OtherLoad,
            None => Self::of_compute(mnemonic),
        }
    }

    fn of_compute(mnemonic: &str) -> Self {
        let name = mnemonic.split('.').next().unwrap_or_default();
        let has = |ty: &str| mnemonic.split('.').any(|part| part == ty);
        match name {
            "mov" | "selp" | "cvta" | "prmt" => Self::Move,
            "setp" | "set" | "slct" | "testp" | "isspacep" => Self::Comparison,
            "cvt" => Self::Conversion,
            "and" | "or" | "xor" | "not" | "cnot" | "lop3" | "shl" | "shr" | "shf" | "bfe" | "bfi" | "brev" => {
                Self::Logic
            }
            "rcp" | "rsqrt" | "sqrt" | "sin" | "cos" | "ex2" | "lg2" | "tanh" if has("approx") => Self::SpecialFunction,
            "shfl" | "vote" | "match" | "redux" | "activemask" | "elect" => Self::Lanes,
            "fma" | "mad" if has("f32") || has("f32x2") => Self::Fma,
            _ if has("f64") => Self::DoubleArithmetic,
            _ if has("f32") || has("f32x2") => Self::FloatArithmetic,
            _ if ["f16", "f16x2", "bf16", "bf16x2"].into_iter().any(has) => Self::HalfArithmetic,
            _ => Self::IntegerArithmetic,
        }
    }
}

impl Class {
    /// Instructions of the GPU's own code that an instruction of the PTX becomes, roughly.
    fn machine_instructions(self, mnemonic: &str) -> u64 {
        let is_wide = ["s64", "u64", "b64"].iter().any(|ty| mnemonic.ends_with(ty));
        match self {
            Self::IntegerArithmetic | Self::Logic if is_wide => 2,
            Self::Branch if mnemonic == "bra.uni" => 0,
            // Part of the addition behind it.
            Self::IntegerArithmetic if mnemonic.starts_with("mul.wide") => 0,
            Self::OtherLoad => 0,
            _ => 1,
        }
    }
}

impl Counters {
    /// Adds up counts by instruction, each times a factor.
    pub(crate) fn new<'a>(program: &Program, classes: impl Iterator<Item = (f64, &'a ClassCounts)>) -> Self {
        let mut sums = vec![[0f64; 7]; program.instructions.len()];
        let (mut block_sectors, mut touched_bytes) = (0.0, 0);
        for (factor, class) in classes.filter(|(factor, _)| *factor > 0.0) {
            let (sectors, noted) = class.sectors;
            block_sectors += factor * class.blocks as f64 * sectors as f64 / noted.max(1) as f64;
            touched_bytes = class.touched_bytes.max(touched_bytes);
            for (sum, count) in sums.iter_mut().zip(&class.counts) {
                let Count { warps, lanes, requests, sectors, wavefronts, copy_wavefronts, diverged } = *count;
                let values = [warps, lanes, requests, sectors, wavefronts, copy_wavefronts, diverged];
                sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += factor * value as f64);
            }
        }
        let counts = sums.into_iter().map(|sum| {
            let [warps, lanes, requests, sectors, wavefronts, copy_wavefronts, diverged] =
                sum.map(|value| value.round() as u64);
            Count { warps, lanes, requests, sectors, wavefronts, copy_wavefronts, diverged }
        });
        let counts: Vec<_> = counts.collect();
        let waits = waits(&program.instructions, &counts);
        let mut counters =
            Self { block_sectors: block_sectors.round() as u64, touched_bytes, waits, ..Self::default() };
        for (instruction, count) in program.instructions.iter().zip(&counts).filter(|(_, count)| count.warps > 0) {
            counters.add(instruction, count);
        }
        counters
    }

    fn add(&mut self, instruction: &Instruction, count: &Count) {
        let class = Class::of(instruction);
        let Count { warps, lanes, requests, sectors, wavefronts, copy_wavefronts, diverged } = *count;
        *self.instructions.entry(class).or_default() += warps;
        self.machine_instructions += warps * class.machine_instructions(&instruction.mnemonic);
        self.thread_instructions += lanes;
        let fmas = if instruction.mnemonic.ends_with("f32x2") { 2 } else { 1 };
        self.thread_fmas += if class == Class::Fma { fmas * lanes } else { 0 };
        self.divergent_branches += diverged;
        let mut bytes = lanes
            * match &instruction.action {
                Action::Load(access) | Action::Store(access) => u64::from(access.bytes()),
                Action::Atomic(atomic) => u64::from(atomic.width) * atomic.elements.len() as u64,
                Action::Async(action) => match &**action {
                    Async::Copy(copy) => u64::from(copy.bytes),
                    _ => 0,
                },
                Action::Matrices(access) => 4 * access.registers.len() as u64,
                Action::Barrier(_) | Action::ClusterBarrier(ClusterBarrier { waits: true, .. }) => {
                    self.barriers += warps;
                    0
                }
                _ => 0,
            };
        let is_bulk = match &instruction.action {
            Action::Async(action) => matches!(**action, Async::Bulk(_) | Async::Tensor(_)),
            _ => false,
        };
        if is_bulk {
            bytes = sectors * SECTOR_BYTES;
        }
        let global = GlobalCounters { requests, sectors, bytes, wavefronts };
        if is_bulk && class == Class::GlobalLoad {
            self.copies += global;
        }
        let shared = SharedCounters { requests, wavefronts, bytes };
        if let Action::Wgmma(action) = &instruction.action
            && let Wgmma::Multiply(product) = &**action
        {
            let fmas = match product.format {
                Format::F16 => &mut self.tensor_core_fmas.f16,
                Format::Bf16 => &mut self.tensor_core_fmas.bf16,
                Format::Tf32 => &mut self.tensor_core_fmas.tf32,
            };
            *fmas += requests * (ROWS * product.format.depth()) as u64 * u64::from(product.columns);
            self.tensor_core_reads += SharedCounters { bytes: wavefronts * WAVEFRONT_BYTES, ..shared };
        }
        match class {
            Class::GlobalLoad | Class::GenericAccess => self.global_loads += global,
            Class::GlobalStore => self.global_stores += global,
            Class::LocalAccess => self.local += global,
            Class::SharedLoad => {
                self.shared_loads += shared;
                self.crowded_words += (bytes / (4 * LANES as u64)).saturating_sub(wavefronts);
            }
            Class::Lanes if instruction.mnemonic.starts_with("shfl") => self.shuffles += warps,
            Class::SharedStore => self.shared_stores += shared,
            _ => {}
        }
        if copy_wavefronts > 0 {
            self.shared_stores += SharedCounters { requests, wavefronts: copy_wavefronts, bytes };
        }
        let wavefronts = wavefronts + copy_wavefronts;
        let (line, mnemonic) = (instruction.line, instruction.mnemonic.to_string());
        self.lines.push(LineCounters {
            line,
            instruction: mnemonic,
            class,
            warps,
            lanes,
            requests,
            sectors,
            wavefronts,
            diverged,
        });
    }

    /// Warp instructions in all.
    #[must_use]
    pub fn warp_instructions(&self) -> u64 {
        self.instructions.values().sum()
    }

    /// Warp instructions of a class.
    #[must_use]
    pub fn of(&self, class: Class) -> u64 {
        self.instructions.get(&class).copied().unwrap_or(0)
    }
}

impl AddAssign for GlobalCounters {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.sectors += other.sectors;
        self.bytes += other.bytes;
        self.wavefronts += other.wavefronts;
    }
}

impl AddAssign for SharedCounters {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.wavefronts += other.wavefronts;
        self.bytes += other.bytes;
    }
}
