//! What was counted of steps, for people.

use results::{Counters, SHOWN, significant};

use super::table::plain_table;
use crate::explain::Explanation;

/// The explanation as a table and sentences.
#[must_use]
pub fn explanation(explanation: &Explanation) -> String {
    let Explanation { summary, base, step, words } = explanation;
    let beside: Vec<&Counters> = base.iter().chain([step]).collect();
    let header = ["".to_owned()].into_iter().chain(beside.iter().map(|counters| counters.kernel.clone())).collect();
    let rows = SHOWN.iter().map(|shown| {
        let values = beside.iter().map(|counters| (shown.text)(counters));
        [shown.name.to_owned()].into_iter().chain(values).collect()
    });
    let table = plain_table(1, header, rows);
    let sentences: String = words.iter().map(|sentence| format!("- {sentence}\n")).collect();
    format!("{}: {summary}\n{}\n{table}\n{sentences}", step.kernel, setting(&beside))
}

/// What was counted of several steps on one problem, a line each. Empty where there are none.
#[must_use]
pub fn counters(counted: &[Counters]) -> String {
    if counted.is_empty() {
        return String::new();
    }
    let header = COLUMNS.map(|(name, _)| name.to_owned()).to_vec();
    let rows = counted.iter().map(|counters| COLUMNS.map(|(_, text)| text(counters)).to_vec());
    format!("{}\n{}\n", setting(&counted.iter().collect::<Vec<_>>()), plain_table(1, header, rows))
}

type Column = (&'static str, fn(&Counters) -> String);

const COLUMNS: [Column; 10] = [
    ("kernel", |counters| counters.kernel.clone()),
    ("FMAs, %", |counters| significant(100.0 * counters.fma_share())),
    ("FMAs/load", |counters| significant(counters.fmas_per_load())),
    ("sectors/load", |counters| significant(counters.sectors_per_load())),
    ("bytes/FMA", |counters| significant(counters.global_bytes_per_fma())),
    ("shared wavefronts/load", |counters| significant(counters.wavefronts_per_shared_load())),
    ("conflicts, %", |counters| significant(100.0 * counters.conflict_share())),
    ("occupancy, %", |counters| significant(100.0 * counters.occupancy)),
    ("limited by", |counters| counters.occupancy_limit.clone()),
    ("bound by", |counters| counters.bound.clone()),
];

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
