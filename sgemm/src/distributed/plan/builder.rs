//! Puts a plan together: chunks are gathered one after the other, and multiplied as they arrive.

use std::collections::HashMap;

use super::Plan;
use super::operand::Operand;
use super::products::Gemms;
use super::reserve::Regions;
use crate::distributed::cyclic::Cyclic;
use crate::distributed::grid::Axis;
use crate::distributed::schedule::{Buffer, Place, Queue, Task, Work};
use crate::distributed::scheme::{Chunks, is_by_columns};
use crate::problem::Order;
use crate::{Device, Error};

/// One of the two operands of the product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Side {
    Left,
    Right,
}

/// A plan in the making: of a product whose result is row-major, which is the transpose of the caller's where C is stored by columns.
pub(super) struct Builder<'a> {
    pub plan: &'a mut Plan,
    pub left: Operand,
    pub right: Operand,
    /// The panels of the result's rows that layers have in the end.
    pub panels: Cyclic,
    /// The rank's layer.
    pub layer: usize,
    pub regions: Regions,
    pub gemms: Gemms<'a>,
    /// The task that packs a chunk.
    packed: HashMap<(Side, usize), usize>,
    /// The task of another queue than products that brings a chunk.
    arrived: HashMap<(Side, usize), usize>,
    /// The last product that reads a column of chunks, so far.
    pub read: HashMap<usize, usize>,
    /// Products of a column of chunks, so far.
    pub multiplied: Vec<usize>,
    /// The ReduceScatter of a column of chunks.
    pub reduced: HashMap<usize, usize>,
}

impl<'a> Builder<'a> {
    pub fn new(plan: &'a mut Plan, device: &'a Device) -> Result<Self, Error> {
        let (left, right) = operands(plan)?;
        let scheme = plan.scheme;
        let panels = scheme.parts(left.chunks.last().map_or(0, |last| last.end));
        let regions = Regions::new(&left, &right, scheme.grid.layers);
        Ok(Self {
            panels,
            layer: scheme.grid.position(plan.rank).layer,
            regions,
            gemms: Gemms::new(device),
            packed: HashMap::new(),
            arrived: HashMap::new(),
            read: HashMap::new(),
            multiplied: vec![0; right.chunks.len()],
            reduced: HashMap::new(),
            plan,
            left,
            right,
        })
    }

    pub fn build(mut self) -> Result<(), Error> {
        let mut there = [0, 0];
        let arrivals = self.arrivals();
        arrivals.iter().for_each(|(side, chunk)| self.pack(*side, *chunk));
        for (side, chunk) in arrivals {
            self.gather(side, chunk);
            let [left, right] = there;
            match side {
                Side::Left => (0..right).try_for_each(|other| self.multiply(chunk, other))?,
                Side::Right => (0..left).try_for_each(|other| self.multiply(other, chunk))?,
            }
            there[side as usize] += 1;
        }
        let Regions { mut bytes, .. } = self.regions;
        bytes[Buffer::Scratch.index()] = self.gemms.scratch_bytes();
        bytes[Buffer::Prepared.index()] = self.gemms.prepared_bytes();
        self.plan.gemms = self.gemms.into_plans();
        self.plan.bytes = bytes;
        Ok(())
    }

    /// The order of chunks. Where both operands are gathered they alternate, so that the rectangle of chunks that are there grows along
    /// both sides; otherwise what the rank has is there from the beginning.
    fn arrivals(&self) -> Vec<(Side, usize)> {
        let [left, right] = [&self.left, &self.right].map(|operand| operand.chunks.len());
        let all = |side, count| (0..count).map(move |chunk| (side, chunk));
        let (mut lefts, mut rights) = (all(Side::Left, left), all(Side::Right, right));
        if !self.left.is_gathered() {
            return lefts.chain(rights).collect();
        }
        if !self.right.is_gathered() {
            return rights.chain(lefts).collect();
        }
        let pairs = (0..left.max(right)).flat_map(|_| [lefts.next(), rights.next()]);
        pairs.flatten().collect()
    }

    pub fn operand(&self, side: Side) -> &Operand {
        match side {
            Side::Left => &self.left,
            Side::Right => &self.right,
        }
    }

    /// Whether there is something to be gathered.
    fn is_gathered(&self, side: Side, chunk: usize) -> bool {
        let operand = self.operand(side);
        operand.is_gathered() && !operand.chunks[chunk].is_empty()
    }

    /// Queues a chunk's way to where it is sent from: beside the AllGather of the first one. Later it would wait for a product, whose
    /// persistent blocks leave no SM to a copy.
    fn pack(&mut self, side: Side, chunk: usize) {
        let received = self.regions.received(side, chunk);
        let Some(copy) = self.operand(side).pack(chunk, received).filter(|_| self.is_gathered(side, chunk)) else {
            return;
        };
        let name = self.operand(side).name;
        let packed = self.push(Queue::Outbound, Work::Copy(copy), Vec::new(), name, chunk);
        self.packed.insert((side, chunk), packed);
    }

    /// Queues what brings a chunk.
    fn gather(&mut self, side: Side, chunk: usize) {
        if !self.is_gathered(side, chunk) {
            return;
        }
        let operand = self.operand(side).clone();
        let received = self.regions.received(side, chunk);
        let after = self.packed.get(&(side, chunk)).copied().into_iter().collect();
        let gathered = self.push(Queue::Inbound, operand.gather(chunk, received), after, operand.name, chunk);
        if operand.is_in_order() {
            self.arrived.insert((side, chunk), gathered);
            return;
        }
        // Between products: as those, it takes SMs.
        let mut after = vec![gathered];
        for copy in operand.unpack(chunk, received, self.regions.panel(side, chunk)) {
            self.push(Queue::Compute, Work::Copy(copy), std::mem::take(&mut after), operand.name, chunk);
        }
    }

    /// Where a product reads a gathered chunk.
    pub fn gathered(&self, side: Side, chunk: usize) -> Place {
        let is_in_order = self.operand(side).is_in_order();
        if is_in_order { self.regions.received(side, chunk) } else { self.regions.panel(side, chunk) }
    }

    /// The task of another queue than products after which a chunk is there.
    pub fn arrival(&self, side: Side, chunk: usize) -> Option<usize> {
        self.arrived.get(&(side, chunk)).copied()
    }

    pub fn push(&mut self, queue: Queue, work: Work, after: Vec<usize>, matrix: &'static str, chunk: usize) -> usize {
        self.plan.tasks.push(Task { queue, work, after, matrix, chunk });
        self.plan.tasks.len() - 1
    }
}

/// The operands of the product with a row-major result, cut into chunks.
fn operands(plan: &Plan) -> Result<(Operand, Operand), Error> {
    let Plan { problem, scheme, rank, share, leading, .. } = plan;
    let [m, n, k] = problem.sizes();
    let [a, b, ..] = problem.views();
    let position = scheme.grid.position(*rank);
    let of_layer = scheme.layer(k, position.layer).len();
    let operand = |view: crate::problem::View, buffer, axis, own: usize, ld| {
        let (order, _) = view.layout.order(view.name, view.rows, view.columns)?;
        Ok::<_, Error>(Operand {
            name: view.name,
            buffer,
            axis,
            k: scheme.k(of_layer, axis),
            place: position.along(axis),
            chunks: std::iter::once(0..own).collect(),
            width: own,
            is_k_contiguous: (order == Order::RowMajor) == (axis == Axis::Columns),
            ld,
            element_bytes: problem.input.bytes() as usize,
        })
    };
    let a = operand(a, Buffer::A, Axis::Columns, share.a[0], leading.a)?;
    let b = operand(b, Buffer::B, Axis::Rows, share.b[1], leading.b)?;
    let (a, b) = ((a, scheme.rows(m).most(), scheme.chunks.m), (b, scheme.columns(n).most(), scheme.chunks.n));
    let ((mut left, left_most, left_count), (mut right, right_most, right_count)) =
        if is_by_columns(problem) { (b, a) } else { (a, b) };
    if scheme.grid.layers > 1 {
        // A chunk of rows for each layer, which has their sums in the end.
        let panels = scheme.parts(left.width);
        left.chunks = Chunks::ranges(panels.block, panels.block * scheme.grid.layers, left.width);
        left.width = scheme.parts(left_most).block;
    } else if left.is_gathered() {
        left.cut(left_count, left_most);
    }
    if right.is_gathered() || scheme.grid.layers > 1 {
        right.cut(right_count, right_most);
    }
    Ok((left, right))
}
