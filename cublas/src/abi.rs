//! cuBLAS's types and numbers, as its headers have them: those of versions 11 to 13.

use std::ffi::{c_int, c_void};

/// `cublasHandle_t`, `cublasLtHandle_t`, and what describes products and matrices to cublasLt.
pub type Handle = *mut c_void;

/// `cublasStatus_t`.
pub type Status = c_int;

/// `cublasOperation_t`, `cudaDataType_t`, `cublasComputeType_t`, `cublasGemmAlgo_t`, and other enumerations.
pub type Enum = c_int;

pub const SUCCESS: Status = 0;
pub const NOT_INITIALIZED: Status = 1;
pub const EXECUTION_FAILED: Status = 13;

pub const OP_N: Enum = 0;
pub const OP_T: Enum = 1;
pub const OP_C: Enum = 2;

/// `CUDA_R_32F`.
pub const F32: Enum = 0;

pub const COMPUTE_32F: Enum = 68;
pub const COMPUTE_32F_PEDANTIC: Enum = 69;

/// The algorithms that leave the choice to the library.
pub const ANY_ALGORITHM: [Enum; 2] = [-1, 99];

pub const POINTER_MODE_HOST: Enum = 0;

/// `cublasMath_t`, without its flag.
pub const DEFAULT_MATH: Enum = 0;
pub const PEDANTIC_MATH: Enum = 2;
/// A flag that is about sums of 16-bit elements.
pub const DISALLOW_REDUCED_PRECISION_REDUCTION: Enum = 16;

/// `cublasLtMatmulDescAttributes_t`.
pub mod product {
    use super::Enum;

    pub const COMPUTE_TYPE: Enum = 0;
    pub const SCALE_TYPE: Enum = 1;
    pub const POINTER_MODE: Enum = 2;
    pub const TRANSA: Enum = 3;
    pub const TRANSB: Enum = 4;
    pub const TRANSC: Enum = 5;
    pub const FILL_MODE: Enum = 6;
    pub const EPILOGUE: Enum = 7;
    pub const BIAS_POINTER: Enum = 8;
    pub const BIAS_BATCH_STRIDE: Enum = 10;
    pub const SM_COUNT_TARGET: Enum = 15;
    /// Scales of A, B, C and D, where the largest element of D goes, and where D's own scales go: pointers.
    pub const SCALE_POINTERS: [Enum; 6] = [17, 18, 19, 20, 21, 36];
    pub const BIAS_DATA_TYPE: Enum = 26;
    /// Chunks that other kernels wait for.
    pub const ATOMIC_SYNC_CHUNKS: [Enum; 2] = [27, 28];
    /// Elements from one problem's alpha to the next one's, and the same of beta: from CUDA 13 on.
    pub const FACTOR_BATCH_STRIDES: [Enum; 2] = [39, 40];
    /// Whether results may not depend on the batch: from CUDA 13 on.
    pub const BATCH_INVARIANCE: Enum = 41;
}

/// `cublasLtMatrixLayoutAttribute_t`.
pub mod matrix {
    use super::Enum;

    pub const TYPE: Enum = 0;
    pub const ORDER: Enum = 1;
    pub const ROWS: Enum = 2;
    pub const COLS: Enum = 3;
    pub const LD: Enum = 4;
    pub const BATCH_COUNT: Enum = 5;
    pub const STRIDED_BATCH_OFFSET: Enum = 6;
    /// From CUDA 12.9 on: 0 where the problems of a batch are a fixed number of elements apart.
    pub const BATCH_MODE: Enum = 8;
}

pub const ORDER_COL: Enum = 0;
pub const ORDER_ROW: Enum = 1;
pub const FILL_MODE_FULL: Enum = 2;

/// `cublasLtEpilogue_t`, of which the first stands for none.
pub const EPILOGUE_DEFAULT: Enum = 1;
pub const EPILOGUE_RELU: Enum = 2;
pub const EPILOGUE_BIAS: Enum = 4;
pub const EPILOGUE_RELU_BIAS: Enum = 6;

/// `cublasLtMatmulBatchInvarianceFlags_t`, where it asks for nothing: disabled, or left to the environment.
pub const NO_BATCH_INVARIANCE: [Enum; 2] = [0, 0x8000];

/// The type of a bias that is D's.
pub const BIAS_OF_D: Enum = -1;
