//! `mma`: MMAs of a warp.

use super::fragment::{columns_in_registers, load_accumulators, rows_in_registers, store_accumulators};
use crate::counters::Count;
use crate::exec::state::{Fault, Grid, Origin, Site, Warp};
use crate::lanes::{ALL_LANES, Mask};
use crate::ops::tensor_core::{Columns, Row, multiply};
use crate::program::{Pc, WarpMma};

impl Site {
    pub(crate) fn warp_mma(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        pc: Pc,
        mma: &WarpMma,
        mask: Mask,
        count: &mut Count,
    ) -> Result<(), Fault> {
        if mask != ALL_LANES {
            let at = Origin { warp: warp.number, lane: mask.trailing_zeros() as usize, pc };
            let what = format!("all lanes of a warp multiply together; the lanes {:#010x} do not", !mask);
            self.complain(grid, at, what);
        }
        let simd = warp.registers.simd;
        let rows = rows_in_registers(&warp.registers, mma.format, &mma.a).map(|row| Row::new(mma.format, &row, false));
        let columns = Columns::new(simd, mma.format, &columns_in_registers(&warp.registers, &mma.b));
        let mut acc = load_accumulators(&warp.registers, &mma.c);
        multiply(simd, mma.format, &rows, &columns, &mut acc);
        store_accumulators(&mut warp.registers, &mma.d, &acc, mask);
        count.requests += 1;
        Ok(())
    }
}
