//! C's integers for what is an enum in Rust. Any integer may come from C, so that none of them is a Rust enum here.
#![allow(non_camel_case_types, reason = "C's names")]

/// What a function returns: SGEMM_SUCCESS, or why it did nothing. sgemm_last_error has the message.
pub type sgemm_status_t = i32;

/// It is done, or queued in the stream.
pub const SGEMM_SUCCESS: sgemm_status_t = 0;
/// A handle or a plan that is null, destroyed, or none.
pub const SGEMM_INVALID_HANDLE: sgemm_status_t = 1;
/// A pointer is null that must not be.
pub const SGEMM_NULL_POINTER: sgemm_status_t = 2;
/// A constant, a name or an ordinal that is none.
pub const SGEMM_INVALID_VALUE: sgemm_status_t = 3;
/// The problem is none: a size, layout, stride, alignment or accuracy class.
pub const SGEMM_INVALID_PROBLEM: sgemm_status_t = 4;
/// The operands of a run do not fit its plan, such as by their alignment.
pub const SGEMM_INVALID_OPERAND: sgemm_status_t = 5;
/// The workspace of a run has fewer bytes than its plan asks for.
pub const SGEMM_WORKSPACE_TOO_SMALL: sgemm_status_t = 6;
/// No kernel does with as little workspace as was allowed.
pub const SGEMM_WORKSPACE_LIMIT: sgemm_status_t = 7;
/// The device runs no kernel for the problem.
pub const SGEMM_UNSUPPORTED: sgemm_status_t = 8;
/// A stream of another context than the handle's.
pub const SGEMM_WRONG_DEVICE: sgemm_status_t = 9;
/// The NVIDIA driver is not installed.
pub const SGEMM_NO_DRIVER: sgemm_status_t = 10;
/// The NVIDIA driver sees no device.
pub const SGEMM_NO_DEVICE: sgemm_status_t = 11;
/// The NVIDIA driver is too old.
pub const SGEMM_DRIVER_TOO_OLD: sgemm_status_t = 12;
/// A call into the NVIDIA driver failed.
pub const SGEMM_DRIVER_ERROR: sgemm_status_t = 13;
/// The host has no room for the memory of an emulated device.
pub const SGEMM_OUT_OF_MEMORY: sgemm_status_t = 14;
/// The emulator found that a kernel does what it must not.
pub const SGEMM_EMULATED_FAULT: sgemm_status_t = 15;
/// A mistake of the library.
pub const SGEMM_INTERNAL_ERROR: sgemm_status_t = 16;

/// What a handle runs kernels on.
pub type sgemm_backend_t = i32;

/// A GPU.
pub const SGEMM_BACKEND_CUDA: sgemm_backend_t = 0;
/// An emulated GPU, on the CPU: for tests.
pub const SGEMM_BACKEND_EMULATOR: sgemm_backend_t = 1;

/// The type of a matrix's elements.
pub type sgemm_element_t = i32;

/// IEEE single precision, 4 bytes.
pub const SGEMM_F32: sgemm_element_t = 0;
/// IEEE half precision, 2 bytes.
pub const SGEMM_F16: sgemm_element_t = 1;
/// bfloat16, 2 bytes.
pub const SGEMM_BF16: sgemm_element_t = 2;

/// A guarantee on the arithmetic of a product. Sums are f32 in all of them.
pub type sgemm_accuracy_t = i32;

/// The strictest class of the input's elements: SGEMM_ACCURACY_FP32_STRICT of f32, SGEMM_ACCURACY_F16 of f16, SGEMM_ACCURACY_BF16 of bf16.
pub const SGEMM_ACCURACY_DEFAULT: sgemm_accuracy_t = 0;
/// IEEE single precision, on the CUDA cores.
pub const SGEMM_ACCURACY_FP32_STRICT: sgemm_accuracy_t = 1;
/// Single precision, or a hi/lo split of f32 on the tensor cores.
pub const SGEMM_ACCURACY_FP32: sgemm_accuracy_t = 2;
/// TF32 on matrices of f32, or better.
pub const SGEMM_ACCURACY_TF32: sgemm_accuracy_t = 3;
/// Matrices of f16.
pub const SGEMM_ACCURACY_F16: sgemm_accuracy_t = 4;
/// Matrices of bf16.
pub const SGEMM_ACCURACY_BF16: sgemm_accuracy_t = 5;

/// What the bits of an element of the result may depend on.
pub type sgemm_determinism_t = i32;

/// On the problem and the device: the same call gives the same bits.
pub const SGEMM_PER_PROBLEM: sgemm_determinism_t = 0;
/// On k, the layouts, the accuracy class and the device alone: not on m, n, the batch or the other rows and columns.
pub const SGEMM_PER_ELEMENT: sgemm_determinism_t = 1;

/// Where alpha and beta are.
pub type sgemm_scalars_t = i32;

/// In the arguments of a run.
pub const SGEMM_SCALARS_HOST: sgemm_scalars_t = 0;
/// In device memory, an f32 each.
pub const SGEMM_SCALARS_DEVICE: sgemm_scalars_t = 1;

/// A vector that is added to the result.
pub type sgemm_bias_t = i32;

/// None.
pub const SGEMM_BIAS_NONE: sgemm_bias_t = 0;
/// An element for each row of D.
pub const SGEMM_BIAS_PER_ROW: sgemm_bias_t = 1;
/// An element for each column of D.
pub const SGEMM_BIAS_PER_COLUMN: sgemm_bias_t = 2;

/// A function that is applied last.
pub type sgemm_activation_t = i32;

/// None.
pub const SGEMM_ACTIVATION_NONE: sgemm_activation_t = 0;
/// 0 where x is less than 0, otherwise x.
pub const SGEMM_ACTIVATION_RELU: sgemm_activation_t = 1;
/// GELU by the error function.
pub const SGEMM_ACTIVATION_GELU: sgemm_activation_t = 2;
/// GELU by the hyperbolic tangent.
pub const SGEMM_ACTIVATION_GELU_TANH: sgemm_activation_t = 3;

/// No limit on a plan's workspace.
pub const SGEMM_UNLIMITED: u64 = u64::MAX;

/// In place of a device's ordinal: the device whose primary context is current on the calling thread.
pub const SGEMM_CURRENT_DEVICE: i32 = -1;
