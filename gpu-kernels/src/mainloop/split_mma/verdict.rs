//! Which elements of a tile are certified.

use super::{BM, SplitMma};
use crate::gemm::Gemm;
use crate::hardware::WARP;
use crate::prepass::split::hi_lo::HiLo;
use crate::ptx::{compiler, lanes};
use crate::{Ab, CERTIFICATE_BITS, CERTIFIED, Coord, F16_TOP, OF_HI_LO, Open, is_finite_row};
use cuda_std::prelude::*;

/// What a warp knows of the tile of its block: the same in all warps.
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
}

/// What the words of a tile's finite rows, or of its finite columns, have in common.
#[derive(Clone, Copy)]
struct Finite {
    /// Certificates that one has, and those that one lacks.
    has: u32,
    lacks: u32,
    /// The least and the largest exponent of scaling.
    exponents: [i32; 2],
    /// There are no others.
    are_all: bool,
}

impl Finite {
    const NONE: Self = Self { has: 0, lacks: 0, exponents: [i32::MAX, i32::MIN], are_all: true };

    #[inline(always)]
    fn and(self, word: i32) -> Self {
        if !is_finite_row(word) {
            return Self { are_all: false, ..self };
        }
        let [least, largest] = self.exponents;
        let (certificates, exponent) = (word as u32 & CERTIFIED, word >> CERTIFICATE_BITS);
        Self {
            has: self.has | certificates,
            lacks: self.lacks | certificates ^ CERTIFIED,
            exponents: [least.min(exponent), largest.max(exponent)],
            ..self
        }
    }

    /// Whether there is one.
    #[inline(always)]
    const fn are_there(self) -> bool {
        self.exponents[0] <= self.exponents[1]
    }

    /// # Safety
    /// All lanes are here.
    #[inline(always)]
    unsafe fn of_all_lanes(self) -> Self {
        const LACKS: u32 = CERTIFICATE_BITS;
        const OTHERS: u32 = 2 * CERTIFICATE_BITS;
        // SAFETY: upheld by the caller.
        let (bits, exponents) = unsafe {
            let bits = self.has | self.lacks << LACKS | u32::from(!self.are_all) << OTHERS;
            (lanes::any_bits(bits), lanes::extremes(self.exponents))
        };
        Self { has: bits & CERTIFIED, lacks: bits >> LACKS & CERTIFIED, exponents, are_all: bits >> OTHERS == 0 }
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

impl<P: HiLo, const ACC: usize, const STAGES: u32> SplitMma<P, ACC, STAGES> {
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

    /// The verdict on the tile that begins at `row`.
    ///
    /// # Safety
    /// All lanes are here.
    #[inline(always)]
    pub(super) unsafe fn verdict(g: &Gemm, row: u32, k_tiles: u32, columns: &[i32; 4], words: *const i32) -> Verdict {
        const LACKS: u32 = CERTIFICATE_BITS;
        let (mut of_rows, mut of_columns) = ([0, 0], [0, 0]);
        for i in 0..Self::LANE_ROWS {
            // SAFETY: in bounds of A's rows.
            let word = unsafe { Self::lane_row(g, row, i, k_tiles, words) } as u32;
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

    /// In which ways elements are computed that the tile's verdict leaves open. Rows and columns without an infinity or NaN decide on three
    /// bf16 and fp32. There are k-tiles.
    ///
    /// # Safety
    /// All lanes are here, and rows are scaled.
    #[inline(always)]
    pub(super) unsafe fn open(g: &Gemm, tile: Coord, words: Ab<*const i32>) -> Open {
        let mut rows = Finite::NONE;
        // SAFETY: in bounds of A's rows and of B's columns; all lanes are here, upheld by the caller.
        let [rows, columns] = unsafe {
            for i in 0..Self::LANE_ROWS {
                rows = rows.and(Self::lane_row(g, tile.row, i, 1, words.a));
            }
            let columns = Self::columns(g, tile.col, 1, words.b);
            let columns = columns[..ACC / 16].iter().fold(Finite::NONE, |columns, word| columns.and(*word));
            [rows, columns].map(|words| words.of_all_lanes())
        };
        let by_signs = !(rows.are_all && columns.are_all);
        if !(rows.are_there() && columns.are_there()) {
            return Open { by_signs, ..Open::NONE };
        }
        let [largest, least] = [0, 1].map(|i| 2 * F16_TOP - rows.exponents[i] - columns.exponents[i]);
        let all = !(rows.lacks | columns.lacks);
        Open { by_signs, ..Open::of_finite(rows.has & columns.has, all, [least, largest]) }
    }

    /// Rows of a tile that a lane has a word of.
    const LANE_ROWS: u32 = BM / WARP;

    /// The i-th of these words, where the tile begins at `row`.
    ///
    /// # Safety
    /// In bounds of the words, if there are k-tiles.
    #[inline(always)]
    unsafe fn lane_row(g: &Gemm, row: u32, i: u32, k_tiles: u32, words: *const i32) -> i32 {
        let lane = compiler::opaque(warp::lane_id());
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { word(words, row + lane + i * WARP, g.m, k_tiles) }
    }
}
