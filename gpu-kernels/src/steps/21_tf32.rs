//! tf32: the tensor cores on f32, of which they see 19 bits.
//!
//! ```text
//!   wgmma reads 32-bit elements along k only: A's rows are, B's are not.
//!   C^T = B^T * A^T:    left operand from registers, where B is transposed by who reads what:
//!        B (32, 128) in shared memory ──► fragments of B^T ─┐
//!        A (256, 32) in shared memory ─────────────────────┴► 64 columns x 256 rows of C for each warpgroup
//! ```
//!
//! Changed since hgemm: the roles of A and B. A warpgroup has 64 columns of C, not rows, and 256 rows. Its threads read their
//! fragments of B out of shared memory, where the copy engine has swizzled them, for one slice while the products of the
//! slice before are computed. Which lane has which column is arranged so that a warp's reads meet no bank twice.
//!
//! What bounds it on an H200 at 4096 (Nsight Compute): the tensor cores, at work in 90 % of all cycles, in those of cuBLAS's
//! kernel in 88 %; then the chip's power: it takes fewer cycles than that kernel, and the clock is lower by as much.
//!
//! Source: the worklog's closing words; CUTLASS's kernels with one operand in registers.

use crate::align::align;
use crate::fragment::OCTET;
use crate::gemm::Gemm;
use crate::ptx::tensor::{self, TensorMap};
use crate::ptx::wgmma::{self, Matrix, ROW_BYTES, ROWS, STEP_BYTES, WARPGROUP};
use crate::ptx::{compiler, mbarrier::Mbarrier};
use crate::ring::{self, BLOCK_ROWS, Ring, Stage};
use crate::staging::{self, LINE, Layout, PIECE, ROUND, Staging};
use crate::tile::WARP;
use crate::{Element, MapBox, Operand, Precision, Schedule, Step, Target, Tile, persistent_tile};
use cuda_std::prelude::*;

const BN: u32 = BLOCK_ROWS;
/// Elements in a row of shared memory.
const BK: u32 = ROW_BYTES / 4;
/// Depth of a product, and how many a slice has.
const DEPTH: u32 = STEP_BYTES / 4;
const STEPS: usize = (BK / DEPTH) as usize;
/// Of BK columns of B.
const PANEL_BYTES: u32 = BK * ROW_BYTES;
const PANELS: u32 = BN / BK;

/// A thread's part of 64 columns of a slice of B, for each product.
type Fragments = [[f32; 4]; STEPS];

/// A kernel for tiles of 2 ACC x 128.
struct Transposed<const ACC: usize, const STAGES: u32>;

impl<const ACC: usize, const STAGES: u32> Transposed<ACC, STAGES> {
    const BM: u32 = 2 * ACC as u32;
    const A_BYTES: u32 = Self::BM * ROW_BYTES;
    const STAGE_BYTES: u32 = Self::A_BYTES + PANELS * PANEL_BYTES;
    const RING_BYTES: u32 = ring::smem_bytes(STAGES, Self::STAGE_BYTES);

    /// A step of this shape: its names are to be filled in.
    const STEP: Step = Step {
        base: Some("hgemm"),
        summary: "the tensor cores on f32, of which they see 19 bits; B through registers, which transposes it",
        source: "S. Boehm (2022), closing words; CUTLASS, wgmma with one operand in registers",
        precision: Precision::Tf32,
        target: Target::Sm90a,
        tile: Tile { bm: Self::BM, bn: BN, bk: BK, tm: ACC as u32 / 2, tn: 2 },
        block: [ring::THREADS, 1, 1],
        schedule: Schedule::Persistent,
        prepasses: &[align(Operand::A, Element::F32), align(Operand::B, Element::F32)],
        maps: Some([
            MapBox { element: Element::F32, rows: Self::BM, columns: BK, swizzled: true },
            MapBox { element: Element::F32, rows: BK, columns: BK, swizzled: true },
        ]),
        dynamic_smem_bytes: staging::smem_bytes(Self::RING_BYTES),
        ..Step::PLAIN
    };

    /// # Safety
    /// As the kernels.
    #[inline(always)]
    unsafe fn run(g: &Gemm, maps: [*const TensorMap; 2]) {
        // For each role by itself: what both had in common would take registers that the sums need.
        let counts = || [(g.m, Self::BM), (g.n, BN), (g.k, 2 * BK)].map(|(of, by)| compiler::anew(of).div_ceil(by));
        // SAFETY: what is copied to a stage fills it, and is read before it is released.
        unsafe {
            let mut ring = Ring::<1>::start(STAGES, Self::STAGE_BYTES);
            if ring::feeds() {
                ring::give_registers();
                let [rows, columns, pairs] = counts();
                if thread::thread_idx_x() == 0 {
                    for [row, column] in ring::tiles::<1>(rows, columns, Self::BM) {
                        for slice in 0..2 * pairs {
                            let (stage, full) = ring.fill();
                            Self::copy(stage, full, [row * Self::BM, column * BN, slice * BK], maps);
                        }
                    }
                }
            } else {
                ring::take_registers();
                let [rows, columns, pairs] = counts();
                let staging = Staging::behind(Self::RING_BYTES);
                let mut acc = [0.0; ACC];
                for number in ring::numbers::<1>(rows, columns) {
                    let (last, fragments) = Self::accumulate(&mut ring, pairs, &mut acc);
                    // While the last products are computed.
                    let [row, column] = persistent_tile(compiler::anew(number), [rows, columns], Self::BM, 1);
                    wgmma::wait::<0, ACC>(&mut acc);
                    wgmma::keep(&fragments);
                    ring.release_before(last);
                    let place = [row * Self::BM, column * BN + ring::consumer() * ROWS];
                    staging.store::<Columns, f32, ACC>(g, place, &acc);
                }
            }
            ring::finish();
        }
    }

    /// Has the copy engine bring a slice.
    #[inline(always)]
    unsafe fn copy(stage: Stage, full: Mbarrier, [row, col, depth]: [u32; 3], [a_map, b_map]: [*const TensorMap; 2]) {
        // SAFETY: the boxes fill the stage, which is free.
        unsafe {
            tensor::copy(stage.address, a_map, row, depth, full);
            for panel in 0..PANELS {
                tensor::copy(stage.address + Self::A_BYTES + panel * PANEL_BYTES, b_map, depth, col + panel * BK, full);
            }
        }
    }

    /// The sums of the products of pairs of slices: one's fragments are read while the products of the one before are computed.
    #[inline(always)]
    unsafe fn accumulate(ring: &mut Ring<1>, pairs: u32, acc: &mut [f32; ACC]) -> (Option<Stage>, Fragments) {
        let (mut before, mut odd) = (None, [[0.0; 4]; STEPS]);
        // SAFETY: a stage is full when it is read, and released when its products are done.
        unsafe {
            for _ in 0..pairs {
                let (even_stage, even) = Self::multiply(ring, acc, before.is_some());
                wgmma::wait_before::<1>();
                wgmma::keep(&odd);
                ring.release_before(before);
                let next = Self::multiply(ring, acc, true);
                wgmma::wait_before::<1>();
                wgmma::keep(&even);
                ring.release(even_stage);
                (before, odd) = (Some(next.0), next.1);
            }
            (before, odd)
        }
    }

    /// Starts the products of the next slice, and gives its fragments, which must stay as they are until these are done.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the fragments in memory
    #[inline(always)]
    unsafe fn multiply(ring: &mut Ring<1>, acc: &mut [f32; ACC], adds: bool) -> (Stage, Fragments) {
        // SAFETY: the stage is full, and nobody releases it before the products are waited for.
        unsafe {
            let stage = ring.take();
            let (b, a) = (Self::fragments(stage), Matrix::along_k(stage.address));
            wgmma::fence();
            for step in 0..STEPS {
                wgmma::tf32_fragments(acc, b[step], a.add(step as u32 * STEP_BYTES), adds || step > 0);
            }
            wgmma::commit();
            (stage, b)
        }
    }

    /// This thread's fragments of B^T, whose rows are the columns at [`column`].
    ///
    /// A row of a panel has eight pieces of four columns, which the copy engine has put at their number XOR the row's. Lanes
    /// that read one row have all columns of two pieces that are four apart; those of the next rows, the pieces between.
    #[inline(always)]
    unsafe fn fragments(stage: Stage) -> Fragments {
        let column = ring::consumer() * ROWS + column();
        let (panel, col) = (column / BK, column % BK);
        let panel = stage.words(Self::A_BYTES + panel * PANEL_BYTES);
        core::array::from_fn(|step| {
            core::array::from_fn(|i| {
                let row = step as u32 * DEPTH + warp::lane_id() % 4 + i as u32 / 2 * 4;
                let col = col + i as u32 % 2 * 4;
                // SAFETY: inside the panel.
                unsafe { *panel.add((row * BK + (((col / 4) ^ (row % 8)) * 4 + col % 4)) as usize) }
            })
        })
    }
}

/// The column, of a warpgroup's 64, of this thread's row of B^T; its second row is four columns on.
#[inline(always)]
fn column() -> u32 {
    first_column() + warp::lane_id() / 16 * 16 + warp::lane_id() / 4 % 4
}

/// The first such column of this thread's warp.
#[inline(always)]
fn first_column() -> u32 {
    let warp = thread::thread_idx_x() % WARPGROUP / WARP;
    warp / 2 * BK + warp % 2 * 8
}

/// Rows of products are columns of C: a warp has 8 columns, and 8 more that begin 16 further on; a line has two rows of them.
struct Columns;

impl Layout for Columns {
    const ROWS: u32 = 2;
    const COLUMNS: u32 = 0;

    #[inline(always)]
    fn part(acc: u32) -> [[u32; 2]; 2] {
        [[0, first_column()], [2 * acc, 24]]
    }

    #[inline(always)]
    fn place(piece: u32) -> [u32; 2] {
        [piece / 4, piece % 4 / 2 * 16 + piece % 2 * PIECE]
    }

    #[inline(always)]
    fn swizzle(line: u32) -> u32 {
        line % 2 + line % 4 / 2 * 4
    }

    /// Lane / 4 is the column: four neighbours, then those 16 on; the other half of the sums are four columns on.
    #[inline(always)]
    unsafe fn put<const ACC: usize>(place: *mut f32, lane: u32, acc: &[f32; ACC], round: usize) {
        let (column, line) = (lane / 4, lane % 4);
        let word = line * LINE + ((column / 4 * 2) ^ Self::swizzle(line)) * PIECE + column % 4;
        for i in 0..ROUND {
            let piece = i % OCTET / 2 + i % 2 * 4; // of the other half, and of the other row
            let to = (word ^ (piece as u32 * PIECE)) as usize + i / OCTET * (4 * LINE) as usize;
            // SAFETY: inside, by the caller's promise.
            unsafe { *place.add(to) = acc[round * ROUND + i] };
        }
    }
}

/// This step's entry in the registry.
pub const STEP: Step = Step { variants: ALL.split_at(1).1, ..ALL[0] };

/// Makes a kernel and a [`Step`] of each shape.
macro_rules! kernels {
    ($($kernel:ident $slug:literal $shape:ty;)*) => {
        const ALL: &[Step] = &[$(Step { slug: $slug, kernel: stringify!($kernel), ..<$shape>::STEP }),*];

        $($crate::gemm::gemm_kernel! {
            $kernel, $crate::ring::THREADS, 1, f32 => f32,
            |g, a_map: *const TensorMap, b_map: *const TensorMap| <$shape>::run(&g, [a_map, b_map])
        })*
    };
}

kernels! {
    sgemm_tf32 "tf32" Transposed<128, 4>;
    sgemm_tf32_128x128 "tf32/128x128" Transposed<64, 6>;
}
