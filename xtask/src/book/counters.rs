//! What the emulator counts of a step, beside its base.

use gpu_kernels::Step;
use results::{Counters, significant};

use super::markdown::{grouped, table};
use super::sources::Sources;

type Value = fn(&Counters) -> String;

/// The rows, by the names that `host --explain` has for them.
const ROWS: [(&str, Value); 19] = [
    ("machine instructions, estimated", |counters| grouped(counters.machine_instructions)),
    ("FMAs among them, %", |counters| significant(100.0 * counters.fma_share())),
    ("FMAs per load", |counters| significant(counters.fmas_per_load())),
    ("global loads", |counters| grouped(counters.warp_loads())),
    ("sectors per load", |counters| significant(counters.sectors_per_load())),
    ("copies in bulk", |counters| grouped(counters.copies)),
    ("global bytes per FMA", |counters| significant(counters.global_bytes_per_fma())),
    ("shared loads", |counters| grouped(counters.shared_loads)),
    ("wavefronts per shared load", |counters| significant(counters.wavefronts_per_shared_load())),
    ("wavefronts lost to bank conflicts, %", |counters| significant(100.0 * counters.conflict_share())),
    ("L1 and shared wavefronts per FMA", |counters| significant(counters.wavefronts_per_fma())),
    ("barriers", |counters| grouped(counters.barriers)),
    ("registers per thread, estimated", |counters| counters.registers.to_string()),
    ("shared memory per block, bytes", |counters| grouped(counters.shared_bytes.into())),
    ("occupancy, %", |counters| significant(100.0 * counters.occupancy)),
    ("limited by", |counters| counters.occupancy_limit.clone()),
    ("operations per byte from L2", |counters| significant(counters.flops_per_l2_byte())),
    ("modelled time, ms", |counters| significant(counters.modelled_ms)),
    ("bound by", |counters| counters.bound.clone()),
];

/// The block `counters`: the step's column, after its base's.
pub fn block(step: &Step, sources: &Sources) -> String {
    let Some(own) = sources.counters(step.slug) else {
        return format!("Nothing was counted of `{}` yet: `{}` has no counters of it.\n", step.slug, sources.file);
    };
    let name = |counters: &Counters| format!("`{}`", counters.kernel);
    let base = step.base.and_then(|base| sources.counters(base)).filter(|base| shape(base) == shape(own));
    let rows = ROWS.iter().filter(|(_, value)| base.into_iter().chain([own]).any(|counters| value(counters) != "0"));
    let text = match base {
        Some(base) => {
            let line = |(row, value): &(&str, Value)| [(*row).to_owned(), value(base), value(own)];
            table(["", &name(base), &name(own)], rows.map(line))
        }
        None => table(["", &name(own)], rows.map(|(row, value)| [(*row).to_owned(), value(own)])),
    };
    format!("{text}\n{}\n", caption(own, base, sources))
}

fn shape(counters: &Counters) -> [u32; 3] {
    [counters.m, counters.n, counters.k]
}

/// How the figures came about.
fn caption(own: &Counters, base: Option<&Counters>, sources: &Sources) -> String {
    let [m, n, k] = shape(own);
    let is_sample = base.into_iter().chain([own]).any(|counters| counters.blocks_run < counters.blocks);
    let sample = if is_sample { ", in a sample of the blocks and scaled to all" } else { "" };
    let device = match base {
        Some(base) if base.device != own.device => {
            format!("{} (`{}`) and {} (`{}`)", base.device, base.kernel, own.device, own.kernel)
        }
        _ => own.device.clone(),
    };
    format!(
        "Counted in the emulator at m = {m}, n = {n}, k = {k}{sample}; what limits and bounds it, and the time, are modelled for {device}, \
        not measured. Every counter: `{}`.",
        sources.file
    )
}
