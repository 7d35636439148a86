//! Puts the tasks of one GPU together: tile by tile, with the panels that each takes.

use std::ops::Range;

use gpu_kernels::{Ab, Operand};

use super::geometry::{Geometry, Kept, Shape};
use super::kernels::{Kernels, prepared_bytes};
use super::order::order;
use super::part::Part;
use super::side::{Built, Group, Load, Side};
use super::simulate::Rates;
use super::slots::Slots;
use super::task::{PeerCopy, PeerTask, Product, Queue, Task, Transfer, Work};
use crate::Abc;
use crate::plan::{Buffer, Plan as Gemm};

/// A part in the making.
pub(super) struct Builder<'a> {
    geometry: &'a Geometry<'a>,
    kernels: &'a Kernels<'a>,
    rates: &'a Rates,
    part: Part,
    /// The numbers of the part's plans in [`Kernels`].
    numbers: Vec<usize>,
    a: Side,
    b: Side,
    /// Where tiles of C begin.
    tiles: u64,
    /// The last download from each slot for tiles of C.
    downloads: Vec<Option<usize>>,
}

impl<'a> Builder<'a> {
    /// For the GPU that is in these groups.
    pub fn new(
        groups: &Ab<Group>,
        geometry: &'a Geometry<'a>,
        kernels: &'a Kernels<'a>,
        rates: &'a Rates,
        shape: Shape,
    ) -> Self {
        let Ab { a, b } = geometry.panel_bytes();
        let tiles = geometry.scratch;
        let first_a = tiles + geometry.raw.c * shape.slots.c as u64;
        let first_b = first_a + a * shape.slots.a as u64;
        let steps = steps(geometry, &shape);
        let [_, _, pieces] = geometry.counts();
        let side = |buffer, count, first, bytes, of: usize, group: &Group| {
            let panels: Vec<_> = steps.iter().map(|step| step[of] * pieces + step[2]).collect();
            Side { buffer, slots: Slots::new(count, &panels), group: *group, first, bytes, loads: Vec::new() }
        };
        Self {
            a: side(Buffer::A, shape.slots.a, first_a, [a, geometry.raw.a], 0, &groups.a),
            b: side(Buffer::B, shape.slots.b, first_b, [b, geometry.raw.b], 1, &groups.b),
            geometry,
            kernels,
            rates,
            numbers: Vec::new(),
            tiles,
            downloads: vec![None; shape.slots.c],
            part: Part {
                gpu: groups.a.gpu(groups.a.own),
                rows: geometry.rows.clone(),
                columns: geometry.columns.clone(),
                shape,
                tasks: Vec::new(),
                gemms: Vec::new(),
                memory_bytes: geometry.bytes(&shape.slots),
                times_us: Vec::new(),
            },
        }
    }

    pub fn build(mut self) -> Built {
        let [_, _, pieces] = self.geometry.counts();
        let steps = steps(self.geometry, &self.part.shape);
        for (number, tile) in steps.chunks(pieces).enumerate() {
            self.tile(number, [tile[0][0], tile[0][1]], pieces);
        }
        let gemms = self.numbers.iter().map(|number| self.kernels.gemm(*number).clone()).collect();
        Built { part: Part { gemms, ..self.part }, sides: Ab { a: self.a, b: self.b } }
    }

    /// A tile of C: its panels, what was there, its products, and its way back.
    fn tile(&mut self, number: usize, [row, column]: [usize; 2], pieces: usize) {
        let Geometry { matrices, rows, columns, tile, piece, problem, .. } = self.geometry;
        let rows = block(rows, row, tile[0]);
        let columns = block(columns, column, tile[1]);
        let slot = number % self.downloads.len();
        let place = self.tiles + slot as u64 * self.geometry.raw.c;
        let transfer = matrices.c.transfer(rows.clone(), columns.clone(), place);
        // The tile that was there before is on its way back.
        let freed = self.downloads[slot];
        let mut last = 0;
        for index in 0..pieces {
            let range = block(&(0..problem.k), index, *piece);
            let panels = [row * pieces + index, column * pieces + index];
            let [a, b] = self.panels(panels, [rows.clone(), range.clone(), columns.clone()]);
            let mut after: Vec<_> = freed.filter(|_| index == 0).into_iter().collect();
            if index == 0 {
                after.push(self.push(Queue::Inbound, Work::Upload(transfer), after.clone()));
            }
            let sizes = [rows.len(), columns.len(), range.len()];
            last = self.product(sizes, [a, b], place, index == 0, after);
        }
        self.downloads[slot] = Some(self.push(Queue::Outbound, Work::Download(transfer), vec![last]));
    }

    /// Has the panels of a product brought where they are not there, and gives their slots.
    fn panels(&mut self, panels: [usize; 2], [rows, range, columns]: [Range<usize>; 3]) -> [usize; 2] {
        let Abc { a, b, .. } = self.geometry.matrices;
        let blocks = [(a, rows, range.clone()), (b, range, columns)];
        let mut taken = [0; 2];
        for (which, (matrix, rows, columns)) in blocks.into_iter().enumerate() {
            let side = self.side(which);
            let (slot, is_new) = side.slots.take(panels[which]);
            taken[which] = slot;
            let transfer = matrix.transfer(rows, columns, side.place(slot));
            if is_new && transfer.total_bytes() > 0 {
                self.bring(which, slot, transfer);
            }
        }
        taken
    }

    fn side(&mut self, which: usize) -> &mut Side {
        if which == 0 { &mut self.a } else { &mut self.b }
    }

    /// Has a panel brought to a slot: the own piece from the host, and the others from the GPUs that upload them.
    fn bring(&mut self, which: usize, slot: usize, panel: Transfer) {
        let side = self.side(which);
        let place = side.place(slot);
        let group = side.group;
        let free = side.slots.slot(slot).read_by;
        let piece = |member| Some(panel.share(member, group.count)).filter(|piece| piece.total_bytes() > 0);
        let upload =
            piece(group.own).map(|piece| self.push(Queue::Inbound, Work::Upload(piece), free.into_iter().collect()));
        let mut received = vec![None; group.count];
        let mut last = None;
        for member in group.others() {
            let Some(Transfer { device, device_pitch: pitch, bytes, lines, matrix, .. }) = piece(member) else {
                continue;
            };
            // Where the other GPU's slot begins is added when its part is known.
            let copy = PeerCopy {
                gpu: group.gpu(member),
                matrix,
                source: device - place,
                target: device,
                pitch,
                bytes,
                lines,
            };
            let after = free.filter(|_| last.is_none()).into_iter().collect();
            let copied = self.push(Queue::Peer, Work::Receive(copy), after);
            // Until then, the other GPU is taken to be as far as this one.
            let gpu = self.part.gpu;
            self.part.tasks[copied].after_peers = upload.map(|task| PeerTask { gpu, task }).into_iter().collect();
            received[member] = Some(copied);
            last = Some(copied);
        }
        let side = self.side(which);
        let there = side.slots.slot(slot);
        there.arriving = upload.into_iter().chain(last).collect();
        let before = there.load.replace(side.loads.len());
        side.loads.push(Load { slot, before, upload, received });
    }

    fn product(
        &mut self,
        sizes: [usize; 3],
        slots: [usize; 2],
        c: u64,
        is_first: bool,
        mut after: Vec<usize>,
    ) -> usize {
        // All sizes that blocks have were planned for.
        let number = self.geometry.number(&sizes).unwrap_or(0);
        let gemm = self.numbers.iter().position(|known| *known == number).unwrap_or_else(|| {
            self.numbers.push(number);
            self.numbers.len() - 1
        });
        let plan = self.kernels.gemm(number);
        let mut prepared = Ab { a: None, b: None };
        for which in [0, 1] {
            let side = self.side(which);
            let arriving = std::mem::take(&mut side.slots.slot(slots[which]).arriving);
            let Some((operand, target, is_new)) = side.prepare(slots[which], plan) else {
                after.extend(arriving);
                continue;
            };
            match operand {
                Operand::A => prepared.a = Some(target),
                Operand::B => prepared.b = Some(target),
            }
            let source = side.place(slots[which]);
            if is_new {
                let work = Work::Prepare { gemm, operand, source, target };
                self.push(Queue::Compute, work, arriving);
            }
        }
        let [a, b] = [self.a.place(slots[0]), self.b.place(slots[1])];
        let product = self.push(Queue::Compute, Work::Product(Product { gemm, a, b, c, is_first, prepared }), after);
        self.a.slots.slot(slots[0]).read_by = Some(product);
        self.b.slots.slot(slots[1]).read_by = Some(product);
        product
    }

    fn push(&mut self, queue: Queue, work: Work, after: Vec<usize>) -> usize {
        let gemm = |gemm: usize| self.numbers[gemm];
        let time_us = match work {
            Work::Upload(_) | Work::Receive(_) | Work::Download(_) => self.rates.transfer_us(&work),
            Work::Prepare { gemm: index, operand, .. } => self.kernels.prepare_us(gemm(index), operand),
            Work::Product(Product { gemm: index, .. }) => self.kernels.time_us(gemm(index)),
        };
        self.part.tasks.push(Task { queue, work, after, after_peers: Vec::new() });
        self.part.times_us.push(time_us);
        self.part.tasks.len() - 1
    }
}

impl Side {
    /// Where a panel is prepared for a plan, as which operand of its kernel, and whether that is still to be done; `None` where the
    /// kernel reads it as it arrives.
    fn prepare(&mut self, slot: usize, gemm: &Gemm) -> Option<(Operand, u64, bool)> {
        if prepared_bytes(gemm, self.buffer) == 0 {
            return None;
        }
        let preparation = gemm.preparation(self.buffer)?;
        let target = self.place(slot) + self.bytes[1];
        let there = &mut self.slots.slot(slot).prepared;
        let is_new = there.as_ref() != Some(preparation);
        if is_new {
            *there = Some(preparation.clone());
        }
        Some((preparation.operand, target, is_new))
    }
}

/// The products in their order: row and column of the tile, and piece of k.
fn steps(geometry: &Geometry<'_>, shape: &Shape) -> Vec<[usize; 3]> {
    let [m, n, pieces] = geometry.counts();
    let Abc { a, b, .. } = shape.slots;
    // One panel of the next group is on its way while this one is multiplied; and one that passes by while the others are.
    let held = |slots: usize, all: usize| if slots >= all * pieces { all } else { slots.saturating_sub(1) / pieces };
    let tiles = match shape.kept {
        Kept::A => order([m, n], held(a, m).max(1), held(b, n)),
        Kept::B => {
            let mut tiles = order([n, m], held(b, n).max(1), held(a, m));
            tiles.iter_mut().for_each(|tile| tile.reverse());
            tiles
        }
    };
    tiles.into_iter().flat_map(|[row, column]| (0..pieces).map(move |piece| [row, column, piece])).collect()
}

/// The block of that number.
fn block(whole: &Range<usize>, index: usize, size: usize) -> Range<usize> {
    let start = (whole.start + index * size).min(whole.end);
    start..(start + size).min(whole.end)
}
