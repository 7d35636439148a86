//! `wgmma`: MMAs of a warpgroup.
//!
//! Each warp computes its 16 of the 64 rows when it executes the instruction. But the MMA is one operation, which
//! completes for all four warps at once: a warp that waits for it waits until the others have issued it. For the
//! checkers, the MMA reads shared memory until the first warp has waited.

use super::descriptor::{Descriptor, UNIT};
use super::fragment::{MAX_K, MAX_SPARSE, load_accumulators, rows_in_registers, store_accumulators, word_bits};
use super::product::{NARROW_DEPTH, Product};
use crate::check::{AccessKind, Observed, Proxy};
use crate::counters::Count;
use crate::counters::coalesce::WAVEFRONT_BYTES;
use crate::exec::state::{Fault, Grid, Origin, PendingMma, Site, Warp};
use crate::finding::FindingKind;
use crate::lanes::{ALL_LANES, LANES, Mask, Slot, lanes_of};
use crate::memory::window;
use crate::ops::tensor_core::{Accumulators, Columns, Format, MAX_DEPTH, ROWS, Row, WIDTH, multiply};
use crate::program::{Accumulator, Arithmetic, Mma, MmaOperand, MmaShape, Pc, Wgmma};

/// Warps of a warpgroup.
const WARPGROUP: usize = 4;

impl Site {
    pub(crate) fn wgmma(
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
                let queue = &mut self.mmas[warp.index];
                queue.committed.push(queue.issued);
            }
            Wgmma::Wait(keep) => {
                self.retire_mmas(grid, warp, self.mmas[warp.index].due(*keep));
                warp.in_flight.wait(self.mmas[warp.index].groups(), *keep);
                self.checks.warp_synced(warp.number, mask, warp.live());
            }
            Wgmma::Mma(mma) => {
                let missing = grid.warps() < (warp.index / WARPGROUP + 1) * WARPGROUP;
                if mask != ALL_LANES || missing {
                    let what = "`wgmma` needs all lanes of a warpgroup, which is four warps from a multiple of four on"
                        .to_owned();
                    self.complain(grid, Origin { warp: warp.number, lane: mask.trailing_zeros() as usize, pc }, what);
                }
                self.mma(grid, warp, pc, mma, mask, count)?;
            }
        }
        Ok(())
    }

    fn mma(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        pc: Pc,
        mma: &Mma,
        mask: Mask,
        count: &mut Count,
    ) -> Result<(), Fault> {
        let at = Origin { warp: warp.number, lane: mask.trailing_zeros() as usize, pc };
        let accumulate = warp.registers.test(mma.accumulate) & mask;
        if accumulate != 0 && accumulate != mask {
            self.complain(grid, at, "scale-d differs between the lanes".to_owned());
        }
        let mut units = vec![];
        match mma.arithmetic {
            // What most kernels use.
            Arithmetic::Fused { formats, d: Accumulator::F32, .. } if mma.sparse.is_none() => {
                match formats[0].depth() {
                    NARROW_DEPTH => {
                        self.fused::<NARROW_DEPTH>(grid, warp, at, (mma, formats, accumulate, mask), &mut units)?
                    }
                    _ => self.fused::<MAX_DEPTH>(grid, warp, at, (mma, formats, accumulate, mask), &mut units)?,
                }
            }
            _ => self.product(grid, warp, at, (mma, accumulate, mask), &mut units)?,
        }
        count.requests += 1;
        count.wavefronts += wavefronts(mma, warp.index, units.len() as u64);
        let since = self.checks.begin(warp.number);
        let (addresses, bytes) = joined(units);
        self.record_units(grid, warp, pc, &addresses, bytes);
        let queue = &mut self.mmas[warp.index];
        queue.pending.push(PendingMma { pc, addresses, bytes, index: queue.issued, since });
        queue.issued += 1;
        Ok(())
    }

    /// Floats, with f32 accumulators.
    fn fused<const DEPTH: usize>(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        at: Origin,
        (mma, [a_format, b_format], accumulate, mask): (&Mma, [Format; 2], Mask, Mask),
        units: &mut Vec<u64>,
    ) -> Result<(), Fault> {
        let a = self.rows::<DEPTH>(grid, warp, (at, mask), mma, units)?;
        let matrix =
            self.matrix(grid, warp, (at.pc, mask), (mma.b, mma.b_is_transposed, mma.shape.n, units_of_column(mma)))?;
        let a = a.map(|row| Row::new(a_format, &row, mma.negate));
        let simd = warp.registers.simd;
        for (block, d) in mma.d.chunks(WIDTH / 2).enumerate() {
            let mut elements = [[0; WIDTH]; DEPTH];
            let strip = Strip::of_b(mma, matrix, WIDTH * block);
            self.fetch(grid, at, &strip, units, |column, k, bits| elements[k][column] = bits)?;
            let b = Columns::new(simd, b_format, &elements);
            let mut acc = if accumulate == 0 { Accumulators::default() } else { load_accumulators(&warp.registers, d) };
            multiply(simd, a_format, &a, &b, &mut acc);
            store_accumulators(&mut warp.registers, d, &acc, mask);
        }
        Ok(())
    }

    /// Whatever is multiplied.
    fn product(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        at: Origin,
        (mma, accumulate, mask): (&Mma, Mask, Mask),
        units: &mut Vec<u64>,
    ) -> Result<(), Fault> {
        let arithmetic = mma.arithmetic;
        let selected = |sparse| self.selection(grid, warp, (at.pc, mask), arithmetic, mma.shape, sparse);
        let selection = mma.sparse.as_ref().map(selected);
        let mut a = self.rows::<MAX_K>(grid, warp, (at, mask), mma, units)?;
        if let (true, Arithmetic::Fused { formats, .. }) = (mma.negate, arithmetic) {
            let sign = 1 << (8 * formats[0].bytes() - 1);
            a.iter_mut().flatten().for_each(|element| *element ^= sign);
        }
        let matrix =
            self.matrix(grid, warp, (at.pc, mask), (mma.b, mma.b_is_transposed, mma.shape.n, units_of_column(mma)))?;
        let per_column = mma.d.len() * WIDTH / mma.shape.n;
        let bits = arithmetic.element_bits();
        let k = mma.shape.depth(selection.is_some()) * bits / word_bits(bits);
        for (block, d) in mma.d.chunks(per_column).enumerate() {
            let mut b = [[0; MAX_SPARSE]; WIDTH];
            let strip = Strip::of_b(mma, matrix, WIDTH * block);
            self.fetch(grid, at, &strip, units, |column, k, bits| b[column][k] = bits)?;
            let shape = MmaShape { m: ROWS, n: strip.rows, k };
            let c = (accumulate != 0).then_some(d);
            Product { arithmetic, shape, selection: selection.as_ref(), c, d, mask }.run(&mut warp.registers, &a, &b);
        }
        Ok(())
    }

    /// The elements of the warp's rows of A.
    fn rows<const DEPTH: usize>(
        &mut self,
        grid: &Grid<'_>,
        warp: &Warp,
        (at, mask): (Origin, Mask),
        mma: &Mma,
        units: &mut Vec<u64>,
    ) -> Result<[[u32; DEPTH]; ROWS], Fault> {
        let bits = word_bits(mma.arithmetic.element_bits());
        match &mma.a {
            MmaOperand::Registers(slots) => Ok(rows_in_registers(&warp.registers, bits, slots)),
            MmaOperand::Shared { descriptor, is_transposed } => {
                let rows = mma.shape.m;
                let matrix = self.matrix(grid, warp, (at.pc, mask), (*descriptor, *is_transposed, rows, A_UNITS))?;
                let first = warp.index % WARPGROUP * ROWS;
                let mut elements = [[0; DEPTH]; ROWS];
                let strip = Strip { matrix, element_bytes: bits / 8, line_units: A_UNITS, first, rows: ROWS };
                self.fetch(grid, at, &strip, units, |row, k, bits| elements[row][k] = bits)?;
                Ok(elements)
            }
        }
    }

    /// The matrix of a descriptor, which must be the same in all lanes.
    fn matrix(
        &mut self,
        grid: &Grid<'_>,
        warp: &Warp,
        (pc, mask): (Pc, Mask),
        (descriptor, is_transposed, rows, units): (Slot, bool, usize, usize),
    ) -> Result<Descriptor, Fault> {
        let bits: [u64; LANES] = warp.registers.read(descriptor);
        let lane = mask.trailing_zeros() as usize;
        let at = Origin { warp: warp.number, lane, pc };
        if let Some(other) = lanes_of(mask).find(|&other| bits[other] != bits[lane]) {
            let what =
                format!("the descriptor is {:#x} in lane {lane}, {:#x} in lane {other}", bits[lane], bits[other]);
            self.complain(grid, at, what);
        }
        let bits = bits[lane];
        let matrix = Descriptor::new(bits, is_transposed)
            .map_err(|offset| format!("the descriptor {bits:#x} has base offset {offset}; only 0 is supported"));
        let skewed = |matrix: Descriptor| match matrix.skew(rows) {
            Some(stride) => Err(self.skewed(grid, bits, stride)),
            None if matrix.is_too_narrow(units) => Err(format!(
                "the descriptor {bits:#x} has a swizzle of 32 bytes; a column of 64 bytes needs a wider one"
            )),
            None => Ok(matrix),
        };
        matrix
            .and_then(skewed)
            .map_err(|what| self.finding(grid, FindingKind::Misaligned, pc, warp.number * LANES + lane, what).into())
    }

    /// The message for a descriptor whose swizzle atoms are not aligned to their size.
    fn skewed(&self, grid: &Grid<'_>, bits: u64, stride: u64) -> String {
        let mut what = format!(
            "the descriptor {bits:#x} has a stride of {stride} bytes between swizzle atoms, which is not a multiple of \
             their size"
        );
        let rank = window::of_rank(0, self.rank as u32) / UNIT;
        if grid.cluster_blocks() > 1 && bits & rank == rank {
            what += "; its address seems to carry the rank of the block in bits 24 and up";
        }
        what
    }

    /// Calls `f` with each element: row, k and bits. Appends the addresses of the units read.
    fn fetch(
        &self,
        grid: &Grid<'_>,
        Origin { warp, lane, pc }: Origin,
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
            strip.unpack(bytes, (row, k), &mut f);
        }
        Ok(())
    }

    /// The MMAs that the other warps of the warpgroup must have issued before this one can proceed.
    pub(crate) fn must_wait(&self, warp: &Warp, action: &Wgmma) -> Option<u64> {
        let Wgmma::Wait(keep) = action else { return None };
        let due = self.mmas[warp.index].due(*keep);
        (!self.have_issued(warp.index, due)).then_some(due)
    }

    /// Whether all warps of the warpgroup have issued that many MMAs.
    pub(crate) fn have_issued(&self, warp: usize, count: u64) -> bool {
        self.mmas[warpgroup(warp, self.mmas.len())].iter().all(|queue| queue.issued >= count)
    }

    /// Retires the first `count` MMAs of the warpgroup, and tells the warp.
    fn retire_mmas(&mut self, grid: &Grid<'_>, warp: &Warp, count: u64) {
        let first = warp.number - warp.index;
        for index in warpgroup(warp.index, self.mmas.len()) {
            self.show_reads(grid, first + index, index, count);
            if index != warp.index {
                self.checks.learn(warp.number, first + index, self.mmas[index].retired);
            }
        }
    }

    /// The warp exits.
    pub(crate) fn abandon_mmas(&mut self, grid: &Grid<'_>, warp: &Warp) {
        self.show_reads(grid, warp.number, warp.index, u64::MAX);
        self.mmas[warp.index].issued = u64::MAX;
    }

    /// Shows the reads of a warp's first `count` MMAs to the checkers.
    fn show_reads(&mut self, grid: &Grid<'_>, warp: usize, index: usize, count: u64) {
        let due: Vec<PendingMma> = self.mmas[index].pending.extract_if(.., |mma| mma.index < count).collect();
        if due.is_empty() {
            return;
        }
        for PendingMma { pc, addresses, bytes, since, .. } in due {
            let (mut found, kind) = (vec![], AccessKind::Read);
            for chunk in addresses.chunks(LANES) {
                let addresses = std::array::from_fn(|lane| chunk.get(lane).copied().unwrap_or(0));
                let mask = ALL_LANES >> (LANES - chunk.len());
                let access = Observed::weak(kind, pc, (warp, mask), &addresses, bytes);
                let how = Proxy::Async { signalled: false };
                found.append(&mut self.checks.shared_since(&access, since.as_ref(), how));
            }
            for discovery in found {
                self.report(grid, pc, warp, discovery);
            }
        }
        self.mmas[index].retired = self.checks.mmas_retired(warp);
    }
}

/// The units, merged in pairs where all are pairwise adjacent.
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

/// The warps of the warpgroup of `warp`, in a block of `warps`.
fn warpgroup(warp: usize, warps: usize) -> std::ops::Range<usize> {
    let first = warp / WARPGROUP * WARPGROUP;
    first..warps.min(first + WARPGROUP)
}

/// Adjacent rows of A, or columns of B.
struct Strip {
    matrix: Descriptor,
    element_bytes: usize,
    /// Units of a row along k.
    line_units: usize,
    first: usize,
    rows: usize,
}

impl Strip {
    /// Up to 16 columns of B from `first` on.
    fn of_b(mma: &Mma, matrix: Descriptor, first: usize) -> Self {
        let element_bytes = word_bits(mma.arithmetic.element_bits()) / 8;
        Self { matrix, element_bytes, line_units: units_of_column(mma), first, rows: WIDTH.min(mma.shape.n - first) }
    }

    /// Its units: address, and row and k of the first element, relative to the strip.
    fn units(&self) -> impl Iterator<Item = (u64, usize, usize)> {
        let per_unit = UNIT as usize / self.element_bytes;
        let is_transposed = self.matrix.is_transposed();
        let (down, across) = match is_transposed {
            true => (self.line_units * per_unit, self.rows / per_unit),
            false => (self.rows, self.line_units),
        };
        (0..down).flat_map(move |down_index| {
            (0..across).map(move |across_index| match is_transposed {
                true => (
                    self.matrix.unit(down_index, self.first / per_unit + across_index),
                    across_index * per_unit,
                    down_index,
                ),
                false => (self.matrix.unit(self.first + down_index, across_index), down_index, across_index * per_unit),
            })
        })
    }

    /// Calls `f` with the elements of a unit.
    #[inline(always)]
    fn unpack(&self, bytes: &[u8; UNIT as usize], (row, k): (usize, usize), f: &mut impl FnMut(usize, usize, u32)) {
        match self.element_bytes {
            4 => {
                let words = bytes.as_chunks().0;
                return (k..).zip(words).for_each(|(k, bytes)| f(row, k, u32::from_le_bytes(*bytes)));
            }
            1 => return (k..).zip(bytes).for_each(|(k, byte)| f(row, k, (*byte).into())),
            _ => {}
        }
        let is_transposed = self.matrix.is_transposed();
        for (index, bytes) in bytes.as_chunks().0.iter().enumerate() {
            let (row, k) = if is_transposed { (row + index, k) } else { (row, k + index) };
            f(row, k, u16::from_le_bytes(*bytes).into());
        }
    }
}

/// Units of a row of A: 32 bytes.
const A_UNITS: usize = 2;

/// Units of a column of B, of which a sparse A has half.
const fn units_of_column(mma: &Mma) -> usize {
    if mma.sparse.is_some() { 2 * A_UNITS } else { A_UNITS }
}

/// Wavefronts in shared memory: each warp reads its rows of A, the first of the warpgroup also B for all.
fn wavefronts(mma: &Mma, warp: usize, units: u64) -> u64 {
    let of_columns = (mma.shape.n * units_of_column(mma)) as u64;
    let own = if warp.is_multiple_of(WARPGROUP) { units } else { units.saturating_sub(of_columns) };
    (own * UNIT).div_ceil(WAVEFRONT_BYTES)
}
