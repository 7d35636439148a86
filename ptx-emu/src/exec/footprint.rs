//! What a block touches of global memory: each sector once.

use crate::coalesce::SECTOR_BYTES;
use crate::lanes::lanes_of;
use crate::memory::GlobalMemory;
use crate::registers::{LANES, Mask};

/// The sectors that a block has touched, by allocation.
#[derive(Debug, Default)]
pub(super) struct Footprint(Vec<Touched>);

#[derive(Debug)]
struct Touched {
    base: u64,
    bytes: u64,
    /// One bit per sector.
    sectors: Vec<u64>,
}

impl Footprint {
    /// Notes an access, whose lanes are all inside of allocations.
    pub(super) fn touch(&mut self, memory: &GlobalMemory, addresses: &[u64; LANES], mask: Mask, bytes: u32) {
        for lane in lanes_of(mask) {
            let address = addresses[lane];
            let is_in = |touched: &Touched| address.wrapping_sub(touched.base) < touched.bytes;
            let index = match self.0.iter().position(is_in) {
                Some(index) => index,
                None => {
                    let Ok(allocation) = memory.find(address) else { continue };
                    let (base, bytes) = (allocation.base(), allocation.bytes());
                    let words = bytes.div_ceil(SECTOR_BYTES).div_ceil(64) as usize;
                    self.0.push(Touched { base, bytes, sectors: vec![0; words] });
                    self.0.len() - 1
                }
            };
            let touched = &mut self.0[index];
            let offset = address - touched.base;
            for sector in offset / SECTOR_BYTES..=(offset + u64::from(bytes) - 1) / SECTOR_BYTES {
                touched.sectors[sector as usize / 64] |= 1 << (sector % 64);
            }
        }
    }

    /// Distinct sectors.
    pub(super) fn sectors(&self) -> u64 {
        self.0.iter().flat_map(|touched| &touched.sectors).map(|word| u64::from(word.count_ones())).sum()
    }

    /// Bytes of the allocations that were touched.
    pub(super) fn touched_bytes(&self) -> u64 {
        self.0.iter().map(|touched| touched.bytes).sum()
    }
}
