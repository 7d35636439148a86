//! Products by the library: on a GPU, or on an emulated one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{LazyLock, OnceLock};

use sgemm::cuda::{Handle, open};
use sgemm::emulator::{Arguments, Emulator};
use sgemm::{AccuracyClass, Error, Layout, Problem};

use crate::call::{Call, Op};

/// The device that is emulated.
const EMULATED: &str = "h200";

/// Runs a call on an emulated device. Says whether it could.
///
/// # Safety
/// As of `sgemm_`, with arguments that have no fault.
pub unsafe fn emulate(call: &Call, class: AccuracyClass) -> bool {
    static EMULATOR: LazyLock<Option<Emulator>> = LazyLock::new(|| Emulator::of(EMULATED));
    let run = |problem: &Problem, a: &[f32], b: &[f32], c: &mut [f32]| {
        let Some(emulator) = &*EMULATOR else { return Err(Error::NoDevice) };
        let plan = emulator.plan(problem, u64::MAX)?;
        emulator.run(&plan, Arguments::new(call.alpha, a, b, call.beta, c))
    };
    // SAFETY: upheld by the caller.
    unsafe { with_copies(call, class, run) }
}

/// Runs a call on the first GPU. Says whether it could.
///
/// # Safety
/// As of `sgemm_`, with arguments that have no fault.
pub unsafe fn on_gpu(call: &Call, class: AccuracyClass) -> bool {
    static HANDLE: OnceLock<Option<Handle>> = OnceLock::new();
    let Some(handle) = HANDLE.get_or_init(|| Handle::new(&open(0).ok()?).ok()) else { return false };
    let run = |problem: &Problem, a: &[f32], b: &[f32], c: &mut [f32]| {
        handle.gemm_host(problem, call.alpha, a, b, call.beta, c)
    };
    // SAFETY: upheld by the caller.
    unsafe { with_copies(call, class, run) }
}

/// Runs something on copies of the matrices without gaps, and copies C back. What lies between the columns of C is others', who may be
/// writing there.
///
/// # Safety
/// As of `sgemm_`, with arguments that have no fault.
unsafe fn with_copies(
    call: &Call,
    class: AccuracyClass,
    run: impl FnOnce(&Problem, &[f32], &[f32], &mut [f32]) -> Result<(), Error>,
) -> bool {
    let [m, n, k] = [call.m, call.n, call.k].map(|size| size as usize);
    let [stored_a, stored_b] = call.stored();
    let layout = |op, rows: usize| {
        let columns = Layout::column_major(rows.max(1));
        if op == Op::N { columns } else { columns.transposed() }
    };
    let layouts = [layout(call.ops[0], stored_a[0]), layout(call.ops[1], stored_b[0])];
    let problem = Problem::new(m, n, k)
        .with_layouts(layouts[0], layouts[1], Layout::column_major(m))
        .with_accuracy(class)
        .with_alignment(size_of::<f32>(), size_of::<f32>());
    // Where they must not be read, anything will do.
    let reads = call.alpha != 0.0 && k > 0;
    // SAFETY: upheld by the caller, for each column.
    let (a, b, mut c) = unsafe {
        let of = |start, [rows, columns]: [usize; 2], ld, is_read| match is_read {
            true => gather(start, [rows, columns], ld),
            false => vec![0.0; rows * columns],
        };
        (
            of(call.a, stored_a, call.lda, reads),
            of(call.b, stored_b, call.ldb, reads),
            of(call.c.cast_const(), [m, n], call.ldc, call.beta != 0.0),
        )
    };
    // A panic must not go on into a program that is not Rust's.
    let is_done = catch_unwind(AssertUnwindSafe(|| run(&problem, &a, &b, &mut c))).is_ok_and(|result| result.is_ok());
    if is_done {
        for (j, column) in c.chunks_exact(m).enumerate() {
            // SAFETY: upheld by the caller: a column of C is there.
            unsafe { call.c.add(j * call.ldc as usize).copy_from_nonoverlapping(column.as_ptr(), m) };
        }
    }
    is_done
}

/// A matrix by columns, without the gaps between them.
///
/// # Safety
/// The matrix is there, with that leading dimension.
unsafe fn gather(start: *const f32, [rows, columns]: [usize; 2], ld: i64) -> Vec<f32> {
    let mut all = Vec::with_capacity(rows * columns);
    for j in 0..columns {
        // SAFETY: upheld by the caller: a column has so many elements.
        all.extend_from_slice(unsafe { std::slice::from_raw_parts(start.add(j * ld as usize), rows) });
    }
    all
}
