//! cuBLAS's functions.

use std::ffi::{c_longlong, c_void};
use std::ptr;

use sgemm::cuda::CUstream;

use crate::abi::*;
use crate::call::{Call, Stored, Workspace, problem};
use crate::entry::{functions, watched};
use crate::memory;
use crate::next::{CUBLAS, Next};
use crate::reason::Reason;
use crate::settings::Settings;

/// What of a handle matters here.
struct State {
    stream: CUstream,
    workspace: Workspace,
}

static STREAM: Next = Next::new(&CUBLAS, c"cublasGetStream_v2");
static POINTER_MODE: Next = Next::new(&CUBLAS, c"cublasGetPointerMode_v2");
static MATH_MODE: Next = Next::new(&CUBLAS, c"cublasGetMathMode");
static SM_COUNT_TARGET: Next = Next::new(&CUBLAS, c"cublasGetSmCountTarget");

/// What a getter says of a handle; `None` where there is no such getter.
///
/// # Safety
/// The getter writes a `T`.
unsafe fn ask<T>(getter: &Next, handle: Handle, nothing: T) -> Result<Option<T>, Reason> {
    // SAFETY: that is the type of a getter of a `T`.
    let Some(get) = (unsafe { getter.get::<unsafe extern "C" fn(Handle, *mut T) -> Status>() }) else {
        return Ok(None);
    };
    let mut value = nothing;
    // SAFETY: a place for what it writes. cuBLAS says so where the handle is none.
    let status = unsafe { get(handle, &raw mut value) };
    if status == SUCCESS { Ok(Some(value)) } else { Err(Reason::Invalid) }
}

/// What a handle asks for, if it is that of plain f32 with alpha and beta in the host's memory.
///
/// # Safety
/// As of cuBLAS's functions.
unsafe fn state(handle: Handle) -> Result<State, Reason> {
    // SAFETY: each getter writes what it is asked for.
    unsafe {
        match ask(&MATH_MODE, handle, DEFAULT_MATH)?.map(|mode| mode & !DISALLOW_REDUCED_PRECISION_REDUCTION) {
            Some(PEDANTIC_MATH) => return Err(Reason::Pedantic),
            Some(DEFAULT_MATH) => {}
            _ => return Err(Reason::OtherArithmetic),
        }
        if let Some(reason) = Settings::get().forwards_all {
            return Err(reason);
        }
        if ask(&POINTER_MODE, handle, POINTER_MODE_HOST)? != Some(POINTER_MODE_HOST) {
            return Err(Reason::DeviceScalars);
        }
        // Older versions have no such target.
        if ask(&SM_COUNT_TARGET, handle, 0)?.is_some_and(|target| target != 0) {
            return Err(Reason::SmCountTarget);
        }
        let stream = ask::<CUstream>(&STREAM, handle, ptr::null_mut())?.ok_or(Reason::Unsupported)?;
        Ok(State { stream, workspace: memory::given(handle) })
    }
}

/// A matrix, which has elements from one to the next one of a batch.
fn stored(address: *const c_void, ld: impl Into<i64>, stride: c_longlong) -> Stored {
    Stored { address: address.addr() as u64, ld: ld.into(), stride }
}

/// A product of f32, for a handle.
///
/// # Safety
/// As of cuBLAS's functions.
unsafe fn offered(
    handle: Handle,
    ops: [Enum; 2],
    sizes: [i64; 3],
    [alpha, beta]: [*const c_void; 2],
    [a, b, c]: [Stored; 3],
    batch: i64,
) -> Result<Call, Reason> {
    if handle.is_null() || alpha.is_null() || beta.is_null() || [&a, &b, &c].iter().any(|matrix| matrix.address == 0) {
        return Err(Reason::Invalid);
    }
    // SAFETY: upheld by the caller.
    let State { stream, workspace } = unsafe { state(handle) }?;
    let problem = problem(Settings::get().class, ops, sizes, [&a, &b, &c], batch)?;
    // SAFETY: both are in the host's memory, as the handle says.
    let [alpha, beta] = [alpha, beta].map(|scalar| unsafe { scalar.cast::<f32>().read_unaligned() });
    let [a, b, c] = [a, b, c].map(|matrix| matrix.address);
    Ok(Call { problem, alpha, beta, a, b, c, d: None, bias: None, stream, workspace })
}

/// Why no product of matrices that arrays in device memory name is computed: who launches kernels would have to wait for the device to
/// read them.
///
/// # Safety
/// As of cuBLAS's functions.
unsafe fn by_pointers(handle: Handle) -> Result<Call, Reason> {
    if handle.is_null() {
        return Err(Reason::Invalid);
    }
    // SAFETY: upheld by the caller.
    unsafe { state(handle) }?;
    Err(Reason::PointerArrays)
}

/// Whether all matrices are of f32.
fn of_f32(types: [Enum; 3]) -> Result<(), Reason> {
    if types == [F32; 3] { Ok(()) } else { Err(Reason::Elements) }
}

/// Whether it is plain f32 by any algorithm.
fn is_plain(types: [Enum; 3], compute: Enum, algorithm: Enum) -> Result<(), Reason> {
    of_f32(types)?;
    match compute {
        COMPUTE_32F if ANY_ALGORITHM.contains(&algorithm) => Ok(()),
        COMPUTE_32F => Err(Reason::Algorithm),
        COMPUTE_32F_PEDANTIC => Err(Reason::Pedantic),
        _ => Err(Reason::OtherArithmetic),
    }
}

/// Declares all of them with integers of a type.
macro_rules! products {
    ($int:ty; $gemm:ident $gemm_ex:ident $any_ex:ident $batched:ident $any_batched:ident $by_pointers:ident $any_by_pointers:ident) => {
        functions! {
            CUBLAS;
            /// C = alpha\*op(A)\*op(B) + beta\*C of f32.
            fn $gemm(
                handle: Handle, transa: Enum, transb: Enum, m: $int, n: $int, k: $int, alpha: *const c_void, a: *const c_void,
                lda: $int, b: *const c_void, ldb: $int, beta: *const c_void, c: *mut c_void, ldc: $int,
            ) => {
                let matrices = [stored(a, lda, 0), stored(b, ldb, 0), stored(c, ldc, 0)];
                offered(handle, [transa, transb], [m, n, k].map(i64::from), [alpha, beta], matrices, 1)
            };
            /// The same of any types, with sums of f32.
            fn $gemm_ex(
                handle: Handle, transa: Enum, transb: Enum, m: $int, n: $int, k: $int, alpha: *const c_void, a: *const c_void,
                atype: Enum, lda: $int, b: *const c_void, btype: Enum, ldb: $int, beta: *const c_void, c: *mut c_void,
                ctype: Enum, ldc: $int,
            ) => {
                of_f32([atype, btype, ctype])?;
                let matrices = [stored(a, lda, 0), stored(b, ldb, 0), stored(c, ldc, 0)];
                offered(handle, [transa, transb], [m, n, k].map(i64::from), [alpha, beta], matrices, 1)
            };
            /// The same of any types.
            fn $any_ex(
                handle: Handle, transa: Enum, transb: Enum, m: $int, n: $int, k: $int, alpha: *const c_void, a: *const c_void,
                atype: Enum, lda: $int, b: *const c_void, btype: Enum, ldb: $int, beta: *const c_void, c: *mut c_void,
                ctype: Enum, ldc: $int, compute: Enum, algorithm: Enum,
            ) => {
                is_plain([atype, btype, ctype], compute, algorithm)?;
                let matrices = [stored(a, lda, 0), stored(b, ldb, 0), stored(c, ldc, 0)];
                offered(handle, [transa, transb], [m, n, k].map(i64::from), [alpha, beta], matrices, 1)
            };
            /// A batch of such products of f32, a fixed number of elements apart.
            fn $batched(
                handle: Handle, transa: Enum, transb: Enum, m: $int, n: $int, k: $int, alpha: *const c_void, a: *const c_void,
                lda: $int, stride_a: c_longlong, b: *const c_void, ldb: $int, stride_b: c_longlong, beta: *const c_void,
                c: *mut c_void, ldc: $int, stride_c: c_longlong, batch: $int,
            ) => {
                let matrices = [stored(a, lda, stride_a), stored(b, ldb, stride_b), stored(c, ldc, stride_c)];
                offered(handle, [transa, transb], [m, n, k].map(i64::from), [alpha, beta], matrices, batch.into())
            };
            /// The same of any types.
            fn $any_batched(
                handle: Handle, transa: Enum, transb: Enum, m: $int, n: $int, k: $int, alpha: *const c_void, a: *const c_void,
                atype: Enum, lda: $int, stride_a: c_longlong, b: *const c_void, btype: Enum, ldb: $int, stride_b: c_longlong,
                beta: *const c_void, c: *mut c_void, ctype: Enum, ldc: $int, stride_c: c_longlong, batch: $int, compute: Enum,
                algorithm: Enum,
            ) => {
                is_plain([atype, btype, ctype], compute, algorithm)?;
                let matrices = [stored(a, lda, stride_a), stored(b, ldb, stride_b), stored(c, ldc, stride_c)];
                offered(handle, [transa, transb], [m, n, k].map(i64::from), [alpha, beta], matrices, batch.into())
            };
            /// A batch of products of f32, wherever pointers in device memory say.
            fn $by_pointers(
                handle: Handle, transa: Enum, transb: Enum, m: $int, n: $int, k: $int, alpha: *const c_void, a: *const c_void,
                lda: $int, b: *const c_void, ldb: $int, beta: *const c_void, c: *const c_void, ldc: $int, batch: $int,
            ) => by_pointers(handle);
            /// The same of any types.
            fn $any_by_pointers(
                handle: Handle, transa: Enum, transb: Enum, m: $int, n: $int, k: $int, alpha: *const c_void, a: *const c_void,
                atype: Enum, lda: $int, b: *const c_void, btype: Enum, ldb: $int, beta: *const c_void, c: *const c_void,
                ctype: Enum, ldc: $int, batch: $int, compute: Enum, algorithm: Enum,
            ) => {
                is_plain([atype, btype, ctype], compute, algorithm)?;
                by_pointers(handle)
            };
        }
    };
}

products! {
    i32; cublasSgemm_v2 cublasSgemmEx cublasGemmEx cublasSgemmStridedBatched cublasGemmStridedBatchedEx cublasSgemmBatched
    cublasGemmBatchedEx
}
products! {
    i64; cublasSgemm_v2_64 cublasSgemmEx_64 cublasGemmEx_64 cublasSgemmStridedBatched_64 cublasGemmStridedBatchedEx_64
    cublasSgemmBatched_64 cublasGemmBatchedEx_64
}

watched! {
    CUBLAS;
    /// Makes a handle. It may be where one was that a reset of the device ended: that one's workspace is not its own.
    fn cublasCreate_v2(handle: *mut Handle) => {
        // SAFETY: cuBLAS has just written to it.
        memory::give(unsafe { *handle }, None)
    };
    /// Gives a handle memory for what its calls need.
    fn cublasSetWorkspace_v2(handle: Handle, workspace: *mut c_void, bytes: usize) =>
        memory::give(handle, Some(Workspace { address: workspace.addr() as u64, bytes: bytes as u64 }));
    /// Puts a handle into a stream: the workspace is cuBLAS's own again.
    fn cublasSetStream_v2(handle: Handle, stream: CUstream) => memory::give(handle, None);
    /// Destroys a handle.
    fn cublasDestroy_v2(handle: Handle) => memory::give(handle, None);
}
