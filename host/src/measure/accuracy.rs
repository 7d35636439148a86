//! How accurate kernels are: their errors against f64 on inputs of many kinds, beside those of SGEMM on the same inputs.

use gpu_kernels::{Element, Precision, STEPS};
use rand::{SeedableRng, rngs::SmallRng};
use results::SCHEMA;

use crate::backend::ptx::toolchain;
use crate::backend::{Backend, Device, now};
use crate::measure::bench::{Progress, check_memory};
use crate::verify::reference::{Reference, choose_rows};
use crate::verify::{Coverage, ErrorBound, Fault, within};
use crate::{AccuracyClass, Error, Kernel, Matrix, Operands, Problem};

mod errors;
mod inputs;

pub use errors::Errors;
pub use inputs::Inputs;
pub use results::{Accuracy as AccuracyRow, Verdict};

/// Rows and columns of C, and lengths of the sums, where nothing else is asked for: C is so large that SGEMM has sums in one
/// piece, as it has in large problems.
pub const MEASURED: (u32, &[u32]) = (2048, &[64, 1000, 4096, 16384, 65536]);

/// The same in the emulator, which is slow.
pub const EMULATED: (u32, &[u32]) = (128, &[64, 1000]);

/// The step that stands for SGEMM where cuBLAS is not there: one sum for each element, from the first product to the last.
const PLAIN: &str = "vectorized";

/// The kernels on one problem and one kind of inputs.
#[derive(Debug)]
pub struct Measured {
    /// Those that ran, in order.
    pub rows: Vec<AccuracyRow>,
    /// Why cuBLAS is not among them, if it was to be.
    pub no_baseline: Option<String>,
    /// Kernels that could not run, or whose errors their arithmetic does not explain.
    pub failures: Vec<Error>,
    /// Whether [`crate::Stop`] was raised: kernels that had not run by then are missing.
    pub is_interrupted: bool,
}

/// What is compared where nothing is named: SGEMM, a step in single precision, and each step of accuracy
/// class fp32 in another arithmetic.
#[must_use]
pub fn kernels(device: &Device) -> Vec<Kernel> {
    let plain = gpu_kernels::find(PLAIN).into_iter();
    let alike = STEPS.iter().filter(|step| is_fp32_class(Kernel::Step(step)) && device.check_runs(step).is_ok());
    [Kernel::CUBLAS].into_iter().chain(plain.chain(alike).map(Kernel::Step)).collect()
}

/// Whether a kernel is of accuracy class fp32, and computes in another arithmetic.
#[must_use]
pub fn is_fp32_class(kernel: Kernel) -> bool {
    let precision = kernel.precision();
    precision != Precision::Fp32 && AccuracyClass::of(precision) == AccuracyClass::Fp32
}

/// Fails for a kernel whose inputs or outputs are not those of SGEMM.
///
/// # Errors
/// [`Error::NotComparable`].
pub fn check_comparable(kernel: Kernel) -> Result<(), Error> {
    let is_sgemm = kernel.elements() == [Element::F32; 2];
    if is_sgemm { Ok(()) } else { Err(Error::NotComparable { kernel: kernel.name() }) }
}

/// Measures the errors of kernels on one problem and one kind of inputs. All of C must be computed: an emulator runs all
/// blocks. A kernel that fails does not stop the others. The first one in single precision is what the others are compared
/// with; without one, there are no rows.
///
/// ```
/// use host::measure::accuracy::{Inputs, Verdict, measure};
/// use host::backend::{BackendChoice, Options, open};
/// use host::measure::kernels;
/// use host::{Kernel, Problem};
///
/// let problem = Problem::new(32, 32, 64)?.with_seed(5);
/// let kernels = [Kernel::Step(kernels::find("vectorized")?), Kernel::Step(kernels::find("fp16x3")?)];
/// let mut backend = open(BackendChoice::Emulator, Options { budget: None, ..Options::default() })?.backend;
///
/// let measured = measure(&mut *backend, &kernels, Inputs::Uniform, &problem, &mut |_| {})?;
/// let [fp32, tensor_cores] = &measured.rows[..] else { panic!("both ran") };
/// assert_eq!((fp32.verdict, tensor_cores.verdict), (Verdict::Same, Verdict::NoLarger));
/// assert!(tensor_cores.rel_error_ratio < 1.2, "the hi/lo split in f16 loses no more than fp32");
/// # Ok::<(), host::Error>(())
/// ```
///
/// # Errors
/// What concerns all kernels: [`Error::OutOfMemory`] and [`Error::OutOfHostMemory`].
pub fn measure(
    backend: &mut dyn Backend,
    kernels: &[Kernel],
    inputs: Inputs,
    problem: &Problem,
    watch: &mut dyn FnMut(Progress),
) -> Result<Measured, Error> {
    check_memory(backend.device(), problem, 0)?;
    watch(Progress::Preparing(*problem));
    let fresh = inputs.operands(problem)?;
    let rows = choose_rows(problem, &mut SmallRng::seed_from_u64(problem.seed));
    let reference = Reference::new(problem, &fresh, rows, 0..problem.n as usize);
    let mut measured = Measured { rows: Vec::new(), no_baseline: None, failures: Vec::new(), is_interrupted: false };
    let mut found = Vec::new();
    for &kernel in kernels {
        watch(if backend.is_modelled() { Progress::Emulating(kernel) } else { Progress::Verifying(kernel) });
        match run(backend, kernel, problem, &fresh) {
            Ok(c) => {
                let errors = Errors::of(&reference, &c);
                measured.failures.extend(wrong(kernel, problem, &reference, &errors, &c));
                found.push((kernel, errors));
            }
            Err(Error::Interrupted) => {
                measured.is_interrupted = true;
                break;
            }
            Err(error @ Error::NoCublas { .. }) => measured.no_baseline = Some(error.to_string()),
            Err(error) => measured.failures.push(error),
        }
        watch(Progress::Finished(kernel, None));
    }
    let yardstick = found.iter().find(|(kernel, _)| kernel.precision() == Precision::Fp32);
    if let Some(yardstick) = yardstick {
        measured.rows =
            found.iter().map(|of| row(&*backend, problem, inputs, reference.rows.len(), of, yardstick)).collect();
    }
    Ok(measured)
}

/// The kernels of accuracy class fp32 whose errors are larger than SGEMM's in some of the rows.
#[must_use]
pub fn outside_class(rows: &[AccuracyRow]) -> Vec<Error> {
    let mut kernels: Vec<(&str, &str)> = Vec::new();
    for row in rows.iter().filter(|row| row.promises && row.verdict == Verdict::Larger) {
        let pair = (&*row.kernel, &*row.compared_with);
        if !kernels.contains(&pair) {
            kernels.push(pair);
        }
    }
    let error = |(kernel, other): (&str, &str)| {
        let own = || rows.iter().filter(|row| (&*row.kernel, &*row.compared_with) == (kernel, other));
        let larger = own().filter(|row| row.verdict == Verdict::Larger).count();
        Error::LessAccurate { kernel: kernel.to_owned(), other: other.to_owned(), larger, cases: own().count() }
    };
    kernels.into_iter().map(error).collect()
}

/// Runs a kernel on fresh operands, and returns C.
fn run(backend: &mut dyn Backend, kernel: Kernel, problem: &Problem, fresh: &Operands) -> Result<Matrix, Error> {
    check_comparable(kernel)?;
    backend.prepare(kernel)?;
    backend.upload(fresh)?;
    match backend.run(kernel, problem)? {
        Coverage::Whole { .. } => backend.download_c(),
        Coverage::Sample { .. } => {
            let what = format!("measure the accuracy of {}", kernel.name());
            Err(Error::Emulator { what, reason: "only a sample of its blocks ran".into() })
        }
    }
}

/// The largest error, where it is more than the kernel's arithmetic can have, with sums in any order.
fn wrong(kernel: Kernel, problem: &Problem, reference: &Reference, errors: &Errors, c: &Matrix) -> Option<Error> {
    let (row, column) = errors.largest_at?;
    let at = reference.rows.binary_search(&row).ok()? * problem.n as usize + column;
    let (got, expected) = (c.get(row, column), reference.expected[at]);
    let bound = ErrorBound::new(problem, kernel.precision()).of_element(expected, reference.magnitude[at]);
    if within((f64::from(got) - expected).abs(), bound) {
        return None;
    }
    let sgemm::Problem { m, n, k, .. } = **problem;
    Some(Error::NotVerified {
        kernel: kernel.name(),
        m,
        n,
        k,
        fault: Fault::Element { row, column, got, expected, bound },
    })
}

fn row(
    backend: &dyn Backend,
    problem: &Problem,
    inputs: Inputs,
    rows_compared: usize,
    (kernel, errors): &(Kernel, Errors),
    (other, others): &(Kernel, Errors),
) -> AccuracyRow {
    let device = backend.device();
    let [rel_error_ratio, max_error_ratio] = errors.ratios(others);
    AccuracyRow {
        schema: SCHEMA,
        kernel: kernel.name().to_owned(),
        precision: kernel.precision().name().to_owned(),
        inputs: inputs.name().to_owned(),
        m: problem.m,
        n: problem.n,
        k: problem.k,
        seed: problem.seed,
        rows_compared,
        rel_error: errors.rel_error,
        max_error: errors.max_error,
        compared_with: other.name().to_owned(),
        rel_error_ratio,
        max_error_ratio,
        promises: is_fp32_class(*kernel),
        verdict: if kernel == other { Verdict::Same } else { errors.verdict(others) },
        backend: backend.name().to_owned(),
        device: device.name.clone(),
        compute_capability: format!("{}.{}", device.compute_capability.0, device.compute_capability.1),
        driver: device.driver.clone(),
        cuda: device.cuda.clone(),
        cublas: device.cublas.clone(),
        date: now(),
        commit: env!("HOST_COMMIT").to_owned(),
        toolchain: Some(toolchain()),
    }
}
