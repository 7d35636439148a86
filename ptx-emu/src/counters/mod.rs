//! Counters of a launch.

mod class;
pub(crate) mod coalesce;
mod count;
mod machine;
mod product;
mod traced;
mod waits;

pub use class::Class;
pub use coalesce::SECTOR_BYTES;
pub(crate) use count::{ClassCounts, Count};
pub use waits::Waits;

use std::collections::BTreeMap;
use std::ops::AddAssign;

use crate::lanes::LANES;
use crate::program::{Action, Async, ClusterBarrier, Fragments, Instruction, Program, TextureKind};
use coalesce::WAVEFRONT_BYTES;
use product::{Unit, product};
use serde::{Deserialize, Serialize};
use waits::waits;

/// Counters of a launch, total and by line.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Warp instructions, by class.
    pub instructions: BTreeMap<Class, u64>,
    /// Warp instructions of the GPU's machine code, estimated. An operation on 64-bit integers counts as two; a branch
    /// to the next instruction or over a few, and what the assembler merges into another instruction count as none.
    pub machine_instructions: u64,
    /// Thread instructions: active lanes whose guard is true.
    pub thread_instructions: u64,
    /// FP32 FMAs of threads.
    pub thread_fmas: u64,
    /// FMAs of the tensor cores.
    pub tensor_core_fmas: TensorCoreFmas,
    /// Loads from global memory.
    pub global_loads: GlobalCounters,
    /// Stores to global memory, atomic operations included.
    pub global_stores: GlobalCounters,
    /// Bulk copies from global to shared memory, which `global_loads` includes: one request each. Their writes to
    /// shared memory are not counted.
    pub copies: GlobalCounters,
    /// Loads from shared memory.
    pub shared_loads: SharedCounters,
    /// Stores to shared memory, atomic operations included.
    pub shared_stores: SharedCounters,
    /// Reads of shared memory by the tensor cores; the first warp of a warpgroup reads B for all four.
    pub tensor_core_reads: SharedCounters,
    /// Accesses to local memory: register spills, and arrays indexed at run time.
    pub local: GlobalCounters,
    /// Warps that arrived at a barrier of the block.
    pub barriers: u64,
    /// Words per lane that loads from shared memory deliver beyond one per wavefront, by warp.
    pub crowded_words: u64,
    /// Shuffles.
    pub shuffles: u64,
    /// Waits for global memory.
    pub waits: Waits,
    /// Branches at which a warp diverged.
    pub divergent_branches: u64,
    /// The least traffic between the SMs and L2, in sectors: the distinct ones of global memory that each block touched, summed over the
    /// blocks, measured in some and scaled up; or those of all stores and of copies past L1, which no cache of an SM serves, if they
    /// are more.
    pub block_sectors: u64,
    /// Bytes of the allocations that were touched.
    pub touched_bytes: u64,
    /// Bytes of those that were loaded from.
    pub loaded_bytes: u64,
    /// By line, for the lines that were executed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<LineCounters>,
}

/// Accesses to global or local memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GlobalCounters {
    /// Warps that accessed it.
    pub requests: u64,
    /// Sectors of 32 bytes touched; of copies past L1, as often as they are fetched.
    pub sectors: u64,
    /// Bytes that the lanes requested.
    pub bytes: u64,
    /// L1 wavefronts: more than the minimum where lanes conflict in a data bank or a tag bank. Copies past L1 have none, but those
    /// of their stores to shared memory.
    pub wavefronts: u64,
}

/// Accesses to shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SharedCounters {
    /// Warps that accessed it.
    pub requests: u64,
    /// Wavefronts: more than the minimum where lanes conflict in a bank.
    pub wavefronts: u64,
    /// Bytes that their lanes asked for.
    pub bytes: u64,
}

/// FMAs of the tensor cores, by element type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TensorCoreFmas {
    /// Of `mma` of fp8 too, which Hopper converts to f16.
    pub f16: u64,
    /// bfloat16.
    pub bf16: u64,
    /// TF32.
    pub tf32: u64,
    /// Double precision.
    pub f64: u64,
    /// Of `wgmma` of fp8.
    pub fp8: u64,
    /// Of integers of 4 bits too, which Hopper widens to 8.
    pub int8: u64,
    /// Single bits.
    pub b1: u64,
}

impl TensorCoreFmas {
    /// Of all types.
    #[must_use]
    pub const fn total(self) -> u64 {
        let Self { f16, bf16, tf32, f64, fp8, int8, b1 } = self;
        f16 + bf16 + tf32 + f64 + fp8 + int8 + b1
    }

    /// The counts, for scaling them.
    pub fn each_mut(&mut self) -> [&mut u64; 7] {
        let Self { f16, bf16, tf32, f64, fp8, int8, b1 } = self;
        [f16, bf16, tf32, f64, fp8, int8, b1]
    }
}

/// Counters of one line of the PTX.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineCounters {
    /// Counted from 1.
    pub line: u32,
    /// The opcode.
    pub instruction: String,
    /// Its class.
    pub class: Class,
    /// Warps that executed it.
    pub warps: u64,
    /// Active lanes whose guard is true.
    pub lanes: u64,
    /// Of an access: warps with at least one active lane.
    pub requests: u64,
    /// Of an access to global or local memory: sectors.
    pub sectors: u64,
    /// Of an access: wavefronts.
    pub wavefronts: u64,
    /// Of a branch: divergences.
    pub diverged: u64,
}

/// Whether it loads from L2, whatever L1 has.
fn bypasses_l1(action: &Action) -> bool {
    match action {
        Action::Async(action) => match &**action {
            Async::Copy(copy) => copy.bypasses_l1,
            Async::Bulk(_)
            | Async::Tensor(_)
            | Async::Commit
            | Async::Wait(_)
            | Async::CommitBulk
            | Async::WaitBulk(_)
            | Async::Map(_) => false,
        },
        _ => false,
    }
}

impl Class {
    /// Instructions of the GPU's own code that an instruction of the PTX becomes, roughly.
    fn machine_instructions(self, mnemonic: &str) -> u64 {
        // The same register, or one of a pair.
        if ["cvta", "cvt.u64.u32", "cvt.u32.u64"].iter().any(|free| mnemonic.starts_with(free)) {
            return 0;
        }
        let is_wide = ["s64", "u64", "b64"].iter().any(|ty| mnemonic.ends_with(ty));
        match self {
            Self::IntegerArithmetic | Self::Logic if is_wide => 2,
            Self::Branch if mnemonic == "bra.uni" => 0,
            // Part of the addition behind it.
            Self::IntegerArithmetic if mnemonic.starts_with("mul.wide") => 0,
            _ => 1,
        }
    }
}

impl Counters {
    /// Sums counts by instruction, each class weighted by its factor.
    pub(crate) fn new<'a>(program: &Program, classes: impl Iterator<Item = (f64, &'a ClassCounts)>) -> Self {
        let mut sums = vec![[0f64; 7]; program.instructions.len()];
        let (mut block_sectors, mut touched_bytes, mut loaded_bytes) = (0.0, 0, 0);
        for (factor, class) in classes.filter(|(factor, _)| *factor > 0.0) {
            let (sectors, recorded) = (class.sectors, class.recorded_blocks);
            block_sectors += factor * class.blocks as f64 * sectors as f64 / recorded.max(1) as f64;
            touched_bytes = class.touched_bytes.max(touched_bytes);
            loaded_bytes = class.loaded_bytes.max(loaded_bytes);
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
        let waits = waits(program, &counts);
        let mut counters =
            Self { block_sectors: block_sectors.round() as u64, touched_bytes, loaded_bytes, waits, ..Self::default() };
        let past_l1 = program.instructions.iter().zip(&counts);
        let past_l1: u64 = past_l1.filter(|(it, _)| bypasses_l1(&it.action)).map(|(_, count)| count.sectors).sum();
        for (instruction, count) in program.instructions.iter().zip(&counts).filter(|(_, count)| count.warps > 0) {
            counters.add(instruction, count);
        }
        counters.machine_instructions = machine::total(program, &counts);
        counters.block_sectors = counters.block_sectors.max(counters.global_stores.sectors + past_l1);
        counters
    }

    fn add(&mut self, instruction: &Instruction, count: &Count) {
        let class = Class::of(instruction);
        let Count { warps, lanes, requests, sectors, wavefronts, copy_wavefronts, diverged } = *count;
        *self.instructions.entry(class).or_default() += warps;
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
                Action::Fragments(fragments) => match &**fragments {
                    Fragments::Access(access) => {
                        access.pieces.iter().map(|piece| u64::from(piece.access.bytes())).sum()
                    }
                    Fragments::Transpose(_) => 0,
                },
                Action::Texture(access) => match &access.kind {
                    TextureKind::Fetch { d, .. } => 4 * d.len() as u64,
                    TextureKind::Surface { width, elements, .. } => u64::from(*width) * elements.len() as u64,
                },
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
        if let Some((unit, fmas)) = product(&instruction.action) {
            let counted = &mut self.tensor_core_fmas;
            let counted = match unit {
                Unit::F16 => &mut counted.f16,
                Unit::Bf16 => &mut counted.bf16,
                Unit::Tf32 => &mut counted.tf32,
                Unit::F64 => &mut counted.f64,
                Unit::Float8 => &mut counted.fp8,
                Unit::Int8 => &mut counted.int8,
                Unit::Bits => &mut counted.b1,
            };
            *counted += requests * fmas as u64;
        }
        if matches!(instruction.action, Action::Wgmma(_)) && class == Class::TensorCore {
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

    /// Warp instructions, all classes.
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
