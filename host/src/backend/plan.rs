//! What a step launches for a problem, with which arguments, and the memory that it takes beside the operands: the same
//! for every backend.

use gpu_kernels::{MapBox, Operand, Prepass, Schedule, Split, Step, TENSOR_MAP_BYTES};

use super::slabs::{Slab, slabs};
use crate::{Error, Kernel, Problem};

mod stored;

use stored::Stored;

/// An address in a device's memory.
pub(super) type Address = u64;

/// A word of memory in which nothing is a number, whatever its elements are.
pub(super) const POISON: u32 = 0x7fc0_7fc0;

/// What a kernel takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Argument {
    U32(u32),
    F32(f32),
    Address(Address),
}

/// Blocks and threads of a launch, by dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    /// Blocks.
    pub(super) grid: [u32; 3],
    /// Threads of a block.
    pub(super) block: [u32; 3],
    /// Blocks of a cluster.
    pub(super) cluster: [u32; 3],
    pub(super) dynamic_smem_bytes: u32,
}

/// A kernel, how to launch it, and with what.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Launch {
    pub(super) kernel: &'static str,
    pub(super) shape: Shape,
    /// With the names of the parameters, in order.
    pub(super) arguments: Vec<(&'static str, Argument)>,
    /// The rows of C that it computes; those of the source where it is a pre-pass.
    pub(super) slab: Slab,
}

/// Memory beside the operands, or what is known of each part of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Scratch<T> {
    /// What pre-passes make of A and B. Nothing in there is a number before they run.
    pub(super) copies: [T; 2],
    /// [`Step::workspace_bytes`], zeros at first.
    pub(super) workspace: T,
    /// Tensor maps of A and B for each slab, in this order.
    pub(super) maps: T,
}

/// What a tensor map says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TensorMap {
    pub(super) address: Address,
    pub(super) rows: u32,
    pub(super) columns: u32,
    pub(super) ld: u32,
    pub(super) copied: MapBox,
}

/// A step on a problem.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    step: &'static Step,
    problem: Problem,
    sm_count: u32,
    /// What rewrites A and B here.
    prepasses: [Option<&'static Prepass>; 2],
}

impl Plan {
    /// A step on a problem, on a device of so many multiprocessors. Each matrix starts at a multiple of 16 bytes.
    ///
    /// # Errors
    /// [`Error::Elements`] where the step takes others, [`Error::TooLarge`] where what a pre-pass writes would have rows that a kernel cannot count.
    pub(super) fn new(step: &'static Step, problem: &Problem, sm_count: u32) -> Result<Self, Error> {
        problem.check_kernel(Kernel::Step(step))?;
        for Split { depth, .. } in step.prepasses.iter().filter_map(|prepass| prepass.split) {
            let most = stored::max_split_k(depth);
            if problem.k > most {
                return Err(Error::TooLarge { name: "k", value: problem.k, most });
            }
        }
        let element = step.precision.input();
        let prepass = |operand, ld: u32| {
            let applies = |prepass: &&Prepass| {
                prepass.operand == operand && !(prepass.only_unaligned && stored::is_aligned(element, ld))
            };
            step.prepasses.iter().find(applies)
        };
        let prepasses = [prepass(Operand::A, problem.lda), prepass(Operand::B, problem.ldb)];
        Ok(Self { step, problem: *problem, sm_count, prepasses })
    }

    /// What pre-passes rewrite, in their order: 0 is A, 1 is B.
    pub(super) fn rewritten(&self) -> Vec<usize> {
        (0..2).filter(|&index| self.prepasses[index].is_some()).collect()
    }

    /// Blocks of all launches of each, in the same order.
    pub(super) fn prepass_blocks(&self) -> Vec<u64> {
        let sources = self.operands([0; 2]);
        let blocks = |index: usize| {
            let Stored { rows, columns, .. } = sources[index];
            Some(self.prepasses[index]?.grid(rows, columns).into_iter().map(u64::from).product())
        };
        (0..2).filter_map(blocks).collect()
    }

    /// Whether there is nothing to launch.
    fn is_empty(&self) -> bool {
        self.problem.m == 0 || self.problem.n == 0
    }

    fn slabs(&self) -> impl ExactSizeIterator<Item = Slab> {
        slabs(if self.is_empty() { 0 } else { self.problem.m }, self.step.tile.bm)
    }

    /// A and B as they were uploaded, at these addresses.
    fn operands(&self, [a, b]: [Address; 2]) -> [Stored; 2] {
        let Problem { m, n, k, lda, ldb, .. } = self.problem;
        let element = self.step.precision.input();
        let operand = |address, rows, columns, ld| Stored { address, rows, columns, ld, element, transposed: false };
        [operand(a, m, k, lda), operand(b, k, n, ldb)]
    }

    /// What pre-passes make of A and B, at these addresses.
    fn targets(&self, addresses: [Address; 2]) -> [Option<Stored>; 2] {
        let sources = self.operands([0; 2]);
        [0, 1].map(|index| Some(sources[index].rewritten(self.prepasses[index]?, addresses[index])))
    }

    /// What the step's kernel reads by itself, or by tensor maps with `mapped`. Where an operand was split it reads it by
    /// both, its parts by the map.
    fn inputs(&self, [a, b, _]: [Address; 3], scratch: &Scratch<Address>, mapped: bool) -> [Stored; 2] {
        let (operands, targets) = (self.operands([a, b]), self.targets(scratch.copies));
        [0, 1].map(|index| {
            let is_split = self.prepasses[index].is_some_and(|prepass| prepass.split.is_some());
            targets[index].filter(|_| mapped || !is_split).unwrap_or(operands[index])
        })
    }

    /// Bytes of each part of the memory that it takes beside the operands; 0 where it does without.
    pub(super) fn scratch_bytes(&self) -> Scratch<u64> {
        if self.is_empty() {
            return Scratch::default();
        }
        let bytes = |prepass: Option<&Prepass>, target: Option<Stored>| {
            let splits = prepass.is_some_and(|prepass| prepass.split.is_some());
            target.map_or(0, |target| if splits { target.bytes_with_scales() } else { target.bytes() })
        };
        let [a, b] = self.targets([0; 2]);
        let workspace = |slab: Slab| self.step.workspace_bytes(slab.rows, self.problem.n, self.sm_count);
        let maps = if self.step.maps.is_some() { 2 * self.slabs().len() * TENSOR_MAP_BYTES } else { 0 };
        Scratch {
            copies: [bytes(self.prepasses[0], a), bytes(self.prepasses[1], b)],
            workspace: self.slabs().map(workspace).max().unwrap_or(0),
            maps: maps as u64,
        }
    }

    /// The tensor maps, in their order in memory. `operands` is where A, B and C begin.
    pub(super) fn maps(&self, operands: [Address; 3], scratch: &Scratch<Address>) -> Vec<TensorMap> {
        let Some(boxes) = self.step.maps else { return Vec::new() };
        let [a, b] = self.inputs(operands, scratch, true);
        let map = |stored: Stored, copied| {
            let Stored { address, rows, columns, ld, .. } = stored;
            TensorMap { address, rows: rows.max(1), columns: columns.max(1), ld, copied }
        };
        self.slabs().flat_map(|slab| [map(a.slab(slab), boxes[0]), map(b, boxes[1])]).collect()
    }

    /// What is launched before the step's kernel, every time.
    pub(super) fn prepasses(&self, [a, b, _]: [Address; 3], scratch: &Scratch<Address>) -> Vec<Launch> {
        // What is not read need not be rewritten.
        let reads = !self.is_empty() && self.problem.reads_inputs();
        let (sources, targets) = (self.operands([a, b]), self.targets(scratch.copies));
        let mut launches = Vec::new();
        for index in 0..2 {
            let (Some(prepass), Some(target)) = (self.prepasses[index].filter(|_| reads), targets[index]) else {
                continue;
            };
            let Stored { rows, columns, ld, .. } = sources[index];
            launches.extend(slabs(rows, prepass.tile[0]).map(|slab| {
                let Slab { first_row, rows } = slab;
                let mut arguments = vec![
                    ("rows", Argument::U32(rows)),
                    ("columns", Argument::U32(columns)),
                    ("source", Argument::Address(sources[index].at_row(first_row))),
                    ("ld", Argument::U32(ld)),
                    ("target", Argument::Address(target.at_row(first_row))),
                    ("target_ld", Argument::U32(target.ld)),
                ];
                if prepass.split.is_some() {
                    arguments.push(("scales", Argument::Address(target.scales_at(first_row))));
                }
                Launch {
                    kernel: prepass.kernel,
                    shape: Shape {
                        grid: prepass.grid(rows, columns),
                        block: [prepass.threads, 1, 1],
                        cluster: prepass.cluster,
                        dynamic_smem_bytes: 0,
                    },
                    arguments,
                    slab,
                }
            }));
        }
        launches
    }

    /// The launches of the step's kernel: one, but for problems that are taller than a grid; none where m or n is 0.
    pub(super) fn launches(&self, operands: [Address; 3], scratch: &Scratch<Address>) -> Vec<Launch> {
        let Problem { n, k, alpha, beta, ldc, .. } = self.problem;
        let [a, b] = self.inputs(operands, scratch, false);
        let [a_parts, b_parts] = self.inputs(operands, scratch, true);
        let (c, c_bytes) = (operands[2], u64::from(self.step.output.bytes()));
        let launch = |(index, slab): (u64, Slab)| {
            let Slab { first_row, rows } = slab;
            let c = c + u64::from(first_row) * u64::from(ldc) * c_bytes;
            let mut arguments = vec![
                ("m", Argument::U32(rows)),
                ("n", Argument::U32(n)),
                ("k", Argument::U32(k)),
                ("alpha", Argument::F32(alpha)),
                ("a", Argument::Address(a.at_row(first_row))),
                ("lda", Argument::U32(a.ld)),
                ("b", Argument::Address(b.address)),
                ("ldb", Argument::U32(b.ld)),
                ("beta", Argument::F32(beta)),
                ("c", Argument::Address(c)),
                ("ldc", Argument::U32(ldc)),
            ];
            if self.step.maps.is_some() {
                let map = |number| Argument::Address(scratch.maps + (2 * index + number) * TENSOR_MAP_BYTES as u64);
                arguments.extend([("a_map", map(0)), ("b_map", map(1))]);
            }
            if self.step.splits() {
                arguments.push(("a_scales", Argument::Address(a_parts.scales_at(first_row))));
                arguments.push(("b_scales", Argument::Address(b_parts.scales_at(0))));
            }
            if let Schedule::StreamK { .. } = self.step.schedule {
                let streamed = self.step.streamed(rows, n, self.sm_count);
                arguments.push(("streamed_tiles", Argument::U32(streamed.tiles)));
                arguments.push(("workspace", Argument::Address(scratch.workspace)));
            }
            Launch {
                kernel: self.step.kernel,
                shape: Shape {
                    grid: self.step.grid(rows, n, self.sm_count),
                    block: self.step.block,
                    cluster: self.step.cluster,
                    dynamic_smem_bytes: self.step.dynamic_smem_bytes,
                },
                arguments,
                slab,
            }
        };
        (0..).zip(self.slabs()).map(launch).collect()
    }
}

impl Scratch<u64> {
    /// Bytes in all.
    pub(super) fn total(&self) -> u64 {
        let Self { copies: [a, b], workspace, maps } = *self;
        [a, b, workspace, maps].into_iter().fold(0, u64::saturating_add)
    }
}

/// Bytes of device memory that a kernel takes beside the operands, on a device of so many multiprocessors; `None` of
/// cuBLAS, which does not say, and of a step that does not run on the problem.
pub(crate) fn workspace_bytes(kernel: Kernel, problem: &Problem, sm_count: u32) -> Option<u64> {
    match kernel {
        Kernel::Step(step) => Some(Plan::new(step, problem, sm_count).ok()?.scratch_bytes().total()),
        Kernel::Cublas(_) => None,
    }
}

#[cfg(test)]
mod tests;
