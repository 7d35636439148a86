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
use super::elements::Elements;
use super::fused::{Fused, NOTHING};
use crate::gemm::Gemm;
use crate::hardware::{VEC, WARP};
use crate::planned::PlannedBlock;
use crate::ptx::{cluster, compiler, f32x4};
use crate::{Coord, Extent};
use cuda_std::prelude::*;

/// Elements of a chunk.
const CHUNK: u32 = WARP * VEC;
/// Chunks that a warp loads before it stores the first.
const AHEAD: usize = 4;

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
    /// Whether the block needs no others' partial tiles and no C, and nothing is fused.
    #[inline(always)]
    pub fn is_plain<O: Output>(&self, block: PlannedBlock, fused: Fused<O>) -> bool {
        (block.cluster == 1) & (self.g.beta == 0.0) & fused.changes_nothing()
    }

    /// Elements of C before the tile's first.
    #[inline(always)]
    pub fn first(&self) -> usize {
        self.offset as usize + self.tile.row as usize * self.g.ldc + self.tile.col as usize
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

    /// Whether VEC adjacent f32 of the tile may be stored at once, all of them in bounds: then, where the block needs nothing else, the way
    /// through shared memory, which takes longer, gains nothing.
    #[inline(always)]
    pub fn is_full_and_aligned(self, target: Target) -> bool {
        let Target { g, tile, .. } = target;
        let is_full_tile = (g.m - tile.row >= BM) & (g.n - tile.col >= BN);
        is_full_tile & f32x4::aligned(g.c.wrapping_add(target.first()), g.ldc)
    }

    /// Reduces the partial tiles of the cluster, and stores what the epilogue makes of them.
    ///
    /// # Safety
    /// Every thread of the block is here, and has published its accumulators: all of (BM, BN) is. C is of f32 or of O, as the target
    /// says, and no other cluster has the tile.
    #[inline(always)]
    pub unsafe fn reduce<O: Output>(self, block: PlannedBlock, target: Target, fused: Fused<O>) {
        thread::sync_threads(); // every warp has published its accumulators
        if block.cluster > 1 {
            cluster::sync(); // every block has
        }
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { self.store::<O>(block, target, fused) }
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
    #[inline(always)]
    unsafe fn store<O: Output>(self, block: PlannedBlock, target: Target, fused: Fused<O>) {
        let g = target.g;
        let (bounds, c, is_wide) = Self::inside(target);
        let chunks = Chunks::new(block, bounds.rows * BN);
        // SAFETY: upheld by the caller (see `# Safety`): the chunks are this warp's, and in (BM, BN).
        unsafe {
            if block.cluster > 1 {
                self.sum(chunks, block, compiler::opaque(block.cluster));
                warp::sync_warp(u32::MAX); // the warp's elements are there
            }
            match (g.beta == 0.0 && fused.changes_nothing(), is_wide, c.is_f32) {
                (false, ..) => self.store_fused(chunks, target, bounds, c, is_wide, fused),
                (true, true, false) => self.store_wide(chunks, g, bounds, c.first),
                (true, true, true) => self.store_wide(chunks, g, bounds, c.first.cast::<f32>()),
                (true, false, false) => self.store_narrow(chunks, g, bounds, c.first),
                (true, false, true) => self.store_narrow(chunks, g, bounds, c.first.cast::<f32>()),
            }
        }
    }

    /// Stores what the epilogue makes of a tile that no other block has, by the first threads of this one, so many.
    ///
    /// # Safety
    /// These threads are here, and every warp has published its accumulators: all of (BM, BN) is there. C is of f32 or of O, as the target
    /// says.
    #[inline(always)]
    pub unsafe fn store_alone<O: Output>(self, target: Target, fused: Fused<O>, threads: u32) {
        let (bounds, c, is_wide) = Self::inside(target);
        let chunks =
            Chunks { next: thread::thread_idx_x() / WARP * CHUNK, end: bounds.rows * BN, step: threads / WARP * CHUNK };
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { self.store_fused(chunks, target, bounds, c, is_wide, fused) }
    }

    /// What of the tile is in bounds, its first element in C, and whether its rows are stored by VEC elements.
    #[inline(always)]
    fn inside<O: Output>(target: Target) -> (Extent, Elements<O>, bool) {
        let Target { g, tile, is_f32, .. } = target;
        let bounds = Extent { rows: g.m.saturating_sub(tile.row).min(BM), cols: g.n.saturating_sub(tile.col).min(BN) };
        let c = Elements::new(g.c.cast::<O>(), is_f32).from(target.first()); // (BM, BN)
        let is_wide = c.is_aligned() && g.ldc.is_multiple_of(VEC as usize) && bounds.cols.is_multiple_of(VEC);
        (bounds, c, is_wide)
    }

    /// Adds the other blocks' partial tiles to these chunks of this block's, in the order of rank.
    ///
    /// # Safety
    /// All blocks' partial tiles are there.
    #[inline(always)]
    unsafe fn sum(self, mut chunks: Chunks, block: PlannedBlock, blocks: u32) {
        while !chunks.is_empty() {
            let vector = |i: usize| self.at(Self::element(chunks.first(i) + warp::lane_id() * VEC)); // (1, VEC)
            // SAFETY: in (BM, BN) of every block, upheld by the caller; no other block reads these elements of this one.
            unsafe {
                let load = |i: usize, rank: u32| {
                    let end = if chunks.has(i) { block.rank_of(blocks) } else { 0 };
                    cluster::load_4(shared::address(vector(i)), block.rank_of(rank), end)
                };
                let mut acc: [[f32; VEC as usize]; AHEAD] = core::array::from_fn(|i| load(i, 0));
                let mut rank = 1;
                while rank < blocks {
                    let next: [_; AHEAD] = core::array::from_fn(|i| load(i, rank));
                    acc = core::array::from_fn(|i| core::array::from_fn(|v| acc[i][v] + next[i][v]));
                    rank = compiler::opaque(rank + 1);
                }
                for (i, acc) in acc.into_iter().enumerate() {
                    if chunks.has(i) {
                        f32x4::store(vector(i), acc);
                    }
                }
            }
            chunks.skip(AHEAD);
        }
    }

    /// C = alpha\*acc, VEC adjacent elements at once, [`AHEAD`] of a lane in flight.
    ///
    /// # Safety
    /// As of [`store`](Self::store), and rows of C are aligned.
    #[inline(always)]
    unsafe fn store_wide<T: Output>(self, mut chunks: Chunks, g: &Gemm, bounds: Extent, c: *mut T) {
        while !chunks.is_empty() {
            let at: [Coord; AHEAD] = core::array::from_fn(|i| Self::element(chunks.first(i) + warp::lane_id() * VEC));
            // SAFETY: in (BM, BN); in bounds of C, just checked.
            unsafe {
                let acc: [[f32; VEC as usize]; AHEAD] =
                    core::array::from_fn(
                        |i| if chunks.has(i) { f32x4::load(self.at(at[i])) } else { [0.0; VEC as usize] },
                    );
                for i in 0..AHEAD {
                    let Coord { row, col } = at[i];
                    if chunks.has(i) && row < bounds.rows && col < bounds.cols {
                        T::store(c.wrapping_add(row as usize * g.ldc + col as usize), acc[i].map(|acc| g.alpha * acc));
                    }
                }
            }
            chunks.skip(AHEAD);
        }
    }

    /// C = alpha\*acc, one element of each lane after the other.
    ///
    /// # Safety
    /// As of [`store`](Self::store).
    #[inline(always)]
    unsafe fn store_narrow<T: Output>(self, chunks: Chunks, g: &Gemm, bounds: Extent, c: *mut T) {
        chunks.for_each(|index| {
            let at: [Coord; VEC as usize] =
                core::array::from_fn(|v| Self::element(index + v as u32 * WARP + warp::lane_id()));
            // SAFETY: in (BM, BN); in bounds of C, just checked.
            unsafe {
                let acc = at.map(|at| *self.at(at));
                for v in 0..VEC as usize {
                    let Coord { row, col } = at[v];
                    if row < bounds.rows && col < bounds.cols {
                        *c.wrapping_add(row as usize * g.ldc + col as usize) = T::new(g.alpha * acc[v]);
                    }
                }
            }
        });
    }

    /// What the epilogue makes of these chunks.
    ///
    /// # Safety
    /// As of [`store`](Self::store), and rows of C are aligned if `is_wide`.
    #[inline(always)]
    unsafe fn store_fused<O: Output>(
        self,
        chunks: Chunks,
        target: Target,
        bounds: Extent,
        c: Elements<O>,
        is_wide: bool,
        fused: Fused<O>,
    ) {
        let Target { g, tile, is_f32, .. } = target;
        chunks.for_each(|index| {
            // Or there would be a loop for each way to go through it.
            let is_wide = compiler::opaque(is_wide.into()) != 0;
            let (of_lane, step) = if is_wide { (VEC, 1) } else { (1, WARP) };
            let coord: [Coord; VEC as usize] =
                core::array::from_fn(|v| Self::element(index + warp::lane_id() * of_lane + v as u32 * step));
            let is_in_bounds = |v: usize| coord[v].row < bounds.rows && coord[v].col < bounds.cols;
            let c = |v: usize| c.from(coord[v].row as usize * g.ldc + coord[v].col as usize);

            // SAFETY: in (BM, BN); in bounds of C, just checked, and of the bias, or clamped to it.
            unsafe {
                let acc = if is_wide { f32x4::load(self.at(coord[0])) } else { coord.map(|at| *self.at(at)) };
                let mut old = [0.0; VEC as usize];
                if g.beta != 0.0 && is_wide {
                    if is_in_bounds(0) {
                        old = c(0).load();
                    }
                } else if g.beta != 0.0 {
                    old = core::array::from_fn(|v| if is_in_bounds(v) { c(v).get() } else { 0.0 });
                }
                let elements = Elements::new(fused.bias.cast_mut(), is_f32);
                let bias = core::array::from_fn(|v| {
                    let (row, col) = (tile.row + coord[v].row, tile.col + coord[v].col);
                    let index = if fused.is_per_row() { row.min(g.m - 1) } else { col.min(g.n - 1) };
                    if fused.bias.is_null() { NOTHING } else { elements.from(index as usize).get() }
                });
                let [values] = fused.apply(g, &[acc], &[old], &[bias]);
                if is_wide {
                    if is_in_bounds(0) {
                        c(0).store(values);
                    }
                } else {
                    for (v, value) in values.into_iter().enumerate() {
                        if is_in_bounds(v) {
                            c(v).set(value);
                        }
                    }
                }
            }
        });
    }

    /// The place of an element of that index, row by row.
    #[inline(always)]
    fn element(index: u32) -> Coord {
        Coord { row: index / BN, col: index % BN }
    }
}

/// The chunks of a warp: those of its block, one for each warp in turn.
#[derive(Clone, Copy)]
struct Chunks {
    /// The first element of the next chunk, and of the one behind the last.
    next: u32,
    end: u32,
    step: u32,
}

impl Chunks {
    /// Of so many elements.
    #[inline(always)]
    fn new(block: PlannedBlock, elements: u32) -> Self {
        let (warp, warps) = (thread::thread_idx_x() / WARP, thread::block_dim_x() / WARP);
        let next = (warp * block.cluster + block.rank) * CHUNK;
        Self { next, end: elements, step: warps * block.cluster * CHUNK }
    }

    #[inline(always)]
    fn is_empty(self) -> bool {
        self.next >= self.end
    }

    /// The first element of the chunk that comes after so many.
    #[inline(always)]
    fn first(self, after: usize) -> u32 {
        self.next + after as u32 * self.step
    }

    /// Whether there are more chunks than so many.
    #[inline(always)]
    fn has(self, more_than: usize) -> bool {
        self.first(more_than) < self.end
    }

    #[inline(always)]
    fn skip(&mut self, chunks: usize) {
        self.next = compiler::opaque(self.first(chunks)); // or LLVM would unroll the loop
    }

    /// Hands over the first element of each.
    #[inline(always)]
    fn for_each(mut self, mut body: impl FnMut(u32)) {
        while !self.is_empty() {
            body(self.next);
            self.skip(1);
        }
    }
}
