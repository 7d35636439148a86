//! Searches the fastest kernel for each problem.

use crate::backend::emulator::Estimator;
use crate::backend::{self, Options};
use crate::measure::tune::{self, Output};
use crate::{Error, Kernel};

use super::complain;
use crate::cli::progress::{Display, Work};
use crate::cli::request::{RunRequest, Search};
use crate::measure::bench::Timing;
use crate::output;

/// What a piece of the work is called.
const SHAPE: &str = "shape";

/// Searches the fastest kernel for each problem.
pub fn tune(request: &RunRequest, search: &Search) -> Result<u8, Error> {
    let problems = request.problems.on(false)?;
    let mut display = Display::new();
    let options = Options { stop: display.stop(), ..request.options.clone() };
    let ptx = options.ptx.clone();
    let opened = backend::open(request.backend, options).map_err(|error| match error {
        Error::NoDriver | Error::NoDevice { count: 0, .. } => Error::NothingToTune,
        other => other,
    });
    let mut backend = opened?.backend;
    // Its version stands in the table.
    if let Err(error) = backend.prepare(Kernel::CUBLAS) {
        output::complain(&format!("note: no comparison: {error}"));
    }
    let mut file = Output::open(search.file.as_deref(), backend.device())?;
    let mut estimator = Estimator::new(ptx, backend.device());
    // A shape takes about as long as any other: there are many kernels, and each is timed for a while.
    let shapes = (0..problems.len()).map(|part| Work { part, name: SHAPE, flops: 1.0 });
    display.expect(shapes.collect(), Timing::default(), None);
    let mut exit_code = 0;
    for problem in &problems {
        let found = tune::search(backend.as_mut(), &mut estimator, problem, search.class, &mut |progress| {
            display.show(progress)
        });
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
