//! Which elements of a tile are certified.

use super::{BM, SplitMma};
use crate::gemm::Gemm;
use crate::hardware::WARP;
use crate::prepass::split::hi_lo::HiLo;
use crate::ptx::{compiler, lanes};
use crate::{CERTIFICATE_BITS, CERTIFIED, OF_BF16, OF_HI_LO};
use cuda_std::prelude::*;

/// What a warp knows of the tiles of its cluster: the same in all their warps.
#[derive(Clone, Copy)]
pub(super) struct Verdict {
    /// The certificates that some row and some column have.
    some: u32,
    /// Those that all rows and columns have.
    all: u32,
}

impl Verdict {
    /// Whether any element is certified for the hi/lo split.
    #[inline(always)]
    pub const fn any_hi_lo(self) -> bool {
        self.some & OF_HI_LO != 0
    }

    /// Whether all are, by a certificate that all rows and columns have.
    #[inline(always)]
    pub const fn all_hi_lo(self) -> bool {
        self.all & OF_HI_LO != 0
    }

    /// Whether some may be computed by a split into three bf16.
    #[inline(always)]
    pub const fn any_bf16(self) -> bool {
        self.some & OF_BF16 != 0
    }

    /// Whether some may have no certificate.
    #[inline(always)]
    pub const fn any_fp32(self) -> bool {
        self.all == 0
    }
}

/// The word at `index`, or the last; all certificates where no pre-pass ran.
///
/// # Safety
/// There are `count` words, if there are k-tiles.
#[inline(always)]
unsafe fn word(words: *const i32, index: u32, count: u32, k_tiles: u32) -> i32 {
    if k_tiles == 0 {
        return CERTIFIED as i32;
    }
    // SAFETY: in bounds, upheld by the caller.
    unsafe { compiler::pin_load(*words.wrapping_add(index.min(count - 1) as usize)) }
}

impl<P: HiLo, const ACC: usize, const CLUSTER: u32, const STAGES: u32> SplitMma<P, ACC, CLUSTER, STAGES> {
    /// The words of a thread's rows, the first of which is `row`; of the last row for those out of bounds.
    #[inline(always)]
    pub(super) unsafe fn rows(g: &Gemm, row: u32, k_tiles: u32, words: *const i32) -> [i32; 2] {
        // SAFETY: in bounds of A's rows.
        [row, row + 8].map(|row| unsafe { word(words, row, g.m, k_tiles) })
    }

    /// The words of every 32nd column, a lane's own; of the last column for those out of bounds.
    #[allow(clippy::needless_range_loop)] // an iterator would keep them in memory
    #[inline(always)]
    pub(super) unsafe fn columns(g: &Gemm, col: u32, k_tiles: u32, words: *const i32) -> [i32; 4] {
        let mut columns = [CERTIFIED as i32; 4];
        let lane = compiler::opaque(warp::lane_id()); // or its addresses would stay in registers
        for i in 0..ACC / 16 {
            // SAFETY: in bounds of B's columns.
            columns[i] = unsafe { word(words, col + i as u32 * WARP + lane, g.n, k_tiles) };
        }
        columns
    }

    /// The verdict on the cluster's tiles, one of which begins at `row`.
    ///
    /// # Safety
    /// All lanes are here.
    #[inline(always)]
    pub(super) unsafe fn verdict(g: &Gemm, row: u32, k_tiles: u32, columns: &[i32; 4], words: *const i32) -> Verdict {
        const LACKS: u32 = CERTIFICATE_BITS;
        let first = row / (BM * CLUSTER) * (BM * CLUSTER) + compiler::opaque(warp::lane_id());
        let (mut of_rows, mut of_columns) = ([0, 0], [0, 0]);
        for i in 0..BM * CLUSTER / WARP {
            // SAFETY: in bounds of A's rows.
            let word = unsafe { word(words, first + i * WARP, g.m, k_tiles) } as u32;
            of_rows = [of_rows[0] | word, of_rows[1] | !word];
        }
        for column in &columns[..ACC / 16] {
            of_columns = [of_columns[0] | *column as u32, of_columns[1] | !*column as u32];
        }
        let pair = |[has, lacks]: [u32; 2]| has & CERTIFIED | (lacks & CERTIFIED) << LACKS;
        // SAFETY: all lanes are here, upheld by the caller.
        let all = unsafe { lanes::any_bits(pair(of_rows) | pair(of_columns) << (2 * LACKS)) };
        let [rows, columns] = [all, all >> (2 * LACKS)];
        Verdict { some: rows & columns & CERTIFIED, all: !((rows | columns) >> LACKS) & CERTIFIED }
    }
}
