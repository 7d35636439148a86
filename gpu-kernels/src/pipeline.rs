//! The pipeline of the fastest steps: the copy engine brings slices of A and B, and the warps that compute also transpose.
//!
//! ```text
//!   copy engine ──► landing (BM, BK) ── every warp a part ──► a_smem (BK, BM) ──┐
//!        │                                                                     ├──► every warp its fragments
//!        └───────────────────────────────────────────► b_smem (BK, BN) ────────┘
//! ```
//!
//! While a slice is computed, the next one is moved to its stage, and those after that are on their way. One barrier for each
//! stage is enough: a warp arrives at the next slice's while it computes this one. So who waits for a slice knows that all
//! have left the one two before, whose stage is then free, and that all have transposed this one, whose landing is. No warp
//! does nothing but copy: it would take registers from those that compute.

use core::ops::Range;

use crate::align::align;
use crate::f32x4::{self, VEC};
use crate::gemm::Gemm;
use crate::ptx::mbarrier::Mbarrier;
use crate::ptx::tensor::{self, TensorMap};
use crate::ptx::{cluster, compiler};
use crate::tile::{self, LANES_M, LANES_N, WARP};
use crate::transpose::TRANSPOSE_A;
use crate::{Element, MapBox, Operand, Step, Target, Tile};
use cuda_std::prelude::*;

/// Schedulers of a multiprocessor, which warps are given to in turn.
const SCHEDULERS: u32 = 4;

/// FMAs that a loop may have as straight code: with its loads, some more would not fit into the instruction cache.
const STRAIGHT_FMAS: u32 = 1600;

/// Makes the kernel of a shape: `$run` of a [`Pipeline`] gets the operands, and what the kernel takes beside them.
macro_rules! pipeline_kernel {
    ($kernel:ident, $shape:ty, $blocks:literal, ($($extra:ident: $ty:ty),*), $run:ident($($argument:expr),*)) => {
        $crate::gemm::gemm_kernel! {
            $kernel, <$shape>::THREADS, $blocks, f32 => f32,
            |g, a_map: *const $crate::ptx::tensor::TensorMap, b_map: *const $crate::ptx::tensor::TensorMap
                $(, $extra: $ty)*| <$shape>::start(a_map, b_map).$run(&g, $($argument),*)
        }
    };
}
pub(crate) use pipeline_kernel;

/// A block of `WARPS_M` x `WARPS_N` warps, each with 8 x 4 lanes of TM x TN results, in slices of BK.
pub(crate) struct Pipeline<
    const WARPS_M: u32,
    const WARPS_N: u32,
    const TM: usize,
    const TN: usize,
    const BK: u32,
    const STAGES: u32,
    const TRANSPOSES: bool,
> {
    a_map: *const TensorMap,
    b_map: *const TensorMap,
    stages: *mut f32,
    landings: *mut f32,
    /// Ends a phase when a stage is full: B's bytes are there, and every warp has transposed its part of A's.
    full: Mbarrier,
    /// Ends a phase when a slice of A has landed.
    landed: Mbarrier,
    stage: Slot,
    landing: Slot,
}

/// Slices of one tile of C, counted along k.
pub(crate) struct Work {
    /// The tile's first row and column.
    pub row: u32,
    pub col: u32,
    pub slices: Range<u32>,
}

/// A place in a ring, and the parity of the phase in which it is filled.
#[derive(Clone, Copy)]
struct Slot {
    index: u32,
    parity: u32,
}

impl Slot {
    /// So many places on, at most once around.
    #[inline(always)]
    fn after(self, places: u32, ring: u32) -> Self {
        let index = self.index + places;
        if index < ring { Self { index, ..self } } else { Self { index: index - ring, parity: self.parity ^ 1 } }
    }
}

impl<
    const WARPS_M: u32,
    const WARPS_N: u32,
    const TM: usize,
    const TN: usize,
    const BK: u32,
    const STAGES: u32,
    const TRANSPOSES: bool,
> Pipeline<WARPS_M, WARPS_N, TM, TN, BK, STAGES, TRANSPOSES>
{
    pub const BM: u32 = WARPS_M * LANES_M * TM as u32;
    pub const BN: u32 = WARPS_N * LANES_N * TN as u32;
    pub const THREADS: u32 = WARPS_M * WARPS_N * WARP;
    /// Depth that the loop has as straight code: a part of BK, as large as the instruction cache allows.
    const UNROLLED: u32 = {
        let mut parts = 1;
        while BK / parts * (TM * TN) as u32 > STRAIGHT_FMAS || !BK.is_multiple_of(parts) {
            parts += 1;
        }
        BK / parts
    };
    const STAGE: u32 = BK * (Self::BM + Self::BN);
    /// How many slices before it is computed one is asked for: one stage is computed, and one may still be read.
    const AHEAD: u32 = STAGES - 2;
    /// Slices of A on their way.
    const LANDINGS: u32 = Self::AHEAD + 1;
    const LANDING: u32 = if TRANSPOSES { Self::BM * BK } else { 0 };
    pub const SMEM_BYTES: u32 =
        (STAGES * Self::STAGE + Self::LANDINGS * Self::LANDING) * 4 + (STAGES + Self::LANDINGS) * 8;
    /// Groups of LANES_M squares of VEC x VEC elements that are transposed in a slice.
    const GROUPS: u32 = Self::LANDING / (VEC * VEC * LANES_M);

    /// A step of this shape: its names are to be filled in.
    pub const STEP: Step = {
        assert!(TM.is_multiple_of(VEC as usize) && TN.is_multiple_of(VEC as usize), "fragments are read VEC at a time");
        assert!(STAGES >= 3, "a slice is computed, one moved, and one may still be read");
        assert!(
            !TRANSPOSES || BK == 16 || BK == 32,
            "a row of A's slice has 64 or 128 bytes, which the copy engine swizzles"
        );
        assert!(Self::BN <= 256, "a box has at most 256 columns");
        Step {
            target: Target::Sm90a,
            tile: Tile { bm: Self::BM, bn: Self::BN, bk: BK, tm: TM as u32, tn: TN as u32 },
            block: [Self::THREADS, 1, 1],
            prepasses: if TRANSPOSES {
                &[align(Operand::A, Element::F32), align(Operand::B, Element::F32)]
            } else {
                &[TRANSPOSE_A, align(Operand::B, Element::F32)]
            },
            maps: Some([
                if TRANSPOSES {
                    MapBox { element: Element::F32, rows: Self::BM, columns: BK, swizzled: true }
                } else {
                    MapBox { element: Element::F32, rows: BK, columns: Self::BM, swizzled: false }
                },
                MapBox { element: Element::F32, rows: BK, columns: Self::BN, swizzled: false },
            ]),
            dynamic_smem_bytes: Self::SMEM_BYTES,
            ..Step::PLAIN
        }
    };

    /// Makes the barriers.
    ///
    /// # Safety
    /// Every thread of the block calls it, once, with [`Self::STEP`]'s dynamic shared memory and maps.
    #[inline(always)]
    pub unsafe fn start(a_map: *const TensorMap, b_map: *const TensorMap) -> Self {
        let stages = shared::dynamic_shared_mem::<f32>();
        let landings = stages.wrapping_add((STAGES * Self::STAGE) as usize);
        let barriers = landings.wrapping_add((Self::LANDINGS * Self::LANDING) as usize).cast::<u64>();
        // SAFETY: the barriers lie behind the landings, at a multiple of 8 bytes; one thread makes them, and all wait.
        unsafe {
            let full = Mbarrier::at(barriers);
            let landed = full.add(STAGES);
            if thread::thread_idx_x() == 0 {
                for stage in 0..STAGES {
                    full.add(stage).init(Self::THREADS + 1); // all threads, and the copies
                }
                for landing in 0..Self::LANDINGS {
                    landed.add(landing).init(1);
                }
                cluster::fence_barrier_init(); // the copy engine sees them, too
            }
            thread::sync_threads(); // the barriers are made
            let start = Slot { index: 0, parity: 0 };
            Self { a_map, b_map, stages, landings, full, landed, stage: start, landing: start }
        }
    }

    /// Adds the products of the slices.
    ///
    /// # Safety
    /// Every thread of the block calls it, with the same work.
    #[inline(always)]
    pub unsafe fn accumulate(&mut self, work: &Work, acc: &mut [[f32; TN]; TM]) {
        let Range { start, end } = work.slices;
        if start == end {
            return;
        }
        let issues = thread::thread_idx_x() == 0;
        let (row, col) = tile::place::<WARPS_N, TM, TN>();
        // The two warps of a scheduler transpose at different times: one multiplies while the other waits for its values.
        let turn = thread::thread_idx_x() / (SCHEDULERS * WARP) % 2 * (BK / Self::UNROLLED / 2) * Self::UNROLLED;
        // No compiler knows that this is BK: a loop over all of it, unrolled, would not fit into the instruction cache.
        let depth = BK + thread::block_dim_x() - Self::THREADS;
        // SAFETY: what is copied to a stage or a landing fills it, and nobody reads it meanwhile (see the top of the file);
        // row and col are a fragment's in BM x BN, and the rows that are read are below BK.
        unsafe {
            if issues {
                for slice in start..end.min(start + Self::AHEAD) {
                    self.copy(work, slice, self.stage.after(slice - start, STAGES));
                }
                for slice in start..end.min(start + Self::LANDINGS) {
                    self.land(work, slice, self.landing.after(slice - start, Self::LANDINGS));
                }
            }
            self.arrive(self.landing, self.stage);
            for slice in start..end {
                let (stage, next) = (self.stage, self.stage.after(1, STAGES));
                self.full.add(stage.index).wait(stage.parity);
                if issues && slice + Self::AHEAD < end {
                    self.copy(work, slice + Self::AHEAD, stage.after(Self::AHEAD, STAGES));
                }
                if issues && slice + Self::LANDINGS < end {
                    self.land(work, slice + Self::LANDINGS, self.landing.after(Self::LANDINGS, Self::LANDINGS));
                }
                self.landing = self.landing.after(1, Self::LANDINGS);
                self.stage = next;
                let goes_on = slice + 1 < end;
                if !TRANSPOSES && goes_on {
                    self.arrive(self.landing, next);
                }

                let a_smem = self.a_smem(stage).add(row as usize).cast_const(); // (BK, BM)
                let b_smem = self.b_smem(stage).add(col as usize).cast_const(); // (BK, BN)
                let mut a_frag = tile::fragment::<TM>(a_smem, LANES_M);
                let mut b_frag = tile::fragment::<TN>(b_smem, LANES_N);
                let mut p = 0;
                while p < depth {
                    if TRANSPOSES && p == turn && goes_on {
                        self.arrive(self.landing, next);
                    }
                    let (a_rows, b_rows) = (a_smem.add((p * Self::BM) as usize), b_smem.add((p * Self::BN) as usize));
                    p += Self::UNROLLED;
                    // The next d is read while this one is multiplied. Behind the last one the first is read once more.
                    let wrapped = (p % BK) as usize;
                    for d in 1..Self::UNROLLED as usize + 1 {
                        let (a_row, b_row) = if d < Self::UNROLLED as usize {
                            (a_rows.add(d * Self::BM as usize), b_rows.add(d * Self::BN as usize))
                        } else {
                            (a_smem.add(wrapped * Self::BM as usize), b_smem.add(wrapped * Self::BN as usize))
                        };
                        let (b_next, a_next) = (tile::fragment(b_row, LANES_N), tile::fragment(a_row, LANES_M));
                        tile::multiply(acc, &a_frag, &b_frag);
                        (a_frag, b_frag) = (a_next, b_next);
                    }
                    compiler::keep_loads_above();
                }
            }
        }
    }

    /// Sums of a tile, none yet.
    #[inline(always)]
    pub fn zeros() -> [[f32; TN]; TM] {
        [[0.0; TN]; TM]
    }

    /// C = alpha*acc + beta*C for the tile at `row` and `col`.
    ///
    /// # Safety
    /// Every thread of the block calls it, `row` and `col` are inside C, and no other block touches this tile of it.
    #[inline(always)]
    pub unsafe fn store(g: &Gemm, row: u32, col: u32, acc: &[[f32; TN]; TM]) {
        // SAFETY: inside C, by the caller's promise.
        let g = unsafe { g.block_at(row, col) };
        let fits = Self::fits(&g);
        // SAFETY: the thread's own elements.
        Self::for_each(acc, |row, col, sums| unsafe { tile::store(&g, fits, row, col, sums) });
    }

    /// Whether the tile at the start of `g` is inside C, at multiples of 16 bytes.
    #[inline(always)]
    pub fn fits(g: &Gemm) -> bool {
        tile::fits(g, Self::BM, Self::BN)
    }

    /// The row and column in the tile of this thread's VEC sums of that index.
    #[inline(always)]
    pub fn of_vector(vector: u32) -> (u32, u32) {
        let (i, j) = (vector / (TN as u32 / VEC), vector % (TN as u32 / VEC) * VEC);
        tile::element(tile::place::<WARPS_N, TM, TN>(), TRANSPOSES, i, j)
    }

    /// Calls `f` with the row and column in the tile, and the sums, of each VEC neighbours that this thread has.
    #[inline(always)]
    pub fn for_each(acc: &[[f32; TN]; TM], f: impl FnMut(u32, u32, [f32; VEC as usize])) {
        tile::for_each(tile::place::<WARPS_N, TM, TN>(), TRANSPOSES, acc, f);
    }

    /// Has the copy engine bring a slice of A, as it is.
    #[inline(always)]
    unsafe fn land(&self, work: &Work, slice: u32, landing: Slot) {
        if !TRANSPOSES {
            return;
        }
        let landed = self.landed.add(landing.index);
        // SAFETY: the map's box fills a landing, which is free.
        unsafe {
            landed.arrive_and_expect(Self::LANDING * 4);
            tensor::copy(shared::address(self.landing(landing)), self.a_map, work.row, slice * BK, landed);
        }
    }

    /// Has the copy engine bring a slice of B, and of A where somebody else has transposed it.
    #[inline(always)]
    unsafe fn copy(&self, work: &Work, slice: u32, stage: Slot) {
        let full = self.full.add(stage.index);
        // SAFETY: the maps' boxes fill their parts of a stage, which is free.
        unsafe {
            full.arrive_and_expect(BK * (Self::BN + if TRANSPOSES { 0 } else { Self::BM }) * 4);
            if !TRANSPOSES {
                tensor::copy(shared::address(self.a_smem(stage)), self.a_map, slice * BK, work.row, full);
            }
            tensor::copy(shared::address(self.b_smem(stage)), self.b_map, slice * BK, work.col, full);
        }
    }

    /// Arrives at a slice's stage. Before that, moves this thread's part of its A there, where a column is a row.
    ///
    /// Eight lanes, which are served at once, read eight neighbouring rows, whose pieces the copy engine has put into
    /// different banks, and write 128 bytes of a row. So a thread has four rows that are LANES_M apart.
    #[inline(always)]
    unsafe fn arrive(&self, landing: Slot, stage: Slot) {
        let tid = thread::thread_idx_x();
        let (row, group) = (tid % LANES_M, tid / LANES_M);
        // SAFETY: below BM x BK in a landing, and below BK x BM in A's part of a stage, which is free.
        unsafe {
            if TRANSPOSES {
                self.landed.add(landing.index).wait(landing.parity);
            }
            for group in (group..Self::GROUPS).step_by((Self::THREADS / LANES_M) as usize) {
                let (piece, first_row) = (group % (BK / VEC), group / (BK / VEC) * LANES_M * VEC);
                let swizzled = piece ^ (row * BK / 32 % (BK / VEC));
                let source = self.landing(landing).add(((first_row + row) * BK + swizzled * VEC) as usize);
                let target = self.a_smem(stage).add((piece * VEC * Self::BM + first_row + row * VEC) as usize);
                let rows: [[f32; VEC as usize]; VEC as usize] =
                    core::array::from_fn(|i| f32x4::load(source.add(i * (LANES_M * BK) as usize)));
                let columns: [[f32; VEC as usize]; VEC as usize] =
                    core::array::from_fn(|j| core::array::from_fn(|i| rows[i][j]));
                for (j, column) in columns.iter().enumerate() {
                    f32x4::store(target.add(j * Self::BM as usize), *column);
                }
            }
            self.full.add(stage.index).arrive();
        }
    }

    #[inline(always)]
    fn a_smem(&self, stage: Slot) -> *mut f32 {
        self.stages.wrapping_add((stage.index * Self::STAGE) as usize)
    }

    #[inline(always)]
    fn b_smem(&self, stage: Slot) -> *mut f32 {
        self.a_smem(stage).wrapping_add((BK * Self::BM) as usize)
    }

    #[inline(always)]
    fn landing(&self, landing: Slot) -> *mut f32 {
        self.landings.wrapping_add((landing.index * Self::LANDING) as usize)
    }
}
