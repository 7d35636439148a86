//! f32 values as sums of two smaller ones, which the tensor cores multiply: the high part is the nearest number of the kind,
//! the low part what is left. Layout: [`crate::Split`].

use crate::f32x4::{self, VEC};
use crate::ptx::convert;
use crate::ptx::wgmma::{self, Matrix, ROW_BYTES};
use crate::range::{INFINITE, Range, exponent, powers};
use crate::tile::WARP;
use crate::{Element, MAX_SIZE, NOT_SPLIT, Operand, Prepass, Split};
use cuda_std::prelude::*;

/// Words of 32 bits in a chunk, which is a row of a stage: high parts in its first half, their low parts in the other.
const CHUNK_WORDS: usize = ROW_BYTES as usize / 4;

/// A kind of parts.
pub(crate) trait Part {
    /// What they are.
    const ELEMENT: Element;
    /// Values of a chunk.
    const DEPTH: u32 = ROW_BYTES / 2 / Self::ELEMENT.bytes();
    /// Words of the high parts of VEC values.
    const WORDS: usize = (VEC * Self::ELEMENT.bytes() / 4) as usize;
    /// The pre-passes for A and B.
    const PREPASSES: &[Prepass];

    /// The exponent of the power of two that numbers in that range are multiplied by.
    fn exponent(range: Range) -> i32;

    /// The high and the low parts of neighbours, in the first WORDS words.
    fn parts(values: [f32; VEC as usize]) -> [[u32; VEC as usize]; 2];

    /// A product of parts: [`wgmma::f16`], [`wgmma::tf32`].
    ///
    /// # Safety
    /// As of these.
    unsafe fn product<const ACC: usize>(acc: &mut [f32; ACC], a: Matrix, b: Matrix, adds: bool);
}

/// f16: 11 bits each, after scaling. The largest of a row becomes at least 2^14: f16 ends at 2^16.
pub(crate) struct F16;

impl Part for F16 {
    const ELEMENT: Element = Element::F16;
    const PREPASSES: &[Prepass] = &prepasses::<Self>(["split_rows_f16", "split_columns_f16"]);

    #[inline(always)]
    fn exponent(range: Range) -> i32 {
        const TOP: i32 = 14;
        // From there down to f16's smallest number: what is further below the largest would vanish.
        const SPAN: i32 = TOP + 24;
        // Down to there a number has all its bits. Where most have less, a row is its largest, and noise.
        const DEPTH: f32 = 14.0;
        if range.largest == 0 {
            0
        } else if range.largest >= INFINITE || range.span() > SPAN || range.depth() > DEPTH {
            NOT_SPLIT
        } else {
            TOP - exponent(range.largest)
        }
    }

    #[inline(always)]
    fn parts([x, y, z, w]: [f32; VEC as usize]) -> [[u32; VEC as usize]; 2] {
        let high = [convert::f16x2(x, y), convert::f16x2(z, w)];
        let rest = |value: f32, bits: u32| value - convert::from_f16(bits);
        let low = [
            convert::f16x2(rest(x, high[0]), rest(y, high[0] >> 16)),
            convert::f16x2(rest(z, high[1]), rest(w, high[1] >> 16)),
        ];
        [high, low].map(|[first, second]| [first, second, 0, 0])
    }

    #[inline(always)]
    unsafe fn product<const ACC: usize>(acc: &mut [f32; ACC], a: Matrix, b: Matrix, adds: bool) {
        // SAFETY: by the caller's promise.
        unsafe { wgmma::f16(acc, a, b, adds) }
    }
}

/// TF32: 11 bits each, and the exponents of f32, so that nothing is scaled.
pub(crate) struct Tf32;

impl Part for Tf32 {
    const ELEMENT: Element = Element::F32;
    const PREPASSES: &[Prepass] = &prepasses::<Self>(["split_rows_tf32", "split_columns_tf32"]);

    #[inline(always)]
    fn exponent(range: Range) -> i32 {
        // What would be rounded up to infinity; and numbers whose low part has no exponent any more.
        const LARGE: u32 = INFINITE - (1 << 12);
        const SMALL: i32 = -126 + 24;
        // Where the numbers are so far apart, a sum is one product, which SGEMM rounds once.
        const DEPTH: f32 = 24.0;
        if range.largest == 0 {
            0
        } else if range.largest >= LARGE || exponent(range.smallest) < SMALL || range.depth() > DEPTH {
            NOT_SPLIT
        } else {
            0
        }
    }

    #[inline(always)]
    fn parts(values: [f32; VEC as usize]) -> [[u32; VEC as usize]; 2] {
        let high = values.map(convert::tf32);
        let low: [f32; VEC as usize] = core::array::from_fn(|i| convert::tf32(values[i] - high[i]));
        [high, low].map(|parts| parts.map(f32::to_bits))
    }

    #[inline(always)]
    unsafe fn product<const ACC: usize>(acc: &mut [f32; ACC], a: Matrix, b: Matrix, adds: bool) {
        // SAFETY: by the caller's promise.
        unsafe { wgmma::tf32(acc, a, b, adds) }
    }
}

/// What numbers are multiplied by; nothing comes of those that cannot be split.
#[inline(always)]
fn scale<const N: usize>(values: [f32; N], exponent: i32) -> [f32; N] {
    let [first, second] = powers(exponent);
    values.map(|value| if exponent == NOT_SPLIT { 0.0 } else { value * first * second })
}

/// Warps of a block that splits rows: a row each.
const ROW_WARPS: u32 = 4;
/// Warps of a block that splits columns, of which each lane has one.
const COLUMN_WARPS: u32 = 8;

/// The pre-passes with these kernels.
const fn prepasses<P: Part>([rows, columns]: [&'static str; 2]) -> [Prepass; 2] {
    let of_rows = Prepass {
        kernel: rows,
        operand: Operand::A,
        transposes: false,
        split: Some(Split { part: P::ELEMENT, depth: P::DEPTH }),
        only_unaligned: false,
        tile: [ROW_WARPS, MAX_SIZE],
        threads: ROW_WARPS * WARP,
    };
    let of_columns = Prepass {
        kernel: columns,
        operand: Operand::B,
        transposes: true,
        tile: [MAX_SIZE, WARP],
        threads: COLUMN_WARPS * WARP,
        ..of_rows
    };
    [of_rows, of_columns]
}

/// VEC values of a row of so many, zeros behind its end.
#[inline(always)]
unsafe fn load(row: *const f32, col: u32, columns: u32, is_wide: bool) -> [f32; VEC as usize] {
    // SAFETY: inside the row, by the conditions.
    unsafe {
        if is_wide && col + VEC <= columns {
            f32x4::load(row.add(col as usize))
        } else {
            core::array::from_fn(|i| if col + (i as u32) < columns { *row.add(col as usize + i) } else { 0.0 })
        }
    }
}

/// Splits rows: a warp each, twice over it, the second time out of the caches.
#[inline(always)]
unsafe fn split_rows<P: Part>(
    rows: u32,
    columns: u32,
    source: *const f32,
    ld: u32,
    target: *mut u32,
    target_ld: u32,
    scales: *mut i32,
) {
    /// Groups of VEC that a lane has on their way at once.
    const AT_ONCE: usize = 4;
    const STRIDE: u32 = VEC * WARP;
    let row = thread::block_idx_y() * ROW_WARPS + thread::thread_idx_x() / WARP;
    if row >= rows {
        return;
    }
    let is_wide = f32x4::aligned(source, ld as usize);
    let first = warp::lane_id() * VEC;
    // SAFETY: row is below rows, and the columns that are read or written are inside it; a row of the target has whole chunks.
    unsafe {
        let source = source.add(row as usize * ld as usize);
        let chunks = target.add(row as usize * (target_ld as usize * P::ELEMENT.bytes() as usize / 4));
        let mut range = Range::NONE;
        let mut col = first;
        while col < columns {
            let values: [_; AT_ONCE] =
                core::array::from_fn(|i| load(source, col + i as u32 * STRIDE, columns, is_wide));
            range = values.as_flattened().iter().fold(range, |range, value| range.with(*value));
            col += AT_ONCE as u32 * STRIDE;
        }
        let mut distance = WARP / 2;
        while distance > 0 {
            let other = |bits: u32| warp::warp_shuffle_xor(u32::MAX, bits, distance, WARP).0;
            range = range.and(Range {
                largest: other(range.largest),
                smallest: other(range.smallest),
                count: f32::from_bits(other(range.count.to_bits())),
                exponents: f32::from_bits(other(range.exponents.to_bits())),
            });
            distance /= 2;
        }
        let exponent = P::exponent(range);
        if first == 0 {
            *scales.add(row as usize) = exponent;
        }
        let mut col = first;
        while col < columns.next_multiple_of(P::DEPTH) {
            let values: [_; AT_ONCE] =
                core::array::from_fn(|i| load(source, col + i as u32 * STRIDE, columns, is_wide));
            for values in values {
                if col < columns.next_multiple_of(P::DEPTH) {
                    let chunk = chunks.add((col / P::DEPTH) as usize * CHUNK_WORDS);
                    let word = (col % P::DEPTH / VEC) as usize * P::WORDS;
                    for (half, words) in P::parts(scale(values, exponent)).into_iter().enumerate() {
                        let to = chunk.add(half * CHUNK_WORDS / 2 + word);
                        if P::WORDS == VEC as usize {
                            f32x4::store(to.cast(), words.map(f32::from_bits));
                        } else {
                            *to.cast::<u64>() = u64::from(words[0]) | u64::from(words[1]) << 32;
                        }
                    }
                }
                col += STRIDE;
            }
        }
    }
}

#[address_space(shared)]
static mut RANGES: [[MaybeUninit<Range>; WARP as usize]; COLUMN_WARPS as usize] =
    [const { [const { MaybeUninit::uninit() }; WARP as usize] }; COLUMN_WARPS as usize];

/// A chunk of each column, for each warp.
#[address_space(shared)]
static mut CHUNKS: [MaybeUninit<f32>; COLUMN_WARPS as usize * WARP as usize * CHUNK_WORDS] =
    [const { MaybeUninit::uninit() }; COLUMN_WARPS as usize * WARP as usize * CHUNK_WORDS];

/// Splits columns, which become rows: a block 32 of them, a lane each, a warp a chunk at a time. A chunk goes through shared
/// memory, so that neighbouring lanes write neighbours.
#[inline(always)]
unsafe fn split_columns<P: Part>(
    rows: u32,
    columns: u32,
    source: *const f32,
    ld: u32,
    target: *mut u32,
    target_ld: u32,
    scales: *mut i32,
) {
    /// Pieces of 16 bytes of a chunk.
    const PIECES: u32 = CHUNK_WORDS as u32 / VEC;
    let (warp, lane) = (thread::thread_idx_x() / WARP, warp::lane_id());
    let first_col = thread::block_idx_x() * WARP;
    let col = first_col + lane;
    let chunks = rows.div_ceil(P::DEPTH);
    // SAFETY: what is read is below rows and columns; chunks are inside the target's rows; each warp has its own part of CHUNKS.
    unsafe {
        let source = source.wrapping_add(col as usize);
        let load = |chunk: u32| -> [f32; WARP as usize] {
            core::array::from_fn(|i| {
                let row = chunk * P::DEPTH + i as u32;
                let is_inside = (i as u32) < P::DEPTH && row < rows && col < columns;
                if is_inside { *source.wrapping_add(row as usize * ld as usize) } else { 0.0 }
            })
        };
        let mut range = Range::NONE;
        for chunk in (warp..chunks).step_by(COLUMN_WARPS as usize) {
            range = load(chunk).iter().fold(range, |range, value| range.with(*value));
        }
        let ranges = (&raw mut RANGES).cast::<Range>();
        *ranges.add((warp * WARP + lane) as usize) = range;
        thread::sync_threads(); // the ranges of all warps are there
        let all = (0..COLUMN_WARPS).map(|warp| *ranges.add((warp * WARP + lane) as usize));
        let range = all.fold(Range::NONE, Range::and);
        let exponent = P::exponent(range);
        if warp == 0 && col < columns {
            *scales.add(col as usize) = exponent;
        }

        let smem = (&raw mut CHUNKS).cast::<f32>().add((warp * WARP) as usize * CHUNK_WORDS); // (32, CHUNK_WORDS)
        let piece_at =
            |row: u32, piece: u32| smem.add(row as usize * CHUNK_WORDS + ((piece ^ row) % PIECES * VEC) as usize);
        let row_words = target_ld as usize * P::ELEMENT.bytes() as usize / 4;
        for chunk in (warp..chunks).step_by(COLUMN_WARPS as usize) {
            let values = scale(load(chunk), exponent);
            let mut words = [0; CHUNK_WORDS];
            for (i, values) in values.as_chunks().0.iter().enumerate().take((P::DEPTH / VEC) as usize) {
                let [high, low] = P::parts(*values);
                for word in 0..P::WORDS {
                    words[i * P::WORDS + word] = high[word];
                    words[CHUNK_WORDS / 2 + i * P::WORDS + word] = low[word];
                }
            }
            for (piece, words) in (0..).zip(words.as_chunks().0) {
                f32x4::store(piece_at(lane, piece), words.map(f32::from_bits));
            }
            warp::sync_warp(u32::MAX); // the chunks of all lanes are there
            let (row, piece) = (lane / PIECES, lane % PIECES);
            for row in (row..WARP).step_by((WARP / PIECES) as usize) {
                if first_col + row < columns {
                    let to = target.add((first_col + row) as usize * row_words + chunk as usize * CHUNK_WORDS);
                    f32x4::store(to.cast::<f32>().add((piece * VEC) as usize), f32x4::load(piece_at(row, piece)));
                }
            }
            warp::sync_warp(u32::MAX); // all have read them
        }
    }
}

/// Makes a pre-pass's kernel.
macro_rules! kernels {
    ($($kernel:ident $splits:ident $part:ty, $threads:expr;)*) => {$(
        /// Splits: see [`Split`].
        ///
        /// # Safety
        /// `source` is a device buffer of `rows` x `columns` with that leading dimension, `target` one for the chunks of its
        /// rows, or columns, and `scales` one of an exponent for each; launched as the [`Prepass`] says.
        #[kernel]
        #[launch_bounds($threads)]
        pub unsafe fn $kernel(
            rows: u32,
            columns: u32,
            source: *const f32,
            ld: u32,
            target: *mut u32,
            target_ld: u32,
            scales: *mut i32,
        ) {
            // SAFETY: by the caller's promise.
            unsafe { $splits::<$part>(rows, columns, source, ld, target, target_ld, scales) }
        }
    )*};
}

kernels! {
    split_rows_f16 split_rows F16, ROW_WARPS * WARP;
    split_columns_f16 split_columns F16, COLUMN_WARPS * WARP;
    split_rows_tf32 split_rows Tf32, ROW_WARPS * WARP;
    split_columns_tf32 split_columns Tf32, COLUMN_WARPS * WARP;
}
