/* sgemm: matrix products on NVIDIA GPUs. The chapter "From C and Python" of the book is its guide.
 *
 * Every function may be called by any thread, and returns a status, a layout or a constant text. Before version 1.0, programs are to be
 * compiled again for each version.
 *
 * Written by cbindgen from the crate sgemm-capi. */

#ifndef SGEMM_H
#define SGEMM_H

#include <stddef.h>
#include <stdint.h>

/**
 * No limit on a plan's workspace.
 */
#define SGEMM_UNLIMITED UINT64_MAX

/**
 * In place of a device's ordinal: the device whose primary context is current on the calling thread.
 */
#define SGEMM_CURRENT_DEVICE -1

/**
 * What a handle stands for.
 */
typedef struct sgemm_handle sgemm_handle;

/**
 * What a plan stands for.
 */
typedef struct sgemm_plan sgemm_plan;

/**
 * What a function returns: SGEMM_SUCCESS, or why it did nothing. sgemm_last_error has the message.
 */
typedef int32_t sgemm_status_t;

/**
 * A device, with the kernels that were loaded on it. Any thread may use it, several at a time. It is no address: a handle that was
 * destroyed, and NULL, are SGEMM_INVALID_HANDLE.
 */
typedef struct sgemm_handle *sgemm_handle_t;

/**
 * What a handle runs kernels on.
 */
typedef int32_t sgemm_backend_t;

/**
 * Strides of a matrix: element (i, j) is at i * row_stride + j * column_stride, counted in elements. One of the two is 1.
 */
typedef struct sgemm_layout_t {
  /**
   * Elements from a row to the next.
   */
  size_t row_stride;
  /**
   * Elements from a column to the next.
   */
  size_t column_stride;
} sgemm_layout_t;

/**
 * The type of a matrix's elements.
 */
typedef int32_t sgemm_element_t;

/**
 * A guarantee on the arithmetic of a product. Sums are f32 in all of them.
 */
typedef int32_t sgemm_accuracy_t;

/**
 * What the bits of an element of the result may depend on.
 */
typedef int32_t sgemm_determinism_t;

/**
 * Where alpha and beta are.
 */
typedef int32_t sgemm_scalars_t;

/**
 * A vector that is added to the result.
 */
typedef int32_t sgemm_bias_t;

/**
 * A function that is applied last.
 */
typedef int32_t sgemm_activation_t;

/**
 * D = activation(alpha*A*B + beta*C + bias), once or for each problem of a strided batch. A is m x k, B is k x n, C and D are m x n; D is
 * C itself unless has_d is set. Sizes and strides count elements. Begin with sgemm_problem_init, and change what is different.
 */
typedef struct sgemm_problem_t {
  /**
   * Rows of A, C and D.
   */
  size_t m;
  /**
   * Columns of B, C and D.
   */
  size_t n;
  /**
   * Columns of A, rows of B.
   */
  size_t k;
  /**
   * The layout of A, whose strides are exchanged for op T: see sgemm_transposed.
   */
  struct sgemm_layout_t a;
  /**
   * The layout of B.
   */
  struct sgemm_layout_t b;
  /**
   * The layout of C.
   */
  struct sgemm_layout_t c;
  /**
   * The layout of D, where has_d is set.
   */
  struct sgemm_layout_t d;
  /**
   * Whether D is another matrix than C, which is only read then: 0 or 1.
   */
  int32_t has_d;
  /**
   * How many such problems there are.
   */
  size_t batch_count;
  /**
   * Elements from one problem's A to the next one's; 0 gives all of them the same.
   */
  size_t batch_stride_a;
  /**
   * The same of B.
   */
  size_t batch_stride_b;
  /**
   * The same of C; 0 only where has_d is set.
   */
  size_t batch_stride_c;
  /**
   * The same of D, where has_d is set.
   */
  size_t batch_stride_d;
  /**
   * What A and B are made of.
   */
  sgemm_element_t input;
  /**
   * What C, D and bias are made of: the same, or SGEMM_F32.
   */
  sgemm_element_t output;
  /**
   * The accuracy class.
   */
  sgemm_accuracy_t accuracy;
  /**
   * What bits depend on.
   */
  sgemm_determinism_t determinism;
  /**
   * Where alpha and beta are.
   */
  sgemm_scalars_t scalars;
  /**
   * The bias.
   */
  sgemm_bias_t bias;
  /**
   * The activation.
   */
  sgemm_activation_t activation;
  /**
   * What the address of A is a multiple of, in bytes: a power of two. Below 16, kernels that load with TMA read an aligned copy.
   */
  size_t alignment_a;
  /**
   * The same of B.
   */
  size_t alignment_b;
} sgemm_problem_t;

/**
 * A problem with the kernel that was chosen for it. Any thread may use it, several at a time. It is no address: a plan that was
 * destroyed, and NULL, are SGEMM_INVALID_HANDLE.
 */
typedef struct sgemm_plan *sgemm_plan_t;

/**
 * What a run reads and writes. Zeros are none: begin with `sgemm_arguments_t arguments = {0};`.
 */
typedef struct sgemm_arguments_t {
  /**
   * The factor of A*B, unless it is in device memory.
   */
  float alpha;
  /**
   * The factor of C, unless it is in device memory.
   */
  float beta;
  /**
   * A. Not read where alpha or k is 0, and null only where k is 0.
   */
  const void *a;
  /**
   * B, likewise.
   */
  const void *b;
  /**
   * C. Not read where beta is 0; it may be null then if there is a D.
   */
  void *c;
  /**
   * D, of a problem that has it; null otherwise.
   */
  void *d;
  /**
   * The bias, of a problem that has it; null otherwise.
   */
  const void *bias;
  /**
   * Alpha in device memory, of a problem with SGEMM_SCALARS_DEVICE; null otherwise.
   */
  const float *device_alpha;
  /**
   * Beta, likewise.
   */
  const float *device_beta;
  /**
   * Device memory of workspace_bytes, at a multiple of 256 bytes, which may hold anything. Null where the plan asks for none.
   */
  void *workspace;
  /**
   * Bytes of the workspace: as many as sgemm_plan_workspace_bytes says, or more.
   */
  uint64_t workspace_bytes;
} sgemm_arguments_t;

/**
 * It is done, or queued in the stream.
 */
#define SGEMM_SUCCESS 0

/**
 * A handle or a plan that is null, destroyed, or none.
 */
#define SGEMM_INVALID_HANDLE 1

/**
 * A pointer is null that must not be.
 */
#define SGEMM_NULL_POINTER 2

/**
 * A constant, a name or an ordinal that is none.
 */
#define SGEMM_INVALID_VALUE 3

/**
 * The problem is none: a size, layout, stride, alignment or accuracy class.
 */
#define SGEMM_INVALID_PROBLEM 4

/**
 * The operands of a run do not fit its plan, such as by their alignment.
 */
#define SGEMM_INVALID_OPERAND 5

/**
 * The workspace of a run has fewer bytes than its plan asks for.
 */
#define SGEMM_WORKSPACE_TOO_SMALL 6

/**
 * No kernel does with as little workspace as was allowed.
 */
#define SGEMM_WORKSPACE_LIMIT 7

/**
 * The device runs no kernel for the problem.
 */
#define SGEMM_UNSUPPORTED 8

/**
 * A stream of another context than the handle's.
 */
#define SGEMM_WRONG_DEVICE 9

/**
 * The NVIDIA driver is not installed.
 */
#define SGEMM_NO_DRIVER 10

/**
 * The NVIDIA driver sees no device.
 */
#define SGEMM_NO_DEVICE 11

/**
 * The NVIDIA driver is too old.
 */
#define SGEMM_DRIVER_TOO_OLD 12

/**
 * A call into the NVIDIA driver failed.
 */
#define SGEMM_DRIVER_ERROR 13

/**
 * The host has no room for the memory of an emulated device.
 */
#define SGEMM_OUT_OF_MEMORY 14

/**
 * The emulator found that a kernel does what it must not.
 */
#define SGEMM_EMULATED_FAULT 15

/**
 * A mistake of the library.
 */
#define SGEMM_INTERNAL_ERROR 16

/**
 * A GPU.
 */
#define SGEMM_BACKEND_CUDA 0

/**
 * An emulated GPU, on the CPU: for tests.
 */
#define SGEMM_BACKEND_EMULATOR 1

/**
 * IEEE single precision, 4 bytes.
 */
#define SGEMM_F32 0

/**
 * IEEE half precision, 2 bytes.
 */
#define SGEMM_F16 1

/**
 * bfloat16, 2 bytes.
 */
#define SGEMM_BF16 2

/**
 * The strictest class of the input's elements: SGEMM_ACCURACY_FP32_STRICT of f32, SGEMM_ACCURACY_F16 of f16, SGEMM_ACCURACY_BF16 of bf16.
 */
#define SGEMM_ACCURACY_DEFAULT 0

/**
 * IEEE single precision, on the CUDA cores.
 */
#define SGEMM_ACCURACY_FP32_STRICT 1

/**
 * Single precision, or a hi/lo split of f32 on the tensor cores.
 */
#define SGEMM_ACCURACY_FP32 2

/**
 * TF32 on matrices of f32, or better.
 */
#define SGEMM_ACCURACY_TF32 3

/**
 * Matrices of f16.
 */
#define SGEMM_ACCURACY_F16 4

/**
 * Matrices of bf16.
 */
#define SGEMM_ACCURACY_BF16 5

/**
 * On the problem and the device: the same call gives the same bits.
 */
#define SGEMM_PER_PROBLEM 0

/**
 * On k, the layouts, the accuracy class and the device alone: not on m, n, the batch or the other rows and columns.
 */
#define SGEMM_PER_ELEMENT 1

/**
 * In the arguments of a run.
 */
#define SGEMM_SCALARS_HOST 0

/**
 * In device memory, an f32 each.
 */
#define SGEMM_SCALARS_DEVICE 1

/**
 * None.
 */
#define SGEMM_BIAS_NONE 0

/**
 * An element for each row of D.
 */
#define SGEMM_BIAS_PER_ROW 1

/**
 * An element for each column of D.
 */
#define SGEMM_BIAS_PER_COLUMN 2

/**
 * None.
 */
#define SGEMM_ACTIVATION_NONE 0

/**
 * 0 where x is less than 0, otherwise x.
 */
#define SGEMM_ACTIVATION_RELU 1

/**
 * GELU by the error function.
 */
#define SGEMM_ACTIVATION_GELU 2

/**
 * GELU by the hyperbolic tangent.
 */
#define SGEMM_ACTIVATION_GELU_TANH 3

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Makes a handle for a GPU: in the primary context of the device with that ordinal, which is the context of the CUDA runtime. With
 * SGEMM_CURRENT_DEVICE, of the device whose primary context is current on this thread. The current context stays as it was. Writes NULL
 * where it fails.
 *
 * # Safety
 * `handle` is null, or a place to write a handle to.
 */
sgemm_status_t sgemm_create_cuda(sgemm_handle_t *handle,
                                 int32_t ordinal);

/**
 * Makes a handle for an emulated GPU of that name, such as "h200": of another, the message lists those that there are. Its memory is the
 * host's: pointers of a run are the host's, and a run is done when it returns. Writes NULL where it fails.
 *
 * # Safety
 * `handle` is null, or a place to write a handle to; `device` is null, or ends with a zero.
 */
sgemm_status_t sgemm_create_emulator(sgemm_handle_t *handle,
                                     const char *device);

/**
 * Destroys a handle. Plans that were made with it can be run on, and keep what they need of it.
 */
sgemm_status_t sgemm_destroy(sgemm_handle_t handle);

/**
 * What a handle runs kernels on.
 *
 * # Safety
 * `backend` is null, or a place to write a number to.
 */
sgemm_status_t sgemm_backend(sgemm_handle_t handle, sgemm_backend_t *backend);

/**
 * The name of a handle's device, such as "NVIDIA H200". It is valid until the handle is destroyed.
 *
 * # Safety
 * `name` is null, or a place to write a pointer to.
 */
sgemm_status_t sgemm_device_name(sgemm_handle_t handle, const char **name);

/**
 * Chooses a kernel for a problem, and loads it. workspace_limit is the most bytes of workspace that it may ask for, SGEMM_UNLIMITED
 * for any. Writes NULL where it fails.
 *
 * # Safety
 * `problem` is null, or that of a problem; `plan` is null, or a place to write a plan to.
 */
sgemm_status_t sgemm_plan_create(sgemm_handle_t handle,
                                 const struct sgemm_problem_t *problem,
                                 uint64_t workspace_limit,
                                 sgemm_plan_t *plan);

/**
 * Destroys a plan. On a GPU, it waits for the kernels of the plan where it is the last that uses them.
 */
sgemm_status_t sgemm_plan_destroy(sgemm_plan_t plan);

/**
 * Bytes that the workspace of a run must have: 0 where the plan does without.
 *
 * # Safety
 * `bytes` is null, or a place to write a number to.
 */
sgemm_status_t sgemm_plan_workspace_bytes(sgemm_plan_t plan, uint64_t *bytes);

/**
 * The name of the kernel that was chosen, such as "stream-k". It is valid until the plan is destroyed.
 *
 * # Safety
 * `name` is null, or a place to write a pointer to.
 */
sgemm_status_t sgemm_plan_kernel(sgemm_plan_t plan, const char **name);

/**
 * Contiguous rows, `ld` elements from one to the next: C's order.
 */
struct sgemm_layout_t sgemm_row_major(size_t ld);

/**
 * Contiguous columns, `ld` elements from one to the next: Fortran's order, and BLAS's.
 */
struct sgemm_layout_t sgemm_column_major(size_t ld);

/**
 * The same memory read as the transpose: op T of BLAS.
 */
struct sgemm_layout_t sgemm_transposed(struct sgemm_layout_t layout);

/**
 * Makes C = alpha*A*B + beta*C of f32 in SGEMM_ACCURACY_FP32_STRICT, all row-major without gaps between the rows, operands aligned to
 * 16 bytes, in one problem.
 *
 * # Safety
 * `problem` is null, or a place to write a problem to.
 */
sgemm_status_t sgemm_problem_init(struct sgemm_problem_t *problem,
                                  size_t m,
                                  size_t n,
                                  size_t k);

/**
 * Queues C = alpha*A*B + beta*C in a stream: as sgemm_run_with, for a problem without D, bias and scalars in device memory.
 *
 * # Safety
 * As of `sgemm_run_with`.
 */
sgemm_status_t sgemm_run(sgemm_plan_t plan,
                         void *stream,
                         float alpha,
                         const void *a,
                         const void *b,
                         float beta,
                         void *c,
                         void *workspace,
                         uint64_t workspace_bytes);

/**
 * Queues a run in a stream. `stream` is a CUstream or cudaStream_t of the handle's context, or NULL for the default stream; pointers are
 * those of device memory. It allocates no device memory, does not synchronise, and may be captured in a CUDA graph; the plan must then
 * live as long as the graph. The caller keeps operands and workspace until the stream has come past it. Whether a pointer is one of the
 * handle's device is not checked.
 *
 * With an emulated GPU, `stream` is ignored, pointers are the host's, and the run is done when this returns. The workspace is asked for
 * as on a GPU, and not used.
 *
 * # Safety
 * `arguments` is null, or that of arguments. From the addresses there, the elements of the plan's problem can be read, and the result's
 * written, and the workspace has its bytes, all until the stream has come past it; nothing else writes to them meanwhile. The stream
 * is as above.
 */
sgemm_status_t sgemm_run_with(sgemm_plan_t plan,
                              void *stream,
                              const struct sgemm_arguments_t *arguments);

/**
 * Runs a plan on matrices in the host's memory, alpha and beta in "device memory" included, and returns when it is done. On a GPU they are
 * copied there and back, and memory for them is allocated and freed: for few or large products. Operands may have any alignment, and no
 * workspace is needed.
 *
 * # Safety
 * `arguments` is null, or that of arguments. From the addresses there, the elements of the plan's problem can be read, and the result's
 * written; nothing else writes to them meanwhile.
 */
sgemm_status_t sgemm_run_host(sgemm_plan_t plan,
                              const struct sgemm_arguments_t *arguments);

/**
 * The version of the library, such as "0.1.0".
 */
const char *sgemm_version(void);

/**
 * What the calling thread's last call that failed says: one line, empty where none has failed. It is valid until another call of that
 * thread fails, or it ends.
 */
const char *sgemm_last_error(void);

/**
 * What a status means, in a few words. It is valid for ever.
 */
const char *sgemm_status_string(sgemm_status_t status);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SGEMM_H */
