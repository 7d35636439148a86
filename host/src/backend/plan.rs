//! What a step launches for a problem, with which arguments, and the memory that it takes beside the operands: the same
//! for every backend.

use gpu_kernels::{MapBox, Operand, Prepass, Schedule, Step, TENSOR_MAP_BYTES};

use super::slabs::{Slab, slabs};
use crate::matrix::GUARD;
use crate::{Kernel, Problem};

/// An address in a device's memory.
pub(super) type Address = u64;

/// Bytes of an element.
const ELEMENT: u64 = size_of::<f32>() as u64;

/// Elements of the 16 bytes that wide copies are made of.
const WIDE: u32 = 4;
const _: () = assert!(GUARD.is_multiple_of(WIDE as usize), "matrices start at multiples of 16 bytes");

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

/// An operand as the step's kernel gets it.
#[derive(Debug, Clone, Copy)]
struct Input {
    address: Address,
    rows: u32,
    columns: u32,
    ld: u32,
    transposed: bool,
}

impl Input {
    /// Where its row of that number is, or its column where it is transposed.
    fn at_row(&self, row: u32) -> Address {
        let elements = if self.transposed { u64::from(row) } else { u64::from(row) * u64::from(self.ld) };
        self.address + elements * ELEMENT
    }
}

impl Plan {
    /// A step on a problem, on a device of so many multiprocessors. Each matrix starts at a multiple of 16 bytes.
    pub(super) fn new(step: &'static Step, problem: &Problem, sm_count: u32) -> Self {
        let prepass = |operand, ld: u32| {
            let applies =
                |prepass: &&Prepass| prepass.operand == operand && !(prepass.only_unaligned && ld.is_multiple_of(WIDE));
            step.prepasses.iter().find(applies)
        };
        let prepasses = [prepass(Operand::A, problem.lda), prepass(Operand::B, problem.ldb)];
        Self { step, problem: *problem, sm_count, prepasses }
    }

    /// What pre-passes rewrite, in their order: 0 is A, 1 is B.
    pub(super) fn rewritten(&self) -> Vec<usize> {
        (0..2).filter(|&index| self.prepasses[index].is_some()).collect()
    }

    /// Whether there is nothing to launch.
    fn is_empty(&self) -> bool {
        self.problem.m == 0 || self.problem.n == 0
    }

    fn slabs(&self) -> impl ExactSizeIterator<Item = Slab> {
        slabs(if self.is_empty() { 0 } else { self.problem.m }, self.step.tile.bm)
    }

    /// A and B, with `addresses` of these or of what pre-passes make of them.
    fn inputs(&self, addresses: [Address; 2]) -> [Input; 2] {
        let Problem { m, n, k, lda, ldb, .. } = self.problem;
        [(0, m, k, lda), (1, k, n, ldb)].map(|(index, rows, columns, ld)| {
            let address = addresses[index];
            match self.prepasses[index] {
                None => Input { address, rows, columns, ld, transposed: false },
                Some(Prepass { transposes, .. }) => {
                    let [rows, columns] = if *transposes { [columns, rows] } else { [rows, columns] };
                    let ld = columns.max(1).next_multiple_of(WIDE);
                    Input { address, rows, columns, ld, transposed: *transposes }
                }
            }
        })
    }

    /// Bytes of each part of the memory that it takes beside the operands; 0 where it does without.
    pub(super) fn scratch_bytes(&self) -> Scratch<u64> {
        if self.is_empty() {
            return Scratch::default();
        }
        let inputs = self.inputs([0; 2]);
        let copy = |index: usize| {
            let Input { rows, ld, .. } = inputs[index];
            let bytes = u64::from(rows.max(1)).saturating_mul(u64::from(ld)).saturating_mul(ELEMENT);
            self.prepasses[index].map_or(0, |_| bytes)
        };
        let workspace = |slab: Slab| self.step.workspace_bytes(slab.rows, self.problem.n, self.sm_count);
        let maps = if self.step.maps.is_some() { 2 * self.slabs().len() * TENSOR_MAP_BYTES } else { 0 };
        Scratch {
            copies: [copy(0), copy(1)],
            workspace: self.slabs().map(workspace).max().unwrap_or(0),
            maps: maps as u64,
        }
    }

    /// Which address the kernel's A and B have: theirs, or those of what pre-passes make of them.
    fn sources(&self, [a, b, _]: [Address; 3], scratch: &Scratch<Address>) -> [Input; 2] {
        let address = |index: usize, own| if self.prepasses[index].is_some() { scratch.copies[index] } else { own };
        self.inputs([address(0, a), address(1, b)])
    }

    /// The tensor maps, in their order in memory. `operands` is where A, B and C begin.
    pub(super) fn maps(&self, operands: [Address; 3], scratch: &Scratch<Address>) -> Vec<TensorMap> {
        let Some(boxes) = self.step.maps else { return Vec::new() };
        let [a, b] = self.sources(operands, scratch);
        let map = |input: Input, copied| {
            let Input { address, rows, columns, ld, .. } = input;
            TensorMap { address, rows: rows.max(1), columns: columns.max(1), ld, copied }
        };
        let of_slab = |Slab { first_row, rows }: Slab| {
            let address = a.at_row(first_row);
            let of_a = if a.transposed { Input { address, columns: rows, ..a } } else { Input { address, rows, ..a } };
            [map(of_a, boxes[0]), map(b, boxes[1])]
        };
        self.slabs().flat_map(of_slab).collect()
    }

    /// What is launched before the step's kernel, every time.
    pub(super) fn prepasses(&self, [a, b, _]: [Address; 3], scratch: &Scratch<Address>) -> Vec<Launch> {
        let Problem { m, n, k, lda, ldb, .. } = self.problem;
        // What is not read need not be rewritten.
        let reads = !self.is_empty() && self.problem.reads_inputs();
        let targets = self.inputs(scratch.copies);
        let sources = [(a, lda, m, k), (b, ldb, k, n)];
        let mut launches = Vec::new();
        for (index, (source, ld, rows, columns)) in sources.into_iter().enumerate() {
            let Some(prepass) = self.prepasses[index].filter(|_| reads) else { continue };
            let [tile_rows, tile_columns] = prepass.tile;
            let target = targets[index];
            launches.extend(slabs(rows, tile_rows).map(|slab| {
                let Slab { first_row, rows } = slab;
                let source = source + u64::from(first_row) * u64::from(ld) * ELEMENT;
                Launch {
                    kernel: prepass.kernel,
                    shape: Shape {
                        grid: [columns.div_ceil(tile_columns), rows.div_ceil(tile_rows), 1],
                        block: [prepass.threads, 1, 1],
                        cluster: [1; 3],
                        dynamic_smem_bytes: 0,
                    },
                    arguments: vec![
                        ("rows", Argument::U32(rows)),
                        ("columns", Argument::U32(columns)),
                        ("source", Argument::Address(source)),
                        ("ld", Argument::U32(ld)),
                        ("target", Argument::Address(target.at_row(first_row))),
                        ("target_ld", Argument::U32(target.ld)),
                    ],
                    slab,
                }
            }));
        }
        launches
    }

    /// The launches of the step's kernel: one, but for problems that are taller than a grid; none where m or n is 0.
    pub(super) fn launches(&self, operands: [Address; 3], scratch: &Scratch<Address>) -> Vec<Launch> {
        let Problem { n, k, alpha, beta, ldc, .. } = self.problem;
        let [a, b] = self.sources(operands, scratch);
        let c = operands[2];
        let launch = |(index, slab): (u64, Slab)| {
            let Slab { first_row, rows } = slab;
            let c = c + u64::from(first_row) * u64::from(ldc) * ELEMENT;
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
/// cuBLAS, which does not say.
pub(crate) fn workspace_bytes(kernel: Kernel, problem: &Problem, sm_count: u32) -> Option<u64> {
    match kernel {
        Kernel::Step(step) => Some(Plan::new(step, problem, sm_count).scratch_bytes().total()),
        Kernel::Cublas(_) => None,
    }
}

#[cfg(test)]
mod tests;
