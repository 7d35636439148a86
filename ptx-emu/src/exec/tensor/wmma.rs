//! `wmma.load`, `wmma.store`, `movmatrix`: fragments of a warp, between memory and registers. Each piece of a fragment is an access of
//! its own, to the checkers and in the counters.

use super::matrix::transpose;
use crate::check::AccessKind;
use crate::counters::Count;
use crate::exec::memory::{get, put, read, write};
use crate::exec::state::{Fault, Grid, Origin, Site, Warp};
use crate::lanes::{ALL_LANES, LANES, Mask, Registers};
use crate::program::{FragmentAccess, Fragments, Pc, Stride, Transpose};

impl Site {
    pub(crate) fn fragments(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        pc: Pc,
        fragments: &Fragments,
        mask: Mask,
        count: &mut Count,
    ) -> Result<(), Fault> {
        if mask != ALL_LANES {
            let at = Origin { warp: warp.number, lane: mask.trailing_zeros() as usize, pc };
            let does = match fragments {
                Fragments::Access(access) if access.is_store => "store",
                Fragments::Access(_) => "load",
                Fragments::Transpose(_) => "transpose",
            };
            let what = format!("all lanes of a warp {does} a matrix together; the lanes {:#010x} do not", !mask);
            self.complain(grid, at, what);
        }
        match fragments {
            Fragments::Access(access) => self.fragment(grid, warp, pc, access, mask, count),
            Fragments::Transpose(block) => {
                block.run(&mut warp.registers, mask);
                Ok(())
            }
        }
    }

    fn fragment(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        pc: Pc,
        access: &FragmentAccess,
        mask: Mask,
        count: &mut Count,
    ) -> Result<(), Fault> {
        // Before a result takes the place of the address or of the stride.
        let starts = warp.addresses(&access.address);
        let strides = match access.stride {
            Stride::Register(slot) => warp.registers.read::<u32>(slot),
            Stride::Constant(stride) => [stride; LANES],
        };
        let kind = if access.is_store { AccessKind::Write } else { AccessKind::Read };
        for piece in &access.pieces {
            let addresses = std::array::from_fn(|lane| {
                let (outer, inner) = piece.places[lane];
                let element = u64::from(outer) * u64::from(strides[lane]) + u64::from(inner);
                starts[lane].wrapping_add(element * u64::from(access.bits) / 8)
            });
            if let (true, Some(block)) = (access.is_store, piece.transposed) {
                block.run(&mut warp.registers, ALL_LANES);
            }
            self.each_space_at(
                grid,
                warp,
                pc,
                &piece.access,
                &addresses,
                kind,
                mask,
                count,
                |site, warp, request, allowed| {
                    for (index, element) in piece.access.elements.iter().enumerate() {
                        let offset = index as u64 * u64::from(piece.access.width);
                        if access.is_store {
                            let values = get(&warp.registers, element);
                            write(grid, site, warp, request, allowed, offset, piece.access.width, &values);
                            continue;
                        }
                        let mut values = [0u64; LANES];
                        read(grid, site, warp, request, allowed, offset, piece.access.width, &mut values);
                        if piece.shift > 0 {
                            let before = get(&warp.registers, element);
                            values
                                .iter_mut()
                                .zip(before)
                                .for_each(|(value, before)| *value = before | *value << piece.shift);
                        }
                        put(&mut warp.registers, element, piece.access.width, &values, request.mask);
                    }
                },
            )?;
            if let (false, Some(block)) = (access.is_store, piece.transposed) {
                block.run(&mut warp.registers, mask);
            }
        }
        for (from, to) in &access.copies {
            let values: [u32; LANES] = warp.registers.read(*from);
            warp.registers.write(*to, &values, mask);
        }
        Ok(())
    }
}

impl Transpose {
    fn run(self, registers: &mut Registers, mask: Mask) {
        let block = transpose(&registers.read(self.from));
        registers.write(self.to, &block, mask);
    }
}
