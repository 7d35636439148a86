//! The BLAS that would have been called otherwise.

use std::ffi::{c_char, c_void};
use std::mem::transmute;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use crate::call::{Call, Name};
use crate::loaded;

/// `sgemm_` with integers of a type, and with the lengths of both letters, which C callers leave out and Fortran's code expects.
type Sgemm<I> = unsafe extern "C" fn(
    *const c_char,
    *const c_char,
    *const I,
    *const I,
    *const I,
    *const f32,
    *const f32,
    *const I,
    *const f32,
    *const I,
    *const f32,
    *mut f32,
    *const I,
    usize,
    usize,
);

/// A function of another BLAS, looked up when it is first needed.
struct Next {
    name: Name,
    found: AtomicPtr<c_void>,
    /// [`loaded::count`] when it was looked up without success.
    searched: AtomicU64,
}

impl Next {
    const fn new(name: Name) -> Self {
        Self { name, found: AtomicPtr::new(ptr::null_mut()), searched: AtomicU64::new(0) }
    }

    /// Its address; null where the process has none of that name.
    fn get(&self) -> *mut c_void {
        let found = self.found.load(Ordering::Acquire);
        if !found.is_null() {
            return found;
        }
        let count = loaded::count();
        if self.searched.load(Ordering::Acquire) == count {
            return found;
        }
        let name = self.name.fortran();
        let behind = loaded::behind(name);
        let found = if behind.is_null() { loaded::apart(name).unwrap_or(behind) } else { behind };
        self.found.store(found, Ordering::Release);
        self.searched.store(count, Ordering::Release);
        found
    }

    /// Runs the call, if there is such a function, and its integers hold the sizes.
    ///
    /// # Safety
    /// As of [`run`].
    unsafe fn run(&self, call: &Call) -> bool {
        let sizes = [call.m, call.n, call.k, call.lda, call.ldb, call.ldc];
        let found = self.get();
        if found.is_null() {
            return false;
        }
        // SAFETY: this is the type that everybody has under that name; the rest is upheld by the caller.
        unsafe {
            if self.name.is_wide() {
                return call_by(transmute::<*mut c_void, Sgemm<i64>>(found), call, sizes);
            }
            let [Ok(m), Ok(n), Ok(k), Ok(lda), Ok(ldb), Ok(ldc)] = sizes.map(i32::try_from) else { return false };
            call_by(transmute::<*mut c_void, Sgemm<i32>>(found), call, [m, n, k, lda, ldb, ldc])
        }
    }
}

/// # Safety
/// As of [`run`]: this is another `sgemm_`, with the same arguments.
unsafe fn call_by<I>(next: Sgemm<I>, call: &Call, [m, n, k, lda, ldb, ldc]: [I; 6]) -> bool {
    let [op_a, op_b] = call.ops.map(|op| op.letter() as c_char);
    // SAFETY: upheld by the caller.
    unsafe {
        next(
            &raw const op_a,
            &raw const op_b,
            &raw const m,
            &raw const n,
            &raw const k,
            &raw const call.alpha,
            call.a,
            &raw const lda,
            call.b,
            &raw const ldb,
            &raw const call.beta,
            call.c,
            &raw const ldc,
            1,
            1,
        );
    }
    true
}

/// Runs the call by the next BLAS of the process: by the function of the name that the program called, or else by one of another name, or
/// by a plain one where there is none whose integers hold the sizes.
///
/// # Safety
/// As of `sgemm_`, with arguments that have no fault.
pub unsafe fn run(call: &Call) {
    static ALL: [Next; 4] =
        [Next::new(Name::Plain), Next::new(Name::Plain64), Next::new(Name::Scipy), Next::new(Name::Scipy64)];
    let own = ALL.iter().filter(|next| next.name == call.name);
    let others = ALL.iter().filter(|next| next.name != call.name);
    // SAFETY: upheld by the caller.
    unsafe {
        if !own.chain(others).any(|next| next.run(call)) {
            plain(call);
        }
    }
}

/// The product by the CPU, where no BLAS is.
///
/// # Safety
/// As of [`run`].
unsafe fn plain(call: &Call) {
    use crate::call::Op;
    let strides = |op, ld: i64| if op == Op::N { (1, ld as isize) } else { (ld as isize, 1) };
    let ((row_a, column_a), (row_b, column_b)) = (strides(call.ops[0], call.lda), strides(call.ops[1], call.ldb));
    let [m, n, k] = [call.m, call.n, call.k].map(|size| size as usize);
    // Where A and B must not be read, there is no product.
    let k = if call.alpha == 0.0 { 0 } else { k };
    let (alpha, beta, ldc) = (call.alpha, call.beta, call.ldc as isize);
    // SAFETY: upheld by the caller: the matrices have these strides. C is not read where beta is 0.
    unsafe {
        matrixmultiply::sgemm(m, k, n, alpha, call.a, row_a, column_a, call.b, row_b, column_b, beta, call.c, 1, ldc);
    }
}
