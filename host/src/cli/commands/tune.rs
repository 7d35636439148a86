//! Asks a device what kernels cost.

use std::path::Path;

use results::{Run, ShapeTiming};
use sgemm::select::Table;

use super::shapes::rows;
use crate::Error;
use crate::cli::request::{RunRequest, Tuning};
use crate::measure::tune::{self, Fit, Regrets};
use crate::output::{self, Format};

/// Measures, unless that was done before, and writes the table.
pub fn tune(request: &RunRequest, tuning: &Tuning) -> Result<u8, Error> {
    let Tuning { sweep, records, folds, model, file } = tuning;
    file.as_deref().map_or(Ok(()), tune::check_folder)?;
    if let Some(model) = model {
        let table = tune::modelled(model, &mut |kernel| output::complain(&format!("modelling {kernel}")))?;
        return written(&table, file.as_deref(), 0);
    }
    let (rows, exit_code) = if records.is_empty() {
        rows(request, sweep)
            .map_err(|error| if matches!(error, Error::NothingToCompare) { Error::NothingToTune } else { error })?
    } else {
        let mut rows: Vec<ShapeTiming> = Vec::new();
        for path in records {
            let run = Run::read(path).map_err(Error::Records)?;
            run.note().iter().for_each(|note| output::complain(note));
            rows.extend(run.shapes);
        }
        (rows, 0)
    };
    let table = tune::table(&rows)?;
    say(request, &format!("{}\n", Fit::of(&table, &rows)))?;
    if let Some(folds) = folds {
        let unseen = Regrets::unseen(&rows, usize::from(*folds))?;
        say(request, &format!("of shapes that were not fitted to, in {folds} folds:\n{unseen}\n"))?;
    }
    written(&table, file.as_deref(), exit_code)
}

/// Prints text for people: on standard error, where standard output has the times.
fn say(request: &RunRequest, text: &str) -> Result<(), Error> {
    if request.format == Format::Table {
        return output::print(text);
    }
    text.lines().for_each(output::complain);
    Ok(())
}

fn written(table: &Table, file: Option<&Path>, exit_code: u8) -> Result<u8, Error> {
    let path = tune::write(table, file)?;
    output::complain(&format!("table: {}", path.display()));
    Ok(exit_code)
}
