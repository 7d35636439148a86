//! `tensormap.replace` and `tensormap.cp_fenceproxy`: changes of tensor maps in memory.

use std::cell::RefCell;

use crate::check::AccessKind;
use crate::counters::Count;
use crate::exec::memory::{read, write};
use crate::exec::state::{Fault, Grid, Origin, Site, Warp};
use crate::finding::FindingKind;
use crate::lanes::{ALL_LANES, LANES, Mask, lanes_of};
use crate::memory::{MAP_BYTES, TensorMap};
use crate::program::{Access, MapEdit, Pc};

const WORDS: usize = MAP_BYTES / 8;

impl Site {
    pub(crate) fn edit_map(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        pc: Pc,
        edit: &MapEdit,
        mask: Mask,
        count: &mut Count,
    ) -> Result<(), Fault> {
        match edit {
            MapEdit::Replace { map, field, value, ty } => {
                let values = match ty.bytes() {
                    8 => warp.registers.read::<u64>(*value),
                    _ => warp.registers.read::<u32>(*value).map(u64::from),
                };
                for lane in lanes_of(mask) {
                    let mut words = [0; WORDS];
                    self.map_words(grid, warp, (pc, lane), map, AccessKind::Read, &mut words, count)?;
                    if let Err(what) = TensorMap::replace(&mut words, *field, values[lane]) {
                        let thread = warp.number * LANES + lane;
                        return Err(self.finding(grid, FindingKind::TensorMap, pc, thread, what).into());
                    }
                    self.map_words(grid, warp, (pc, lane), map, AccessKind::Write, &mut words, count)?;
                }
            }
            MapEdit::Copy { to, from, scope } => {
                let lane = mask.trailing_zeros() as usize;
                if mask != ALL_LANES {
                    let what = format!("all lanes of a warp copy a map together; the lanes {:#010x} do not", !mask);
                    self.complain(grid, Origin { warp: warp.number, lane, pc }, what);
                }
                let mut words = [0; WORDS];
                self.map_words(grid, warp, (pc, lane), from, AccessKind::Read, &mut words, count)?;
                self.map_words(grid, warp, (pc, lane), to, AccessKind::Write, &mut words, count)?;
                self.checks.fence(grid.global_races.as_ref(), warp.number, mask, *scope);
            }
        }
        Ok(())
    }

    /// Reads the words of the map of a lane, or writes them.
    #[allow(clippy::too_many_arguments)]
    fn map_words(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        (pc, lane): (Pc, usize),
        access: &Access,
        kind: AccessKind,
        words: &mut [u64; WORDS],
        count: &mut Count,
    ) -> Result<(), Fault> {
        let starts = warp.addresses(&access.address);
        for (offset, word) in (0..).step_by(8).zip(words) {
            let addresses = starts.map(|start| start.wrapping_add(offset));
            let values = RefCell::new([*word; LANES]);
            self.each_space_at(
                grid,
                warp,
                pc,
                access,
                &addresses,
                kind,
                1 << lane,
                count,
                |site, warp, request, allowed| {
                    if kind.writes() {
                        write(grid, site, warp, request, allowed, 0, access.width, &values.borrow());
                    } else {
                        read(grid, site, warp, request, allowed, 0, access.width, &mut values.borrow_mut());
                    }
                },
            )?;
            *word = values.into_inner()[lane];
        }
        Ok(())
    }
}
