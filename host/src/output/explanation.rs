//! What was counted of steps, for people.

use results::{Counters, FIGURES, Figure, text_table};

use crate::measure::explain::Explanation;

/// The explanation as a table and sentences.
#[must_use]
pub fn explanation(explanation: &Explanation) -> String {
    let Explanation { summary, base, step, words } = explanation;
    let beside: Vec<&Counters> = base.iter().chain([step]).collect();
    let header = [""].into_iter().chain(beside.iter().map(|counters| &*counters.kernel));
    let rows = FIGURES.iter().map(|figure| {
        let values = beside.iter().map(|counters| figure.text(counters));
        [figure.name.to_owned()].into_iter().chain(values).collect::<Vec<_>>()
    });
    let table = text_table(&[0], header, rows);
    let sentences: String = words.iter().map(|sentence| format!("- {sentence}\n")).collect();
    format!("{}: {summary}\n{}\n{table}\n{sentences}", step.kernel, setting(&beside))
}

/// What was counted of several steps on one problem, a line each. Empty where there are none.
#[must_use]
pub fn counters(counted: &[Counters]) -> String {
    if counted.is_empty() {
        return String::new();
    }
    let header = ["kernel"].into_iter().chain(COLUMNS.map(|figure| figure.name));
    let rows = counted
        .iter()
        .map(|counters| [counters.kernel.clone()].into_iter().chain(COLUMNS.map(|figure| figure.text(counters))));
    format!("{}\n{}\n", setting(&counted.iter().collect::<Vec<_>>()), text_table(&[0], header, rows))
}

const COLUMNS: [&Figure; 9] = Figure::all([
    "fma_share",
    "fmas_per_load",
    "sectors_per_load",
    "global_bytes_per_fma",
    "wavefronts_per_shared_load",
    "conflict_share",
    "occupancy",
    "occupancy_limit",
    "bound",
]);

/// On what it was counted, and how.
fn setting(counted: &[&Counters]) -> String {
    let how = match counted.iter().all(|counters| counters.blocks_run == counters.blocks) {
        true => "counted in the emulator",
        false => "counted in the emulator, in a sample of blocks (--full runs all)",
    };
    let mut devices: Vec<&str> = Vec::new();
    for Counters { device, .. } in counted {
        if !devices.contains(&&**device) {
            devices.push(device);
        }
    }
    let Counters { m, n, k, .. } = counted[counted.len() - 1];
    format!("m = {m}, n = {n}, k = {k}; {how}; times modelled for {}", devices.join(", "))
}
