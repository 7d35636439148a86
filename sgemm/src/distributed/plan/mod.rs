//! The plan of one rank: its tasks, their order, and the memory that they take.

mod agreement;
mod builder;
mod operand;
mod products;
mod reserve;

use builder::Builder;
use gpu_kernels::{Element, Operand};

use super::schedule::{Buffer, Factor, Place, Product, Task};
use super::scheme::{Scheme, Share};
use crate::plan::{Address, Bindings, Plan as Gemm, WORKSPACE_ALIGNMENT};
use crate::problem::{Order, Problem, Scalars, View};
use crate::{Abc, Determinism, Device, Error};

/// What one rank does for a problem. All ranks of the grid make theirs with the same problem and scheme.
///
/// All of k is multiplied at once, but for several layers: each is a rounding more of the sum, and of beta\*C. So the result has the same bits as on one GPU, for any grid, where the
/// problem has [`Determinism::PerElement`](crate::Determinism::PerElement).
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    problem: Problem,
    scheme: Scheme,
    rank: usize,
    share: Share,
    leading: Abc<usize>,
    tasks: Vec<Task>,
    gemms: Vec<Gemm>,
    bytes: [u64; Buffer::COUNT],
}

impl Plan {
    /// The plan of a rank whose matrices have no gaps between their rows or columns. Of the problem's layouts, the orders count.
    ///
    /// # Errors
    /// As of [`Self::with_leading_dimensions`].
    pub fn new(problem: &Problem, scheme: &Scheme, rank: usize, device: &Device) -> Result<Self, Error> {
        let share = scheme.share(problem, rank);
        let [a, b, c, _] = problem.views();
        let least = |view: &View, local| Ok::<_, Error>(lines(view, local)?.0.max(1));
        let leading = Abc { a: least(&a, share.a)?, b: least(&b, share.b)?, c: least(&c, share.c)? };
        Self::with_leading_dimensions(problem, scheme, rank, device, leading)
    }

    /// The same with the leading dimensions of the rank's own matrices.
    ///
    /// # Errors
    /// [`Error::Rank`] where the grid has no such rank; [`Error::NotDistributed`] for what only one device can do: batches, D apart from C,
    /// an epilogue, alpha and beta in device memory, and several layers where C is not of f32, or where the problem has
    /// [`Determinism::PerElement`]; those of [`Problem::validate`];
    /// those of [`select::plan`](crate::select::plan), of local products.
    pub fn with_leading_dimensions(
        problem: &Problem,
        scheme: &Scheme,
        rank: usize,
        device: &Device,
        leading: Abc<usize>,
    ) -> Result<Self, Error> {
        check(problem, scheme, rank)?;
        let share = scheme.share(problem, rank);
        let mut plan = Self {
            problem: *problem,
            scheme: *scheme,
            rank,
            share,
            leading,
            tasks: Vec::new(),
            gemms: Vec::new(),
            bytes: [0; Buffer::COUNT],
        };
        let [a, b, c, _] = problem.views();
        for (view, local, ld) in [(a, share.a, leading.a), (b, share.b, leading.b), (c, share.c, leading.c)] {
            let (least, count) = lines(&view, local)?;
            if ld < least {
                return Err(Error::LeadingDimension { name: view.ld_name, value: ld, least });
            }
            let bytes = ld.checked_mul(count).and_then(|all| all.checked_mul(view.element.bytes() as usize));
            if bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
                return Err(Error::ExtentOverflow { operand: view.name });
            }
        }
        check_bytes(problem, scheme)?;
        Builder::new(&mut plan, device)?.build()?;
        Ok(plan)
    }

    /// The whole problem.
    #[must_use]
    pub const fn problem(&self) -> &Problem {
        &self.problem
    }

    /// How it is distributed.
    #[must_use]
    pub const fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    /// The rank.
    #[must_use]
    pub const fn rank(&self) -> usize {
        self.rank
    }

    /// The rank's matrices.
    #[must_use]
    pub const fn share(&self) -> &Share {
        &self.share
    }

    /// Their leading dimensions.
    #[must_use]
    pub const fn leading_dimensions(&self) -> &Abc<usize> {
        &self.leading
    }

    /// What the rank does, such that each task comes after those that it waits for.
    #[must_use]
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// The plans of local products, by the numbers that tasks have for them.
    #[must_use]
    pub fn gemms(&self) -> &[Gemm] {
        &self.gemms
    }

    /// Bytes of a part of the workspace: the same on all ranks for what collectives send and receive.
    #[must_use]
    pub const fn part_bytes(&self, buffer: Buffer) -> u64 {
        self.bytes[buffer.index()]
    }

    /// What a product's plan is run with, where `base` is the address of a buffer, and `factors` are alpha and beta.
    #[must_use]
    pub fn bindings_of(
        &self,
        product: &Product,
        [alpha, beta]: [f32; 2],
        base: impl Fn(Buffer) -> Address,
    ) -> Bindings {
        let at = |place: Place| place.address(&base);
        let operands = Abc { a: at(product.a), b: at(product.b), c: at(product.c) };
        let beta = if product.beta == Factor::Beta { beta } else { 0.0 };
        let prepared = product.prepared.map(|place| place.map(at));
        self.gemms[product.gemm].bindings(operands, prepared, base(Buffer::Scratch), [alpha, beta])
    }

    /// What the pre-passes of an operand are run with: from its place to that of what they make.
    #[must_use]
    pub fn bindings_of_prepass(
        &self,
        gemm: usize,
        operand: Operand,
        [source, target]: [Place; 2],
        base: impl Fn(Buffer) -> Address,
    ) -> Bindings {
        let places = [source, target].map(|place| place.address(&base));
        self.gemms[gemm].bindings_of_prepass(operand, places)
    }

    /// Checks the elements that a run was given, and how many of A, B and C.
    pub(super) fn check_given(&self, found: [Element; 2], given: [usize; 3]) -> Result<(), Error> {
        let Self { problem, share, leading, .. } = self;
        let takes = [problem.input, problem.output];
        if found != takes {
            return Err(Error::Elements { kernel: "the plan", takes, found });
        }
        let [a, b, c, _] = problem.views();
        let of_each = [(a, share.a, leading.a), (b, share.b, leading.b), (c, share.c, leading.c)];
        for ((view, local, ld), elements) in of_each.into_iter().zip(given) {
            let (line, lines) = lines(&view, local)?;
            let least = if line == 0 || lines == 0 { 0 } else { (lines - 1) * ld + line };
            if elements < least {
                return Err(Error::ShortBuffer { operand: view.name, elements, least });
            }
        }
        Ok(())
    }

    /// Bytes of all parts of the workspace, each at a multiple of [`WORKSPACE_ALIGNMENT`].
    #[must_use]
    pub fn workspace_bytes(&self) -> u64 {
        Buffer::PARTS.into_iter().map(|part| self.part_bytes(part).next_multiple_of(WORKSPACE_ALIGNMENT)).sum()
    }
}

/// Whether partial sums of several layers may be added: in f32, and in an order that depends on the grid.
pub(super) fn allows_layers(problem: &Problem) -> bool {
    problem.output == Element::F32 && problem.determinism == Determinism::PerProblem
}

fn check(problem: &Problem, scheme: &Scheme, rank: usize) -> Result<(), Error> {
    problem.validate()?;
    let ranks = scheme.grid.ranks();
    if rank >= ranks {
        return Err(Error::Rank { rank, ranks });
    }
    let refused = [
        (problem.batch.count != 1, "a batch"),
        (problem.d.is_some(), "a D apart from C"),
        (!problem.epilogue.is_plain(), "an epilogue"),
        (problem.scalars == Scalars::Device, "alpha and beta in device memory"),
        (
            scheme.grid.layers > 1 && !allows_layers(problem),
            "a C of 16-bit elements, or bits per element, over several layers",
        ),
    ];
    match refused.into_iter().find(|(is_asked_for, _)| *is_asked_for) {
        Some((_, what)) => Err(Error::NotDistributed { what }),
        None => Ok(()),
    }
}

/// Checks that the bytes of gathered operands can be counted: all of k, for what a rank has of the other dimension, padded.
fn check_bytes(problem: &Problem, scheme: &Scheme) -> Result<(), Error> {
    let [m, n, k] = problem.sizes();
    let longest = k.saturating_add(scheme.grid.ranks().saturating_mul(scheme.blocks.k));
    for (operand, most) in [("A", scheme.rows(m).most()), ("B", scheme.columns(n).most())] {
        // In f32, with the lines of the last chunk rounded up, and as much again for what it is received as.
        let bytes = longest.checked_mul(most).and_then(|all| all.checked_mul(16));
        if bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
            return Err(Error::ExtentOverflow { operand });
        }
    }
    Ok(())
}

/// Elements of a line of a local matrix that is stored as the whole one, and how many lines it has.
fn lines(view: &View, [rows, columns]: [usize; 2]) -> Result<(usize, usize), Error> {
    let (order, _) = view.layout.order(view.name, view.rows, view.columns)?;
    Ok(if order == Order::RowMajor { (columns, rows) } else { (rows, columns) })
}
