//! cuBLAS, out of the library that the machine has, if any.

use std::ffi::c_void;
use std::ptr;

use cudarc::cublas::result;
use cudarc::cublas::sys::{
    self, cublasComputeType_t, cublasGemmAlgo_t, cublasHandle_t, cublasMath_t, cublasOperation_t::CUBLAS_OP_N,
    cudaDataType,
};
use cust::stream::Stream;
use gpu_kernels::{Element, Precision};
use sgemm::Product;

use super::operands::Gemm;
use super::raw;
use crate::backend::Baseline;
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

    /// Queues C = alpha*A*B + beta*C in the baseline's arithmetic, where m and n are not 0.
    ///
    /// cuBLAS is column-major: our row-major A, B and C are its transposes, so it computes C^T = B^T * A^T.
    pub(super) fn gemm(&self, baseline: &Baseline, gemm: &Gemm) -> Result<(), Error> {
        let Problem { gemm: Product { m, n, k, lda, ldb, ldc, .. }, alpha, beta, .. } = gemm.problem;
        // `gemm` checked that none is above `gpu_kernels::MAX_SIZE`, the largest i32.
        let [m, n, k, lda, ldb, ldc] = [m, n, k, lda, ldb, ldc].map(|size| size as i32);
        let [a, b, c] = gemm.addresses().map(|address| ptr::without_provenance_mut::<c_void>(address as usize));
        let (no, alpha, beta) = (CUBLAS_OP_N, &raw const alpha, &raw const beta);
        let (input, output) = (data_type(baseline.precision.input()), data_type(baseline.output));
        let compute = match baseline.precision {
            Precision::Tf32 => cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32,
            _ => cublasComputeType_t::CUBLAS_COMPUTE_32F,
        };
        let algorithm = cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT;
        let (handle, a, b) = (self.handle, a.cast_const(), b.cast_const());
        // SAFETY: the handle lives as long as `self`. Read as row-major, A has m * lda elements, B k * ldb and C
        // m * ldc, as `gemm` vouches for, of the baseline's types, which `Problem::check_kernel` checked. The factors are
        // f32, as sums are, and read before the call returns, since cuBLAS's pointer mode is the host's by default. The
        // product runs asynchronously, and freeing the operands waits for it.
        let queued = unsafe {
            match (baseline.precision, baseline.output) {
                (Precision::Fp32, Element::F32) => {
                    result::sgemm(handle, no, no, n, m, k, alpha, b.cast(), ldb, a.cast(), lda, beta, c.cast(), ldc)
                }
                _ => result::gemm_ex(
                    handle,
                    no,
                    no,
                    n,
                    m,
                    k,
                    alpha.cast(),
                    b,
                    input,
                    ldb,
                    a,
                    input,
                    lda,
                    beta.cast(),
                    c,
                    output,
                    ldc,
                    compute,
                    algorithm,
                ),
            }
        };
        queued.map_err(|error| Error::Cuda { what: format!("run {}", baseline.name), reason: error.to_string() })
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

    #[test]
    fn versions_are_formatted() {
        assert_eq!(format_version(130_100), "13.1.0");
        assert_eq!(format_version(120_804), "12.8.4");
    }
}
