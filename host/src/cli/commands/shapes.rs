//! Times what the library chooses for each shape of a set, beside cuBLAS.

use results::{ShapeSet, ShapeTiming};

use crate::backend::Options;
use crate::backend::cuda::Sequences;
use crate::cli::progress::{Display, Work};
use crate::cli::request::{RunRequest, Sweep};
use crate::measure::bench::Timing;
use crate::measure::shapes::{self, Wanted};
use crate::output::{self, Format, Records};
use crate::{AccuracyClass, Error};

/// What a piece of the work is called.
const SHAPE: &str = "shape";

/// Measures each shape in each class, and shows how the ratio to cuBLAS is distributed.
pub fn shapes(request: &RunRequest, sweep: &Sweep) -> Result<u8, Error> {
    let (rows, exit_code) = rows(request, sweep)?;
    if request.format == Format::Table {
        ShapeSet::all(&rows).iter().try_for_each(|set| output::print(&output::shapes(set)))?;
    }
    Ok(exit_code)
}

/// Measures each shape in each class: the rows, and the exit code. A shape that fails does not stop the others.
pub(super) fn rows(request: &RunRequest, sweep: &Sweep) -> Result<(Vec<ShapeTiming>, u8), Error> {
    let Sweep { set, classes, .. } = sweep;
    set.notes.iter().for_each(|note| output::complain(&format!("note: {note}")));
    let mut records = Records::open(request.format, request.json.as_deref())?;
    let mut display = Display::new();
    let options = Options { stop: display.stop(), ..request.options.clone() };
    let mut sequences = Sequences::open(options).map_err(|error| match error {
        Error::NoDriver | Error::NoDevice { count: 0, .. } => Error::NothingToCompare,
        other => other,
    })?;
    let work =
        |part| set.cases.iter().map(move |case| Work { part, name: SHAPE, flops: case.problem(classes[part]).flops() });
    display.expect((0..classes.len()).flat_map(work).collect(), Timing::default(), None);
    let (mut rows, mut exit_code) = (Vec::new(), 0);
    for &class in classes {
        exit_code = measure(&mut sequences, sweep, class, &mut display, &mut records, &mut rows, exit_code)?;
        if display.is_interrupted() {
            break;
        }
    }
    let exit_code = display.end(exit_code, "shapes");
    Ok((rows, exit_code))
}

/// Measures all shapes in one class, and adds them to `rows`. Returns the exit code.
fn measure(
    sequences: &mut Sequences,
    sweep: &Sweep,
    class: AccuracyClass,
    display: &mut Display,
    records: &mut Records,
    rows: &mut Vec<ShapeTiming>,
    mut exit_code: u8,
) -> Result<u8, Error> {
    let Sweep { set, regret, .. } = sweep;
    let numbers = shapes::supply(sequences, &set.cases, class)?;
    for case in &set.cases {
        match shapes::measure(sequences, &numbers, set, case, Wanted { class, regret: *regret }) {
            Ok(row) => {
                display.aside(|| records.write(std::slice::from_ref(&row), |_| String::new()))?;
                rows.push(row);
            }
            Err(Error::Interrupted) => break,
            Err(error) => {
                let [m, n, k] = case.sizes;
                let line = format!("error: {m}x{n}x{k} in {}: {error}", class.name());
                display.aside(|| output::complain(&line));
                exit_code = exit_code.max(error.exit_code());
            }
        }
        display.finish(SHAPE, None);
    }
    Ok(exit_code)
}
