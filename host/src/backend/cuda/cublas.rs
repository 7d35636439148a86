//! cuBLAS, out of the library that the machine has, if any.

use std::ffi::c_void;
use std::ptr;

use cudarc::cublas::result;
use cudarc::cublas::sys::{
    self, cublasComputeType_t, cublasGemmAlgo_t, cublasHandle_t, cublasMath_t, cublasOperation_t,
    cublasOperation_t::{CUBLAS_OP_N, CUBLAS_OP_T},
    cudaDataType,
};
use cust::memory::DeviceBuffer;
use cust::stream::Stream;
use gpu_kernels::{Element, Precision};
use sgemm::Product;

use super::operands::Gemm;
use super::raw;
use crate::backend::{Baseline, Case, Op, Order};
use crate::{Error, Problem};

/// A handle of cuBLAS, bound to a stream.
pub(super) struct Cublas {
    handle: cublasHandle_t,
}

impl Cublas {
    /// Loads cuBLAS and sets it up to queue products in `stream`.
    ///
    /// # Safety
    /// It must be dropped before `stream`.
    pub(super) unsafe fn load(stream: &Stream) -> Result<Self, Error> {
        // SAFETY: loads the library by the names that every later call loads it by, and runs only what NVIDIA's library
        // does when it is loaded. Those calls panic where it is missing.
        if !unsafe { sys::is_culib_present() } {
            let hint = if cfg!(windows) { "PATH" } else { "LD_LIBRARY_PATH" };
            let reason = format!("the loader finds no cublas library; install CUDA, or put its folder into {hint}");
            return Err(Error::NoCublas { reason });
        }
        let unusable = |error: result::CublasError| Error::NoCublas { reason: error.to_string() };
        let cublas = Self { handle: result::create_handle().map_err(unusable)? };
        // SAFETY: the handle was created above; the stream is alive, and the caller keeps it longer than the handle.
        unsafe { result::set_stream(cublas.handle, raw::stream(stream).cast()) }.map_err(unusable)?;
        // SAFETY: the handle was created above.
        unsafe { sys::cublasSetMathMode(cublas.handle, cublasMath_t::CUBLAS_DEFAULT_MATH) }
            .result()
            .map_err(unusable)?;
        Ok(cublas)
    }

    /// The library's version, such as `13.1.0`.
    pub(super) fn version(&self) -> Result<String, Error> {
        let mut version = 0;
        // SAFETY: the handle lives as long as `self`; `version` is a place to write an int to.
        let status = unsafe { sys::cublasGetVersion_v2(self.handle, &raw mut version) };
        status.result().map_err(|error| Error::NoCublas { reason: error.to_string() })?;
        Ok(format_version(version))
    }

    /// Makes cuBLAS use this memory where it needs some, in place of its own, which it could not while a graph is recorded.
    ///
    /// # Safety
    /// The memory lives as long as the handle queues anything, and nothing else uses it in another stream.
    pub(super) unsafe fn set_workspace(&self, memory: &DeviceBuffer<u32>) -> Result<(), Error> {
        let address = ptr::without_provenance_mut(raw::address(memory) as usize);
        // SAFETY: the handle lives as long as `self`; the memory has so many bytes, and the caller keeps it.
        let status = unsafe { sys::cublasSetWorkspace_v2(self.handle, address, memory.len() * size_of::<u32>()) };
        let what = || "give cuBLAS its workspace".into();
        status.result().map_err(|error| Error::Cuda { what: what(), reason: error.to_string() })
    }

    /// Queues the product in the baseline's arithmetic.
    ///
    /// # Safety
    /// No size is 0. The operands have as many elements as the product says, of the baseline's types, and live until it is done, and
    /// as long as a graph that recorded it is launched.
    pub(super) unsafe fn queue(&self, baseline: &Baseline, product: &ColumnMajor) -> Result<(), Error> {
        let ColumnMajor { ops: [op_a, op_b], sizes: [m, n, k], lds: [lda, ldb, ldc], batch, .. } = *product;
        let [a, b, c] = product.addresses.map(|address| ptr::without_provenance_mut::<c_void>(address as usize));
        let (handle, a, b) = (self.handle, a.cast_const(), b.cast_const());
        let [alpha, beta] = [&raw const product.alpha, &raw const product.beta];
        let (input, output) = (data_type(baseline.precision.input()), data_type(baseline.output));
        let compute = match baseline.precision {
            Precision::Tf32 => cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32,
            _ => cublasComputeType_t::CUBLAS_COMPUTE_32F,
        };
        let algorithm = cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT;
        let [a_stride, b_stride, c_stride] = product.strides;
        let is_sgemm = (baseline.precision, baseline.output) == (Precision::Fp32, Element::F32);
        // SAFETY: the handle lives as long as `self`; the caller vouches for the operands. The factors are f32, as sums are, and read
        // before the call returns, since cuBLAS's pointer mode is the host's by default.
        #[rustfmt::skip]
        let queued = unsafe {
            match (is_sgemm, batch) {
                (true, 1) => result::sgemm(
                    handle, op_a, op_b, m, n, k, alpha, a.cast(), lda, b.cast(), ldb, beta, c.cast(), ldc,
                ),
                (true, _) => result::sgemm_strided_batched(
                    handle, op_a, op_b, m, n, k, alpha, a.cast(), lda, a_stride, b.cast(), ldb, b_stride, beta, c.cast(), ldc,
                    c_stride, batch,
                ),
                (false, 1) => result::gemm_ex(
                    handle, op_a, op_b, m, n, k, alpha.cast(), a, input, lda, b, input, ldb, beta.cast(), c, output, ldc, compute,
                    algorithm,
                ),
                (false, _) => result::gemm_strided_batched_ex(
                    handle, op_a, op_b, m, n, k, alpha.cast(), a, input, lda, a_stride, b, input, ldb, b_stride, beta.cast(), c,
                    output, ldc, c_stride, batch, compute, algorithm,
                ),
            }
        };
        queued.map_err(|error| Error::Cuda { what: format!("run {}", baseline.name), reason: error.to_string() })
    }

    /// Queues C = alpha*A*B + beta*C in the baseline's arithmetic, where m and n are not 0.
    pub(super) fn gemm(&self, baseline: &Baseline, gemm: &Gemm) -> Result<(), Error> {
        // SAFETY: read as row-major, A has m * lda elements, B k * ldb and C m * ldc, as `gemm` vouches for, of the baseline's types,
        // which `Problem::check_kernel` checked. The product runs asynchronously, and freeing the operands waits for it.
        unsafe { self.queue(baseline, &ColumnMajor::of_rows(gemm)) }
    }
}

/// A product as cuBLAS takes it: column-major, once or for each problem of a strided batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ColumnMajor {
    ops: [cublasOperation_t; 2],
    sizes: [i32; 3],
    lds: [i32; 3],
    /// Elements between the matrices of a batch.
    strides: [i64; 3],
    batch: i32,
    addresses: [u64; 3],
    alpha: f32,
    beta: f32,
}

impl ColumnMajor {
    /// The same with A and B exchanged, m and n with them: a row-major product is this of its transposes, C^T = B^T * A^T.
    fn swapped(self) -> Self {
        fn swap<T>([a, b, c]: [T; 3]) -> [T; 3] {
            [b, a, c]
        }
        let Self { ops: [op_a, op_b], sizes, lds, strides, addresses, .. } = self;
        let (sizes, lds, strides, addresses) = (swap(sizes), swap(lds), swap(strides), swap(addresses));
        Self { ops: [op_b, op_a], sizes, lds, strides, addresses, ..self }
    }

    /// Of row-major matrices.
    fn of_rows(gemm: &Gemm) -> Self {
        let Problem { gemm: Product { m, n, k, lda, ldb, ldc, .. }, alpha, beta, .. } = gemm.problem;
        // `gemm` checked that none is above `gpu_kernels::MAX_SIZE`, the largest i32.
        let [sizes, lds] = [[m, n, k], [lda, ldb, ldc]].map(|sizes| sizes.map(|size| size as i32));
        let (ops, addresses) = ([CUBLAS_OP_N; 2], gemm.addresses());
        Self { ops, sizes, lds, strides: [0; 3], batch: 1, addresses, alpha, beta }.swapped()
    }

    /// C = op(A)*op(B), of matrices at these addresses.
    pub(super) fn of_case(case: &Case, addresses: [u64; 3]) -> Self {
        let op = |op| match op {
            Op::N => CUBLAS_OP_N,
            Op::T => CUBLAS_OP_T,
        };
        let column_major = Self {
            ops: case.ops.map(op),
            sizes: case.sizes.map(|size| size as i32),
            lds: case.stored().map(|stored| stored.ld() as i32),
            strides: case.elements().map(|elements| elements as i64),
            batch: case.batch as i32,
            addresses,
            alpha: 1.0,
            beta: 0.0,
        };
        match case.order {
            Order::Column => column_major,
            Order::Row => column_major.swapped(),
        }
    }
}

fn data_type(element: Element) -> cudaDataType {
    match element {
        Element::F32 => cudaDataType::CUDA_R_32F,
        Element::F16 => cudaDataType::CUDA_R_16F,
        Element::Bf16 => cudaDataType::CUDA_R_16BF,
    }
}

impl Drop for Cublas {
    fn drop(&mut self) {
        // SAFETY: the handle was created by `load`, and nothing uses it after this. A failure leaves nothing to do.
        let _ = unsafe { result::destroy_handle(self.handle) };
    }
}

/// `130100` is 13.1.0.
fn format_version(version: i32) -> String {
    format!("{}.{}.{}", version / 10_000, version / 100 % 100, version % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What cuBLAS computes of such a product, where addresses are places in `memory`.
    fn gemm(product: &ColumnMajor, memory: &mut [f64]) {
        let ColumnMajor {
            ops: [op_a, op_b], sizes: [m, n, k], lds: [lda, ldb, ldc], strides, batch, addresses, ..
        } = *product;
        let at = |op, row: i32, column: i32, ld: i32| {
            (if op == CUBLAS_OP_N { row + column * ld } else { column + row * ld }) as usize
        };
        for p in 0..batch as usize {
            let [a, b, c] = [0, 1, 2].map(|i| addresses[i] as usize + p * strides[i] as usize);
            for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let terms = (0..k).map(|l| memory[a + at(op_a, i, l, lda)] * memory[b + at(op_b, l, j, ldb)]);
                memory[c + at(CUBLAS_OP_N, i, j, ldc)] = terms.sum();
            }
        }
    }

    #[test]
    fn every_op_and_order_is_the_case_s_product() {
        let [m, n, k] = [3, 4, 5];
        for (ops, order) in [Op::N, Op::T]
            .into_iter()
            .flat_map(|a| [Op::N, Op::T].map(|b| [a, b]))
            .flat_map(|ops| [Order::Row, Order::Column].map(|order| (ops, order)))
        {
            let case = Case { ops, order, batch: 2, ..Case::new([m, n, k].map(|size| size as u32)) };
            let [a, b, c] = [0, 100, 200];
            let mut memory: Vec<f64> = (0..300).map(|i| f64::from(i * i % 17)).collect();
            gemm(&ColumnMajor::of_case(&case, [a, b, c]), &mut memory);
            let layouts = case.stored();
            let element = |matrix: usize, p: usize, i: usize, j: usize| {
                let stored = layouts[matrix];
                let place = if stored.by_rows { i * stored.ld() as usize + j } else { i + j * stored.ld() as usize };
                memory[[a, b, c][matrix] as usize + p * stored.elements() + place]
            };
            for (p, i, j) in (0..2).flat_map(|p| (0..m).flat_map(move |i| (0..n).map(move |j| (p, i, j)))) {
                let expected: f64 = (0..k).map(|l| element(0, p, i, l) * element(1, p, l, j)).sum();
                assert_eq!(element(2, p, i, j), expected, "{ops:?} {order:?}: C[{i}, {j}] of {p}");
            }
        }
    }

    #[test]
    fn versions_are_formatted() {
        assert_eq!(format_version(130_100), "13.1.0");
        assert_eq!(format_version(120_804), "12.8.4");
    }
}
