//! Bias and activation in a kernel's own epilogue, as a [`crate::Postpass`] has them, bit for bit.
//!
//! A GELU is about 15 instructions of each element. So the epilogue is a loop, whose body has [`ROUND`] accumulators of a thread:
//! unrolled, it would be longer than all the rest of a kernel. Loads of C are in flight together.

use super::activation;
use super::direct::Output;
use crate::gemm::Gemm;
use crate::ptx::compiler;
use crate::{BiasPer, Coord};

/// Accumulators of a thread in each iteration.
const ROUND: usize = 16;

/// What changes nothing when it is added, not even the sign of a zero.
const NO_BIAS: f32 = -0.0;

/// C = activation(alpha\*acc + beta\*C + bias), where C and the bias have elements of `O`: [`crate::FUSION_ARGUMENTS`].
#[derive(Clone, Copy)]
pub(crate) struct Fused<O> {
    pub bias: *const O,
    pub bias_per: u32,
    pub activation: u32,
}

impl<O: Output> Fused<O> {
    /// Stores all of a thread's accumulators, whose number is a multiple of [`ROUND`]: each W of them are adjacent in a row of C, and
    /// `element(i)` is where the W of that index begin. V times W are a round.
    ///
    /// # Safety
    /// As of [`store`](Self::store).
    #[inline(always)]
    pub unsafe fn store_all<const W: usize, const V: usize>(
        self,
        g: &Gemm,
        is_full_tile: bool,
        acc: &[f32],
        element: impl Fn(u32) -> Coord,
    ) {
        const { assert!(W * V == ROUND) }
        // SAFETY: upheld by the caller (see `# Safety`).
        let bias_of = |round: u32| unsafe { self.bias_of(g, |v| element(round * V as u32 + v)) };
        let mut next = bias_of(0);
        for round in 0..compiler::opaque((acc.len() / ROUND) as u32) {
            let round = compiler::opaque(round); // or LLVM would peel iterations in which it knows the round
            // Of the next round, so that it is there when its time comes.
            let bias: [[f32; W]; V] = core::mem::replace(&mut next, bias_of(round + 1));
            let mut values = [[0.0; W]; V];
            for i in 0..acc.len() / ROUND {
                if i as u32 == round {
                    values = core::array::from_fn(|v| core::array::from_fn(|w| acc[i * ROUND + v * W + w]));
                }
            }
            // SAFETY: upheld by the caller (see `# Safety`).
            unsafe { self.store_with(g, is_full_tile, values, bias, |v| element(round * V as u32 + v)) }
        }
    }

    /// Whether the bias has an element for each row, not for each column.
    #[inline(always)]
    pub fn is_per_row(self) -> bool {
        self.bias_per == BiasPer::Row as u32
    }

    /// The bias of the rows, or of the columns if it has an element for each of these, in bounds of C or beyond; [`NO_BIAS`] where there is
    /// none.
    ///
    /// # Safety
    /// The bias has an element for each row or column of C.
    #[inline(always)]
    pub unsafe fn bias<const N: usize>(self, g: &Gemm, row: impl Fn(u32) -> u32, col: impl Fn(u32) -> u32) -> [f32; N] {
        if self.bias.is_null() {
            return [NO_BIAS; N];
        }
        core::array::from_fn(|i| {
            let i = i as u32;
            let index = if self.is_per_row() { row(i).min(g.m - 1) } else { col(i).min(g.n - 1) };
            // SAFETY: clamped to the bias.
            unsafe { (*self.bias.add(index as usize)).get() }
        })
    }

    /// The bias of V times W accumulators, of which W are adjacent in a row of C; `element(v)` is where those begin.
    #[inline(always)]
    unsafe fn bias_of<const W: usize, const V: usize>(self, g: &Gemm, element: impl Fn(u32) -> Coord) -> [[f32; W]; V] {
        core::array::from_fn(|v| {
            let Coord { row, col } = element(v as u32);
            // SAFETY: upheld by the caller of the callers.
            unsafe { self.bias(g, |_| row, |w| col + w) }
        })
    }

    /// As [`store_with`](Self::store_with), with the bias of these elements.
    ///
    /// # Safety
    /// As of [`store_with`](Self::store_with), and the bias has an element for each row or column of C.
    #[inline(always)]
    pub unsafe fn store<const W: usize, const V: usize>(
        self,
        g: &Gemm,
        is_full_tile: bool,
        acc: [[f32; W]; V],
        element: impl Fn(u32) -> Coord,
    ) {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { self.store_with(g, is_full_tile, acc, self.bias_of(g, &element), element) }
    }

    /// Stores V times W accumulators with their bias, of which W are adjacent in a row of C; `element(v)` is where those begin.
    ///
    /// # Safety
    /// `g.c` is (m, n) with `ldc`, and no other thread touches these elements. If `is_full_tile`, they are in bounds, and each W of them
    /// aligned to their size.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the values in memory
    #[inline(always)]
    pub unsafe fn store_with<const W: usize, const V: usize>(
        self,
        g: &Gemm,
        is_full_tile: bool,
        acc: [[f32; W]; V],
        bias: [[f32; W]; V],
        element: impl Fn(u32) -> Coord,
    ) {
        let element = |v: usize| element(v as u32);
        let c = |v: usize| {
            let Coord { row, col } = element(v);
            g.c.cast::<O>().wrapping_add(row as usize * g.ldc + col as usize)
        };
        let is_in_bounds = |v: usize, w: usize| {
            let Coord { row, col } = element(v);
            row < g.m && col + (w as u32) < g.n
        };
        // SAFETY: in bounds of C, or predicated.
        unsafe {
            let mut old = [[0.0; W]; V];
            if g.beta != 0.0 && is_full_tile {
                old = core::array::from_fn(|v| O::load_adjacent(c(v)));
            } else if g.beta != 0.0 {
                let load = |v, w| if is_in_bounds(v, w) { (*c(v).wrapping_add(w)).get() } else { 0.0 };
                old = core::array::from_fn(|v| core::array::from_fn(|w| load(v, w)));
            }
            let mut values: [[f32; W]; V] =
                core::array::from_fn(|v| core::array::from_fn(|w| g.axpby(acc[v][w], old[v][w])));
            values = core::array::from_fn(|v| core::array::from_fn(|w| values[v][w] + bias[v][w]));
            let values = activation::apply(self.activation, values);
            for v in 0..V {
                if is_full_tile {
                    O::store_adjacent(c(v), values[v]);
                    continue;
                }
                for w in 0..W {
                    if is_in_bounds(v, w) {
                        *c(v).wrapping_add(w) = O::new(values[v][w]);
                    }
                }
            }
        }
    }
}
