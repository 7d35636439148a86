//! The sectors of global memory that a block touches.

use crate::counters::coalesce::SECTOR_BYTES;
use crate::lanes::{LANES, Mask, lanes_of};
use crate::memory::GlobalMemory;

/// Touched sectors, by allocation.
#[derive(Debug, Default)]
pub(crate) struct Footprint(Vec<Touched>);

#[derive(Debug)]
pub(crate) struct Touched {
    pub base: u64,
    pub bytes: u64,
    pub is_loaded: bool,
    /// One bit per sector.
    pub sectors: Vec<u64>,
}

impl Footprint {
    /// Records an access whose lanes are all in bounds.
    pub(crate) fn touch(
        &mut self,
        memory: &GlobalMemory,
        addresses: &[u64; LANES],
        mask: Mask,
        bytes: u32,
        is_load: bool,
    ) {
        for lane in lanes_of(mask) {
            let address = addresses[lane];
            let is_in = |touched: &Touched| address.wrapping_sub(touched.base) < touched.bytes;
            let index = match self.0.iter().position(is_in) {
                Some(index) => index,
                None => {
                    let Ok(allocation) = memory.find(address) else { continue };
                    let (base, bytes) = (allocation.base(), allocation.bytes());
                    let words = bytes.div_ceil(SECTOR_BYTES).div_ceil(64) as usize;
                    self.0.push(Touched { base, bytes, is_loaded: false, sectors: vec![0; words] });
                    self.0.len() - 1
                }
            };
            let touched = &mut self.0[index];
            touched.is_loaded |= is_load;
            let offset = address - touched.base;
            for sector in offset / SECTOR_BYTES..=(offset + u64::from(bytes) - 1) / SECTOR_BYTES {
                touched.sectors[sector as usize / 64] |= 1 << (sector % 64);
            }
        }
    }

    /// Distinct sectors.
    pub(crate) fn sectors(&self) -> u64 {
        self.0.iter().flat_map(|touched| &touched.sectors).map(|word| u64::from(word.count_ones())).sum()
    }

    /// Bytes of the allocations that were touched.
    pub(crate) fn touched_bytes(&self) -> u64 {
        self.0.iter().map(|touched| touched.bytes).sum()
    }

    /// Bytes of those that were loaded from.
    pub(crate) fn loaded_bytes(&self) -> u64 {
        self.0.iter().filter(|touched| touched.is_loaded).map(|touched| touched.bytes).sum()
    }
}
