//! The blocks into which a GPU's part of a product is cut, and the memory that they take there.

use std::collections::HashMap;
use std::ops::Range;

use gpu_kernels::Ab;

use super::kernels::{Kernels, are_prepared, prepared_bytes};
use super::matrix::Matrix;
use crate::plan::{Buffer, WORKSPACE_ALIGNMENT};
use crate::{Abc, Error, Problem};

/// Into which blocks the product is cut, and how many of them a GPU's memory holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Rows and columns of a tile of C.
    pub tile: [usize; 2],
    /// Columns of a panel of A and rows of one of B: all of k, or a piece of it.
    pub piece: usize,
    /// Panels of A and B and tiles of C that are in memory at once.
    pub slots: Abc<usize>,
    /// The operand whose panels stay while all of the other one's pass by.
    pub kept: Kept,
}

/// The operand whose panels stay in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Panels of A: tiles follow each other along a row of C.
    A,
    /// Panels of B: along a column.
    B,
}

impl Kept {
    /// Either.
    pub const ALL: [Self; 2] = [Self::A, Self::B];
}

/// Blocks and their plans, before it is known how many slots there are.
pub(super) struct Geometry<'a> {
    pub problem: &'a Problem,
    pub matrices: Abc<Matrix>,
    pub rows: Range<usize>,
    pub columns: Range<usize>,
    pub tile: [usize; 2],
    pub piece: usize,
    /// By m, n and k of a local product, the number of its plan in [`Kernels`].
    numbers: HashMap<[usize; 3], usize>,
    /// Bytes of a panel of A and B as it arrives, and of a tile of C.
    pub raw: Abc<u64>,
    /// Bytes of what pre-passes make of a panel.
    pub prepared: Ab<u64>,
    /// Bytes of the workspace of products, one after the other.
    pub scratch: u64,
}

impl<'a> Geometry<'a> {
    /// For the part of C with these rows and columns, on a GPU with `limit` bytes of memory.
    pub fn new(
        problem: &'a Problem,
        kernels: &mut Kernels<'_>,
        [rows, columns]: [Range<usize>; 2],
        tile: [usize; 2],
        piece: usize,
        limit: u64,
    ) -> Result<Self, Error> {
        let [a, b, c, _] = problem.views();
        let matrices =
            Abc { a: Matrix::new(&a, Buffer::A)?, b: Matrix::new(&b, Buffer::B)?, c: Matrix::new(&c, Buffer::C)? };
        let raw = Abc {
            a: padded(matrices.a.bytes([tile[0], piece])),
            b: padded(matrices.b.bytes([piece, tile[1]])),
            c: padded(matrices.c.bytes(tile)),
        };
        let (numbers, prepared, scratch) = (HashMap::new(), Ab { a: 0, b: 0 }, 0);
        let mut new = Self { problem, matrices, rows, columns, tile, piece, numbers, raw, prepared, scratch };
        // No kernel is looked for where not even its operands have room.
        let Some(beside) = limit.checked_sub(raw.a.saturating_add(raw.b).saturating_add(raw.c)) else { return Ok(new) };
        for m in lengths(new.rows.len(), tile[0]) {
            for n in lengths(new.columns.len(), tile[1]) {
                for k in lengths(problem.k, piece) {
                    new.add([m, n, k], kernels, beside)?;
                }
            }
        }
        Ok(new)
    }

    fn add(&mut self, sizes: [usize; 3], kernels: &mut Kernels<'_>, workspace: u64) -> Result<(), Error> {
        let number = kernels.number(&self.local_problem(sizes), workspace)?;
        let gemm = kernels.gemm(number);
        let of = |buffer| padded(prepared_bytes(gemm, buffer));
        self.prepared.a = self.prepared.a.max(of(Buffer::A));
        self.prepared.b = self.prepared.b.max(of(Buffer::B));
        let own = gemm.part_bytes_with(are_prepared(gemm)).total_bytes();
        self.scratch = self.scratch.max(padded(own));
        self.numbers.insert(sizes, number);
        Ok(())
    }

    fn local_problem(&self, [m, n, k]: [usize; 3]) -> Problem {
        let Abc { a, b, c } = self.matrices;
        let problem = self.problem;
        Problem::new(m, n, k)
            .with_elements(problem.input, problem.output)
            .with_accuracy(problem.class)
            .with_determinism(problem.determinism)
            .with_layouts(a.layout([m, k]), b.layout([k, n]), c.layout([m, n]))
    }

    /// The number of the plan for a product of these sizes.
    pub fn number(&self, sizes: &[usize; 3]) -> Option<usize> {
        self.numbers.get(sizes).copied()
    }

    /// Tiles along m and n, and pieces of k: at least one, which may be empty.
    pub fn counts(&self) -> [usize; 3] {
        let [m, n] = [self.rows.len().div_ceil(self.tile[0]), self.columns.len().div_ceil(self.tile[1])];
        [m, n, self.problem.k.div_ceil(self.piece.max(1)).max(1)]
    }

    /// Bytes of memory with so many slots.
    pub fn bytes(&self, slots: &Abc<usize>) -> u64 {
        let all = |count: usize, each: u64| each.saturating_mul(count as u64);
        let panels = all(slots.a, self.panel_bytes().a).saturating_add(all(slots.b, self.panel_bytes().b));
        panels.saturating_add(all(slots.c, self.raw.c)).saturating_add(self.scratch)
    }

    /// Bytes of a slot: the panel, and what pre-passes make of it.
    pub fn panel_bytes(&self) -> Ab<u64> {
        Ab {
            a: self.raw.a.saturating_add(self.prepared.a).max(WORKSPACE_ALIGNMENT),
            b: self.raw.b.saturating_add(self.prepared.b).max(WORKSPACE_ALIGNMENT),
        }
    }

    /// As many slots as `limit` bytes hold and are of use: for panels of the kept operand, and for those of both. `None` where there
    /// is not even one of each.
    pub fn slots(&self, kept: Kept, limit: u64) -> Option<[Abc<usize>; 2]> {
        let [m, n, pieces] = self.counts();
        let most = Abc { a: (m * pieces).max(1), b: (n * pieces).max(1), c: (m * n).max(1) };
        // Rather fewer panels than no overlap, and rather no overlap than no result.
        let depths = (1..=DEPTH).rev();
        let few = |depth: usize| Abc { a: most.a.min(depth), b: most.b.min(depth), c: most.c.min(depth) };
        let mut slots = depths.map(few).find(|slots| self.bytes(slots) <= limit)?;
        let Ab { a, b } = self.panel_bytes();
        let spare = |slots: &Abc<usize>, each: u64| ((limit - self.bytes(slots)) / each) as usize;
        let grow_a = |slots: &mut Abc<usize>| slots.a = most.a.min(slots.a + spare(slots, a));
        let grow_b = |slots: &mut Abc<usize>| slots.b = most.b.min(slots.b + spare(slots, b));
        let (first, second): (Grow<'_>, Grow<'_>) = match kept {
            Kept::A => (&grow_a, &grow_b),
            Kept::B => (&grow_b, &grow_a),
        };
        first(&mut slots);
        let mut both = slots;
        second(&mut both);
        Some([slots, both])
    }
}

/// Adds slots for one operand's panels.
type Grow<'a> = &'a dyn Fn(&mut Abc<usize>);

/// Blocks of a kind that are in memory at once, where each is used once: one is multiplied, one is there, one is on its way.
const DEPTH: usize = 3;

/// The extents of blocks in which `whole` elements are cut: the full one, where there is one, and that of the rest.
fn lengths(whole: usize, block: usize) -> impl Iterator<Item = usize> {
    let block = block.max(1);
    let full = (whole >= block).then_some(block);
    let rest = (!whole.is_multiple_of(block) || whole == 0).then_some(whole % block);
    full.into_iter().chain(rest)
}

fn padded(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(WORKSPACE_ALIGNMENT).unwrap_or(u64::MAX)
}
