//! Every step takes any layout, through the library's plan, and any epilogue, where it has a kernel for that: one test for each.

use libtest_mimic::Trial;
use tests::fused;
use tests::layouts::{Emulated, aligned, planned, run};

pub fn trials() -> impl Iterator<Item = Trial> {
    let fused = gpu_kernels::runnable().filter(|step| step.fused.is_some()).filter_map(|step| {
        let emulated = Emulated::for_step(step)?;
        Some(Trial::test(format!("fused::{}", step.slug), move || fused::run(step, &emulated).map_err(Into::into)))
    });
    let layouts = gpu_kernels::runnable().enumerate().filter_map(|(number, step)| {
        let emulated = Emulated::for_step(step)?;
        Some(Trial::test(format!("layouts::{}", step.slug), move || run(step, number, &emulated).map_err(Into::into)))
    });
    let planned = gpu_kernels::runnable().filter(|step| step.may_be_split()).filter_map(|step| {
        // Enough of them for several clusters that share a tile.
        let emulated = Emulated::with_sms(step, 132)?;
        Some(Trial::test(format!("planned::{}", step.slug), move || planned::run(step, &emulated).map_err(Into::into)))
    });
    // Variants meet them on the GPU, and where mutants are judged.
    let aligned = gpu_kernels::STEPS.iter().filter(|step| step.may_be_split()).filter_map(|step| {
        let emulated = Emulated::for_step(step)?;
        Some(Trial::test(format!("aligned::{}", step.slug), move || aligned::run(step, &emulated).map_err(Into::into)))
    });
    layouts.chain(fused).chain(planned).chain(aligned)
}
