//! Copies of boxes of tensors: `cp.async.bulk.tensor`. Once it is known what they move, they are copies in bulk.

use super::access::Request;
use super::block::{Fault, Site};
use super::bulk::Part;
use super::data::get_bytes;
use super::grid::Grid;
use super::mbarrier::shared;
use super::warp::Warp;
use crate::Space;
use crate::check::AccessKind;
use crate::counters::Count;
use crate::finding::FindingKind;
use crate::lanes::lanes_of;
use crate::memory::window;
use crate::program::{Pc, Tensor};
use crate::registers::{LANES, Mask};
use crate::tensor::{MAP_ALIGNMENT, MAP_BYTES, TensorMap};

/// What the address of a box in shared memory must be a multiple of.
const BOX_ALIGNMENT: u32 = 128;

impl Site {
    pub(super) fn begin_tensor(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        pc: Pc,
        tensor: &Tensor,
        mask: Mask,
        count: &mut Count,
    ) -> Result<(), Fault> {
        let (places, maps) = (shared(Space::Shared, warp.addresses(&tensor.shared)), warp.addresses(&tensor.map));
        for lane in lanes_of(mask) {
            let (space, address) = match tensor.space {
                Space::Generic => window::resolve(maps[lane]),
                space => (space, maps[lane]),
            };
            let Some(map) = self.tensor_map(grid, warp, (pc, lane), space, address)? else { continue };
            if map.rank() != tensor.start.len() {
                let of = |rank| if rank == 1 { "1 dimension".to_owned() } else { format!("{rank} dimensions") };
                let (is, named) = (of(map.rank()), of(tensor.start.len()));
                let what = format!("the map at {address:#x} is that of a tensor of {is}, not of {named}");
                return Err(self.bad_map(grid, warp, (pc, lane), what));
            }
            let start: Vec<i32> =
                tensor.start.iter().map(|slot| warp.registers.read::<u32>(*slot)[lane] as i32).collect();
            let part = Part {
                runs: map.runs(&start).into(),
                shared: places[lane],
                bytes: map.box_bytes(),
                swizzle: map.swizzle(),
                alignment: BOX_ALIGNMENT,
            };
            self.begin_part(grid, warp, (pc, lane), part, &tensor.end, count)?;
        }
        Ok(())
    }

    /// The tensor map at an address, if it can be read.
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
        let request = Request { pc, kind, space, mask, addresses, bytes, alignment, remote: None };
        if self.inside(grid, warp, &request)? == 0 {
            return Ok(None);
        }
        let mut map = [0; MAP_BYTES];
        for (place, word) in (address..).step_by(8).zip(map.as_chunks_mut().0) {
            *word = match space {
                Space::Param => get_bytes(grid.params, place, 8),
                Space::Const => get_bytes(&grid.program.image.constant, place, 8),
                Space::Global => grid
                    .memory
                    .find(place)
                    .map_or(0, |allocation| super::data::load(allocation, place - allocation.base(), 8)),
                _ => 0,
            }
            .to_le_bytes();
        }
        match TensorMap::decode(&map) {
            Some(map) => Ok(Some(map)),
            None => {
                let what = format!("what is at {address:#x} in {space} memory is no tensor map");
                Err(self.bad_map(grid, warp, (pc, lane), what))
            }
        }
    }

    fn bad_map(&self, grid: &Grid<'_>, warp: &Warp, (pc, lane): (Pc, usize), what: String) -> Fault {
        self.finding(grid, FindingKind::TensorMap, pc, warp.number * LANES + lane, what).into()
    }
}
