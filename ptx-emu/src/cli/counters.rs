//! Counters of a run: as tables, or as JSON.

use ptx_emu::{Class, Counters, GlobalCounters, Rank, SharedCounters};
use serde::Serialize;
use serde_json::Value;

use super::findings::Found;
use super::launched::Launched;
use super::table::{grouped, ratio, table};

/// The totals as tables.
pub fn totals(launched: &Launched) -> String {
    let Launched { kernel, launch, report, .. } = launched;
    let counters = &report.counters;
    let [x, y, z] = launch.grid;
    let [bx, by, bz] = launch.block;
    let scaled = if report.sample.is_empty() { "" } else { "; the counts are scaled up to all blocks" };
    let (name, run, blocks) = (kernel.name(), report.blocks_run, report.blocks);
    format!(
        "{name}: grid {x} x {y} x {z}, block {bx} x {by} x {bz}; {run} of {blocks} blocks ran{scaled}\n{}\n{}\n{}",
        instructions(counters),
        memory(counters),
        others(counters),
    )
}

/// `snake_case` as words, the way `serde` names a class.
fn class_name(class: Class) -> String {
    let name = serde_json::to_value(class).ok().and_then(|value| value.as_str().map(str::to_owned));
    name.unwrap_or_default().replace('_', " ")
}

fn instructions(counters: &Counters) -> String {
    let total = counters.warp_instructions();
    let percent = |count: u64| match total {
        0 => "-".to_owned(),
        total => format!("{:.1}", 100.0 * count as f64 / total as f64),
    };
    let mut classes: Vec<(Class, u64)> = counters.instructions.iter().map(|(class, count)| (*class, *count)).collect();
    classes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let rows = classes.into_iter().map(|(class, count)| [class_name(class), grouped(count), percent(count)]);
    let sum = ["all".to_owned(), grouped(total), percent(total)];
    table(["instructions", "warps", "%"], &[0], rows.chain([sum]))
}

fn memory(counters: &Counters) -> String {
    let row = |name: &str, [requests, sectors, wavefronts, bytes]: [u64; 4]| {
        let per_request = [ratio(sectors, requests), ratio(wavefronts, requests)];
        let [requests, sectors, wavefronts, bytes] = [requests, sectors, wavefronts, bytes].map(grouped);
        let [sectors_per, wavefronts_per] = per_request;
        [name.to_owned(), requests, sectors, sectors_per, wavefronts, wavefronts_per, bytes]
    };
    let global = |name: &str, c: &GlobalCounters| row(name, [c.requests, c.sectors, c.wavefronts, c.bytes]);
    let shared = |name: &str, c: &SharedCounters| row(name, [c.requests, 0, c.wavefronts, c.bytes]);
    let rows = [
        global("global loads", &counters.global_loads),
        global("global stores", &counters.global_stores),
        shared("shared loads", &counters.shared_loads),
        shared("shared stores", &counters.shared_stores),
        shared("tensor core reads", &counters.tensor_core_reads),
        global("local", &counters.local),
    ];
    let header = ["memory", "requests", "sectors", "per request", "wavefronts", "per request", "bytes"];
    table(header, &[0], rows)
}

fn others(counters: &Counters) -> String {
    let rows = [
        ("thread instructions", counters.thread_instructions),
        ("thread FMAs (fp32)", counters.thread_fmas),
        ("tensor core FMAs", counters.tensor_core_fmas.total()),
        ("warps at barriers", counters.barriers),
        ("divergent branches", counters.divergent_branches),
    ];
    table(["others", "count"], &[0], rows.map(|(name, count)| [name.to_owned(), grouped(count)]))
}

/// A run, as JSON.
#[derive(Serialize)]
pub struct Run<'a> {
    file: &'a str,
    entry: &'a str,
    grid: [u32; 3],
    block: [u32; 3],
    static_shared_bytes: u32,
    dynamic_shared_bytes: u32,
    blocks: u64,
    blocks_run: u64,
    sampled: bool,
    seconds: f64,
    clean: bool,
    counters: &'a Counters,
    findings: Vec<Value>,
    suppressed: usize,
    fault: Option<Value>,
}

impl<'a> Run<'a> {
    /// A launch of a kernel of a file of PTX.
    pub fn new(file: &'a str, launched: &'a Launched, found: &[Found<'_>]) -> Self {
        let Launched { kernel, launch, report, seconds } = launched;
        let shown = || found.iter().filter(|found| found.suppressed.is_none());
        let (faults, findings): (Vec<_>, Vec<_>) =
            shown().partition(|found| report.fault.as_ref() == Some(found.finding));
        Self {
            file,
            entry: kernel.name(),
            grid: launch.grid,
            block: launch.block,
            static_shared_bytes: kernel.shared_bytes(),
            dynamic_shared_bytes: launch.dynamic_shared_bytes,
            blocks: report.blocks,
            blocks_run: report.blocks_run,
            sampled: !report.sample.is_empty(),
            seconds: *seconds,
            clean: shown().all(|found| found.finding.rank == Rank::Remark),
            counters: &report.counters,
            findings: findings.into_iter().map(Found::json).collect(),
            suppressed: found.len() - shown().count(),
            fault: faults.first().map(|found| found.json()),
        }
    }
}

/// As one JSON object on one line.
pub fn json(run: &impl Serialize) -> String {
    // Numbers, texts and maps with names as their keys: nothing that JSON lacks.
    serde_json::to_string(run).unwrap_or_default() + "\n"
}
