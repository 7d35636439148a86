//! Matrices that the four warps of a group multiply together: `wgmma`.
//!
//! Each warp computes its own sixteen of the 64 rows when it comes to the instruction. But it is one multiplication, which
//! ends for all of them at once: who waits for it waits until the others have come to it, and then nobody reads for it any
//! more. For the checkers, reading goes on until the first of them has waited.

use super::block::{Fault, Site};
use super::descriptor::{Descriptor, UNIT};
use super::fragment::{get_sums, put_sums, rows_in_registers};
use super::grid::Grid;
use super::warp::Warp;
use crate::check::{AccessKind, Beside, Observed, Since};
use crate::coalesce::WAVEFRONT_BYTES;
use crate::counters::Count;
use crate::finding::FindingKind;
use crate::lanes::lanes_of;
use crate::memory::window;
use crate::ops::tensor_core::{Columns, Format, MAX_DEPTH, ROWS, Row, Sums, WIDTH, multiply};
use crate::program::{Multiply, MultiplySource, Pc, Wgmma};
use crate::registers::{ALL_LANES, LANES, Mask, Slot};

/// Warps that multiply together.
const GROUP: usize = 4;

/// What a warp multiplies in the background.
#[derive(Debug, Default)]
pub(super) struct Products {
    pending: Vec<Pending>,
    /// Multiplications that it has come to; all there could be once it has left.
    begun: u64,
    /// Those that it had come to when it closed each group.
    closed: Vec<u64>,
    /// When it was last noted that one had ended.
    ended: u32,
}

impl Products {
    /// Groups that have been closed.
    pub(super) fn groups(&self) -> u32 {
        self.closed.len() as u32
    }

    /// The multiplications of all groups but the last `keep`.
    fn due(&self, keep: u32) -> u64 {
        let groups = self.closed.len().saturating_sub(keep as usize);
        groups.checked_sub(1).map_or(0, |last| self.closed[last])
    }
}

/// A multiplication that has not been waited for.
#[derive(Debug)]
struct Pending {
    pc: Pc,
    /// What it reads of shared memory: addresses, and bytes at each.
    places: Vec<u64>,
    bytes: u32,
    /// How many the warp came to before.
    number: u64,
    since: Option<Since>,
}

impl Site {
    pub(super) fn wgmma(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        pc: Pc,
        action: &Wgmma,
        mask: Mask,
        count: &mut Count,
    ) -> Result<(), Fault> {
        match action {
            Wgmma::Fence => warp.in_flight.fence(),
            Wgmma::Commit => {
                let products = &mut self.products[warp.index];
                products.closed.push(products.begun);
            }
            Wgmma::Wait(keep) => {
                self.end_products(grid, warp, self.products[warp.index].due(*keep));
                warp.in_flight.wait(self.products[warp.index].groups(), *keep);
                self.checks.warp_met(warp.number, mask, warp.live());
            }
            Wgmma::Multiply(multiply) => {
                let missing = grid.warps() < (warp.index / GROUP + 1) * GROUP;
                if mask != ALL_LANES || missing {
                    let what =
                        "four warps multiply matrices together, the first of them of a number that is a multiple \
                                of four; not all of their lanes are there"
                            .to_owned();
                    self.complain(grid, (warp.number, mask.trailing_zeros() as usize, pc), what);
                }
                self.multiply(grid, warp, pc, multiply, mask, count)?;
            }
        }
        Ok(())
    }

    fn multiply(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        pc: Pc,
        product: &Multiply,
        mask: Mask,
        count: &mut Count,
    ) -> Result<(), Fault> {
        let place = (warp.number, mask.trailing_zeros() as usize, pc);
        let adds = warp.registers.test(product.adds) & mask;
        if adds != 0 && adds != mask {
            self.complain(grid, place, "not all lanes agree on whether to add to what is there".to_owned());
        }
        let mut units = vec![];
        let a = match &product.a {
            MultiplySource::Registers(slots) => rows_in_registers(&warp.registers, product.format, slots),
            MultiplySource::Shared { descriptor, is_transposed } => {
                let matrix = self.matrix(grid, warp, (pc, mask), (*descriptor, *is_transposed, GROUP * ROWS))?;
                let first = warp.index % GROUP * ROWS;
                let mut elements = [[0; MAX_DEPTH]; ROWS];
                let strip = Strip { matrix, format: product.format, first, rows: ROWS };
                self.fetch(grid, place, &strip, &mut units, |row, k, bits| elements[row][k] = bits)?;
                elements
            }
        };
        let of_b = (product.b, product.b_is_transposed, product.columns as usize);
        let matrix = self.matrix(grid, warp, (pc, mask), of_b)?;
        let a = a.map(|row| Row::new(product.format, &row, product.negates));
        let simd = warp.registers.simd;
        for (block, d) in product.d.chunks(WIDTH / 2).enumerate() {
            let mut elements = [[0; WIDTH]; MAX_DEPTH];
            let strip = Strip { matrix, format: product.format, first: WIDTH * block, rows: 2 * d.len() };
            self.fetch(grid, place, &strip, &mut units, |column, k, bits| elements[k][column] = bits)?;
            let b = Columns::new(simd, product.format, &elements);
            let mut sums = if adds == 0 { Sums::default() } else { get_sums(&warp.registers, d) };
            multiply(simd, product.format, &a, &b, &mut sums);
            put_sums(&mut warp.registers, d, &sums, mask);
        }
        count.requests += 1;
        count.wavefronts += wavefronts(product, warp.index, units.len() as u64);
        let since = self.checks.begin(warp.number);
        let products = &mut self.products[warp.index];
        let (places, bytes) = joined(units);
        products.pending.push(Pending { pc, places, bytes, number: products.begun, since });
        products.begun += 1;
        Ok(())
    }

    /// The matrix of so many rows that a descriptor describes, which must be the same in all lanes.
    fn matrix(
        &mut self,
        grid: &Grid<'_>,
        warp: &Warp,
        (pc, mask): (Pc, Mask),
        (descriptor, is_transposed, rows): (Slot, bool, usize),
    ) -> Result<Descriptor, Fault> {
        let bits: [u64; LANES] = warp.registers.read(descriptor);
        let lane = mask.trailing_zeros() as usize;
        let place = (warp.number, lane, pc);
        if let Some(other) = lanes_of(mask).find(|&other| bits[other] != bits[lane]) {
            let what =
                format!("lane {lane} describes a matrix by {:#x}, lane {other} by {:#x}", bits[lane], bits[other]);
            self.complain(grid, place, what);
        }
        let bits = bits[lane];
        let matrix = Descriptor::new(bits, is_transposed)
            .map_err(|offset| format!("the descriptor {bits:#x} has the base offset {offset}; only 0 is known"));
        let skewed = |matrix: Descriptor| match matrix.skew(rows) {
            Some(stride) => Err(self.skewed(grid, bits, stride)),
            None => Ok(matrix),
        };
        matrix
            .and_then(skewed)
            .map_err(|what| self.finding(grid, FindingKind::Misaligned, pc, warp.number * LANES + lane, what).into())
    }

    /// What is wrong with a descriptor by which patterns begin at different places of their swizzle.
    fn skewed(&self, grid: &Grid<'_>, bits: u64, stride: u64) -> String {
        let mut what = format!(
            "the descriptor {bits:#x} says that patterns of its swizzle begin {stride} bytes apart, which is no multiple of \
             their size"
        );
        let rank = window::of_rank(0, self.rank as u32) / UNIT;
        if grid.cluster_blocks() > 1 && bits & rank == rank {
            what += "; it seems to be made of an address that has the block's rank in its bits from 24 on";
        }
        what
    }

    /// Calls `f` with each element: its row, its place along k, and its bits; notes the units that they are in.
    fn fetch(
        &self,
        grid: &Grid<'_>,
        (warp, lane, pc): (usize, usize, Pc),
        strip: &Strip,
        units: &mut Vec<u64>,
        mut f: impl FnMut(usize, usize, u32),
    ) -> Result<(), Fault> {
        for (address, row, k) in strip.units() {
            let Some(bytes) = self.shared.bytes.get(address as usize..).and_then(<[u8]>::first_chunk) else {
                if !grid.checks.memory {
                    continue;
                }
                let size = grid.shared_bytes();
                let what = format!("reads {UNIT} bytes of shared memory at {address:#x}, which has {size} bytes");
                return Err(self.finding(grid, FindingKind::OutOfBounds, pc, warp * LANES + lane, what).into());
            };
            units.push(address);
            strip.take_apart(bytes, (row, k), &mut f);
        }
        Ok(())
    }

    /// Until how many multiplications the others of its group must have come to, where a warp cannot go on before.
    pub(super) fn must_wait(&self, warp: &Warp, action: &Wgmma) -> Option<u64> {
        let Wgmma::Wait(keep) = action else { return None };
        let due = self.products[warp.index].due(*keep);
        (!self.have_begun(warp.index, due)).then_some(due)
    }

    /// Whether all warps of a group have come to so many multiplications.
    pub(super) fn have_begun(&self, warp: usize, count: u64) -> bool {
        self.products[group(warp, self.products.len())].iter().all(|products| products.begun >= count)
    }

    /// The first multiplications, so many, have ended for all of the warp's group, and the warp knows.
    fn end_products(&mut self, grid: &Grid<'_>, warp: &Warp, count: u64) {
        let first = warp.number - warp.index;
        for index in group(warp.index, self.products.len()) {
            self.end_reads(grid, first + index, index, count);
            if index != warp.index {
                self.checks.learn(warp.number, first + index, self.products[index].ended);
            }
        }
    }

    /// The warp leaves the kernel.
    pub(super) fn abandon_products(&mut self, grid: &Grid<'_>, warp: &Warp) {
        self.end_reads(grid, warp.number, warp.index, u64::MAX);
        self.products[warp.index].begun = u64::MAX;
    }

    /// Shows the checkers what a warp's first multiplications, so many, have read.
    fn end_reads(&mut self, grid: &Grid<'_>, warp: usize, index: usize, count: u64) {
        let due: Vec<Pending> = self.products[index].pending.extract_if(.., |product| product.number < count).collect();
        if due.is_empty() {
            return;
        }
        for Pending { pc, places, bytes, since, .. } in due {
            let (mut found, kind) = (vec![], AccessKind::Read);
            for places in places.chunks(LANES) {
                let addresses = std::array::from_fn(|lane| places.get(lane).copied().unwrap_or(0));
                let mask = ALL_LANES >> (LANES - places.len());
                let access = Observed { kind, pc, warp, mask, addresses: &addresses, bytes };
                let how = Beside::Engine { told: false };
                found.append(&mut self.checks.shared_since(&access, since.as_ref(), how));
            }
            for discovery in found {
                self.report(grid, pc, warp, discovery);
            }
        }
        self.products[index].ended = self.checks.ended(warp);
    }
}

/// Units as they are, or in pairs where each is beside the next.
fn joined(mut units: Vec<u64>) -> (Vec<u64>, u32) {
    let (pairs, rest) = units.as_chunks();
    if !rest.is_empty() || pairs.iter().any(|[a, b]| a ^ b != UNIT) {
        return (units, UNIT as u32);
    }
    for index in 0..units.len() / 2 {
        units[index] = units[2 * index] & !UNIT;
    }
    units.truncate(units.len() / 2);
    (units, 2 * UNIT as u32)
}

/// The warps of a block of so many that multiply together with that one.
fn group(warp: usize, warps: usize) -> std::ops::Range<usize> {
    let first = warp / GROUP * GROUP;
    first..warps.min(first + GROUP)
}

/// Neighbouring rows of the first matrix, or columns of the second.
struct Strip {
    matrix: Descriptor,
    format: Format,
    first: usize,
    rows: usize,
}

impl Strip {
    /// The units that it is in: address, and which row and place along k its first element has, from the strip's first on.
    fn units(&self) -> impl Iterator<Item = (u64, usize, usize)> {
        let per_unit = UNIT as usize / self.format.bytes();
        let is_transposed = self.matrix.is_transposed();
        let (down, across) = if is_transposed { (self.format.depth(), self.rows / per_unit) } else { (self.rows, 2) };
        (0..down).flat_map(move |below| {
            (0..across).map(move |beside| match is_transposed {
                true => (self.matrix.unit(below, self.first / per_unit + beside), beside * per_unit, below),
                false => (self.matrix.unit(self.first + below, beside), below, beside * per_unit),
            })
        })
    }

    /// Calls `f` with the elements of a unit.
    #[inline(always)]
    fn take_apart(&self, bytes: &[u8; UNIT as usize], (row, k): (usize, usize), f: &mut impl FnMut(usize, usize, u32)) {
        if self.format.bytes() == 4 {
            let words = bytes.as_chunks().0;
            (k..).zip(words).for_each(|(k, bytes)| f(row, k, u32::from_le_bytes(*bytes)));
            return;
        }
        let is_transposed = self.matrix.is_transposed();
        for (index, bytes) in bytes.as_chunks().0.iter().enumerate() {
            let (row, k) = if is_transposed { (row + index, k) } else { (row, k + index) };
            f(row, k, u16::from_le_bytes(*bytes).into());
        }
    }
}

/// Passes through shared memory: each warp reads its rows, and the first of the group the columns for all.
fn wavefronts(product: &Multiply, warp: usize, units: u64) -> u64 {
    let of_columns = u64::from(product.columns) * 2;
    let own = if warp.is_multiple_of(GROUP) { units } else { units.saturating_sub(of_columns) };
    (own * UNIT).div_ceil(WAVEFRONT_BYTES)
}
