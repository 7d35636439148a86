//! The narrow operand: all threads load its part of a k-tile to registers, and from there to shared memory, k by k.

use super::long::Operand;
use super::{BK, THREADS, VECTOR};
use crate::ptx::{compiler, read_only};
use cuda_std::prelude::*;

/// Elements of eight vectors that a thread loads.
const OF_OCTET: usize = (BK * VECTOR / THREADS) as usize;

/// What a thread loads of a k-tile, and one element of the eight k before it.
pub(super) type Raw<const OCTETS: usize> = ([[u32; OF_OCTET]; OCTETS], u32);

/// The narrow operand's k-tiles.
#[derive(Clone, Copy)]
pub(super) struct Vectors<const OCTETS: usize> {
    pub from: Operand,
    /// Where k ends.
    pub end: u32,
}

/// A k and a vector.
#[derive(Clone, Copy)]
struct Place {
    k: u32,
    vector: u32,
}

impl<const OCTETS: usize> Vectors<OCTETS> {
    /// Vectors in all.
    const FEW: u32 = OCTETS as u32 * VECTOR;

    /// This thread's first element of a k-tile, and from one to the next: adjacent threads have adjacent elements.
    #[inline(always)]
    fn places(&self) -> (Place, Place) {
        let tid = compiler::opaque(thread::thread_idx_x()); // or registers would keep what is computed from it
        if self.from.is_k_contiguous {
            (Place { k: tid % BK, vector: tid / BK }, Place { k: 0, vector: THREADS / BK })
        } else {
            (Place { k: tid / Self::FEW, vector: tid % Self::FEW }, Place { k: THREADS / Self::FEW, vector: 0 })
        }
    }

    /// This thread's element of the eight k before a k-tile.
    #[inline(always)]
    fn place_before() -> Place {
        let tid = compiler::opaque(thread::thread_idx_x());
        Place { k: tid % VECTOR, vector: tid / VECTOR }
    }

    /// The address of an element, which may be out of bounds; an access may not.
    #[inline(always)]
    fn address(&self, Place { k, vector }: Place) -> *const u16 {
        let (outer, inner) = if self.from.is_k_contiguous { (vector, k) } else { (k, vector) };
        self.from.start.wrapping_add(outer as usize * self.from.ld + inner as usize)
    }

    /// Loads this thread's elements of the k-tile that begins at `k`, if they are wanted: zeros replace what is out of bounds.
    ///
    /// # Safety
    /// What is in bounds of the operand may be read.
    #[inline(always)]
    pub unsafe fn load(&self, k: u32, is_wanted: bool) -> Raw<OCTETS> {
        let few = if is_wanted { self.from.rows } else { 0 };
        // SAFETY: in bounds, or not loaded: what is before k = 0 has an index beyond the end.
        let load = |source: *const u16, at: Place| unsafe {
            read_only::load_16_below(source, at.k, if at.vector < few { self.end } else { 0 })
        };
        let (first, step) = self.places();
        let mut at = Place { k: k + first.k, ..first };
        let mut source = self.address(at);
        let step_elements = (step.k + step.vector) as usize * self.from.ld;
        let mut raw = [[0; OF_OCTET]; OCTETS];
        for raw in raw.iter_mut() {
            for raw in raw.iter_mut() {
                *raw = load(source, at);
                source = source.wrapping_add(step_elements);
                at = Place { k: at.k + step.k, vector: at.vector + step.vector };
            }
        }
        let before = Self::place_before();
        let before = Place { k: (k + before.k).wrapping_sub(VECTOR), ..before };
        let source = self.address(Place { k: before.k.min(self.end), ..before });
        (raw, load(source, before))
    }

    /// Stores them to that byte of shared memory: k after k, behind the eight before the k-tile, or, for warps that have every eighth k, theirs.
    ///
    /// # Safety
    /// Nobody reads the buffer.
    #[inline(always)]
    pub unsafe fn store(&self, buffer: u32, is_in_order: bool, raw: Raw<OCTETS>) {
        let smem = shared::dynamic_shared_mem::<u16>();
        let store = |place: u32, vector: u32, value: u32| {
            let byte = buffer + Self::octet(place, vector / VECTOR) + vector % VECTOR * 2;
            // SAFETY: of the buffer, upheld by the caller.
            unsafe { *smem.add((byte / 2) as usize) = value as u16 }
        };
        let (of_tile, before) = raw;
        let (mut at, step) = self.places();
        for raw in of_tile {
            for raw in raw {
                let Place { k, vector } = at;
                let place = if is_in_order { VECTOR + k } else { k % VECTOR * (BK / VECTOR) + k / VECTOR };
                store(place, vector, raw);
                at = Place { k: k + step.k, vector: vector + step.vector };
            }
        }
        let Place { k, vector } = Self::place_before();
        if is_in_order && vector < Self::FEW {
            store(k, vector, before);
        }
    }

    /// The byte of eight vectors at a place: those of eight adjacent places are in different banks.
    #[inline(always)]
    pub fn octet(place: u32, octet: u32) -> u32 {
        let octets = OCTETS as u32;
        let swizzled = octet ^ (place / (VECTOR / octets) % octets);
        (place * octets + swizzled) * 16
    }
}
