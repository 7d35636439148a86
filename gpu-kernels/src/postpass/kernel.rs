//! What runs on the device.

use cuda_std::prelude::*;
use half::{bf16, f16};

use super::{LANES, ROWS, THREADS, TILE};
use crate::BiasPer;
use crate::epilogue::activation;
use crate::epilogue::direct::Output;
use crate::epilogue::fused::NOTHING;
use crate::gemm::axpby;
use crate::hardware::VEC;
use crate::ptx::{compiler, f32x4, griddepcontrol};

/// Planes of W, beside the first, whose loads are in flight together.
const PLANES: u32 = 4;

/// Values of a thread: VEC in each of its rows.
type Values = [[f32; VEC as usize]; ROWS as usize];

macro_rules! kernels {
    ($($kernel:ident $element:ty;)*) => {$(
        /// D = activation(alpha\*W + beta\*C + bias): see [`crate::Postpass`].
        ///
        /// # Safety
        /// `w`, `c`, `d` and `bias` are device buffers of these extents and strides, of which `c` need not be one where beta is 0,
        /// and `w` where alpha is 0; launched as the [`crate::Postpass`] says.
        #[kernel]
        #[launch_bounds(THREADS)]
        pub unsafe fn $kernel(
            m: u32,
            n: u32,
            w: *const f32,
            ldw: u32,
            planes: u32,
            plane_stride: u64,
            alpha: f32,
            alpha_at: *const f32,
            beta: f32,
            beta_at: *const f32,
            c: *const $element,
            c_row_stride: u64,
            c_col_stride: u64,
            d: *mut $element,
            ldd: u64,
            bias: *const $element,
            bias_per: u32,
            activation: u32,
        ) {
            griddepcontrol::wait_then_launch_dependents();
            // SAFETY: upheld by the caller (see `# Safety`).
            unsafe {
                let scalar = |value: f32, at: *const f32| if at.is_null() { value } else { *at };
                let (alpha, beta) = (scalar(alpha, alpha_at), scalar(beta, beta_at));
                let c_strides = [c_row_stride as usize, c_col_stride as usize];
                let (ldw, ldd, plane_stride) = (ldw as usize, ldd as usize, plane_stride as usize);
                finish(&Operands { m, n, w, ldw, planes, plane_stride, alpha, beta, c, c_strides, d, ldd, bias, bias_per, activation });
            }
        }
    )*};
}

kernels! {
    finish_f32 f32;
    finish_f16 f16;
    finish_bf16 bf16;
}

/// The arguments of a kernel: [`crate::POSTPASS_ARGUMENTS`].
struct Operands<O> {
    m: u32,
    n: u32,
    w: *const f32,
    ldw: usize,
    planes: u32,
    plane_stride: usize,
    alpha: f32,
    beta: f32,
    c: *const O,
    /// From row to row, and from column to column.
    c_strides: [usize; 2],
    d: *mut O,
    ldd: usize,
    bias: *const O,
    bias_per: u32,
    activation: u32,
}

impl<O: Output> Operands<O> {
    /// The address of W[row][col], which may be out of bounds; an access may not.
    #[inline(always)]
    fn w(&self, row: u32, col: u32) -> *const f32 {
        self.w.wrapping_add(row as usize * self.ldw + col as usize)
    }

    /// The address of C[row][col], likewise.
    #[inline(always)]
    fn c(&self, row: u32, col: u32) -> *const O {
        let [row_stride, col_stride] = self.c_strides;
        self.c
            .wrapping_add((row as usize).wrapping_mul(row_stride).wrapping_add((col as usize).wrapping_mul(col_stride)))
    }

    /// The address of D[row][col], likewise.
    #[inline(always)]
    fn d(&self, row: u32, col: u32) -> *mut O {
        self.d.wrapping_add((row as usize).wrapping_mul(self.ldd).wrapping_add(col as usize))
    }

    /// Whether VEC columns of all that is accessed are aligned to one access.
    #[inline(always)]
    fn rows_are_aligned(&self) -> bool {
        let is_aligned = |matrix: *const O, ld: usize| {
            matrix.addr().is_multiple_of(VEC as usize * size_of::<O>()) && ld.is_multiple_of(VEC as usize)
        };
        let [row_stride, col_stride] = self.c_strides;
        f32x4::aligned(self.w, self.ldw)
            && is_aligned(self.d, self.ldd)
            && (self.beta == 0.0 || col_stride == 1 && is_aligned(self.c, row_stride))
    }
}

#[inline(always)]
#[allow(clippy::needless_range_loop)] // an iterator would keep the values in memory
unsafe fn finish<O: Output>(g: &Operands<O>) {
    // tile coordinates
    let (block, tid) = (thread::block_idx_x(), thread::thread_idx_x());
    let tiles_n = g.n.div_ceil(TILE.cols).max(1);
    let (first_row, tile_col) = (block / tiles_n * TILE.rows + tid / LANES, block % tiles_n * TILE.cols);
    let row = |i: usize| first_row + i as u32 * (THREADS / LANES);
    // VEC adjacent columns; those of adjacent lanes alternate where rows are not aligned
    let is_wide = tile_col + TILE.cols <= g.n && g.rows_are_aligned();
    let (first_col, step) = if is_wide { (tile_col + tid % LANES * VEC, 1) } else { (tile_col + tid % LANES, LANES) };
    let col = |j: usize| first_col + j as u32 * step;

    // SAFETY: in bounds, just checked. No other thread has these elements of C and D, and a thread loads its own before it stores.
    unsafe {
        // global to registers
        let mut acc: Values = [[0.0; VEC as usize]; ROWS as usize];
        let mut old: Values = [[0.0; VEC as usize]; ROWS as usize];
        let mut bias: Values = [[0.0; VEC as usize]; ROWS as usize];
        let (reads_w, reads_c, has_bias) = (g.alpha != 0.0, g.beta != 0.0, !g.bias.is_null());
        if is_wide {
            for i in 0..ROWS as usize {
                if reads_w && row(i) < g.m {
                    acc[i] = f32x4::load(g.w(row(i), first_col));
                }
                if reads_c && row(i) < g.m {
                    old[i] = O::load(g.c(row(i), first_col));
                }
            }
            compiler::keep_loads_above(); // or else both kinds of loads would become one
        } else {
            for i in 0..ROWS as usize {
                for j in 0..VEC as usize {
                    let is_in_bounds = row(i) < g.m && col(j) < g.n;
                    if reads_w && is_in_bounds {
                        acc[i][j] = *g.w(row(i), col(j));
                    }
                    if reads_c && is_in_bounds {
                        old[i][j] = (*g.c(row(i), col(j))).get();
                    }
                }
            }
        }
        if has_bias && g.bias_per == BiasPer::Row as u32 {
            for i in 0..ROWS as usize {
                if row(i) < g.m {
                    bias[i] = [(*g.bias.add(row(i) as usize)).get(); VEC as usize];
                }
            }
        } else if has_bias {
            for j in 0..VEC as usize {
                if col(j) < g.n {
                    let value = (*g.bias.add(col(j) as usize)).get();
                    bias.iter_mut().for_each(|row| row[j] = value);
                }
            }
        }

        // The other planes.
        let end = if reads_w { g.planes } else { 1 };
        let w = |plane: u32, i: usize, j: usize| g.w(row(i), col(j)).wrapping_add(plane as usize * g.plane_stride);
        let mut plane = 1;
        while is_wide && plane < end {
            let mut others: [Values; PLANES as usize] = [[[NOTHING; VEC as usize]; ROWS as usize]; PLANES as usize];
            for (p, other) in (plane..).zip(&mut others) {
                for i in 0..ROWS as usize {
                    if p < end && row(i) < g.m {
                        other[i] = f32x4::load(w(p, i, 0));
                    }
                }
            }
            compiler::keep_loads_above();
            for other in others {
                acc = core::array::from_fn(|i| core::array::from_fn(|j| acc[i][j] + other[i][j]));
            }
            plane += PLANES;
        }
        while plane < end {
            let mut other: Values = [[NOTHING; VEC as usize]; ROWS as usize];
            for i in 0..ROWS as usize {
                for j in 0..VEC as usize {
                    if row(i) < g.m && col(j) < g.n {
                        other[i][j] = *w(plane, i, j);
                    }
                }
            }
            acc = core::array::from_fn(|i| core::array::from_fn(|j| acc[i][j] + other[i][j]));
            plane += 1;
        }

        // epilogue
        for i in 0..ROWS as usize {
            let values = core::array::from_fn(|j| {
                let value = axpby(g.alpha, g.beta, acc[i][j], old[i][j]);
                if has_bias { value + bias[i][j] } else { value } // + 0 would make 0 of -0
            });
            let [values]: [[f32; VEC as usize]; 1] = activation::apply(g.activation, [values]);
            if is_wide && row(i) < g.m {
                O::store(g.d(row(i), first_col), values);
                compiler::keep_loads_above(); // and of stores
            } else if row(i) < g.m {
                for j in 0..VEC as usize {
                    if col(j) < g.n {
                        *g.d(row(i), col(j)) = O::new(values[j]);
                    }
                }
            }
        }
    }
}
