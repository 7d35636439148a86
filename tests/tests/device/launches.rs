//! What a step asks for, it gets: on a CUDA device.

use gpu_kernels::Step;
use host::backend::{BackendChoice, Options, open};
use libtest_mimic::Trial;
use tests::launches::{ALL, is_verified, keeps_the_contract};

/// The tests, ignored where the device, of this compute capability, does not run the step.
pub fn trials(capability: Option<(u32, u32)>) -> impl Iterator<Item = Trial> {
    let runs = move |step: &Step| capability.is_some_and(|(major, minor)| step.target.runs_on(major, minor));
    ALL.into_iter().map(move |launched| {
        let step = launched.step;
        let test = move || {
            let options = Options { ptx: launched.ptx(), ..Options::default() };
            let mut backend = open(BackendChoice::Cuda, options)?.backend;
            keeps_the_contract(step, backend.as_mut())?;
            Ok(is_verified(step, backend.as_mut())?)
        };
        Trial::test(format!("launches::{}", step.slug), test).with_ignored_flag(!runs(step))
    })
}
