//! How long a launch would take on the device that is modelled.

use ptx_emu::{Class, Kernel};

use super::launch::Launched;
use crate::backend::Device;

/// Milliseconds of one launch on the device, from what was counted: the only place where a modelled time comes from.
///
/// For now this is the busiest of three parts of a multiprocessor, as if they overlapped perfectly and nothing ever
/// waited: the fp32 lanes, shared memory, and the tags of the first-level cache. A real model of the device takes its
/// place here, with the same arguments.
pub(super) fn modelled_time_ms(_kernel: &Kernel, launched: &Launched, device: &Device) -> f64 {
    let counters = &launched.report.counters;
    // Four warps issue in a cycle, shared memory answers one wavefront, the cache looks up one set of tags.
    let fma_cycles = counters.of(Class::Fma) as f64 / 4.0;
    let shared_cycles = (counters.shared_loads.wavefronts + counters.shared_stores.wavefronts) as f64;
    let tag_cycles = (counters.global_loads.tags + counters.global_stores.tags) as f64;
    let busy_sms = launched.grid.into_iter().map(f64::from).product::<f64>().min(device.sm_count.into());
    fma_cycles.max(shared_cycles).max(tag_cycles) / busy_sms / (f64::from(device.max_clock_mhz) * 1e3)
}
