//! Products by the library: on a GPU, or on an emulated one. Both stream the caller's matrices, as they lie, through the device's memory.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::{process, thread};

use sgemm::cuda::{Handle, open};
use sgemm::emulator::Emulator;
use sgemm::streamed::{Emulation, Plan, StreamedPlan, Streamer};
use sgemm::{AccuracyClass, Error, Layout, Problem};

use crate::call::{Call, Op};
use crate::recent::Recent;

/// The device that is emulated.
const EMULATED: &str = "h200";

/// What products are computed with.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub class: AccuracyClass,
    /// Most bytes of the device's memory for matrices; `None` for half of what is free at the first call.
    pub memory_bytes: Option<u64>,
}

/// Runs a call on an emulated device. Where it cannot, C is as it was, or not needed.
///
/// # Safety
/// As of `sgemm_`, with arguments that have no fault.
pub unsafe fn emulate(call: &Call, limits: Limits) -> Result<(), Error> {
    static EMULATED: OnceLock<Option<Mutex<Emulated>>> = OnceLock::new();
    let run = || {
        let emulated =
            EMULATED.get_or_init(|| Emulated::new(limits).map(Mutex::new)).as_ref().ok_or(Error::NoDevice)?;
        let mut emulated = emulated.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: upheld by the caller.
        unsafe { emulated.run(call, &problem(call, limits.class)) }
    };
    apart(call, run)
}

/// Runs a call on the first GPU. Where it cannot, C is as it was, or not needed.
///
/// # Safety
/// As of `sgemm_`, with arguments that have no fault.
pub unsafe fn on_gpu(call: &Call, limits: Limits) -> Result<(), Error> {
    static GPU: OnceLock<Result<Mutex<Gpu>, Error>> = OnceLock::new();
    let run = || {
        let gpu = GPU.get_or_init(|| Gpu::new(limits).map(Mutex::new)).as_ref().map_err(Clone::clone)?;
        // Calls of several threads share streams, buffers and memory, and PCIe in any case: they run one after the other.
        let mut gpu = gpu.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: upheld by the caller.
        unsafe { gpu.run(call, &problem(call, limits.class)) }
    };
    apart(call, run)
}

/// Runs something in a thread of its own: the caller's thread keeps its CUDA context, and no panic goes on into a program that is not
/// Rust's. Where C is needed but in part computed, nobody can repeat the call: the process ends.
fn apart(call: &Call, run: impl FnOnce() -> Result<(), Error> + Send) -> Result<(), Error> {
    let failed = |what: &str, code: String| Error::Driver { what: what.into(), code };
    let result = thread::scope(|scope| {
        let thread = thread::Builder::new().name("sgemm-blas".into()).spawn_scoped(scope, run);
        let thread = thread.map_err(|error| failed("start a thread", error.to_string()))?;
        let panicked = |_| Error::Unfinished { error: Box::new(failed("multiply", "a thread panicked".into())) };
        thread.join().unwrap_or_else(|panic| Err(panicked(panic)))
    });
    if let (Err(error @ Error::Unfinished { .. }), true) = (&result, call.reads_c()) {
        eprintln!("sgemm: a product cannot be repeated, since its C was overwritten: {error}");
        process::abort();
    }
    result
}

/// A GPU, with the last plans for it.
struct Gpu {
    // Dropped before what it was made with.
    plans: Recent<(Problem, bool), StreamedPlan>,
    streamer: Streamer,
    handle: Handle,
    memory_bytes: u64,
}

impl Gpu {
    fn new(limits: Limits) -> Result<Self, Error> {
        let handle = Handle::new(&open(0)?)?;
        let half = || {
            let info = handle.context().mem_get_info();
            info.map(|(free, _)| free as u64 / 2).map_err(|_| Error::NoDevice)
        };
        let memory_bytes = limits.memory_bytes.map_or_else(half, Ok)?;
        let streamer = Streamer::new(std::slice::from_ref(&handle))?;
        Ok(Self { plans: Recent::default(), streamer, handle, memory_bytes })
    }

    /// # Safety
    /// As of `sgemm_`.
    unsafe fn run(&mut self, call: &Call, problem: &Problem) -> Result<(), Error> {
        let Self { plans, streamer, handle, memory_bytes } = self;
        let plan = plans.get((*problem, call.reads_c()), || {
            streamer.load(Plan::with_factors(problem, handle.device(), &[*memory_bytes], factors(call))?)
        })?;
        // SAFETY: upheld by the caller: the problem has the sizes and leading dimensions of the call.
        unsafe { streamer.run_raw(plan, call.alpha, call.a, call.b, call.beta, call.c) }
    }
}

/// An emulated GPU, with the last plans for it.
struct Emulated {
    plans: Recent<(Problem, bool), Plan>,
    emulator: Emulator,
    memory_bytes: u64,
}

impl Emulated {
    fn new(limits: Limits) -> Option<Self> {
        let memory_bytes = limits.memory_bytes.unwrap_or(u64::MAX);
        Some(Self { plans: Recent::default(), emulator: Emulator::of(EMULATED)?, memory_bytes })
    }

    /// # Safety
    /// As of `sgemm_`.
    unsafe fn run(&mut self, call: &Call, problem: &Problem) -> Result<(), Error> {
        let Self { plans, emulator, memory_bytes } = self;
        let plan = plans.get((*problem, call.reads_c()), || {
            Plan::with_factors(problem, emulator.device(), &[*memory_bytes], factors(call))
        })?;
        // Any order of the queues that the plan allows is right: this is one.
        let emulation = Emulation::new(emulator, 0);
        // SAFETY: upheld by the caller: the problem has the sizes and leading dimensions of the call.
        let run = unsafe { emulation.run_raw(plan, call.alpha, call.a, call.b, call.beta, call.c) };
        run.map_err(|error| Error::Unfinished { error: Box::new(error) })
    }
}

/// What the call is, on the caller's matrices.
fn problem(call: &Call, class: AccuracyClass) -> Problem {
    let [m, n, k, lda, ldb, ldc] = [call.m, call.n, call.k, call.lda, call.ldb, call.ldc].map(|size| size as usize);
    let layout = |op, ld| if op == Op::N { Layout::column_major(ld) } else { Layout::column_major(ld).transposed() };
    let [a, b] = [layout(call.ops[0], lda), layout(call.ops[1], ldb)];
    Problem::new(m, n, k).with_layouts(a, b, Layout::column_major(ldc)).with_accuracy(class)
}

/// The factors for which a plan is to be fast, whatever the call's are.
fn factors(call: &Call) -> [f32; 2] {
    [1.0, if call.reads_c() { 1.0 } else { 0.0 }]
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;
    use crate::call::Name;

    const CALL: Call = Call {
        name: Name::Plain,
        ops: [Op::N; 2],
        m: 60,
        n: 40,
        k: 50,
        alpha: 1.0,
        a: ptr::null(),
        lda: 60,
        b: ptr::null(),
        ldb: 50,
        beta: 0.0,
        c: ptr::null_mut(),
        ldc: 60,
    };

    #[test]
    fn a_panic_is_an_error_where_c_is_not_needed() {
        let result = apart(&CALL, || panic!("as a test has it"));
        assert!(matches!(result, Err(Error::Unfinished { .. })));
        assert_eq!(apart(&Call { beta: 1.0, ..CALL }, || Err(Error::NoDevice)), Err(Error::NoDevice));
    }

    #[test]
    fn a_product_keeps_to_its_memory_and_its_plan() {
        let (a, b, mut c) = (vec![1.0; 60 * 50], vec![2.0; 50 * 40], vec![f32::NAN; 60 * 40]);
        let call = Call { a: a.as_ptr(), b: b.as_ptr(), c: c.as_mut_ptr(), ..CALL };
        let class = AccuracyClass::Fp32Strict;
        // A quarter of what the matrices take.
        let limit = (a.len() + b.len() + c.len()) as u64;
        let mut emulated = Emulated::new(Limits { class, memory_bytes: Some(limit) }).unwrap();
        let problem = problem(&call, class);
        for _ in 0..2 {
            // SAFETY: the matrices have these sizes.
            unsafe { emulated.run(&call, &problem) }.unwrap();
        }
        assert_eq!(c, vec![100.0; 60 * 40]);
        let plan = emulated.plans.get((problem, false), || Err("it is kept")).unwrap();
        assert!(plan.parts()[0].memory_bytes() <= limit && plan.parts()[0].tasks().len() > 10);
    }
}
