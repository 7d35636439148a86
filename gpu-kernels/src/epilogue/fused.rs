//! Bias and activation in a kernel's own epilogue, as a [`crate::Postpass`] has them, bit for bit.
//!
//! A GELU is about 15 instructions of each element. So the epilogue is a loop, whose body has [`ROUND`] accumulators of a thread:
//! unrolled, it would be longer than all the rest of a kernel. Loads of C are in flight together.

use super::activation;
use super::direct::Output;
use crate::gemm::Gemm;
use crate::ptx::compiler;
use crate::{Activation, BiasPer, Coord};

/// Accumulators of a thread in each iteration.
pub(crate) const ROUND: usize = 16;

/// C = activation(alpha\*acc + beta\*C + bias), where C and the bias have elements of `O`: [`crate::FUSION_ARGUMENTS`].
#[derive(Clone, Copy)]
pub(crate) struct Fused<O> {
    pub bias: *const O,
    pub bias_per: u32,
    pub activation: u32,
}

/// What changes nothing when it is added, not even the sign of a zero.
pub(crate) const NOTHING: f32 = -0.0;

impl<O: Output> Fused<O> {
    /// Whether there is neither a bias nor an activation.
    #[inline(always)]
    pub fn changes_nothing(self) -> bool {
        self.bias.is_null() & (self.activation == Activation::None as u32)
    }

    /// Whether the bias has an element for each row, not for each column.
    #[inline(always)]
    pub fn is_per_row(self) -> bool {
        self.bias_per == BiasPer::Row as u32
    }

    /// N elements of the bias, so many apart; [`NOTHING`] where `bias` is null.
    ///
    /// # Safety
    /// They are in bounds of the bias, where it is not null.
    #[inline(always)]
    pub unsafe fn load<const N: usize>(bias: *const O, step: usize) -> [f32; N] {
        if bias.is_null() {
            return [NOTHING; N];
        }
        // SAFETY: upheld by the caller (see `# Safety`).
        core::array::from_fn(|i| unsafe { (*bias.add(i * step)).get() })
    }

    /// What is stored of these accumulators, of the C that was there, and of the bias or [`NOTHING`].
    #[inline(always)]
    pub fn apply<const W: usize, const V: usize>(
        self,
        g: &Gemm,
        acc: &[[f32; W]; V],
        old: &[[f32; W]; V],
        bias: &[[f32; W]; V],
    ) -> [[f32; W]; V] {
        let value = |v: usize, w: usize| g.axpby(acc[v][w], old[v][w]) + bias[v][w];
        activation::apply(self.activation, core::array::from_fn(|v| core::array::from_fn(|w| value(v, w))))
    }

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
        for round in 0..compiler::opaque((acc.len() / ROUND) as u32) {
            let round = compiler::opaque(round); // or LLVM would peel iterations in which it knows the round
            let mut values = [[0.0; W]; V];
            for i in 0..acc.len() / ROUND {
                if i as u32 == round {
                    values = core::array::from_fn(|v| core::array::from_fn(|w| acc[i * ROUND + v * W + w]));
                }
            }
            // SAFETY: upheld by the caller (see `# Safety`).
            unsafe { self.store(g, is_full_tile, values, |v| element(round * V as u32 + v)) }
        }
    }

    /// Stores V times W accumulators, of which W are adjacent in a row of C; `element(v)` is where those begin.
    ///
    /// # Safety
    /// `g.c` is (m, n) with `ldc`, the bias has an element for each of its rows or columns, and no other thread touches these elements.
    /// If `is_full_tile`, they are in bounds, and each W of them aligned to their size.
    #[allow(clippy::needless_range_loop)] // an iterator would keep the values in memory
    #[inline(always)]
    pub unsafe fn store<const W: usize, const V: usize>(
        self,
        g: &Gemm,
        is_full_tile: bool,
        acc: [[f32; W]; V],
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
        // SAFETY: in bounds of C, or predicated, and of the bias, or clamped to it.
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
            if !self.bias.is_null() {
                let bias = |index: u32| (*self.bias.add(index as usize)).get();
                if self.is_per_row() {
                    let bias: [f32; V] = core::array::from_fn(|v| bias(element(v).row.min(g.m - 1)));
                    values = core::array::from_fn(|v| values[v].map(|value| value + bias[v]));
                } else {
                    let bias = |v, w| bias((element(v).col + w as u32).min(g.n - 1));
                    values = core::array::from_fn(|v| core::array::from_fn(|w| values[v][w] + bias(v, w)));
                }
            }
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
