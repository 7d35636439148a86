//! Products with hardly any k, on the CUDA cores: it is C that takes time.
//!
//! ```text
//!             256 columns: 8 adjacent ones for each lane           where rows of C are not aligned, vectors begin
//!            ┌────────────────────────────────────┐                at multiples of 16 bytes all the same:
//!   warp 0   │ row 0, 8, 16, ...                  │
//!   warp 1   │ row 1, 9, 17, ...                  │                ┌──┬────────┬────────┬── ─┬─────┐
//!   ...      │                                    │                │  │ lane 0 │ lane 1 │    │     │
//!   warp 7   │ row 7, 15, 23, ...                 │                └──┴────────┴────────┴── ─┴─────┘
//!            └────────────────────────────────────┘              head      vectors of 8           tail
//! ```
//!
//! All rows of a warp have the same alignment, since eight rows are a multiple of 16 bytes. So a lane has the same columns of each, and
//! holds their part of B in registers. Elements of head and tail are stored one by one, a lane each.

use crate::hardware::WARP;
use crate::{MAX_SIZE, Precision, Schedule, Step, Target, Tile, Transposed};

/// Adjacent columns of a lane: a vector of 16-bit elements, or two of f32.
const VECTOR: u32 = 8;
/// Warps of a block, and rows from one of a warp to its next one.
const WARPS: u32 = 8;
/// Columns of a tile.
const COLS: u32 = WARP * VECTOR;
/// Words of b_smem from the columns that are v modulo VECTOR to those that are v + 1.
const PITCH: u32 = WARP + 1;

/// Tiles of WARPS * ROWS x COLS, K deep.
pub(crate) struct OuterProduct<const K: usize, const ROWS: u32>;

impl<const K: usize, const ROWS: u32> OuterProduct<K, ROWS> {
    pub const THREADS: u32 = WARPS * WARP;
    /// As other mainloops call them that have more than one kernel.
    pub const ANY_LAYOUT_THREADS: u32 = Self::THREADS;
    const BM: u32 = WARPS * ROWS;
    const A_WORDS: u32 = Self::BM * K as u32;
    const B_ROW: u32 = VECTOR * PITCH;

    /// A step of f32, where C is not so narrow that most lanes have none of it.
    pub const fn step(blocks_per_sm: u32) -> Step {
        Step { sides: [WARP, u32::MAX], ..Self::any_layout_step(Precision::Fp32, blocks_per_sm) }
    }

    /// A step of this shape, without its names. k is not split.
    pub const fn any_layout_step(precision: Precision, blocks_per_sm: u32) -> Step {
        assert!(Self::A_WORDS <= Self::ANY_LAYOUT_THREADS, "a thread copies one element of A at most");
        Step {
            precision,
            output: precision.input(),
            target: Target::Sm90a,
            tile: Tile { bm: Self::BM, bn: COLS, bk: K as u32, tm: ROWS, tn: VECTOR },
            block: [Self::ANY_LAYOUT_THREADS, 1, 1],
            schedule: Schedule::PlannedSplitK { blocks_per_sm, reduction_k: MAX_SIZE, is_busy: false },
            transposed: Transposed::Read,
            dynamic_smem_bytes: (Self::A_WORDS + K as u32 * Self::B_ROW) * 4,
            ..Step::PLAIN
        }
    }
}

#[cfg(feature = "device")]
mod device {
    use super::*;
    use crate::Coord;
    use crate::epilogue::direct::Output;
    use crate::epilogue::elements::Elements;
    use crate::epilogue::fused::{Fused, NOTHING};
    use crate::epilogue::partial_tile::Target;
    use crate::gemm::Gemm;
    use crate::mainloop::gemv::Load;
    use crate::planned::Planned;
    use crate::ptx::compiler;
    use cuda_std::GpuFloat;
    use cuda_std::prelude::*;

    /// An operand, and where in it a block begins: k is one of its dimensions.
    #[derive(Clone, Copy)]
    struct Source<I> {
        matrix: *const I,
        ld: usize,
        is_k_contiguous: bool,
        row: u32,
        rows: u32,
    }

    impl<I: Load> Source<I> {
        /// The row and the k of this thread's first copy of (rows, K) or (K, rows), whichever has adjacent ones contiguous.
        #[inline(always)]
        fn place(self, tid: u32, rows: u32, depth: u32) -> (u32, u32) {
            if self.is_k_contiguous { (tid / depth, tid % depth) } else { (tid % rows, tid / rows) }
        }

        /// N elements, zeros where they are out of bounds: of a row and a k, and of others that are `step` rows or one k further on.
        ///
        /// # Safety
        /// The matrix has as many rows as this says, and so much of k.
        #[inline(always)]
        unsafe fn load<const N: usize>(self, row: u32, p: u32, k: u32, step: u32) -> [u32; N] {
            let row = self.row + row;
            let (outer, inner) = if self.is_k_contiguous { (row, p) } else { (p, row) };
            let first = self.matrix.wrapping_add(outer as usize * self.ld + inner as usize);
            let (step, along_k) = if self.is_k_contiguous { (step, 0) } else { (0, 1) };
            core::array::from_fn(|i| {
                let i = i as u32;
                let end = if row + i * step < self.rows { k } else { 0 };
                // SAFETY: in bounds, or not loaded.
                unsafe {
                    I::load_below(first.wrapping_add((i * (step + along_k)) as usize * self.ld), p + i * along_k, end)
                }
            })
        }
    }

    /// This lane's columns of the tile: a vector of them, and one of head or tail.
    #[derive(Clone, Copy)]
    struct Columns {
        first: u32,
        single: u32,
        has_vector: bool,
        has_single: bool,
    }

    impl Columns {
        /// Of `width` columns, the vectors of which begin `head` columns after the first.
        #[inline(always)]
        fn new(width: u32, head: u32) -> Self {
            let lane = warp::lane_id();
            let head = head.min(width);
            let vectors = (width - head) / VECTOR;
            let single = if lane < head { lane } else { lane + vectors * VECTOR };
            // Lanes without columns have those of others.
            let first = head + lane.min((COLS - VECTOR - head) / VECTOR) * VECTOR;
            Self { first, single: single.min(COLS - 1), has_vector: lane < vectors, has_single: single < width }
        }

        /// The column of each of this lane's accumulators.
        #[inline(always)]
        fn at(self, v: usize) -> u32 {
            if v < SINGLE { self.first + v as u32 } else { self.single }
        }
    }

    /// Accumulators of a lane: a vector's, and one of head or tail.
    const ACC: usize = SINGLE + 1;
    const SINGLE: usize = VECTOR as usize;

    impl<const K: usize, const ROWS: u32> OuterProduct<K, ROWS> {
        /// # Safety
        /// As of the kernels.
        #[inline(always)]
        pub unsafe fn any_layout<I: Load + Output>(
            g: Gemm,
            fused: Fused<I>,
            a_transposed: u32,
            b_transposed: u32,
            planned: Planned,
        ) {
            // tile coordinates
            let block = planned.begin();
            let tile = Coord { row: thread::block_idx_y() * Self::BM, col: thread::block_idx_x() * COLS };
            let target = Target { g: &g, tile, offset: planned.offset_of_c(block), is_f32: planned.c_is_f32 };
            let c = Elements::new(g.c.cast::<I>(), target.is_f32).from(target.first());
            let warp = thread::thread_idx_x() / WARP;
            let c = c.from(warp as usize * g.ldc); // this warp's first row
            let columns = Columns::new((g.n - tile.col).min(COLS), c.before_boundary());

            let source = |matrix: *const f32, stride: u64, ld, is_k_contiguous, row, rows| {
                let matrix = matrix.cast::<I>().wrapping_add((u64::from(block.problem) * stride) as usize);
                Source { matrix, ld, is_k_contiguous, row, rows }
            };
            let a = source(g.a, planned.a_stride, g.lda, a_transposed == 0, tile.row, g.m);
            let b = source(g.b, planned.b_stride, g.ldb, b_transposed != 0, tile.col, g.n);

            let (mut vector, mut single) = (c.from(columns.first as usize), c.from(columns.single as usize));

            // SAFETY: every thread of the block is here, with this step's shared memory; the grid covers C.
            unsafe {
                let mut b_frag = [[0.0; ACC]; K];
                Self::load(a, b, 0, g.k, columns, &mut b_frag);
                let mut index = 0;
                while index < ROWS {
                    let row = warp + index * WARPS;
                    let mut acc = Self::products(row, &b_frag, [0.0; ACC]);
                    if g.k > K as u32 {
                        // A k that is not so small: each row loads it again, and then its first part for the next row.
                        let mut p = K as u32;
                        loop {
                            thread::sync_threads(); // every warp has read the tiles
                            Self::load(a, b, p, g.k, columns, &mut b_frag);
                            if p == 0 {
                                break;
                            }
                            acc = Self::products(row, &b_frag, acc);
                            p = if p + (K as u32) < g.k { p + K as u32 } else { 0 };
                        }
                    }
                    if tile.row + row < g.m {
                        Self::store(target, [vector, single], row, columns, acc, fused);
                    }
                    let step = WARPS as usize * g.ldc;
                    (vector, single) = (vector.from(step), single.from(step));
                    index = compiler::opaque(index + 1); // or LLVM would unroll the loop
                }
            }
        }

        /// The kernel of f32.
        ///
        /// # Safety
        /// As of the kernels.
        #[inline(always)]
        pub unsafe fn run(g: Gemm, fused: Fused<f32>, a_transposed: u32, b_transposed: u32, planned: Planned) {
            // SAFETY: upheld by the caller (see `# Safety`).
            unsafe { Self::any_layout(g, fused, a_transposed, b_transposed, planned) }
        }

        /// These accumulators and the products of a row of a_smem.
        ///
        /// # Safety
        /// The row is in the tile, which is complete.
        #[inline(always)]
        unsafe fn products(row: u32, b_frag: &[[f32; ACC]; K], mut acc: [f32; ACC]) -> [f32; ACC] {
            // SAFETY: upheld by the caller (see `# Safety`).
            let a_frag = unsafe { f32::load_adjacent::<K>(Self::a_smem().add((row * K as u32) as usize)) };
            for d in 0..K {
                acc = core::array::from_fn(|v| GpuFloat::mul_add(a_frag[d], b_frag[d][v], acc[v]));
            }
            acc
        }

        /// (BM, K)
        #[inline(always)]
        fn a_smem() -> *mut f32 {
            shared::dynamic_shared_mem()
        }

        /// The place of a column of (COLS) in b_smem's row of that k: those of a warp's vectors lie side by side.
        #[inline(always)]
        fn b_smem(p: u32, col: u32) -> *mut f32 {
            let word = Self::A_WORDS + p * Self::B_ROW + col % VECTOR * PITCH + col / VECTOR;
            shared::dynamic_shared_mem::<f32>().wrapping_add(word as usize)
        }

        /// Copies both operands from `p` on to shared memory, and this lane's part of B to registers.
        ///
        /// # Safety
        /// Every thread of the block calls it, and none reads what was there.
        #[inline(always)]
        unsafe fn load<I: Load>(
            a: Source<I>,
            b: Source<I>,
            p: u32,
            k: u32,
            columns: Columns,
            b_frag: &mut [[f32; ACC]; K],
        ) {
            // Or what is computed from these would be in registers throughout.
            let tid = compiler::opaque(thread::thread_idx_x());
            let columns =
                Columns { first: compiler::opaque(columns.first), single: compiler::opaque(columns.single), ..columns };
            // SAFETY: in bounds, or not loaded; all of both tiles is stored.
            unsafe {
                const { assert!(COLS == Self::ANY_LAYOUT_THREADS, "a thread's elements of B are of a column or of a k") }
                let step = Self::ANY_LAYOUT_THREADS / K as u32;
                let (a_row, a_p) = a.place(tid, Self::BM, K as u32);
                let [a_raw] = a.load::<1>(a_row, p + a_p, if tid < Self::A_WORDS { k } else { 0 }, 0);
                let (b_col, b_p) = b.place(tid, COLS, K as u32);
                let b_raw = b.load::<K>(b_col, p + b_p, k, step);

                if tid < Self::A_WORDS {
                    *Self::a_smem().add((a_row * K as u32 + a_p) as usize) = I::number(a_raw);
                }
                let target = Self::b_smem(b_p, b_col);
                let target_step = if b.is_k_contiguous { step / VECTOR } else { Self::B_ROW };
                for (i, raw) in b_raw.into_iter().enumerate() {
                    *target.add(i * target_step as usize) = I::number(raw);
                }
                thread::sync_threads(); // the tiles are complete

                *b_frag = core::array::from_fn(|d| core::array::from_fn(|v| *Self::b_smem(d as u32, columns.at(v))));
            }
        }

        #[allow(clippy::needless_range_loop)] // an iterator would keep the accumulators in memory
        /// Stores this lane's accumulators of a row of the tile, which belong there.
        ///
        /// # Safety
        /// The row is in bounds, and no other warp has it.
        #[inline(always)]
        unsafe fn store<I: Output>(
            target: Target,
            [vector, single]: [Elements<I>; 2],
            row: u32,
            columns: Columns,
            acc: [f32; ACC],
            fused: Fused<I>,
        ) {
            let Target { g, tile, is_f32, .. } = target;
            let has = |v: usize| if v < SINGLE { columns.has_vector } else { columns.has_single };
            let element = |v: usize| if v < SINGLE { vector.from(v) } else { single };
            // SAFETY: in bounds of C, and of the bias.
            unsafe {
                if (g.beta == 0.0) & fused.changes_nothing() {
                    let values = acc.map(|acc| g.alpha * acc);
                    if columns.has_vector {
                        vector.store_8(core::array::from_fn(|v| values[v]));
                    }
                    if columns.has_single {
                        single.set(values[SINGLE]);
                    }
                    return;
                }
                // One after the other: most registers have B.
                let bias = Elements::new(fused.bias.cast_mut(), is_f32);
                for v in 0..compiler::opaque(ACC as u32) {
                    let v = compiler::opaque(v) as usize; // or LLVM would unroll the loop
                    if has(v) {
                        let mut value = acc[0];
                        for other in 1..ACC {
                            if v == other {
                                value = acc[other];
                            }
                        }
                        let index = if fused.is_per_row() { tile.row + row } else { tile.col + columns.at(v) };
                        let bias = if fused.bias.is_null() { NOTHING } else { bias.from(index as usize).get() };
                        let old = if g.beta == 0.0 { 0.0 } else { element(v).get() };
                        let [[value]] = fused.apply(g, &[[value]], &[[old]], &[[bias]]);
                        element(v).set(value);
                    }
                }
            }
        }
    }
}
