//! The epilogue straight from the accumulators of a warpgroup to C, and the element types of C.

use super::fused::{Fused, NOTHING, ROUND};
use crate::Coord;
use crate::gemm::Gemm;
use crate::ptx::f32x4;
use crate::ptx::{compiler, convert};

/// An element type of C.
pub(crate) trait Output: Copy {
    /// Whether two elements are a 32-bit word.
    const IS_NARROW: bool = size_of::<Self>() == 2;

    /// The number as f32.
    fn get(self) -> f32;
    /// The nearest number.
    fn new(value: f32) -> Self;
    /// The nearest two numbers as a word, if they fit into one.
    fn pair(first: f32, second: f32) -> u32;

    /// Four contiguous elements, by one load.
    ///
    /// # Safety
    /// They are in bounds of C, the first at a multiple of their size.
    #[inline(always)]
    unsafe fn load(c: *const Self) -> [f32; 4] {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            if Self::IS_NARROW {
                let four = &*c.cast::<Four<Self>>();
                [four.0.get(), four.1.get(), four.2.get(), four.3.get()]
            } else {
                f32x4::load(c.cast())
            }
        }
    }

    /// W contiguous elements, by one load.
    ///
    /// # Safety
    /// They are in bounds of C, the first at a multiple of their size.
    #[inline(always)]
    unsafe fn load_adjacent<const W: usize>(c: *const Self) -> [f32; W] {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            core::hint::assert_unchecked(c.addr().is_multiple_of(W * size_of::<Self>()));
            core::array::from_fn(|w| (*c.add(w)).get())
        }
    }

    /// Stores W contiguous elements, by one store.
    ///
    /// # Safety
    /// As of [`load_adjacent`](Self::load_adjacent), and no other thread touches them.
    #[inline(always)]
    unsafe fn store_adjacent<const W: usize>(c: *mut Self, values: [f32; W]) {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            core::hint::assert_unchecked(c.addr().is_multiple_of(W * size_of::<Self>()));
            for (w, value) in values.into_iter().enumerate() {
                *c.add(w) = Self::new(value);
            }
        }
    }

    /// Stores four contiguous elements, by one store.
    ///
    /// # Safety
    /// As of [`load`](Self::load), and no other thread touches them.
    #[inline(always)]
    unsafe fn store(c: *mut Self, values: [f32; 4]) {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe {
            if Self::IS_NARROW {
                let [low, high] = [Self::pair(values[0], values[1]), Self::pair(values[2], values[3])];
                *c.cast::<u64>() = u64::from(low) | u64::from(high) << 32;
            } else {
                f32x4::store(c.cast(), values);
            }
        }
    }
}

/// Four contiguous elements of 16 bits, by one load.
#[repr(C, align(8))]
struct Four<O>(O, O, O, O);

impl Output for f32 {
    #[inline(always)]
    fn get(self) -> f32 {
        self
    }
    #[inline(always)]
    fn new(value: f32) -> Self {
        value
    }
    #[inline(always)]
    fn pair(first: f32, _: f32) -> u32 {
        first.to_bits()
    }
}

impl Output for half::f16 {
    #[inline(always)]
    fn get(self) -> f32 {
        convert::from_f16(self.to_bits().into())
    }
    #[inline(always)]
    fn new(value: f32) -> Self {
        Self::from_bits(Self::pair(value, value) as u16)
    }
    #[inline(always)]
    fn pair(first: f32, second: f32) -> u32 {
        convert::f16x2(first, second)
    }
}

impl Output for half::bf16 {
    #[inline(always)]
    fn get(self) -> f32 {
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }
    #[inline(always)]
    fn new(value: f32) -> Self {
        Self::from_bits(Self::pair(value, value) as u16)
    }
    #[inline(always)]
    fn pair(first: f32, second: f32) -> u32 {
        convert::bf16x2(first, second)
    }
}

/// Two contiguous elements, by one load or store.
#[repr(C, align(8))]
struct Pair(f32, f32);

/// Accumulators of a thread in each 8 columns: two contiguous ones in each of two rows.
pub(crate) const OCTET: usize = 4;

/// Pairs of accumulators in each iteration of a fused epilogue: those of both rows in 32 columns.
const PAIRS: usize = ROUND / 2;

/// C = alpha*acc + beta*C, where this thread's first accumulator is at (`row`, `col`).
///
/// # Safety
/// `c` is (m, n) with `ldc`, and no other thread touches these elements.
#[inline(always)]
pub(crate) unsafe fn store<const ACC: usize>(g: &Gemm, row: u32, col: u32, acc: &[f32; ACC]) {
    let (row, col) = (compiler::opaque(row), compiler::opaque(col)); // addresses are computed after the mainloop
    let c = g.c.wrapping_add(row as usize * g.ldc + col as usize);
    let is_aligned = g.c.addr().is_multiple_of(2 * size_of::<f32>()) && g.ldc.is_multiple_of(2);
    // By the whole warpgroup's columns, so that the lanes of a row do not diverge.
    let is_full_tile = row + 8 < g.m && col / 8 * 8 + 2 * (ACC as u32) <= g.n && is_aligned;
    // A loop for each case, small enough to be fully unrolled: accumulators stay in registers. Counted loops, since an
    // iterator over an array is a pointer, which keeps the array in memory.
    // SAFETY: in bounds of C, or predicated.
    unsafe {
        if is_full_tile && g.beta == 0.0 {
            for pair in 0..ACC / 2 {
                let c = c.add(pair % 2 * 8 * g.ldc + pair / 2 * 8);
                set(c, [g.alpha * acc[2 * pair], g.alpha * acc[2 * pair + 1]]);
            }
        } else if is_full_tile {
            for pair in 0..ACC / 2 {
                let c = c.add(pair % 2 * 8 * g.ldc + pair / 2 * 8);
                let [first, second] = get(c);
                set(c, [g.axpby(acc[2 * pair], first), g.axpby(acc[2 * pair + 1], second)]);
            }
        } else {
            let left = g.n.saturating_sub(col);
            if row < g.m {
                store_line::<ACC, 0>(g, c, left, acc);
            }
            if row + 8 < g.m {
                store_line::<ACC, 1>(g, c.add(8 * g.ldc), left, acc);
            }
        }
    }
}

/// The same with what is fused.
///
/// # Safety
/// As of [`store`], where C has elements of `O`, and the bias an element for each of its rows or columns.
#[inline(always)]
pub(crate) unsafe fn store_fused<O: Output, const ACC: usize>(
    g: &Gemm,
    fused: Fused<O>,
    row: u32,
    col: u32,
    acc: &[f32; ACC],
) {
    let (row, col) = (compiler::opaque(row), compiler::opaque(col)); // as there
    let is_aligned = g.c.addr().is_multiple_of(2 * size_of::<O>()) && g.ldc.is_multiple_of(2);
    let is_full_tile = row + 8 < g.m && col / 8 * 8 + 2 * (ACC as u32) <= g.n && is_aligned;
    let element = |pair| Coord { row: row + pair % 2 * 8, col: col + pair / 2 * 8 };
    // SAFETY: upheld by the caller (see `# Safety`): in bounds of C and of the bias where the tile is full.
    unsafe {
        if !is_full_tile {
            return fused.store_all::<2, 8>(g, false, acc, element);
        }
        let [of_rows, mut of_columns] = {
            let of = |is_there, first: u32| if is_there { fused.bias.add(first as usize) } else { core::ptr::null() };
            let (is_there, is_per_row) = (!fused.bias.is_null(), fused.is_per_row());
            [of(is_there && is_per_row, row), of(is_there && !is_per_row, col)]
        };
        let rows: [f32; 2] = Fused::load(of_rows, 8);
        let mut c = g.c.cast::<O>().add(row as usize * g.ldc + col as usize);
        for round in 0..compiler::opaque((ACC / ROUND) as u32) {
            let round = compiler::opaque(round); // or LLVM would peel iterations in which it knows the round
            let mut values = [[0.0; 2]; PAIRS];
            for i in 0..ACC / ROUND {
                if i as u32 == round {
                    values = core::array::from_fn(|v| [acc[i * ROUND + 2 * v], acc[i * ROUND + 2 * v + 1]]);
                }
            }
            let at = |pair: usize| c.wrapping_add(pair % 2 * 8 * g.ldc + pair / 2 * 8);
            let mut columns = [[NOTHING; 2]; PAIRS / 2];
            if !of_columns.is_null() {
                columns = core::array::from_fn(|octet| Fused::load(of_columns.add(octet * 8), 1));
                of_columns = of_columns.wrapping_add(PAIRS / 2 * 8);
            }
            let bias = core::array::from_fn(|pair| columns[pair / 2].map(|column| rows[pair % 2] + column));
            let mut old = [[0.0; 2]; PAIRS];
            if g.beta != 0.0 {
                old = core::array::from_fn(|pair| O::load_adjacent(at(pair)));
            }
            for (pair, values) in fused.apply(g, &values, &old, &bias).into_iter().enumerate() {
                O::store_adjacent(at(pair), values);
            }
            c = c.wrapping_add(PAIRS / 2 * 8);
        }
    }
}

/// C = alpha*acc + beta*C for this thread's accumulators in its upper or lower row, one by one, where `left` columns are in
/// bounds.
///
/// # Safety
/// These are in bounds of C, and no other thread touches them.
#[inline(always)]
unsafe fn store_line<const ACC: usize, const HALF: usize>(g: &Gemm, c: *mut f32, left: u32, acc: &[f32; ACC]) {
    // One address after the other: all at once, they would take more registers than there are.
    let at = |right: u32| c.wrapping_add(right as usize * compiler::opaque(1) as usize);
    // SAFETY: in bounds of C, just checked.
    unsafe {
        if g.beta == 0.0 {
            for i in 0..ACC / 2 {
                let right = (i / 2 * 8 + i % 2) as u32;
                if right < left {
                    *at(right) = g.alpha * acc[i / 2 * OCTET + HALF * 2 + i % 2];
                }
            }
        } else {
            for i in 0..ACC / 2 {
                let right = (i / 2 * 8 + i % 2) as u32;
                if right < left {
                    let c = at(right);
                    *c = g.axpby(acc[i / 2 * OCTET + HALF * 2 + i % 2], *c);
                }
            }
        }
    }
}

/// Two contiguous elements, by one load.
#[inline(always)]
unsafe fn get(c: *const f32) -> [f32; 2] {
    // SAFETY: inside C and aligned, by the conditions.
    let pair = unsafe { &*c.cast::<Pair>() };
    [pair.0, pair.1]
}

/// Two contiguous elements, by one store.
#[inline(always)]
unsafe fn set(c: *mut f32, [first, second]: [f32; 2]) {
    // SAFETY: inside C, aligned and exclusive, by the conditions.
    let pair = unsafe { &mut *c.cast::<Pair>() };
    (pair.0, pair.1) = (first, second);
}
