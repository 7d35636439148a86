//! How an operand gets into the form in which a step's kernel reads it.

use gpu_kernels::{Operand, Prepass, Step};

use super::stored::Stored;
use super::{Buffer, OPERAND_ALIGNMENT, Place};

/// A pre-pass with what it reads and writes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rewrite {
    pub(super) prepass: Prepass,
    pub(super) source: Stored,
    pub(super) target: Stored,
}

impl Rewrite {
    fn new(prepass: Prepass, source: Stored, buffer: Buffer) -> Self {
        Self { prepass, source, target: source.rewritten(&prepass, Place::start(buffer)) }
    }

    /// Bytes that it writes.
    pub(super) fn bytes(&self) -> u64 {
        if self.prepass.split.is_some() { self.target.bytes_with_scales() } else { self.target.bytes() }
    }

    /// Where the target of the source's row of that number begins.
    pub(super) fn target_at(&self, row: u32) -> Place {
        if self.prepass.transposes && self.prepass.split.is_none() {
            self.target.place.plus(u64::from(row) * u64::from(self.target.element.bytes()))
        } else {
            self.target.at_own_row(row)
        }
    }
}

/// Which pre-passes an operand needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passes {
    /// One that transposes it or aligns its rows.
    rearranges: bool,
    /// Whether that one transposes.
    turns: bool,
    /// One that splits it.
    splits: bool,
}

impl Passes {
    /// For an operand as the caller has it, at an address that is a multiple of `alignment` bytes.
    ///
    /// A step reads rows of A and B as they are, or aligned for TMA; or A transposed, or either of them; or both split. Whatever the
    /// caller has is transposed or aligned for that, at most once before the step's own pre-pass.
    pub(crate) fn new(step: &Step, operand: Operand, source: Stored, alignment: u64) -> Self {
        let source = for_step(step, operand, source);
        let wanted = step.prepasses.iter().find(|prepass| prepass.operand == operand);
        let transposes = wanted.is_some_and(|prepass| prepass.transposes && prepass.split.is_none());
        let is_split = wanted.is_some_and(|prepass| prepass.split.is_some());
        let is_aligned = alignment >= OPERAND_ALIGNMENT && source.has_aligned_rows();
        // TMA cannot do without; nor can steps that have such a pre-pass.
        let needs_aligned = !is_split && (step.maps.is_some() || wanted.is_some());
        let turns = !step.transposed.reads(operand) && source.transposed != transposes;
        let is_readable = !turns && source.is_countable() && (is_aligned || !needs_aligned);
        Self { rearranges: !is_readable, turns, splits: is_split }
    }

    /// How many.
    pub(crate) fn count(self) -> u32 {
        u32::from(self.rearranges) + u32::from(self.splits)
    }
}

/// An operand as a step reads it, where that needs no pass: one row, transposed, is a column with its elements side by side.
fn for_step(step: &Step, operand: Operand, source: Stored) -> Stored {
    let reads_rows = !step.transposed.reads(operand) && step.maps.is_none() && step.prepasses.is_empty();
    if reads_rows && source.transposed && source.rows == 1 {
        Stored { rows: source.columns, columns: 1, ld: 1, transposed: false, ..source }
    } else {
        source
    }
}

/// What is done to an operand, in order, and what the kernel reads then.
#[derive(Debug, Clone)]
pub(super) struct Pipeline {
    pub(super) rewrites: Vec<Rewrite>,
    /// What the kernel reads by itself: of a split operand its f32 original, which a fallback needs.
    pub(super) plain: Stored,
    /// What it reads by tensor map: of a split operand its hi/lo split.
    pub(super) mapped: Stored,
}

impl Pipeline {
    /// For an operand as the caller has it, at an address that is a multiple of `alignment` bytes.
    pub(super) fn new(step: &Step, operand: Operand, source: Stored, alignment: u64) -> Self {
        let source = for_step(step, operand, source);
        let passes = Passes::new(step, operand, source, alignment);
        let wanted = step.prepasses.iter().find(|prepass| prepass.operand == operand);
        let buffer = match (operand, passes.splits) {
            (Operand::A, true) => Buffer::PlainA,
            (Operand::B, true) => Buffer::PlainB,
            (Operand::A, false) => Buffer::CopyA,
            (Operand::B, false) => Buffer::CopyB,
        };
        let mut rewrites = Vec::new();
        if passes.rearranges {
            let own = wanted.filter(|prepass| !passes.splits && prepass.transposes == passes.turns);
            let support = if passes.turns { gpu_kernels::transpose } else { gpu_kernels::align };
            let prepass = own.copied().unwrap_or_else(|| support(operand, source.element));
            rewrites.push(Rewrite::new(prepass, source, buffer));
        }
        let plain = rewrites.last().map_or(source, |rewrite| rewrite.target);
        let Some(split) = wanted.filter(|_| passes.splits) else { return Self { rewrites, plain, mapped: plain } };
        let buffer = if operand == Operand::A { Buffer::CopyA } else { Buffer::CopyB };
        let split = Rewrite::new(*split, plain, buffer);
        rewrites.push(split);
        Self { rewrites, plain, mapped: split.target }
    }
}
