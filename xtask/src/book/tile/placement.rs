//! Which thread computes which elements of a block's tile of C, and copies which of A's and B's k-tiles. A [`Step`] has sizes; the
//! order of threads is its kernel's own, and is repeated here.

use gpu_kernels::{Operand, Precision, Step, Transposed};

/// Values of a 128-bit access.
pub const VEC: u32 = 4;
const WARP: u32 = 32;
const WARPGROUP: u32 = 128;

/// Lanes of a warp along m and n, where warps have tiles of their own.
const LANES: [u32; 2] = [8, 4];

/// Columns of B's k-tile after which the swizzle changes, where it is swizzled.
pub const SWIZZLED: u32 = 32;

/// A row and a column of a tile or a k-tile.
pub type Place = [u32; 2];

/// How the threads of a block stand on its tile of C.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// One after another down a column.
    Down,
    /// One after another along a row, TM x TN each.
    Along,
    /// Pairs of lanes one above the other, the pairs along a row.
    Pairs,
    /// A warp is 4 x 8, adjacent lanes in the four corners of what they share.
    Corners,
    /// A warp is 8 x 4, its lanes in squares of 2 x 2; each lane has squares of VEC x VEC.
    Squares,
    /// A warp is 8 x 4, no adjacent lanes in one row or column; each lane has squares of VEC x VEC.
    Diagonals,
    /// The same, where the warps transpose A: a lane's rows are 8 apart.
    SpreadDiagonals,
    /// The accumulators of an MMA of a warpgroup, which has 64 rows.
    Rows,
    /// The same, where a warpgroup has 64 columns.
    Columns,
    /// The accumulators of a warp's MMAs, which has every other 16 columns of 32 rows.
    Fragments,
    /// A warp is a row, TN adjacent columns each; its rows are as many apart as there are warps.
    Interleaved,
}

impl Order {
    fn of(step: &Step) -> Self {
        match step.slug.split('/').next().unwrap_or_default() {
            _ if shares_k(step) => Self::Along,
            _ if step.is_planned() && !step.may_be_split() && step.maps.is_none() => Self::Interleaved,
            _ if has_warp_mmas(step) => Self::Fragments,
            _ if step.precision == Precision::Tf32 => Self::Columns,
            _ if step.precision != Precision::Fp32 => Self::Rows,
            _ if transposes_itself(step) => Self::SpreadDiagonals,
            _ if step.maps.is_some() => Self::Diagonals,
            _ if step.block[1] > 1 => Self::Down,
            "bank-conflicts" | "read-only-cache" | "transposed" | "prefetch" => Self::Pairs,
            "lane-sharing" => Self::Corners,
            "warp-tiling" | "async-copy" | "ilp" | "packed-fma" | "any-layout" => Self::Squares,
            _ => Self::Along,
        }
    }
}

/// Whether TMA loads A raw into a staging buffer, and the warps that compute transpose it.
pub fn transposes_itself(step: &Step) -> bool {
    step.precision == Precision::Fp32 && step.maps.is_some() && !step.prepasses.iter().any(|prepass| prepass.transposes)
}

/// Whether the threads of a block share k, and load their fragments straight from global memory: there are more of them than have elements
/// of C.
pub fn shares_k(step: &Step) -> bool {
    step.maps.is_none() && step.threads() > results(step)
}

/// Whether MMAs are those of a warp, which takes both operands from registers: a step that leaves out some of them.
pub fn has_warp_mmas(step: &Step) -> bool {
    step.edge > 0
}

/// Threads that it takes to have an element of C each, or TM x TN.
fn results(step: &Step) -> u32 {
    step.tile.bm / step.tile.tm * (step.tile.bn / step.tile.tn)
}

/// Threads that compute: the consumers, where there are producers. These are a warpgroup before them, or else a warp behind them.
/// Where threads share k, those of one of its parts.
pub fn computing(step: &Step) -> std::ops::Range<u32> {
    match step.precision {
        Precision::Fp32 => 0..results(step),
        _ if shares_k(step) => 0..results(step),
        _ if step.maps.is_none() => 0..step.threads(),
        _ if step.threads().is_multiple_of(WARPGROUP) => WARPGROUP..step.threads(),
        // One slice, where several take k-tiles in turn.
        _ => 0..results(step),
    }
}

/// The elements of the tile that a thread computes, row by row.
pub fn elements(step: &Step, thread: u32) -> Vec<Place> {
    let tile = step.tile;
    let lane = thread % WARP;
    let block_of = |row: u32, col: u32| grid(tile.tm, tile.tn).map(move |[i, j]| [row + i, col + j]).collect();
    match Order::of(step) {
        Order::Down => vec![[thread % tile.bm, thread / tile.bm]],
        Order::Along => block_of(thread / (tile.bn / tile.tn) * tile.tm, thread % (tile.bn / tile.tn) * tile.tn),
        Order::Pairs => {
            let pairs = tile.bn / tile.tn;
            block_of((thread / (2 * pairs) * 2 + thread % 2) * tile.tm, thread / 2 % pairs * tile.tn)
        }
        Order::Corners => {
            let row = thread % 2 + thread / 16 % 2 * 2 + thread / 64 * 4;
            block_of(row * tile.tm, (thread / 2 % 8 + thread / 32 % 2 * 8) * tile.tn)
        }
        Order::Squares => {
            let half = LANES[1] / 2;
            let place = [lane / 4 / half * 2 + lane / 2 % 2, lane / 4 % half * 2 + lane % 2];
            // A warp has more rows than such a tile: it computes the transpose.
            if tile.bm < LANES[0] * tile.tm {
                return turned(step, |turned| vectors(turned, thread, place, 1));
            }
            vectors(step, thread, place, 1)
        }
        Order::Diagonals => vectors(step, thread, [lane % LANES[0], ((lane / LANES[0]) ^ lane) % LANES[1]], 1),
        Order::SpreadDiagonals => {
            vectors(step, thread, [lane % LANES[0], ((lane / LANES[0]) ^ lane) % LANES[1]], LANES[0])
        }
        Order::Rows => {
            // A tile of a warpgroup whose threads have more rows than columns is computed as its transpose.
            if step.maps.is_some() && tile.tm > tile.tn {
                return turned(step, |turned| elements(turned, thread));
            }
            let row = (thread - computing(step).start) / WARP * 16 + lane / 4;
            products(tile.bn).map(|[half, col]| [row + half * 8, col + lane % 4 * 2]).collect()
        }
        Order::Columns => {
            let (group, warp) = ((thread - computing(step).start) / WARPGROUP, thread % WARPGROUP / WARP);
            let col = group * 64 + warp / 2 * 32 + warp % 2 * 8 + lane / 16 * 16 + lane / 4 % 4;
            products(tile.bm).map(|[half, row]| [row + lane % 4 * 2, col + half * 4]).collect()
        }
        Order::Fragments => {
            let (warp, place) = (thread / WARP, [lane / 4, lane % 4 * 2]);
            let octets = grid(tile.tm, tile.tn / 2).flat_map(|[i, j]| [[i, j, 0], [i, j, 1]]);
            let row = warp / 2 * 32 + place[0];
            let col = move |octet: u32| (octet / 2 * 2 + warp % 2) * 16 + octet % 2 * 8 + place[1];
            octets.map(|[i, j, next]| [row + i * 8, col(j) + next]).collect()
        }
        Order::Interleaved => {
            let (warp, warps) = (thread / WARP, step.threads() / WARP);
            grid(tile.tm, tile.tn).map(|[i, j]| [warp + i * warps, lane * tile.tn + j]).collect()
        }
    }
}

/// The elements that `of` says of the step whose tile is the transpose of this one's, in this one's.
fn turned(step: &Step, of: impl Fn(&Step) -> Vec<Place>) -> Vec<Place> {
    of(&Step { tile: step.tile.transposed(), ..*step }).into_iter().map(|[row, col]| [col, row]).collect()
}

/// Whether pieces of VEC columns of B's slice change places in shared memory, in every other [`SWIZZLED`] columns.
pub fn is_swizzled(step: &Step) -> bool {
    matches!(Order::of(step), Order::Pairs | Order::Corners)
}

/// The words of A's and of B's slice in shared memory that a thread's first loads of 128 bits begin with, rows of both along m and n
/// there; `None` where fragments are not read so.
pub fn first_words(step: &Step, thread: u32) -> Option<[u32; 2]> {
    let order = Order::of(step);
    let is_wide = step.vector_loads || step.dynamic_smem_bytes > 0;
    if step.precision != Precision::Fp32 || !is_wide || shares_k(step) {
        return None;
    }
    let [row, col] = *elements(step, thread).first()?;
    let swizzled = |col: u32| col ^ (col / SWIZZLED % 2 * VEC);
    let lane = thread % WARP;
    match order {
        Order::Pairs => Some([row, swizzled(col)]),
        // Adjacent lanes load different vectors, and those 16 further on another row.
        Order::Corners => Some([row, lane / 16 * step.tile.bn + swizzled(col + lane % 2 * VEC)]),
        Order::SpreadDiagonals => Some([row + (VEC - 1) * (lane % LANES[0]), col]),
        _ => Some([row, col]),
    }
}

/// TM x TN elements of a lane at `place` among the lanes of its warp, in squares of VEC x VEC; the rows of one are so far apart.
fn vectors(step: &Step, thread: u32, [lane_row, lane_col]: Place, apart: u32) -> Vec<Place> {
    let tile = step.tile;
    let warps_n = tile.bn / (LANES[1] * tile.tn);
    let warp = thread / WARP;
    let row = warp / warps_n * LANES[0] * tile.tm + if apart == 1 { lane_row * VEC } else { lane_row };
    let col = warp % warps_n * LANES[1] * tile.tn + lane_col * VEC;
    let rows = move |i: u32| row + i / VEC * LANES[0] * VEC + i % VEC * apart;
    let cols = move |j: u32| col + j / VEC * LANES[1] * VEC + j % VEC;
    grid(tile.tm, tile.tn).map(|[i, j]| [rows(i), cols(j)]).collect()
}

/// A thread's accumulators of an MMA, in both halves of 8 rows, and two of each 8 columns.
fn products(columns: u32) -> impl Iterator<Item = Place> {
    grid(2, columns / 4).map(|[half, j]| [half, j / 2 * 8 + j % 2])
}

/// All rows and columns of so many.
pub fn grid(rows: u32, columns: u32) -> impl Iterator<Item = Place> {
    (0..rows).flat_map(move |row| (0..columns).map(move |column| [row, column]))
}

/// How the threads of a block copy a k-tile: a thread takes `width` contiguous elements, consecutive threads fill rows of `columns`,
/// and all of them begin again behind that until the k-tile is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Values that one access moves.
    pub width: u32,
    columns: u32,
    /// Of what is copied: A's slice, or its transpose, or B's.
    shape: [u32; 2],
    is_transposed: bool,
    /// Warps that are beside each other on the slice.
    warps: u32,
}

impl Share {
    /// How an operand's slice is copied, if threads copy it.
    pub fn of(step: &Step, operand: Operand) -> Option<Self> {
        let tile = step.tile;
        if tile.bk == 1 || step.maps.is_some() || shares_k(step) || Order::of(step) == Order::Interleaved {
            return None;
        }
        let is_transposed = operand == Operand::A && step.prepasses.iter().any(|prepass| prepass.transposes);
        let shape = match operand {
            Operand::A if is_transposed => [tile.bk, tile.bm],
            Operand::A => [tile.bm, tile.bk],
            Operand::B => [tile.bk, tile.bn],
        };
        let is_async = step.dynamic_smem_bytes > 0;
        let (width, columns) = match operand {
            // Rows are aligned, and copied by 16 bytes.
            _ if step.precision != Precision::Fp32 => (16 / step.precision.input().bytes(), shape[1]),
            Operand::A if is_async => (1, 8),
            Operand::B if is_async => (VEC, (WARP * VEC).min(tile.bn)),
            _ if step.vector_loads => (VEC, shape[1]),
            Operand::A => (1, tile.bk),
            Operand::B => (1, step.threads() / tile.bk),
        };
        // Where either operand may lie either way, a thread's copies are on a line.
        let warps = if step.transposed == Transposed::Read && operand == Operand::A { tile.bk / columns } else { 1 };
        Some(Self { width, columns, shape, is_transposed, warps })
    }

    /// What a thread copies of the slice, access by access.
    pub fn elements(&self, step: &Step, thread: u32) -> Vec<Place> {
        let Self { width, columns, shape, is_transposed, warps } = *self;
        let rows = step.threads() * width / columns / warps;
        let (warp, number) = (thread / WARP, thread / WARP / warps * WARP + thread % WARP);
        let (row, col) = (number / (columns / width), number % (columns / width) * width + warp % warps * columns);
        // Of a slice with fewer accesses than threads, the first threads copy all.
        let turns = grid(shape[0].div_ceil(rows), shape[1] / columns / warps);
        let places = turns.flat_map(|[i, j]| (0..width).map(move |v| [row + i * rows, col + j * columns + v]));
        let places = places.filter(|[row, _]| *row < shape[0]);
        places.map(|[row, col]| if is_transposed { [col, row] } else { [row, col] }).collect()
    }

    /// Accesses of a thread for a slice.
    pub fn accesses(&self, step: &Step) -> u32 {
        (self.shape[0] * self.shape[1] / self.width).div_ceil(step.threads())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use gpu_kernels::{Element, runnable};

    use super::*;

    /// All elements that threads have between them; none twice.
    fn together(places: impl Iterator<Item = Place>) -> BTreeSet<Place> {
        let mut all = BTreeSet::new();
        for place in places {
            assert!(all.insert(place), "{place:?} is there twice");
        }
        all
    }

    #[test]
    fn the_threads_of_each_step_fill_its_tile() {
        // Figures are of steps, none of whose MMAs are of single warps, as those of lower tiles, and of tiles that have fewer rows than the
        // warps' MMAs: these share k.
        let has_all_mmas = |step: &Step| {
            step.maps.is_some() || Order::of(step) != Order::Rows || step.threads() / WARP * 16 <= step.tile.bm
        };
        let is_drawn =
            |step: &&Step| step.tile.bm >= 64 && has_all_mmas(step) || step.precision.input() == Element::F32;
        for step in runnable().filter(is_drawn) {
            let places = together(computing(step).flat_map(|thread| elements(step, thread)));
            assert_eq!(places, grid(step.tile.bm, step.tile.bn).collect(), "{}", step.slug);
            let count = (step.tile.tm * step.tile.tn) as usize;
            assert_eq!(elements(step, computing(step).end - 1).len(), count, "{}", step.slug);
        }
    }

    #[test]
    fn the_threads_of_each_step_copy_its_slices() {
        for step in runnable() {
            for (operand, [rows, columns]) in
                [(Operand::A, [step.tile.bm, step.tile.bk]), (Operand::B, [step.tile.bk, step.tile.bn])]
            {
                let Some(share) = Share::of(step, operand) else { continue };
                let places = together((0..step.threads()).flat_map(|thread| share.elements(step, thread)));
                assert_eq!(places, grid(rows, columns).collect(), "{} {operand:?}", step.slug);
                assert_eq!(share.elements(step, 0).len() as u32, share.accesses(step) * share.width, "{}", step.slug);
            }
        }
    }
}
