//! Tensor (TMA) copies: `cp.async.bulk.tensor`. A box becomes a bulk copy.

use crate::check::AccessKind;
use crate::counters::Count;
use crate::exec::memory::{Request, get_bytes, shared};
use crate::exec::state::{BulkCopy, Fault, Grid, Site, Warp};
use crate::finding::FindingKind;
use crate::lanes::{LANES, Mask, lanes_of};
use crate::memory::{MAP_ALIGNMENT, MAP_BYTES, TensorMap, window};
use crate::program::{BulkEnd, Pc, Tensor};
use crate::types::{Semantics, Space};

/// Alignment of a box in shared memory.
const BOX_ALIGNMENT: u32 = 128;

impl Site {
    pub(crate) fn begin_tensor(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        pc: Pc,
        tensor: &Tensor,
        mask: Mask,
        count: &mut Count,
    ) -> Result<(), Fault> {
        let (offsets, maps) = (shared(Space::Shared, warp.addresses(&tensor.shared)), warp.addresses(&tensor.map));
        for lane in lanes_of(mask) {
            let (space, address) = match tensor.space {
                Space::Generic => window::resolve(maps[lane]),
                space => (space, maps[lane]),
            };
            let Some(map) = self.tensor_map(grid, warp, (pc, lane), space, address)? else { continue };
            if map.rank() != tensor.start.len() {
                let of = |rank| if rank == 1 { "1 dimension".to_owned() } else { format!("{rank} dimensions") };
                let (is, named) = (of(map.rank()), of(tensor.start.len()));
                let what = format!("the map at {address:#x} has {is}, the instruction {named}");
                return Err(self.bad_map(grid, warp, (pc, lane), what));
            }
            let start: Vec<i32> =
                tensor.start.iter().map(|slot| warp.registers.read::<u32>(*slot)[lane] as i32).collect();
            if let Some((kind, what)) = refused(&map, &start, &tensor.end) {
                if grid.checks.memory {
                    return Err(self.finding(grid, kind, pc, warp.number * LANES + lane, what).into());
                }
                continue;
            }
            let copy = BulkCopy {
                runs: map.runs(&start).into(),
                shared: offsets[lane],
                rows: map.box_bytes() / map.row_bytes(),
                row_bytes: map.row_bytes(),
                pitch: map.pitch(),
                swizzle: map.swizzle(),
                alignment: BOX_ALIGNMENT,
                reduce: None,
            };
            self.begin_bulk_copy(grid, warp, (pc, lane), copy, &tensor.end, count)?;
        }
        Ok(())
    }

    /// The tensor map at an address; `None` if it is out of bounds.
    fn tensor_map(
        &self,
        grid: &Grid<'_>,
        warp: &Warp,
        (pc, lane): (Pc, usize),
        space: Space,
        address: u64,
    ) -> Result<Option<TensorMap>, Fault> {
        let (kind, mask, addresses, bytes) = (AccessKind::Read, 1 << lane, [address; LANES], MAP_BYTES as u32);
        let alignment = MAP_ALIGNMENT;
        let request =
            Request { pc, kind, space, mask, addresses, bytes, alignment, remote: None, semantics: Semantics::DEFAULT };
        if self.in_bounds(grid, warp, &request)? == 0 {
            return Ok(None);
        }
        let mut map = [0; MAP_BYTES];
        for (at, word) in (address..).step_by(8).zip(map.as_chunks_mut().0) {
            *word = match space {
                Space::Param => get_bytes(grid.params, at, 8),
                Space::Const => get_bytes(&grid.constants.bytes, at, 8),
                Space::Global => grid
                    .memory
                    .find(at)
                    .map_or(0, |allocation| crate::exec::memory::load(allocation, at - allocation.base(), 8)),
                _ => 0,
            }
            .to_le_bytes();
        }
        match TensorMap::decode(&map) {
            Some(map) => Ok(Some(map)),
            None => {
                let what = format!("there is no tensor map at {address:#x} in {space} memory");
                Err(self.bad_map(grid, warp, (pc, lane), what))
            }
        }
    }

    fn bad_map(&self, grid: &Grid<'_>, warp: &Warp, (pc, lane): (Pc, usize), what: String) -> Fault {
        self.finding(grid, FindingKind::TensorMap, pc, warp.number * LANES + lane, what).into()
    }
}

/// Why TMA would fault on the box.
fn refused(map: &TensorMap, start: &[i32], end: &BulkEnd) -> Option<(FindingKind, String)> {
    if !map.can_start_at(start[0]) {
        let what = format!("begins {} elements into a row, which is not a multiple of 16 bytes", start[0]);
        return Some((FindingKind::Misaligned, what));
    }
    let before = start.iter().position(|at| *at < 0).filter(|_| matches!(end, BulkEnd::Group))?;
    let what = format!("stores a box that begins at {} in dimension {before}, before the tensor", start[before]);
    Some((FindingKind::OutOfBounds, what))
}
