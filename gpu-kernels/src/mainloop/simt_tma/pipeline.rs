//! The mainloop on the device.

use core::ops::Range;

use super::Pipeline;
use crate::Coord;
use crate::epilogue::fusion::Fusion;
use crate::epilogue::simt;
use crate::gemm::Gemm;
use crate::hardware::{VEC, WARP};
use crate::mainloop::{LANES_M, LANES_N, WorkTile, warp_tile as tile};
use crate::ptx::mbarrier::Mbarrier;
use crate::ptx::tensor::{self, TensorMap};
use crate::ptx::{cluster, compiler, f32x4};
use cuda_std::prelude::*;

/// Schedulers of an SM; warp w belongs to scheduler w % 4.
const SCHEDULERS: u32 = 4;

/// FMAs of a fully unrolled loop body: with its loads, more would not fit into the instruction cache.
const UNROLLED_FMAS: u32 = 1600;

/// The stages and their barriers.
pub(crate) struct Stages {
    a_map: *const TensorMap,
    b_map: *const TensorMap,
    stages: *mut f32,
    a_stages_raw: *mut f32,
    /// Completes a phase when B's bytes are written and every warp has transposed its share of A.
    full: Mbarrier,
    /// Completes a phase when a raw k-tile of A is written.
    a_full: Mbarrier,
    state: PipelineState,
    raw_state: PipelineState,
}

/// A stage of a ring, and the parity of its barrier's phase.
#[derive(Clone, Copy)]
struct PipelineState {
    stage: u32,
    phase: u32,
}

impl PipelineState {
    /// `stages` further on, at most one round of the ring.
    #[inline(always)]
    fn after(self, stages: u32, ring: u32) -> Self {
        let stage = self.stage + stages;
        if stage < ring { Self { stage, ..self } } else { Self { stage: stage - ring, phase: self.phase ^ 1 } }
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
    /// Depth of the unrolled loop body: a divisor of BK, as large as the instruction cache allows.
    const UNROLLED: u32 = {
        let mut parts = 1;
        while BK / parts * (TM * TN) as u32 > UNROLLED_FMAS || !BK.is_multiple_of(parts) {
            parts += 1;
        }
        BK / parts
    };
    /// Groups of LANES_M squares of VEC x VEC elements of a k-tile to transpose.
    const GROUPS: u32 = Self::RAW_STAGE / (VEC * VEC * LANES_M);

    /// Initialises the barriers.
    ///
    /// # Safety
    /// Every thread of the block calls it, once, with [`Self::STEP`]'s dynamic shared memory and maps.
    #[inline(always)]
    pub unsafe fn start(a_map: *const TensorMap, b_map: *const TensorMap) -> Stages {
        let stages = shared::dynamic_shared_mem::<f32>();
        let a_stages_raw = stages.wrapping_add((STAGES * Self::STAGE) as usize);
        let barriers = a_stages_raw.wrapping_add((Self::RAW_STAGES * Self::RAW_STAGE) as usize).cast::<u64>();
        // SAFETY: the barriers lie behind the raw stages, at a multiple of 8 bytes; one thread initialises them, and all wait.
        unsafe {
            let full = Mbarrier::at(barriers);
            let a_full = full.add(STAGES);
            if thread::thread_idx_x() == 0 {
                for stage in 0..STAGES {
                    full.add(stage).init(Self::THREADS + 1); // all threads, and the TMA loads
                }
                for raw in 0..Self::RAW_STAGES {
                    a_full.add(raw).init(1);
                }
                cluster::fence_barrier_init(); // TMA sees them, too
            }
            thread::sync_threads(); // the barriers are initialised
            let start = PipelineState { stage: 0, phase: 0 };
            Stages { a_map, b_map, stages, a_stages_raw, full, a_full, state: start, raw_state: start }
        }
    }

    /// acc += A*B over the k-tiles of `work`.
    ///
    /// # Safety
    /// Every thread of the block calls it, with the same work.
    #[inline(always)]
    pub unsafe fn mainloop(s: &mut Stages, work: &WorkTile, acc: &mut [[f32; TN]; TM]) {
        let Range { start, end } = work.k_tiles;
        if start == end {
            return;
        }
        let is_producer = thread::thread_idx_x() == 0;
        let Coord { row, col } = tile::thread_coord::<WARPS_N, TM, TN>();
        // The two warps of a scheduler transpose at different times: one computes while the other waits for its loads.
        let transposes_at =
            thread::thread_idx_x() / (SCHEDULERS * WARP) % 2 * (BK / Self::UNROLLED / 2) * Self::UNROLLED;
        // BK, opaque to the compilers: the whole k-tile, unrolled, would not fit into the instruction cache.
        let depth = BK + thread::block_dim_x() - Self::THREADS;
        // SAFETY: TMA loads fill a stage, which nobody reads meanwhile (see the module's documentation); row and col are a
        // fragment's in BM x BN, and the rows that are read are below BK.
        unsafe {
            if is_producer {
                for k_tile in start..end.min(start + Self::AHEAD) {
                    Self::load(s, work, k_tile, s.state.after(k_tile - start, STAGES));
                }
                for k_tile in start..end.min(start + Self::RAW_STAGES) {
                    Self::load_raw(s, work, k_tile, s.raw_state.after(k_tile - start, Self::RAW_STAGES));
                }
            }
            Self::arrive(s, s.raw_state, s.state);
            for k_tile in start..end {
                let (stage, next) = (s.state, s.state.after(1, STAGES));
                s.full.add(stage.stage).wait(stage.phase);
                if is_producer && k_tile + Self::AHEAD < end {
                    Self::load(s, work, k_tile + Self::AHEAD, stage.after(Self::AHEAD, STAGES));
                }
                if is_producer && k_tile + Self::RAW_STAGES < end {
                    Self::load_raw(
                        s,
                        work,
                        k_tile + Self::RAW_STAGES,
                        s.raw_state.after(Self::RAW_STAGES, Self::RAW_STAGES),
                    );
                }
                s.raw_state = s.raw_state.after(1, Self::RAW_STAGES);
                s.state = next;
                let has_next = k_tile + 1 < end;
                if !TRANSPOSES && has_next {
                    Self::arrive(s, s.raw_state, next);
                }

                let a_smem = Self::a_smem(s, stage).add(row as usize).cast_const(); // (BK, BM)
                let b_smem = Self::b_smem(s, stage).add(col as usize).cast_const(); // (BK, BN)
                let mut a_frag = tile::fragment::<TM>(a_smem, LANES_M);
                let mut b_frag = tile::fragment::<TN>(b_smem, LANES_N);
                let mut p = 0;
                while p < depth {
                    if TRANSPOSES && p == transposes_at && has_next {
                        Self::arrive(s, s.raw_state, next);
                    }
                    let (a_rows, b_rows) = (a_smem.add((p * Self::BM) as usize), b_smem.add((p * Self::BN) as usize));
                    p += Self::UNROLLED;
                    // The fragments of the next d are loaded while this one is multiplied; after the last, the first again.
                    let wrapped = (p % BK) as usize;
                    for d in 1..Self::UNROLLED as usize + 1 {
                        let (a_row, b_row) = if d < Self::UNROLLED as usize {
                            (a_rows.add(d * Self::BM as usize), b_rows.add(d * Self::BN as usize))
                        } else {
                            (a_smem.add(wrapped * Self::BM as usize), b_smem.add(wrapped * Self::BN as usize))
                        };
                        let (b_next, a_next) = (tile::fragment(b_row, LANES_N), tile::fragment(a_row, LANES_M));
                        tile::outer_product(acc, &a_frag, &b_frag);
                        (a_frag, b_frag) = (a_next, b_next);
                    }
                    compiler::keep_loads_above();
                }
            }
        }
    }

    /// Accumulators of zero.
    #[inline(always)]
    pub fn zeros() -> [[f32; TN]; TM] {
        [[0.0; TN]; TM]
    }

    /// C = alpha*acc + beta*C, or what is fused with it, for the tile at `row` and `col`.
    ///
    /// # Safety
    /// Every thread of the block calls it, `row` and `col` are in bounds of C, and no other block touches this tile of it.
    #[inline(always)]
    pub unsafe fn store(g: &Gemm, fusion: impl Fusion<f32>, row: u32, col: u32, acc: &[[f32; TN]; TM]) {
        // SAFETY: in bounds of C, upheld by the caller.
        let g = unsafe { g.block_at(row, col) };
        let is_full_tile = Self::is_full_tile(&g);
        if let Some(fused) = fusion.block_at(row, col).get() {
            let (acc, element) = (acc.as_flattened(), Self::of_vector);
            // SAFETY: the thread's own elements.
            return unsafe { fused.store_all::<{ VEC as usize }, 4>(&g, is_full_tile, acc, element) };
        }
        // SAFETY: the thread's own elements.
        Self::for_each(acc, |row, col, acc| unsafe { simt::store_4(&g, is_full_tile, row, col, acc) });
    }

    /// Whether the tile at the start of `g` is in bounds of C, whose rows are aligned to 16 bytes.
    #[inline(always)]
    pub fn is_full_tile(g: &Gemm) -> bool {
        simt::is_full_tile(g, Self::BM, Self::BN)
    }

    /// The row and column in the tile of this thread's VEC accumulators of that index.
    #[inline(always)]
    pub fn of_vector(vector: u32) -> Coord {
        let (i, j) = (vector / (TN as u32 / VEC), vector % (TN as u32 / VEC) * VEC);
        tile::element(tile::thread_coord::<WARPS_N, TM, TN>(), TRANSPOSES, i, j)
    }

    /// Calls `f` with the row, the column and the values of each VEC contiguous accumulators of this thread.
    #[inline(always)]
    pub fn for_each(acc: &[[f32; TN]; TM], f: impl FnMut(u32, u32, [f32; VEC as usize])) {
        tile::for_each(tile::thread_coord::<WARPS_N, TM, TN>(), TRANSPOSES, acc, f);
    }

    /// Issues the TMA load of a k-tile of A to a raw stage.
    #[inline(always)]
    unsafe fn load_raw(s: &Stages, work: &WorkTile, k_tile: u32, raw: PipelineState) {
        if !TRANSPOSES {
            return;
        }
        let a_full = s.a_full.add(raw.stage);
        // SAFETY: the map's box fills a raw stage, which is empty.
        unsafe {
            a_full.arrive_and_expect(Self::RAW_STAGE * 4);
            tensor::load(shared::address(Self::a_stage_raw(s, raw)), s.a_map, work.row, k_tile * BK, a_full);
        }
    }

    /// Issues the TMA loads of a k-tile of B, and of A where a pre-pass has transposed it.
    #[inline(always)]
    unsafe fn load(s: &Stages, work: &WorkTile, k_tile: u32, stage: PipelineState) {
        let full = s.full.add(stage.stage);
        // SAFETY: the maps' boxes fill their parts of a stage, which is empty.
        unsafe {
            full.arrive_and_expect(BK * (Self::BN + if TRANSPOSES { 0 } else { Self::BM }) * 4);
            if !TRANSPOSES {
                tensor::load(shared::address(Self::a_smem(s, stage)), s.a_map, k_tile * BK, work.row, full);
            }
            tensor::load(shared::address(Self::b_smem(s, stage)), s.b_map, k_tile * BK, work.col, full);
        }
    }

    /// Transposes this thread's share of a k-tile of A from its raw stage, then arrives on its stage's barrier.
    ///
    /// Eight lanes, which shared memory serves at once, load from eight contiguous rows, whose chunks TMA has swizzled to
    /// different banks, and store 128 bytes of a row. So a thread has four rows that are LANES_M apart.
    #[inline(always)]
    unsafe fn arrive(s: &Stages, raw: PipelineState, stage: PipelineState) {
        let tid = thread::thread_idx_x();
        let (row, group) = (tid % LANES_M, tid / LANES_M);
        // SAFETY: below BM x BK in a raw stage, and below BK x BM in A's part of a stage, which is empty.
        unsafe {
            if TRANSPOSES {
                s.a_full.add(raw.stage).wait(raw.phase);
            }
            for group in (group..Self::GROUPS).step_by((Self::THREADS / LANES_M) as usize) {
                let (piece, first_row) = (group % (BK / VEC), group / (BK / VEC) * LANES_M * VEC);
                let swizzled = piece ^ (row * BK / 32 % (BK / VEC));
                let source = Self::a_stage_raw(s, raw).add(((first_row + row) * BK + swizzled * VEC) as usize);
                let target = Self::a_smem(s, stage).add((piece * VEC * Self::BM + first_row + row * VEC) as usize);
                let rows: [[f32; VEC as usize]; VEC as usize] =
                    core::array::from_fn(|i| f32x4::load(source.add(i * (LANES_M * BK) as usize)));
                let columns: [[f32; VEC as usize]; VEC as usize] =
                    core::array::from_fn(|j| core::array::from_fn(|i| rows[i][j]));
                for (j, column) in columns.iter().enumerate() {
                    f32x4::store(target.add(j * Self::BM as usize), *column);
                }
            }
            s.full.add(stage.stage).arrive();
        }
    }

    #[inline(always)]
    fn a_smem(s: &Stages, stage: PipelineState) -> *mut f32 {
        s.stages.wrapping_add((stage.stage * Self::STAGE) as usize)
    }

    #[inline(always)]
    fn b_smem(s: &Stages, stage: PipelineState) -> *mut f32 {
        Self::a_smem(s, stage).wrapping_add((BK * Self::BM) as usize)
    }

    #[inline(always)]
    fn a_stage_raw(s: &Stages, raw: PipelineState) -> *mut f32 {
        s.a_stages_raw.wrapping_add((raw.stage * Self::RAW_STAGE) as usize)
    }
}
