//! What a kernel's launch takes: which kernels, with which arguments, and the memory beside the operands. The same for every
//! device, and for one that is emulated.

mod launch;
mod slabs;
mod stored;

use gpu_kernels::{Ab, Extent, Operand, Prepass, Schedule, Split, Step};

pub use launch::{Address, Argument, Launch, LaunchShape, TensorMap, WORKSPACE_ALIGNMENT, Workspace};
pub use slabs::Slab;
use slabs::slabs;
use stored::Stored;

use crate::{Abc, Error, Problem};

/// What each operand begins at a multiple of, in bytes: kernels read 16 at once.
pub const OPERAND_ALIGNMENT: u64 = 16;

/// A step on a problem: what is launched, in which order, and which memory that takes.
///
/// ```
/// use sgemm::plan::Plan;
/// use sgemm::{Abc, Problem};
///
/// let step = gpu_kernels::find("2d-tiling").expect("a step of the ladder");
/// let problem = Problem::new(1000, 500, 200)?;
/// let plan = Plan::new(step, &problem, 132)?;
/// // The addresses of A, B and C; this kernel takes no memory beside them.
/// let launches = plan.launches(Abc { a: 0x1000_0000, b: 0x2000_0000, c: 0x3000_0000 }, &plan.parts().at(0));
/// assert_eq!((launches.len(), launches[0].kernel, plan.workspace_bytes()), (1, step.kernel, 0));
/// # Ok::<(), sgemm::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    step: &'static Step,
    problem: Problem,
    sm_count: u32,
    /// What rewrites A and B here.
    prepasses: Ab<Option<&'static Prepass>>,
}

impl Plan {
    /// A step on a problem, on a device of so many SMs. Each matrix begins at a multiple of [`OPERAND_ALIGNMENT`].
    ///
    /// # Errors
    /// Those of [`Problem::validate`]; [`Error::Elements`] where the step takes others, [`Error::TooLarge`] where what a pre-pass
    /// writes would have rows that a kernel cannot count.
    pub fn new(step: &'static Step, problem: &Problem, sm_count: u32) -> Result<Self, Error> {
        problem.validate()?;
        problem.check_elements(step)?;
        for Split { chunk, .. } in step.prepasses.iter().filter_map(|prepass| prepass.split) {
            let most = stored::max_split_k(chunk);
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
        let prepasses = Ab { a: prepass(Operand::A, problem.lda), b: prepass(Operand::B, problem.ldb) };
        Ok(Self { step, problem: *problem, sm_count, prepasses })
    }

    /// The step whose kernel it launches.
    #[must_use]
    pub fn step(&self) -> &'static Step {
        self.step
    }

    /// The problem that it solves.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// What pre-passes rewrite, and blocks of all launches of each, in their order.
    #[must_use]
    pub fn rewritten(&self) -> Vec<(Operand, u64)> {
        let sources = self.operands(Ab::both(0));
        let rewritten = |operand, prepass: Option<&Prepass>, source: Stored| {
            let source = Extent { rows: source.rows, cols: source.columns };
            Some((operand, prepass?.grid(source).into_iter().map(u64::from).product()))
        };
        let a = rewritten(Operand::A, self.prepasses.a, sources.a);
        let b = rewritten(Operand::B, self.prepasses.b, sources.b);
        [a, b].into_iter().flatten().collect()
    }

    fn slabs(&self) -> impl ExactSizeIterator<Item = Slab> {
        slabs(if self.problem.is_empty() { 0 } else { self.problem.m }, self.step.tile.bm)
    }

    /// A and B as the caller has them, at these addresses.
    fn operands(&self, addresses: Ab<Address>) -> Ab<Stored> {
        let Problem { m, n, k, lda, ldb, .. } = self.problem;
        let element = self.step.precision.input();
        let operand = |address, rows, columns, ld| Stored { address, rows, columns, ld, element, transposed: false };
        Ab { a: operand(addresses.a, m, k, lda), b: operand(addresses.b, k, n, ldb) }
    }

    /// What pre-passes make of A and B, at these addresses.
    fn targets(&self, addresses: Ab<Address>) -> Ab<Option<Stored>> {
        let sources = self.operands(Ab::both(0));
        let target = |((prepass, source), address): ((Option<&Prepass>, Stored), Address)| {
            Some(source.rewritten(prepass?, address))
        };
        self.prepasses.zip(sources).zip(addresses).map(target)
    }

    /// What the step's kernel reads by itself, or by tensor maps with `mapped`. Where an operand was split it reads it by
    /// both, its hi/lo split by the map.
    fn inputs(&self, operands: Abc<Address>, workspace: &Workspace<Address>, mapped: bool) -> Ab<Stored> {
        let Abc { a, b, .. } = operands;
        let targets = self.targets(workspace.copies);
        self.prepasses.zip(targets).zip(self.operands(Ab { a, b })).map(|((prepass, target), operand)| {
            let is_split = prepass.is_some_and(|prepass| prepass.split.is_some());
            target.filter(|_| mapped || !is_split).unwrap_or(operand)
        })
    }

    /// Bytes of each part of the memory that it takes beside the operands; 0 where it does without.
    #[must_use]
    pub fn parts(&self) -> Workspace<u64> {
        if self.problem.is_empty() {
            return Workspace::EMPTY;
        }
        let copies = self.prepasses.zip(self.targets(Ab::both(0))).map(|(prepass, target)| {
            let splits = prepass.is_some_and(|prepass| prepass.split.is_some());
            target.map_or(0, |target| if splits { target.bytes_with_scales() } else { target.bytes() })
        });
        let reduction = |slab: Slab| self.step.workspace_bytes(slab.rows, self.problem.n, self.sm_count);
        Workspace { copies, reduction: self.slabs().map(reduction).max().unwrap_or(0) }
    }

    /// Bytes of one buffer that holds all parts: [`Workspace::at`] says where in it each of them is.
    #[must_use]
    pub fn workspace_bytes(&self) -> u64 {
        self.parts().total_bytes()
    }

    /// What is launched before the step's kernel, every time. `operands` is where A, B and C begin.
    #[must_use]
    pub fn prepasses(&self, operands: Abc<Address>, workspace: &Workspace<Address>) -> Vec<Launch> {
        // What is not read need not be rewritten.
        if self.problem.is_empty() || !self.problem.reads_inputs() {
            return Vec::new();
        }
        let Abc { a, b, .. } = operands;
        let each = self.prepasses.zip(self.operands(Ab { a, b })).zip(self.targets(workspace.copies));
        let mut launches = Vec::new();
        for ((prepass, source), target) in each.into_array() {
            let (Some(prepass), Some(target)) = (prepass, target) else { continue };
            let Stored { rows, columns, ld, .. } = source;
            launches.extend(slabs(rows, prepass.tile.rows).map(|slab| {
                let Slab { first_row, rows } = slab;
                let mut arguments = vec![
                    ("rows", Argument::U32(rows)),
                    ("columns", Argument::U32(columns)),
                    ("source", Argument::Address(source.at_row(first_row))),
                    ("ld", Argument::U64(ld.into())),
                    ("target", Argument::Address(target.at_row(first_row))),
                    ("target_ld", Argument::U32(target.ld)),
                ];
                if prepass.split.is_some() {
                    arguments.push(("scales", Argument::Address(target.scales_at(first_row))));
                }
                Launch {
                    kernel: prepass.kernel,
                    shape: LaunchShape {
                        grid: prepass.grid(Extent { rows, cols: columns }),
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
    #[must_use]
    pub fn launches(&self, operands: Abc<Address>, workspace: &Workspace<Address>) -> Vec<Launch> {
        let Problem { n, k, alpha, beta, ldc, .. } = self.problem;
        let Ab { a, b } = self.inputs(operands, workspace, false);
        let mapped = self.inputs(operands, workspace, true);
        let (c, c_bytes) = (operands.c, u64::from(self.step.output.bytes()));
        let launch = |slab: Slab| {
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
            if let Some(boxes) = self.step.maps {
                arguments.push(("a_map", Argument::TensorMap(mapped.a.slab(slab).tensor_map(boxes.a))));
                arguments.push(("b_map", Argument::TensorMap(mapped.b.tensor_map(boxes.b))));
            }
            if self.step.has_split_operands() {
                arguments.push(("a_scales", Argument::Address(mapped.a.scales_at(first_row))));
                arguments.push(("b_scales", Argument::Address(mapped.b.scales_at(0))));
            }
            if let Schedule::StreamK { .. } = self.step.schedule {
                let stream_k = self.step.stream_k_tiles(rows, n, self.sm_count);
                arguments.push(("stream_k_tiles", Argument::U32(stream_k.tiles)));
                arguments.push(("workspace", Argument::Address(workspace.reduction)));
            }
            Launch {
                kernel: self.step.kernel,
                shape: LaunchShape {
                    grid: self.step.grid(rows, n, self.sm_count),
                    block: self.step.block,
                    cluster: self.step.cluster,
                    dynamic_smem_bytes: self.step.dynamic_smem_bytes,
                },
                arguments,
                slab,
            }
        };
        self.slabs().map(launch).collect()
    }
}

#[cfg(test)]
mod tests;
