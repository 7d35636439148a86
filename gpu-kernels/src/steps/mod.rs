//! The steps, in the ladder's order. Each file is one idea more than the step that it names as its base.

use crate::Step;

#[path = "24_any_layout.rs"]
pub mod any_layout;
#[path = "13_async_copy.rs"]
pub mod async_copy;
#[path = "17_autotuned.rs"]
pub mod autotuned;
#[path = "07_bank_conflicts.rs"]
pub mod bank_conflicts;
#[path = "02_coalesced.rs"]
pub mod coalesced;
#[path = "22_fp16x3.rs"]
pub mod fp16x3;
#[path = "26_gemv.rs"]
pub mod gemv;
#[path = "28_gemv_rows.rs"]
pub mod gemv_rows;
#[path = "20_hgemm.rs"]
pub mod hgemm;
#[path = "29_hgemm_any_layout.rs"]
pub mod hgemm_any_layout;
#[path = "30_hgemm_batch.rs"]
pub mod hgemm_batch;
#[path = "25_hgemm_split_k.rs"]
pub mod hgemm_split_k;
#[path = "14_ilp.rs"]
pub mod ilp;
#[path = "09_lane_sharing.rs"]
pub mod lane_sharing;
#[path = "01_naive.rs"]
pub mod naive;
#[path = "15_packed_fma.rs"]
pub mod packed_fma;
#[path = "11_prefetch.rs"]
pub mod prefetch;
#[path = "08_read_only_cache.rs"]
pub mod read_only_cache;
#[path = "03_smem_tiling.rs"]
pub mod smem_tiling;
#[path = "18_split_k.rs"]
pub mod split_k;
#[path = "19_stream_k.rs"]
pub mod stream_k;
#[path = "21_tf32.rs"]
pub mod tf32;
#[path = "31_tf32_any_layout.rs"]
pub mod tf32_any_layout;
#[path = "27_tf32_split_k.rs"]
pub mod tf32_split_k;
#[path = "23_tf32x3.rs"]
pub mod tf32x3;
#[path = "04_tiling_1d.rs"]
pub mod tiling_1d;
#[path = "05_tiling_2d.rs"]
pub mod tiling_2d;
#[path = "16_tma_multicast.rs"]
pub mod tma_multicast;
#[path = "10_transposed.rs"]
pub mod transposed;
#[path = "06_vectorized.rs"]
pub mod vectorized;
#[path = "12_warp_tiling.rs"]
pub mod warp_tiling;

/// The registry: the only list of steps. The command line, tests, benchmarks and documentation iterate it.
pub const STEPS: &[Step] = &[
    naive::STEP,
    coalesced::STEP,
    smem_tiling::STEP,
    tiling_1d::STEP,
    tiling_2d::STEP,
    vectorized::STEP,
    bank_conflicts::STEP,
    read_only_cache::STEP,
    lane_sharing::STEP,
    transposed::STEP,
    prefetch::STEP,
    warp_tiling::STEP,
    async_copy::STEP,
    ilp::STEP,
    packed_fma::STEP,
    tma_multicast::STEP,
    autotuned::STEP,
    split_k::STEP,
    stream_k::STEP,
    hgemm::STEP,
    tf32::STEP,
    fp16x3::STEP,
    tf32x3::STEP,
    any_layout::STEP,
    hgemm_split_k::STEP,
    gemv::STEP,
    tf32_split_k::STEP,
    gemv_rows::STEP,
    hgemm_any_layout::STEP,
    hgemm_batch::STEP,
    tf32_any_layout::STEP,
];
