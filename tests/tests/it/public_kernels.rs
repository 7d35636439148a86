//! Public kernels that are no steps: what the emulator counted, beside what an H100 did, and the times that the model makes of it.
//!
//! Their PTX is not here: the record has the emulator's counters of each launch.

use std::collections::BTreeMap;
use std::path::Path;

use ptx_emu::device::Device;
use ptx_emu::model::predict;
use ptx_emu::occupancy::Resources;
use results::Metric;
use serde::Deserialize;

use crate::counters::TIME_TOLERANCE;

#[derive(Debug, Deserialize)]
struct Kernel {
    what: String,
    grid: [u64; 3],
    block: [u32; 3],
    time_ms: f64,
    predicted_ms: f64,
    measured: BTreeMap<String, f64>,
    emulator: BTreeMap<String, f64>,
    /// What the model predicts from.
    counters: ptx_emu::Counters,
}

fn kernels() -> Vec<Kernel> {
    #[derive(Deserialize)]
    struct Recorded {
        rows: Vec<Kernel>,
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/ncu-h100-public.json");
    let Recorded { rows } = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(rows.len(), 5);
    rows
}

#[test]
fn counters_are_those_of_the_hardware() {
    for Kernel { what, measured, emulator, counters, .. } in kernels() {
        // Registers are estimates that differ: the chapter on counters shows them.
        for (key, &theirs) in measured.iter().filter(|(key, _)| *key != "registers") {
            let (metric, ours) = (Metric::find(key).expect("a metric"), emulator[key]);
            assert!(metric.agrees(ours, theirs), "{what}: {key}: {ours} in the emulator, {theirs} on the H100");
        }
        let counted = [
            ("machine_instructions", counters.machine_instructions),
            ("barriers", counters.barriers),
            ("warp_load_sectors", counters.global_loads.sectors - counters.copies.sectors),
            ("shared_store_wavefronts", counters.shared_stores.wavefronts),
        ];
        for (key, count) in counted {
            assert_eq!(emulator[key], count as f64, "{what}: {key}");
        }
    }
}

#[test]
fn predicted_times_are_near_the_measured_ones() {
    let h100 = Device::find("h100").expect("it is known");
    for Kernel { what, grid, block, time_ms, predicted_ms, emulator, counters, .. } in kernels() {
        let [registers, shared_bytes] = ["registers", "shared_bytes"].map(|key| emulator[key] as u32);
        let resources = Resources { threads: block.iter().product(), registers, shared_bytes };
        let predicted = predict(h100, &counters, grid.iter().product(), &resources).expect("a block fits").time_ms;
        let ratio = predicted / time_ms;
        assert!((ratio - 1.0).abs() < TIME_TOLERANCE, "{what}: {predicted} ms predicted, {time_ms} ms measured");
        assert!(
            (predicted / predicted_ms - 1.0).abs() < 1e-3,
            "{what}: {predicted} ms now, the record has {predicted_ms} ms"
        );
    }
}
