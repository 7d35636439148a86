//! What limits a step at the sizes that were counted, and the counter that shows it.

use anyhow::{Result, ensure};
use gpu_kernels::Step;
use results::Counters;
use results::format::{grouped, percent, significant};

use super::markdown::texts;
use super::sources::Sources;

/// The block `limits`: a line for each size.
pub fn block(step: &Step, sources: &Sources) -> Result<String> {
    let counted: Vec<_> = sources.run.counters.iter().filter(|counters| counters.kernel == step.slug).collect();
    ensure!(!counted.is_empty(), "{} has no counters of {}", sources.file, step.slug);
    let rows = sources.squares(step.slug);
    let line = |counters: &&Counters| {
        let row = rows
            .iter()
            .find(|row| row.m == counters.m && row.kernel == counters.kernel && row.verified && !row.modelled);
        let of_peak = row.and_then(|row| row.of_peak());
        [
            counters.m.to_string(),
            counters.bound.clone(),
            evidence(counters),
            of_peak.map_or_else(|| "-".into(), |share| format!("{} %", percent(share))),
        ]
    };
    let text = texts(["m = n = k", "Bound by, modelled", "Shown by", "Of peak, measured"], counted.iter().map(line));
    let device = &counted[0].device;
    Ok(format!(
        "{text}\nThe bound is the model's for {device}. The evidence is counted in the emulator. Both: `{}`.\n",
        sources.file
    ))
}

/// The counter by which a bound is recognised.
fn evidence(counters: &Counters) -> String {
    let Counters { blocks, blocks_per_sm, occupancy, occupancy_limit, .. } = counters;
    match counters.bound.as_str() {
        "instruction issue" if counters.tensor_core_fmas > 0 => format!(
            "{} multiply-adds of the tensor cores per instruction",
            significant(counters.tensor_core_fmas as f64 / counters.machine_instructions as f64)
        ),
        "instruction issue" => {
            format!("{} % of the instructions are FMAs", significant(100.0 * counters.fma_share()))
        }
        "shared memory and L1 bandwidth" => {
            format!("{} wavefronts per FMA", significant(counters.wavefronts_per_fma()))
        }
        "L2 bandwidth" => format!("{} FLOP per byte between L2 and the SMs", significant(counters.flops_per_l2_byte())),
        "FMA throughput" => format!("{} FMAs per load", significant(counters.fmas_per_load())),
        "tensor core throughput" => {
            format!("{} multiply-adds of the tensor cores", grouped(counters.tensor_core_fmas))
        }
        _ => format!(
            "{} blocks, {blocks_per_sm} at once on an SM; occupancy {} %, limited by {occupancy_limit}",
            grouped(*blocks),
            significant(100.0 * occupancy)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::root;

    #[test]
    fn each_counted_size_has_its_bound_and_the_counter_that_shows_it() {
        let sources = Sources::read(root()).unwrap();
        for step in gpu_kernels::STEPS {
            let text = block(step, &sources).unwrap();
            let rows: Vec<_> = text.lines().skip(2).filter(|line| line.starts_with("| ")).collect();
            assert_eq!(rows.len(), 2, "{}: {text}", step.slug);
            assert!(rows.iter().all(|row| !row.contains("| 0 ") && !row.contains("|  |")), "{}: {text}", step.slug);
        }
        let step = gpu_kernels::find("coalesced").unwrap();
        let wavefronts = significant(sources.counters("coalesced").unwrap().wavefronts_per_fma());
        assert!(block(step, &sources).unwrap().contains(&format!("| {wavefronts} wavefronts per FMA | ")));
    }
}
