/* The few types of CUDA's and cuBLAS's headers that cublasmp.h names: all enums are int. */
#pragma once
#include <stddef.h>
typedef struct CUstream_st *cudaStream_t;
typedef enum { CUDA_R_32F = 0 } cudaDataType_t;
typedef enum { CUBLAS_COMPUTE_32F = 68 } cublasComputeType_t;
typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 } cublasOperation_t;
typedef enum { CUBLAS_SIDE_LEFT = 0 } cublasSideMode_t;
typedef enum { CUBLAS_FILL_MODE_LOWER = 0 } cublasFillMode_t;
typedef enum { CUBLAS_DIAG_NON_UNIT = 0 } cublasDiagType_t;
