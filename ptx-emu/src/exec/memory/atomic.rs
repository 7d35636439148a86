//! Atomic operations.

use std::cell::Cell;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

use super::data::{get, get_bytes, load, put, put_bytes, store};
use super::request::Request;
use crate::check::AccessKind;
use crate::counters::Count;
use crate::exec::state::{Fault, Grid, Site, Warp};
use crate::lanes::{LANES, Mask, lanes_of};
use crate::memory::Allocation;
use crate::program::{Access, Atomic, AtomicElement, Element, Pc};
use crate::types::Space;

impl Site {
    /// Executes an atomic operation. Returns whether any value changed.
    pub(crate) fn atomic(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        pc: Pc,
        atomic: &Atomic,
        mask: Mask,
        count: &mut Count,
    ) -> Result<bool, Fault> {
        let changes = Cell::new(false);
        let elements = atomic.elements.iter();
        let access = Access {
            space: atomic.space,
            address: atomic.address,
            width: atomic.width,
            elements: elements
                .map(|e| Element { slot: e.a, rows: rows_of(atomic.width), sign_extend: false })
                .collect(),
            is_strong: true,
            semantics: atomic.semantics,
        };
        self.each_space(grid, warp, pc, &access, AccessKind::Atomic, mask, count, |site, warp, request, allowed| {
            if atomic.width == 16 {
                return site.atomic_128(grid, warp, request, allowed, &atomic.elements[0], &changes);
            }
            for (index, element) in atomic.elements.iter().enumerate() {
                let offset = index as u64 * u64::from(atomic.width);
                let rows = rows_of(atomic.width);
                let operand = |slot| get(&warp.registers, &Element { slot, rows, sign_extend: false });
                let (a, b) = (operand(element.a), element.b.map_or([0; LANES], operand));
                let mut old = [0; LANES];
                let apply = if request.space == Space::Shared { atomic.apply_shared } else { atomic.apply };
                for lane in lanes_of(allowed) {
                    let update = |old: u64| {
                        let new = apply(old, a[lane], b[lane]);
                        changes.set(changes.get() | (new != old));
                        new
                    };
                    old[lane] = site.update(grid, request, lane, offset, atomic.width, update);
                }
                if let Some(slot) = element.result {
                    let to = Element { slot, rows, sign_extend: false };
                    put(&mut warp.registers, &to, atomic.width, &old, request.mask);
                }
            }
        })?;
        Ok(changes.get())
    }

    /// `exch` and `cas` of 128 bits, which a lock serialises.
    fn atomic_128(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        request: &Request,
        lanes: Mask,
        element: &AtomicElement,
        changes: &Cell<bool>,
    ) {
        if !matches!(request.space, Space::Shared | Space::Global) {
            return;
        }
        let _guard = grid.wide_atomics.lock().unwrap_or_else(PoisonError::into_inner);
        let read = |slot| warp.registers.read::<u128>(slot);
        let (a, b) = (read(element.a), element.b.map(read));
        let mut old = [0; LANES];
        for lane in lanes_of(lanes) {
            let address = request.addresses[lane];
            let shared = &mut self.shared.bytes;
            let global = grid.memory.find(address).ok().filter(|_| request.space == Space::Global);
            let half = |at: u64| match global {
                Some(allocation) => load(allocation, address - allocation.base() + at, 8),
                None => get_bytes(shared, address + at, 8),
            };
            old[lane] = u128::from(half(0)) | u128::from(half(8)) << 64;
            let new = match b {
                Some(b) if old[lane] == a[lane] => b[lane],
                Some(_) => old[lane],
                None => a[lane],
            };
            changes.set(changes.get() | (new != old[lane]));
            for (at, half) in [(0, new as u64), (8, (new >> 64) as u64)] {
                match global {
                    Some(allocation) => store(allocation, address - allocation.base() + at, 8, half),
                    None => put_bytes(shared, address + at, 8, half),
                }
            }
        }
        if let Some(slot) = element.result {
            warp.registers.write(slot, &old, request.mask);
        }
    }

    /// Replaces a value by `f` of it, and returns the old one.
    fn update(
        &mut self,
        grid: &Grid<'_>,
        request: &Request,
        lane: usize,
        offset: u64,
        width: u32,
        f: impl Fn(u64) -> u64,
    ) -> u64 {
        let address = request.addresses[lane] + offset;
        match request.space {
            Space::Shared => {
                let old = get_bytes(&self.shared.bytes, address, width);
                put_bytes(&mut self.shared.bytes, address, width, f(old));
                old
            }
            Space::Global => match grid.memory.find(address) {
                Ok(allocation) => replace(grid, allocation, address, width, f),
                Err(_) => 0,
            },
            _ => 0,
        }
    }
}

/// Replaces a value in global memory by `f` of it, and returns the old one.
pub(crate) fn replace(
    grid: &Grid<'_>,
    allocation: &Allocation,
    address: u64,
    width: u32,
    f: impl Fn(u64) -> u64,
) -> u64 {
    let at = address - allocation.base();
    if width == 4 {
        let replaced = |old: u32| Some(f(old.into()) as u32);
        return allocation.words()[(at / 4) as usize]
            .fetch_update(Relaxed, Relaxed, replaced)
            .unwrap_or_default()
            .into();
    }
    // Not a single word: serialised by a lock.
    let _guard = grid.wide_atomics.lock().unwrap_or_else(PoisonError::into_inner);
    let old = load(allocation, at, width);
    store(allocation, at, width, f(old));
    old
}

const fn rows_of(width: u32) -> u32 {
    width.div_ceil(4)
}
