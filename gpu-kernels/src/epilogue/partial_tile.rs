//! The epilogue of [`Schedule::PlannedSplitK`](crate::Schedule::PlannedSplitK): the blocks of a cluster publish their partial tiles in
//! shared memory, and each reduces and stores a share of the tile.
//!
//! ```text
//!   rank 0      rank 1      rank 2            C
//!  ┌───────┐   ┌───────┐   ┌───────┐      ┌───────┐
//!  │ a a a │ + │ a a a │ + │ a a a │  ──► │ a a a │   by rank 0         a chunk: 128 elements, row by row,
//!  │ b b b │ + │ b b b │ + │ b b b │  ──► │ b b b │   by rank 1         by one warp of one block
//!  └───────┘   └───────┘   └───────┘      └───────┘
//! ```
//!
//! Loads from all blocks are in flight together, and are added in the order of rank. A lane loads and stores VEC adjacent elements where
//! rows of C are aligned. Where they are not, adjacent lanes store adjacent elements: a warp first puts them where its own block's
//! partial tile was, which no other warp reads there.

use super::direct::Output;
use super::fused::{Fused, NOTHING};
use super::fusion::Fusion;
use crate::gemm::Gemm;
use crate::hardware::{VEC, WARP};
use crate::planned::PlannedBlock;
use crate::ptx::{cluster, compiler, f32x4};
use crate::{Coord, Splits};
use cuda_std::prelude::*;

/// Elements of a chunk.
const CHUNK: u32 = WARP * VEC;

/// Where a tile of C is.
#[derive(Clone, Copy)]
pub(crate) struct Target<'g> {
    pub g: &'g Gemm,
    /// The tile's first element in C.
    pub tile: Coord,
    /// Elements of C before those of the block's problem and plane.
    pub offset: u64,
    /// Whether C, and a bias, are of f32, whatever the kernel's output.
    pub is_f32: bool,
}

impl Target<'_> {
    /// Elements of C before the tile's first.
    #[inline(always)]
    pub fn first(&self) -> usize {
        self.offset as usize + self.tile.row as usize * self.g.ldc + self.tile.col as usize
    }
}

/// C or a bias from an element on: of f32, or of O.
#[derive(Clone, Copy)]
pub(crate) struct Elements<O> {
    first: *mut O,
    is_f32: bool,
}

impl<O: Output> Elements<O> {
    #[inline(always)]
    pub fn new(first: *mut O, is_f32: bool) -> Self {
        Self { first, is_f32: is_f32 || !O::IS_NARROW }
    }

    /// Those from that index on.
    #[inline(always)]
    pub fn from(self, index: usize) -> Self {
        let bytes = if self.is_f32 { size_of::<f32>() } else { size_of::<O>() };
        Self { first: self.first.wrapping_byte_add(index * bytes), ..self }
    }

    /// Whether one access has VEC elements.
    #[inline(always)]
    fn is_aligned(self) -> bool {
        let bytes = if self.is_f32 { size_of::<f32>() } else { size_of::<O>() };
        self.first.addr().is_multiple_of(VEC as usize * bytes)
    }

    /// Elements before the first that is at a multiple of 16 bytes.
    #[inline(always)]
    pub fn before_boundary(self) -> u32 {
        let bytes = self.first.addr().wrapping_neg() as u32 % 16;
        if self.is_f32 { bytes / size_of::<f32>() as u32 } else { bytes / size_of::<O>() as u32 }
    }

    /// The first one.
    ///
    /// # Safety
    /// It is in bounds.
    #[inline(always)]
    pub unsafe fn get(self) -> f32 {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { if self.is_f32 { *self.first.cast::<f32>() } else { (*self.first).get() } }
    }

    /// Sets the first one.
    ///
    /// # Safety
    /// It is in bounds, and no other thread accesses it.
    #[inline(always)]
    pub unsafe fn set(self, value: f32) {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            match self.is_f32 {
                true => *self.first.cast::<f32>() = value,
                false => *self.first = O::new(value),
            }
        }
    }

    /// The first VEC.
    ///
    /// # Safety
    /// They are in bounds, and aligned.
    #[inline(always)]
    unsafe fn load(self) -> [f32; VEC as usize] {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { if self.is_f32 { f32::load(self.first.cast()) } else { O::load(self.first) } }
    }

    /// Stores the first VEC.
    ///
    /// # Safety
    /// They are in bounds and aligned, and no other thread accesses them.
    #[inline(always)]
    unsafe fn store(self, values: [f32; VEC as usize]) {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            match self.is_f32 {
                true => f32::store(self.first.cast(), values),
                false => O::store(self.first, values),
            }
        }
    }
}

impl<O: Output> Elements<O> {
    /// Stores the first eight, which are narrow or of f32.
    ///
    /// # Safety
    /// They are in bounds and at a multiple of 16 bytes, and no other thread accesses them.
    #[inline(always)]
    pub unsafe fn store_8(self, values: [f32; 8]) {
        let [x0, x1, x2, x3, x4, x5, x6, x7] = values;
        let c = self.first.cast::<f32>();
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            if self.is_f32 {
                f32x4::store(c, [x0, x1, x2, x3]);
                f32x4::store(c.add(VEC as usize), [x4, x5, x6, x7]);
            } else {
                let words = [O::pair(x0, x1), O::pair(x2, x3), O::pair(x4, x5), O::pair(x6, x7)];
                f32x4::store(c, words.map(f32::from_bits));
            }
        }
    }
}

/// A block's (BM, BN) of f32 in its shared memory, with PAD between rows.
#[derive(Clone, Copy)]
pub(crate) struct PartialTile<const BM: u32, const BN: u32, const PAD: u32> {
    smem: *mut f32,
}

impl<const BM: u32, const BN: u32, const PAD: u32> PartialTile<BM, BN, PAD> {
    /// Words from a row to the next.
    pub const PITCH: u32 = BN + PAD;

    /// In shared memory that nothing else uses any more, at a multiple of 16 bytes.
    #[inline(always)]
    pub fn new(smem: *mut f32) -> Self {
        const { assert!((BM * BN).is_multiple_of(CHUNK) && BN.is_multiple_of(VEC) && PAD.is_multiple_of(VEC)) }
        Self { smem }
    }

    /// Where an element is published.
    #[inline(always)]
    pub fn at(self, Coord { row, col }: Coord) -> *mut f32 {
        self.smem.wrapping_add((row * Self::PITCH + col) as usize)
    }

    /// Whether a block needs no others' partial tiles and no C, and may store VEC adjacent f32 of its own at once, all of them in bounds:
    /// then the way through shared memory, which takes longer, gains nothing.
    #[inline(always)]
    pub fn is_stored_directly(self, block: PlannedBlock, target: Target) -> bool {
        let Target { g, tile, .. } = target;
        let is_full_tile = (g.m - tile.row >= BM) & (g.n - tile.col >= BN);
        let c = g.c.wrapping_add(target.first());
        is_full_tile & (block.cluster == 1) & (g.beta == 0.0) & f32x4::aligned(c, g.ldc)
    }

    /// Reduces the partial tiles of the cluster, and stores what the epilogue makes of them.
    ///
    /// # Safety
    /// Every thread of the block is here, and has published its accumulators: all of (BM, BN) is. C is of f32 or of O, as the target
    /// says, and no other cluster has the tile.
    #[inline(always)]
    pub unsafe fn reduce<O: Output>(self, block: PlannedBlock, target: Target, fusion: impl Fusion<O>) {
        if block.cluster > 1 {
            cluster::sync(); // every block has published its partial tile
        } else {
            thread::sync_threads(); // every warp has
        }
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { self.store::<O>(block, target, fusion.get()) }
        if compiler::opaque(block.cluster) > 1 {
            // No block loads from this one any more. What was stored need not be known to the others.
            cluster::arrive_relaxed();
            cluster::wait();
        }
    }

    /// Stores this block's share.
    ///
    /// # Safety
    /// As of [`reduce`](Self::reduce).
    #[allow(clippy::needless_range_loop)] // an iterator would keep the values in memory
    #[inline(always)]
    unsafe fn store<O: Output>(self, block: PlannedBlock, target: Target, fused: Option<Fused<O>>) {
        let Target { g, tile, is_f32, .. } = target;
        let (m, n) = (g.m - tile.row, g.n - tile.col);
        let c = Elements::new(g.c.cast::<O>(), is_f32).from(target.first()); // (m, n)
        let is_wide = c.is_aligned() && g.ldc.is_multiple_of(VEC as usize) && (n >= BN || n.is_multiple_of(VEC));

        let (warp, lane) = (thread::thread_idx_x() / WARP, thread::thread_idx_x() % WARP);
        let chunks = (m.min(BM) * BN).div_ceil(CHUNK);
        let mut chunk = warp * block.cluster + block.rank;
        while chunk < chunks {
            // Or there would be a loop for each way to go through it.
            let (is_wide, blocks) = (compiler::opaque(is_wide.into()) != 0, compiler::opaque(block.cluster));
            let element = |index: u32| Coord { row: index / BN, col: index % BN };
            let of_lane = chunk * CHUNK + if is_wide { lane * VEC } else { lane };
            let step = if is_wide { 1 } else { WARP };
            let coord: [Coord; VEC as usize] = core::array::from_fn(|v| element(of_lane + v as u32 * step));
            let is_in_bounds = |v: usize| coord[v].row < m && coord[v].col < n;
            let c = |v: usize| c.from(coord[v].row as usize * g.ldc + coord[v].col as usize);

            // SAFETY: chunks are in (BM, BN); in bounds of C, just checked, and of the bias, or clamped to it.
            unsafe {
                let mut acc = [0.0; VEC as usize];
                if blocks > 1 {
                    let vector = self.at(element(chunk * CHUNK + lane * VEC)); // (1, VEC)
                    let of_rank: [[f32; VEC as usize]; Splits::MAX_CLUSTER as usize] =
                        core::array::from_fn(|rank| cluster::load_4(shared::address(vector), rank as u32, blocks));
                    acc = of_rank[0];
                    for partial in &of_rank[1..] {
                        acc = core::array::from_fn(|v| acc[v] + partial[v]);
                    }
                    if !is_wide {
                        f32x4::store(vector, acc);
                        warp::sync_warp(u32::MAX); // the warp's elements are there
                    }
                } else if is_wide {
                    acc = f32x4::load(self.at(coord[0]));
                }
                if !is_wide {
                    acc = core::array::from_fn(|v| *self.at(coord[v]));
                }

                let mut old = [0.0; VEC as usize];
                if g.beta != 0.0 && is_wide {
                    if is_in_bounds(0) {
                        old = c(0).load();
                    }
                } else if g.beta != 0.0 {
                    old = core::array::from_fn(|v| if is_in_bounds(v) { c(v).get() } else { 0.0 });
                }
                let values = match fused {
                    None => core::array::from_fn(|v| g.axpby(acc[v], old[v])),
                    Some(fused) => {
                        let elements = Elements::new(fused.bias.cast_mut(), is_f32);
                        let bias = core::array::from_fn(|v| {
                            let (row, col) = (tile.row + coord[v].row, tile.col + coord[v].col);
                            let index = if fused.is_per_row() { row.min(g.m - 1) } else { col.min(g.n - 1) };
                            if fused.bias.is_null() { NOTHING } else { elements.from(index as usize).get() }
                        });
                        let [values] = fused.apply(g, &[acc], &[old], &[bias]);
                        values
                    }
                };
                if is_wide {
                    if is_in_bounds(0) {
                        c(0).store(values);
                    }
                } else {
                    for v in 0..VEC as usize {
                        if is_in_bounds(v) {
                            c(v).set(values[v]);
                        }
                    }
                }
            }
            chunk += thread::block_dim_x() / WARP * block.cluster;
        }
    }
}
