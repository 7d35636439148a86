//! Local products, what is prepared for them, and the sums over layers.

use std::collections::HashMap;

use gpu_kernels::{Ab, Element, Operand as KernelOperand};

use super::builder::{Builder, Side};
use crate::distributed::grid::Axis;
use crate::distributed::schedule::{Buffer, Copy, Dimension, Factor, Place, Product, Queue, Work};
use crate::plan::{self, Plan as Gemm, Preparation, WORKSPACE_ALIGNMENT};
use crate::select::{self, Table};
use crate::{Device, Error, Layout, Problem};

/// The plans of local products, each made once, and what of their operands is prepared.
pub(super) struct Gemms<'a> {
    device: &'a Device,
    by_problem: HashMap<Problem, usize>,
    plans: Vec<Gemm>,
    prepared: Vec<PreparedChunk>,
    prepared_bytes: u64,
}

/// A chunk of an operand that was prepared in a way.
struct PreparedChunk {
    side: Side,
    chunk: usize,
    preparation: Preparation,
    at: Place,
}

impl<'a> Gemms<'a> {
    pub fn new(device: &'a Device) -> Self {
        Self { device, by_problem: HashMap::new(), plans: Vec::new(), prepared: Vec::new(), prepared_bytes: 0 }
    }

    /// The number of the plan for a problem.
    fn plan(&mut self, problem: &Problem) -> Result<usize, Error> {
        if let Some(number) = self.by_problem.get(problem) {
            return Ok(*number);
        }
        self.plans.push(select::plan(Table::of(self.device), self.device, problem, u64::MAX)?);
        self.by_problem.insert(*problem, self.plans.len() - 1);
        Ok(self.plans.len() - 1)
    }

    pub fn scratch_bytes(&self) -> u64 {
        self.plans.iter().map(Gemm::workspace_bytes).max().unwrap_or(0)
    }

    pub const fn prepared_bytes(&self) -> u64 {
        self.prepared_bytes
    }

    pub fn into_plans(self) -> Vec<Gemm> {
        self.plans
    }

    /// Where a chunk was prepared as that plan has it, for which operand of its kernel; or where it is to be, and that it is new.
    fn prepared(
        &mut self,
        gemm: usize,
        side: Side,
        chunk: usize,
        slots: usize,
    ) -> Option<(KernelOperand, Place, bool)> {
        let preparation = self.plans[gemm].preparation(side.buffer())?;
        let bytes = preparation.bytes().total_bytes();
        if bytes == 0 {
            return None;
        }
        let same = |other: &&PreparedChunk| other.side == side && other.preparation == *preparation;
        if let Some(there) = self.prepared.iter().filter(same).find(|other| other.chunk == chunk) {
            return Some((preparation.operand, there.at, false));
        }
        let (preparation, operand) = (preparation.clone(), preparation.operand);
        // A chunk that is in memory no more leaves its place to the one that has its slot.
        let is_gone = |other: &PreparedChunk| other.chunk < chunk && other.chunk % slots == chunk % slots;
        let left = self.prepared.iter_mut().find(|o| o.side == side && o.preparation == preparation && is_gone(o));
        let at = if let Some(left) = left {
            left.chunk = chunk;
            left.at
        } else {
            let at = Place::new(Buffer::Prepared, self.prepared_bytes);
            self.prepared_bytes += bytes.next_multiple_of(WORKSPACE_ALIGNMENT);
            self.prepared.push(PreparedChunk { side, chunk, preparation, at });
            at
        };
        Some((operand, at, true))
    }
}

impl Side {
    const fn buffer(self) -> plan::Buffer {
        match self {
            Self::Left => plan::Buffer::A,
            Self::Right => plan::Buffer::B,
        }
    }

    const fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }
}

impl Builder<'_> {
    /// Queues the product of two chunks, and the sum over layers once all rows of these columns are there.
    pub fn multiply(&mut self, row: usize, column: usize) -> Result<(), Error> {
        let [rows, columns] = [self.left.chunks[row].len(), self.right.chunks[column].len()];
        if rows > 0 && columns > 0 {
            self.queue_product(row, column)?;
        }
        self.multiplied[column] += 1;
        if self.plan.scheme.grid.layers > 1 && self.multiplied[column] == self.left.chunks.len() {
            self.reduce(column);
        }
        Ok(())
    }

    fn queue_product(&mut self, row: usize, column: usize) -> Result<(), Error> {
        let (a, lda) = self.source(Side::Left, row);
        let (b, ldb) = self.source(Side::Right, column);
        let (c, ldc, beta, mut after) = self.target(row, column);
        after.extend([self.arrival(Side::Left, row), self.arrival(Side::Right, column)].into_iter().flatten());
        let problem = self.local_problem(row, column, [(a, lda), (b, ldb)], ldc);
        let gemm = self.gemms.plan(&problem)?;
        let mut prepared = Ab { a: None, b: None };
        for (side, chunk, source) in [(Side::Left, row, a), (Side::Right, column, b)] {
            match self.prepare(gemm, side, chunk, source) {
                Some((KernelOperand::A, place)) => prepared.a = Some(place),
                Some((KernelOperand::B, place)) => prepared.b = Some(place),
                None => {}
            }
        }
        let work = Work::Product(Product { gemm, a, b, c, beta, prepared });
        let chunk = row * self.right.chunks.len() + column;
        let product = self.push(Queue::Compute, work, after, "C", chunk);
        self.read.insert(column, product);
        Ok(())
    }

    /// Where a product reads a chunk, and the leading dimension there.
    fn source(&self, side: Side, chunk: usize) -> (Place, usize) {
        let operand = self.operand(side);
        if operand.is_gathered() {
            (self.gathered(side, chunk), operand.panel_ld())
        } else {
            (operand.local(chunk), operand.ld)
        }
    }

    /// Where a product of two chunks goes, with the leading dimension there, what it does with what is there, and the tasks before it.
    fn target(&mut self, row: usize, column: usize) -> (Place, usize, Factor, Vec<usize>) {
        let [rows, columns] = [&self.left.chunks[row], &self.right.chunks[column]].map(Clone::clone);
        let (output_bytes, ldc) = (u64::from(self.plan.problem.output.bytes()), self.plan.leading.c);
        if self.plan.scheme.grid.layers == 1 {
            let offset = (rows.start * ldc + columns.start) as u64 * output_bytes;
            return (Place::new(Buffer::C, offset), ldc, Factor::Beta, Vec::new());
        }
        let ld = columns.len();
        let partial = self.regions.partial(column).plus((rows.start * ld) as u64 * output_bytes);
        let before = column.checked_sub(self.regions.partial_slots());
        let mut after: Vec<_> = before.and_then(|before| self.reduced.get(&before).copied()).into_iter().collect();
        if row != self.layer {
            return (partial, ld, Factor::Zero, after);
        }
        // Of all layers, the one that has these rows in the end adds beta * C.
        let lines = Dimension {
            count: rows.len() as u64,
            from_stride: ldc as u64 * output_bytes,
            to_stride: ld as u64 * output_bytes,
        };
        let copy = Copy {
            from: Place::new(Buffer::C, columns.start as u64 * output_bytes),
            to: partial,
            bytes: ld as u64 * output_bytes,
            dimensions: [lines, Dimension::ONE],
        };
        self.push(Queue::Compute, Work::Copy(copy), std::mem::take(&mut after), "C", column);
        (partial, ld, Factor::Beta, after)
    }

    fn local_problem(&self, row: usize, column: usize, operands: [(Place, usize); 2], ldc: usize) -> Problem {
        let problem = &self.plan.problem;
        let [(a, lda), (b, ldb)] = operands;
        let output = if self.plan.scheme.grid.layers > 1 { Element::F32 } else { problem.output };
        let layouts = [self.left.layout(lda, true), self.right.layout(ldb, false)];
        Problem::new(self.left.chunks[row].len(), self.right.chunks[column].len(), self.left.k.extent)
            .with_elements(problem.input, output)
            .with_accuracy(problem.class)
            .with_determinism(problem.determinism)
            .with_layouts(layouts[0], layouts[1], Layout::row_major(ldc))
            .with_alignment(self.alignment(a), self.alignment(b))
    }

    /// What an address is a multiple of, in bytes, as far as it matters.
    fn alignment(&self, place: Place) -> usize {
        let own = match place.buffer {
            Buffer::A => self.plan.problem.alignment.a,
            Buffer::B => self.plan.problem.alignment.b,
            _ => plan::OPERAND_ALIGNMENT as usize,
        };
        let of_offset = 1 << place.offset.trailing_zeros().min(plan::OPERAND_ALIGNMENT.trailing_zeros());
        own.min(of_offset)
    }

    /// Where an operand was prepared for a product, which is queued where it is not yet. What one product reads alone is prepared by
    /// its plan.
    fn prepare(&mut self, gemm: usize, side: Side, chunk: usize, source: Place) -> Option<(KernelOperand, Place)> {
        let readers = self.operand(side.other()).chunks.iter().filter(|range| !range.is_empty()).count();
        if readers < 2 {
            return None;
        }
        // Where one operand alone is gathered, each of its chunks is read by products that follow each other.
        let is_passing = self.operand(side).is_gathered() && !self.operand(side.other()).is_gathered();
        let slots = if is_passing { 1 } else { usize::MAX };
        let (operand, target, is_new) = self.gemms.prepared(gemm, side, chunk, slots)?;
        if is_new {
            let name = self.operand(side).name;
            // The other operand may come later.
            let after = self.arrival(side, chunk).into_iter().collect();
            self.push(Queue::Compute, Work::Prepare { gemm, operand, source, target }, after, name, chunk);
        }
        Some((operand, target))
    }

    /// Queues the sum over layers of a column of chunks, and its way to C.
    fn reduce(&mut self, column: usize) {
        let width = self.right.chunks[column].len();
        let Some(product) = self.read.get(&column).copied() else { return };
        let receive = Place::new(Buffer::Reduced, 0);
        let send = self.regions.partial(column);
        let elements = (self.panels.block * width) as u64;
        let work = Work::ReduceScatter { axis: Axis::Layers, send, receive, elements };
        let reduced = self.push(Queue::Outbound, work, vec![product], "C", column);
        self.reduced.insert(column, reduced);
        let bytes = size_of::<f32>() as u64;
        let (line, ldc) = (width as u64 * bytes, self.plan.leading.c as u64 * bytes);
        let count = self.panels.count(self.layer) as u64;
        if count > 0 {
            let to = Place::new(Buffer::C, self.right.chunks[column].start as u64 * bytes);
            let lines = Dimension { count, from_stride: line, to_stride: ldc };
            let copy = Copy { from: receive, to, bytes: line, dimensions: [lines, Dimension::ONE] };
            self.push(Queue::Outbound, Work::Copy(copy), Vec::new(), "C", column);
        }
    }
}
