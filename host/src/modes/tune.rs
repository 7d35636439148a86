//! Searches the fastest kernel for each problem.

use host::backend::emulator::Estimator;
use host::backend::{self, BackendChoice};
use host::tune::{Output, search};
use host::{Error, Kernel};

use super::complain;
use crate::cli::Args;
use crate::output;
use crate::progress::{Display, Work};

/// What a piece of the work is called.
const SHAPE: &str = "shape";

/// `--tune`: searches the fastest kernel for each problem. Returns the exit code: 1 where a kernel failed.
pub fn tune(args: &Args) -> Result<u8, Error> {
    let promise = args.precision.unwrap_or_default();
    args.selection()?;
    let problems = args.problems(false)?;
    let mut options = args.options()?;
    let mut display = Display::new();
    options.stop = display.stop();
    let ptx = options.ptx.clone();
    let opened = backend::open(BackendChoice::Cuda, options).map_err(|error| match error {
        Error::NoDriver | Error::NoDevice { count: 0, .. } => Error::NothingToTune,
        other => other,
    });
    let mut backend = opened?.backend;
    // Its version stands in the table.
    if let Err(error) = backend.prepare(Kernel::CUBLAS) {
        output::complain(&format!("note: no comparison: {error}"));
    }
    let mut file = Output::open(args.output.as_deref(), backend.device())?;
    let mut estimator = Estimator::new(ptx, backend.device());
    // A shape takes about as long as any other: there are many kernels, and each is timed for a while.
    let shapes = (0..problems.len()).map(|part| Work { part, name: SHAPE, flops: 1.0 });
    display.expect(shapes.collect(), args.timing(), None);
    let mut exit_code = 0;
    for problem in &problems {
        let found = search(backend.as_mut(), &mut estimator, problem, promise, &mut |progress| display.show(progress));
        let failures = match found {
            Ok(found) => {
                file.insert(found.entry, backend.device())?;
                display.aside(|| output::print(&format!("{found}\n")))?;
                found.failures
            }
            Err(Error::Interrupted) => break,
            Err(error) => vec![error],
        };
        exit_code = display.aside(|| complain(&failures, exit_code));
        display.finish(SHAPE, None);
    }
    let exit_code = display.end(exit_code, "shapes");
    output::complain(&format!("table: {}", file.path().display()));
    Ok(exit_code)
}
