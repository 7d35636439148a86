//! Every step takes any layout, through the library's plan, and any epilogue, where it has a kernel for that: one test for each.

use gpu_kernels::Schedule;
use libtest_mimic::Trial;
use tests::fused;
use tests::layouts::{Emulated, aligned, planned, run, stream_k, words};

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
    let stream_k = gpu_kernels::runnable().filter(|step| matches!(step.schedule, Schedule::StreamK { .. }));
    let stream_k = stream_k.filter_map(|step| {
        let emulated = Emulated::for_step(step)?;
        Some(Trial::test(format!("stream_k::{}", step.slug), move || {
            stream_k::run(step, &emulated).map_err(Into::into)
        }))
    });
    let words = gpu_kernels::STEPS.iter().filter(|step| step.prepasses.iter().any(|prepass| prepass.split.is_some()));
    let words = words.filter_map(|step| {
        let emulated = Emulated::for_step(step)?;
        Some(Trial::test(format!("words::{}", step.slug), move || words::run(step, &emulated).map_err(Into::into)))
    });
    layouts.chain(fused).chain(planned).chain(aligned).chain(stream_k).chain(words)
}
