//! Asks a device what kernels cost.

use std::path::Path;

use results::{Run, ShapeTiming};
use sgemm::select::Table;

use super::shapes::rows;
use crate::Error;
use crate::cli::request::{RunRequest, Tuning};
use crate::measure::tune::{self, Fit, Regrets};
use crate::output;

/// Measures, unless that was done before, and writes the table.
pub fn tune(request: &RunRequest, tuning: &Tuning) -> Result<u8, Error> {
    let Tuning { sweep, records, folds, model, file } = tuning;
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
            rows.extend(Run::read(path).map_err(Error::Records)?.shapes);
        }
        (rows, 0)
    };
    let table = tune::table(&rows)?;
    output::print(&format!("{}\n", Fit::of(&table, &rows)))?;
    if let Some(folds) = folds {
        let unseen = Regrets::unseen(&rows, usize::from(*folds))?;
        output::print(&format!("of shapes that were not fitted to, in {folds} folds:\n{unseen}\n"))?;
    }
    written(&table, file.as_deref(), exit_code)
}

fn written(table: &Table, file: Option<&Path>, exit_code: u8) -> Result<u8, Error> {
    let path = tune::write(table, file)?;
    output::complain(&format!("table: {}", path.display()));
    Ok(exit_code)
}
