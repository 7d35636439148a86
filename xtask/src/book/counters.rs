//! What the emulator counts of a step, beside its base.

use gpu_kernels::Step;
use results::{Counters, FIGURES, Figure};

use super::markdown::{cell, table, texts, unbroken};
use super::sources::Sources;

/// The rows.
const ROWS: [&Figure; 19] = Figure::all([
    "machine_instructions",
    "fma_share",
    "fmas_per_load",
    "warp_loads",
    "sectors_per_load",
    "copies",
    "global_bytes_per_fma",
    "shared_loads",
    "wavefronts_per_shared_load",
    "conflict_share",
    "wavefronts_per_fma",
    "barriers",
    "registers",
    "shared_bytes",
    "occupancy",
    "occupancy_limit",
    "flops_per_l2_byte",
    "modelled_ms",
    "bound",
]);

/// The block `figures`: the rows of all such tables, and what they mean.
pub fn figures() -> String {
    texts(
        ["Row", "What it counts, and how to judge it"],
        FIGURES.iter().map(|figure| [figure.name, figure.meaning].map(cell)),
    )
}

/// The block `counters`: the step's column, after its base's.
pub fn block(step: &Step, sources: &Sources) -> String {
    let Some(own) = sources.counters(step.slug) else {
        return format!("Nothing was counted of `{}` yet: `{}` has no counters of it.\n", step.slug, sources.file);
    };
    let name = |counters: &Counters| format!("`{}`", counters.kernel);
    let base = step.base.and_then(|base| sources.counters(base)).filter(|base| shape(base) == shape(own));
    let value = |figure: &Figure, counters: &Counters| {
        let text = figure.text(counters);
        if figure.number(counters).is_some() { unbroken(&text) } else { text }
    };
    let is_there = |figure: &&&Figure| base.into_iter().chain([own]).any(|counters| figure.text(counters) != "0");
    let rows = ROWS.iter().filter(is_there);
    let text = match base {
        Some(base) => {
            let line = |figure: &&Figure| [figure.name.to_owned(), value(figure, base), value(figure, own)];
            table(["", &name(base), &name(own)], rows.map(line))
        }
        None => table(["", &name(own)], rows.map(|figure| [figure.name.to_owned(), value(figure, own)])),
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
