//! A step's counters beside its base's, for people.

use super::table::{plain_table, significant};
use crate::explain::{Explanation, Facts};

/// The explanation as a table and sentences.
#[must_use]
pub fn explanation(explanation: &Explanation) -> String {
    let Explanation { device, shape: [m, n, k], summary, base, step, words } = explanation;
    let facts: Vec<&Facts> = base.iter().chain([step]).collect();
    let header: Vec<String> =
        ["".to_owned()].into_iter().chain(facts.iter().map(|facts| facts.kernel.to_owned())).collect();
    let row = |(name, value): &(&str, fn(&Facts) -> String)| {
        [(*name).to_owned()].into_iter().chain(facts.iter().map(|facts| value(facts))).collect()
    };
    let table = plain_table(1, header, ROWS.iter().map(row));
    let sentences: String = words.iter().map(|sentence| format!("- {sentence}\n")).collect();
    let counted = match facts.iter().all(|facts| facts.blocks_run == facts.blocks) {
        true => "counted in the emulator",
        false => "counted in the emulator, in a sample of blocks (--full runs all)",
    };
    format!(
        "{}: {summary}\nm = {m}, n = {n}, k = {k}; {counted}; times modelled for {device}\n{table}\n{sentences}",
        step.kernel
    )
}

type Value = fn(&Facts) -> String;

const ROWS: [(&str, Value); 23] = [
    ("warp instructions of the PTX", |facts| grouped(facts.counters.warp_instructions())),
    ("machine instructions, estimated", |facts| grouped(facts.counters.machine_instructions)),
    ("FMAs among them, %", |facts| significant(100.0 * facts.fma_share())),
    ("FMAs per load", |facts| significant(facts.fmas_per_load())),
    ("global loads", |facts| grouped(facts.global_loads())),
    ("  sectors per load", |facts| significant(facts.sectors_per_load())),
    ("copies in bulk", |facts| grouped(facts.counters.copies.requests)),
    ("  bytes per copy", |facts| significant(facts.bytes_per_copy())),
    ("global bytes per FMA", |facts| significant(facts.global_bytes_per_fma())),
    ("global stores", |facts| grouped(facts.counters.global_stores.requests)),
    ("shared loads", |facts| grouped(facts.counters.shared_loads.requests)),
    ("  wavefronts per load", |facts| significant(facts.wavefronts_per_shared_load())),
    ("shared stores", |facts| grouped(facts.counters.shared_stores.requests)),
    ("L1 and shared wavefronts per FMA", |facts| significant(facts.wavefronts_per_fma())),
    ("barriers", |facts| grouped(facts.counters.barriers)),
    ("divergent branches", |facts| grouped(facts.counters.divergent_branches)),
    ("registers per thread, estimated", |facts| facts.needs.registers.to_string()),
    ("shared memory per block, bytes", |facts| grouped(facts.needs.shared_bytes.into())),
    ("occupancy, %", |facts| significant(100.0 * facts.prediction.occupancy.share)),
    ("  limited by", |facts| facts.prediction.occupancy.limit.name().to_owned()),
    ("modelled time, ms", |facts| significant(facts.prediction.time_ms)),
    ("  bound by", |facts| facts.prediction.bound.name().to_owned()),
    ("blocks run", |facts| format!("{} of {}", facts.blocks_run, facts.blocks)),
];

/// Digits in groups of three.
fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(" ")
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn digits_are_grouped() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1 000", "1 234 567"]);
    }
}
