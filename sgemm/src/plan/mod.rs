//! What a problem's launches are: which kernels, in which order, with which arguments, and the memory beside the operands. A plan
//! knows no address: a run binds [`Buffers`] of them. It is the same on a device and in the emulator.

mod alignment;
mod buffer;
mod epilogue;
mod launch;
mod operand;
mod oriented;
#[cfg(feature = "distributed")]
mod prepared;
mod products;
mod slabs;
mod stored;

use gpu_kernels::{Ab, Element, Extent, Operand, Precision, Split, Step};

pub use buffer::{Buffer, Buffers, Place, WORKSPACE_ALIGNMENT};
pub use launch::{Address, Argument, Bindings, Launch, LaunchShape, ModuleKind, Role, TensorMap, Value};
use operand::{Passes, Pipeline, Rewrite};
pub(crate) use oriented::Oriented;
use products::Target;
pub use slabs::Slab;
use slabs::{grouped_slabs, slabs};
pub(crate) use stored::Stored;

use crate::problem::{Problem, Scalars};
use crate::{Error, LONGEST_TF32_SPLIT_K};

/// What an operand that TMA loads read begins at a multiple of, in bytes, and each of its rows.
pub const OPERAND_ALIGNMENT: u64 = 16;

/// Blocks that a grid can have along x.
const MAX_GRID_X: u32 = i32::MAX as u32;

/// Elements in a row of sums begin at a multiple of so many: 16 bytes.
const SUMS_ALIGNMENT: u32 = 4;

/// A problem on a step: what is launched, in which order, and which memory that takes.
///
/// ```
/// use sgemm::Problem;
/// use sgemm::plan::{Plan, Role};
///
/// let step = gpu_kernels::find("2d-tiling").expect("a step of the ladder");
/// let plan = Plan::new(step, &Problem::new(1000, 500, 200), 132)?;
/// // This kernel takes no memory beside the operands.
/// assert_eq!((plan.launches().len(), plan.launches()[0].kernel, plan.workspace_bytes()), (1, step.kernel, 0));
///
/// // A is stored by columns: it is transposed first.
/// let a = sgemm::Layout::column_major(1000);
/// let rows = |ld| sgemm::Layout::row_major(ld);
/// let plan = Plan::new(step, &Problem::new(1000, 500, 200).with_layouts(a, rows(500), rows(500)), 132)?;
/// assert_eq!(plan.launches().len(), 2);
/// assert_eq!(plan.workspace_bytes(), 1000 * 200 * 4);
/// # Ok::<(), sgemm::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    step: &'static Step,
    kernel: &'static str,
    problem: Problem,
    launches: Vec<Launch>,
    bytes: Buffers<u64>,
    preparations: Vec<Preparation>,
    /// Whether one launch has all problems of the batch.
    has_batch_in_launch: bool,
}

/// What is done to an operand, once, before the step's kernel reads it: equal where the same is done to the same matrix, so that what
/// was prepared for one plan serves another.
#[derive(Debug, Clone, PartialEq)]
pub struct Preparation {
    /// The caller's operand.
    pub source: Buffer,
    /// What the kernel takes it as.
    pub operand: Operand,
    rewrites: Vec<Rewrite>,
}

impl Preparation {
    /// The parts of a workspace that it writes.
    pub fn parts(&self) -> impl Iterator<Item = Buffer> {
        self.rewrites.iter().map(|rewrite| rewrite.target.place.buffer)
    }

    /// Bytes of each of them.
    #[must_use]
    pub fn bytes(&self) -> Buffers<u64> {
        let part = |bytes: Buffers<u64>, rewrite: &Rewrite| bytes.with(rewrite.target.place.buffer, rewrite.bytes());
        self.rewrites.iter().fold(Buffers::default(), part)
    }
}

impl Plan {
    /// A problem on a step, on a device of so many SMs.
    ///
    /// # Errors
    /// Those of [`Problem::validate`]; [`Error::Elements`] where the step takes others, [`Error::TooLarge`] where what a pre-pass
    /// writes would have rows that a kernel cannot count, or k is beyond [`LONGEST_TF32_SPLIT_K`] for a split into TF32;
    /// [`Error::TooManyBlocks`].
    pub fn new(step: &'static Step, problem: &Problem, sm_count: u32) -> Result<Self, Error> {
        problem.validate()?;
        let oriented = Oriented::new(problem)?;
        for Split { chunk, .. } in step.prepasses.iter().filter_map(|prepass| prepass.split) {
            let countable = stored::max_split_k(chunk);
            let most = if step.precision == Precision::Tf32x3 { LONGEST_TF32_SPLIT_K as u32 } else { countable };
            if oriented.k > most {
                return Err(Error::TooLarge { name: "k", value: oriented.k as usize, most: most as usize });
            }
        }
        let is_direct = oriented.is_direct(problem, step);
        let takes = [step.precision.input(), if is_direct { problem.output } else { step.output }];
        if !problem.can_use(step) || !is_direct && step.output != Element::F32 && !step.is_planned() {
            return Err(Error::Elements { kernel: step.slug, takes, found: [problem.input, problem.output] });
        }
        let mut plan = Self {
            step,
            kernel: if problem.epilogue.is_plain() { step.kernel } else { step.fused.unwrap_or(step.kernel) },
            problem: *problem,
            launches: Vec::new(),
            bytes: Buffers::default(),
            preparations: Vec::new(),
            has_batch_in_launch: false,
        };
        if problem.is_empty() {
            return Ok(plan);
        }
        let Oriented { m, n, k, operands, alignments, ldd, .. } = oriented;
        let pipeline = |operand, stored, alignment| Pipeline::new(step, operand, stored, alignment);
        let inputs =
            Ab { a: pipeline(Operand::A, operands.a, alignments.a), b: pipeline(Operand::B, operands.b, alignments.b) };
        let matrices = oriented.matrices(problem);
        for (operand, pipeline, source, matrices) in
            [(Operand::A, &inputs.a, operands.a, matrices.a), (Operand::B, &inputs.b, operands.b, matrices.b)]
        {
            let (source_buffer, rewrites) = (source.place.buffer, pipeline.rewrites.clone());
            plan.preparations.push(Preparation { source: source_buffer, operand, rewrites });
            for rewrite in &pipeline.rewrites {
                plan.bytes[rewrite.target.place.buffer] = rewrite.bytes();
                if matrices > 0 {
                    plan.push_rewrite(rewrite, matrices > 1);
                }
            }
        }
        plan.has_batch_in_launch = oriented.has_batch_in_launch(problem, step);
        let problems = if plan.has_batch_in_launch { plan.batch() } else { 1 };
        let splits = step.splits(m, n, k, u32::try_from(problems).unwrap_or(u32::MAX), sm_count);
        let ld_sums = n.next_multiple_of(SUMS_ALIGNMENT);
        let target = if is_direct && splits.planes == 1 {
            Target { buffer: Buffer::C, ld: ldd as u32, element: problem.output, plane_stride: 0 }
        } else {
            let plane_stride = u64::from(m) * u64::from(ld_sums);
            Target { buffer: Buffer::Sums, ld: ld_sums, element: Element::F32, plane_stride }
        };
        if target.buffer == Buffer::Sums {
            plan.kernel = step.kernel;
        }
        plan.push_products(&oriented, &inputs, &target, splits, sm_count)?;
        if target.buffer == Buffer::Sums {
            plan.bytes[Buffer::Sums] = target.plane_stride * 4 * u64::from(splits.planes);
            plan.push_postpass(&oriented, ld_sums, splits.planes, target.plane_stride);
        }
        match plan.launches.iter().find(|launch| launch.shape.grid[0] > MAX_GRID_X) {
            Some(launch) => Err(Error::TooManyBlocks { kernel: launch.kernel }),
            None => Ok(plan),
        }
    }

    /// The step whose kernel it launches.
    #[must_use]
    pub fn step(&self) -> &'static Step {
        self.step
    }

    /// The step's entry point that it launches: [`Step::kernel`] or [`Step::fused`].
    #[must_use]
    pub fn kernel(&self) -> &'static str {
        self.kernel
    }

    /// The problem that it solves.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The launches of one of the [`rounds`](Self::rounds), in order; none where D has no elements. The step's kernel is launched once, but
    /// for problems that are taller than a grid, and batches that are longer.
    #[must_use]
    pub fn launches(&self) -> &[Launch] {
        &self.launches
    }

    /// Bytes of each part of the workspace; 0 where it does without.
    #[must_use]
    pub fn part_bytes(&self) -> &Buffers<u64> {
        &self.bytes
    }

    /// Bytes of one buffer that holds all parts: [`Buffers::at`] says where in it each of them is.
    #[must_use]
    pub fn workspace_bytes(&self) -> u64 {
        self.bytes.total_bytes()
    }

    /// The addresses for the problem of that index of the batch, from those for the first.
    #[must_use]
    pub fn addresses_of(&self, index: usize, first: &Buffers<Address>) -> Buffers<Address> {
        let mut addresses = *first;
        let views = self.problem.views();
        for (buffer, view) in [Buffer::A, Buffer::B, Buffer::C, Buffer::D].into_iter().zip(views) {
            // Of matrices without elements, the stride may be any number.
            let elements = (index as u64).wrapping_mul(view.batch_stride as u64);
            let bytes = elements.wrapping_mul(view.element.bytes().into());
            addresses[buffer] = addresses[buffer].wrapping_add(bytes);
        }
        addresses
    }

    /// Problems of the batch.
    #[must_use]
    pub fn batch(&self) -> usize {
        self.problem.batch.count
    }

    /// How often the launches follow each other, for one problem of the batch after the other: 1 where one launch has all of them.
    #[must_use]
    pub fn rounds(&self) -> usize {
        if self.has_batch_in_launch { 1 } else { self.batch() }
    }

    /// The numbers of the launches that there are for the problem of that index: without what rewrites operands where these are not
    /// read, were prepared, or were rewritten for the first problem already.
    pub fn needed(&self, index: usize, bindings: &Bindings) -> impl Iterator<Item = usize> {
        let reads_inputs = bindings.alpha != 0.0 || self.problem.scalars == Scalars::Device;
        let are_prepared = bindings.are_prepared;
        let is_needed = move |launch: &Launch| match launch.role {
            Role::Prepass(operand) => reads_inputs && (index == 0 || launch.is_repeated) && !of(are_prepared, operand),
            _ => true,
        };
        self.launches.iter().enumerate().filter(move |(_, launch)| is_needed(launch)).map(|(number, _)| number)
    }

    /// Whether the launch of that number may begin before the one ahead of it has ended: `previous`, or another product's. What
    /// [waits last](Launch::waits_last) may do so behind the pre-passes of the other operand, which began when all before them had ended.
    #[must_use]
    pub fn may_begin_early(&self, number: usize, previous: Option<usize>) -> bool {
        let operand = |number: usize| match self.launches[number].role {
            Role::Prepass(operand) => Some(operand),
            _ => None,
        };
        let other = previous.and_then(operand);
        !self.launches[number].waits_last || other.is_some() && other != operand(number)
    }

    /// What is done to an operand of the caller's before the step's kernel reads it: [`Buffer::A`] or [`Buffer::B`]. `None` of
    /// other buffers, and where D has no elements.
    #[must_use]
    pub fn preparation(&self, buffer: Buffer) -> Option<&Preparation> {
        self.preparations.iter().find(|preparation| preparation.source == buffer)
    }

    /// The same by the kernel's operand.
    #[must_use]
    pub fn preparation_of(&self, operand: Operand) -> Option<&Preparation> {
        self.preparations.iter().find(|preparation| preparation.operand == operand)
    }

    /// Bytes of each part of the workspace where these operands of the kernel were prepared.
    #[must_use]
    pub fn part_bytes_with(&self, are_prepared: Ab<bool>) -> Buffers<u64> {
        let prepared = self.preparations.iter().filter(|preparation| of(are_prepared, preparation.operand));
        prepared.flat_map(|preparation| preparation.parts()).fold(self.bytes, |bytes, part| bytes.with(part, 0))
    }

    /// Where a run leaves a word for each row of A or column of B that it splits, and how many: how elements of D are computed is
    /// [`gpu_kernels::Computed`] of both. `None` where nothing is split. In a batch they are those of the last problem.
    #[must_use]
    pub fn certificates(&self, operand: Operand) -> Option<(Place, u32)> {
        let Rewrite { prepass, source, target } = self.preparation_of(operand)?.rewrites.last()?;
        let is_split = prepass.split.is_some() && source.rows > 0 && source.columns > 0;
        is_split.then(|| (target.scales_at(0), target.rows))
    }

    fn push_rewrite(&mut self, rewrite: &Rewrite, is_repeated: bool) {
        let Rewrite { prepass, source, target } = rewrite;
        let launches = slabs(source.rows, prepass.tile.rows).map(|slab| {
            let Slab { first_row, rows } = slab;
            let mut arguments = vec![
                ("rows", Argument::U32(rows)),
                ("columns", Argument::U32(source.columns)),
                ("source", Argument::Place(source.at_own_row(first_row))),
                ("ld", Argument::U64(source.ld)),
                ("target", Argument::Place(rewrite.target_at(first_row))),
                ("target_ld", Argument::U32(target.ld as u32)),
            ];
            if prepass.split.is_some() {
                arguments.push(("scales", Argument::Place(target.scales_at(first_row))));
            }
            let extent = Extent { rows, cols: source.columns };
            Launch {
                role: Role::Prepass(prepass.operand),
                kernel: prepass.kernel,
                module: self.module_of(prepass.kernel),
                shape: LaunchShape {
                    grid: prepass.grid(extent),
                    block: [prepass.threads, 1, 1],
                    cluster: prepass.cluster(extent),
                    dynamic_smem_bytes: 0,
                },
                arguments,
                slab,
                is_repeated,
                waits_last: prepass.waits_last,
            }
        });
        let launches: Vec<_> = launches.collect();
        self.launches.extend(launches);
    }

    fn module_of(&self, kernel: &str) -> ModuleKind {
        if self.step.kernels().any(|own| own == kernel) { ModuleKind::Step } else { ModuleKind::Support }
    }

    /// What pre-passes rewrite, and blocks of all launches of each, in their order.
    #[must_use]
    pub fn rewritten(&self) -> Vec<(Operand, u64)> {
        let mut rewritten: Vec<(&str, Operand, u64)> = Vec::new();
        for launch in &self.launches {
            let Role::Prepass(operand) = launch.role else { continue };
            let blocks = launch.shape.grid.into_iter().map(u64::from).product::<u64>();
            match rewritten.last_mut() {
                Some((kernel, same, all)) if (*kernel, *same) == (launch.kernel, operand) => *all += blocks,
                _ => rewritten.push((launch.kernel, operand, blocks)),
            }
        }
        rewritten.into_iter().map(|(_, operand, blocks)| (operand, blocks)).collect()
    }
}

fn of(each: Ab<bool>, operand: Operand) -> bool {
    match operand {
        Operand::A => each.a,
        Operand::B => each.b,
    }
}

#[cfg(test)]
mod tests;
