//! Every step takes any layout, through the library's plan: one test for each.

use libtest_mimic::Trial;
use tests::layouts::{Emulated, run};

pub fn trials() -> impl Iterator<Item = Trial> {
    gpu_kernels::runnable().enumerate().filter_map(|(number, step)| {
        let emulated = Emulated::for_step(step)?;
        Some(Trial::test(format!("layouts::{}", step.slug), move || run(step, number, &emulated).map_err(Into::into)))
    })
}
