//! Asks a device what kernels cost.

use results::{Run, ShapeTiming};

use super::shapes::rows;
use crate::Error;
use crate::cli::request::{RunRequest, Tuning};
use crate::measure::tune::{self, Fit};
use crate::output;

/// Measures, unless that was done before, and writes the table.
pub fn tune(request: &RunRequest, tuning: &Tuning) -> Result<u8, Error> {
    let Tuning { sweep, records, file } = tuning;
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
    let path = tune::write(&table, file.as_deref())?;
    output::complain(&format!("table: {}", path.display()));
    Ok(exit_code)
}
