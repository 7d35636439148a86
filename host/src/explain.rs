//! Why a step is fast: what the emulator counts for it, beside the same for the step that it changes, and in words.

use gpu_kernels::Step;
use ptx_emu::model::Prediction;
use ptx_emu::occupancy::Resources;
use ptx_emu::{Class, Counters, TensorCoreFmas};
use serde::Serialize;

use crate::backend::emulator::EmulatorBackend;
use crate::backend::{Backend, Kernel};
use crate::report::significant;
use crate::{Error, Operands, Problem};

/// Changes below this share are not worth a sentence.
const NOTABLE: f64 = 0.05;

/// What one step does on the problem.
#[derive(Debug, Clone, Serialize)]
pub struct Facts {
    /// The step's slug.
    pub kernel: &'static str,
    /// What was counted, for the whole grid of the step's own kernel.
    pub counters: Counters,
    /// What a block takes of a multiprocessor; its registers are estimated.
    pub needs: Resources,
    /// What the model says of that kernel; its time includes what runs before.
    pub prediction: Prediction,
    /// Blocks that ran, of so many.
    pub blocks_run: u64,
    /// Blocks of the grid.
    pub blocks: u64,
}

/// A step beside the one that it changes.
#[derive(Debug, Clone, Serialize)]
pub struct Explanation {
    /// The device that is modelled.
    pub device: String,
    /// Rows of A and C, columns of B and C, columns of A.
    pub shape: [u32; 3],
    /// The step's idea.
    pub summary: &'static str,
    /// The step that it changes, if it is not the first.
    pub base: Option<Facts>,
    /// The step.
    pub step: Facts,
    /// What the change did, in sentences.
    pub words: Vec<String>,
}

/// Runs the step, and the one that it changes, on the problem.
///
/// # Errors
/// Where the emulator cannot run one of them, finds a mistake in it, or there is nothing to run: m, n or k is 0.
pub fn explain(backend: &mut EmulatorBackend, step: &'static Step, problem: &Problem) -> Result<Explanation, Error> {
    let base = match step.base.and_then(gpu_kernels::find) {
        Some(base) => Some(Facts::of(backend, base, problem)?),
        None => None,
    };
    let facts = Facts::of(backend, step, problem)?;
    let words = base.as_ref().map_or_else(Vec::new, |base| words(base, &facts));
    Ok(Explanation {
        device: backend.device().name.clone(),
        shape: [problem.m, problem.n, problem.k],
        summary: step.summary,
        base,
        step: facts,
        words,
    })
}

impl Facts {
    fn of(backend: &mut EmulatorBackend, step: &'static Step, problem: &Problem) -> Result<Self, Error> {
        let kernel = Kernel::Step(step);
        let problem = problem.for_kernel(kernel)?;
        backend.prepare(kernel)?;
        backend.upload(&Operands::random(&problem)?)?;
        backend.run(kernel, &problem)?;
        let nothing = || Error::Emulator { what: format!("explain {}", step.slug), reason: "it has no work".into() };
        let launched = backend.launches(step).first().ok_or_else(nothing)?;
        let report = &launched.report;
        let counters = Counters { lines: vec![], ..report.counters.clone() };
        if multiply_adds(&counters) == 0 {
            return Err(nothing());
        }
        let before: f64 = backend.prepasses(step).iter().map(|prepass| prepass.prediction.time_ms).sum();
        Ok(Self {
            kernel: step.slug,
            counters,
            needs: launched.needs,
            prediction: Prediction { time_ms: launched.prediction.time_ms + before, ..launched.prediction },
            blocks_run: report.blocks_run,
            blocks: report.blocks,
        })
    }

    /// FMAs of whole warps, or as many of the tensor cores.
    fn fmas(&self) -> f64 {
        multiply_adds(&self.counters) as f64 / 32.0
    }

    /// Loads from global memory by warps, copies in bulk left out.
    #[must_use]
    pub fn global_loads(&self) -> u64 {
        self.counters.global_loads.requests - self.counters.copies.requests
    }

    /// Sectors that a load from global memory by a warp touches.
    #[must_use]
    pub fn sectors_per_load(&self) -> f64 {
        let Counters { global_loads, copies, .. } = self.counters;
        ratio(global_loads.sectors - copies.sectors, self.global_loads())
    }

    /// Bytes of sectors that a copy in bulk moves.
    #[must_use]
    pub fn bytes_per_copy(&self) -> f64 {
        ratio(self.counters.copies.bytes, self.counters.copies.requests)
    }

    /// Bytes that come from global memory and its caches for an FMA of one thread.
    #[must_use]
    pub fn global_bytes_per_fma(&self) -> f64 {
        32.0 * ratio(self.counters.global_loads.sectors, multiply_adds(&self.counters))
    }

    /// Wavefronts that a load from shared memory takes.
    #[must_use]
    pub fn wavefronts_per_shared_load(&self) -> f64 {
        ratio(self.counters.shared_loads.wavefronts, self.counters.shared_loads.requests)
    }

    /// Wavefronts of the first-level cache and of shared memory together, for an FMA of a warp.
    #[must_use]
    pub fn wavefronts_per_fma(&self) -> f64 {
        let Counters { global_loads, global_stores, shared_loads, shared_stores, .. } = self.counters;
        let global = global_loads.wavefronts + global_stores.wavefronts;
        (global + shared_loads.wavefronts + shared_stores.wavefronts) as f64 / self.fmas()
    }

    /// FMAs that a load, from whichever memory, feeds; 0 where nothing is loaded.
    #[must_use]
    pub fn fmas_per_load(&self) -> f64 {
        let loads = self.global_loads() + self.counters.shared_loads.requests;
        if loads == 0 { 0.0 } else { self.fmas() / loads as f64 }
    }

    /// FMAs among all instructions of the machine code, estimated, as a share.
    #[must_use]
    pub fn fma_share(&self) -> f64 {
        ratio(self.counters.of(Class::Fma), self.counters.machine_instructions)
    }
}

/// Those of the tensor cores.
fn tensor_core_fmas(counters: &Counters) -> u64 {
    let TensorCoreFmas { f16, bf16, tf32 } = counters.tensor_core_fmas;
    f16 + bf16 + tf32
}

/// Multiply-adds of threads and of the tensor cores.
fn multiply_adds(counters: &Counters) -> u64 {
    counters.thread_fmas + tensor_core_fmas(counters)
}

fn ratio(a: u64, b: u64) -> f64 {
    if b == 0 { 0.0 } else { a as f64 / b as f64 }
}

/// What changed from `base` to `step`, as far as it is notable.
fn words(base: &Facts, step: &Facts) -> Vec<String> {
    let mut words = Vec::new();
    let mut say = |get: fn(&Facts) -> f64, sentence: &dyn Fn(&str, &str, bool) -> String| {
        let (old, new) = (get(base), get(step));
        if old > 0.0 && new > 0.0 && (new / old - 1.0).abs() > NOTABLE {
            words.push(sentence(&significant(new), &significant(old), new < old));
        }
    };
    say(Facts::sectors_per_load, &|new, old, less| {
        let closer = if less { "closer together" } else { "further apart, or more at once" };
        format!("A load from global memory touches {new} sectors instead of {old}: the lanes of a warp read {closer}.")
    });
    say(Facts::global_bytes_per_fma, &|new, old, less| {
        let why = if less { "more is used again before the next load" } else { "less is used again" };
        format!("An FMA needs {new} bytes from global memory instead of {old}: {why}.")
    });
    say(Facts::wavefronts_per_shared_load, &|new, old, _| {
        format!(
            "A load from shared memory takes {new} wavefronts instead of {old}, wider loads and conflicts included."
        )
    });
    say(Facts::fmas_per_load, &|new, old, _| format!("A load feeds {new} FMAs instead of {old}."));
    say(Facts::wavefronts_per_fma, &|new, old, less| {
        let what = if less { "The pipe for loads and stores has less to do" } else { "It has more to do" };
        format!("{what}: {new} wavefronts for each FMA of a warp instead of {old}.")
    });
    say(|facts| 100.0 * facts.fma_share(), &|new, old, _| {
        format!("FMAs are {new} % of all instructions instead of {old} %.")
    });
    words.extend(shared_memory(base, step));
    words.extend(copies(base, step));
    words.extend(tensor_cores(base, step));
    words.extend(occupancy(base, step));
    words.push(time(base, step));
    words
}

fn shared_memory(base: &Facts, step: &Facts) -> Option<String> {
    let loads = |facts: &Facts| facts.counters.shared_loads.requests;
    (loads(base) == 0 && loads(step) > 0).then(|| {
        let share = loads(step) as f64 / (loads(step) + step.global_loads()) as f64;
        format!("{} % of all loads are from shared memory, which the base does not use.", significant(100.0 * share))
    })
}

fn copies(base: &Facts, step: &Facts) -> Option<String> {
    let Counters { copies, global_loads, .. } = step.counters;
    (base.counters.copies.requests == 0 && copies.requests > 0).then(|| {
        let share = significant(100.0 * ratio(copies.sectors, global_loads.sectors));
        format!("{share} % of what comes from global memory is copied in bulk, by no instruction of a whole warp.")
    })
}

fn tensor_cores(base: &Facts, step: &Facts) -> Option<String> {
    let [old, new] = [base, step].map(|facts| tensor_core_fmas(&facts.counters));
    (old == 0 && new > 0).then(|| {
        let share = 100.0 * ratio(new, multiply_adds(&step.counters));
        format!("{share:.0} % of the multiply-adds are done by the tensor cores, and by no thread.")
    })
}

fn occupancy(base: &Facts, step: &Facts) -> Option<String> {
    let (old, new) = (base.prediction.occupancy, step.prediction.occupancy);
    (old.warps != new.warps).then(|| {
        format!(
            "A multiprocessor holds {} warps instead of {}: its {} do not suffice for more.",
            new.warps,
            old.warps,
            new.limit.name()
        )
    })
}

fn time(base: &Facts, step: &Facts) -> String {
    let (old, new) = (base.prediction, step.prediction);
    let bound = match old.bound == new.bound {
        true => format!("still bound by {}", new.bound.name()),
        false => format!("bound by {}, and no longer by {}", new.bound.name(), old.bound.name()),
    };
    let (faster, than) = (significant(old.time_ms / new.time_ms), base.kernel);
    format!("The model expects {faster} times the speed of {than}, {bound}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PtxSource;
    use crate::backend::emulator::MODELS;

    fn explanation(slug: &str) -> Explanation {
        let mut backend = EmulatorBackend::new(PtxSource::BuiltIn, &MODELS[0], None);
        let problem = Problem::new(256, 256, 256).unwrap().with_seed(1);
        explain(&mut backend, gpu_kernels::find(slug).unwrap(), &problem).unwrap()
    }

    #[test]
    fn coalescing_is_seen_in_the_sectors() {
        let explanation = explanation("coalesced");
        let base = explanation.base.unwrap();
        assert_eq!((base.sectors_per_load(), explanation.step.sectors_per_load()), (16.5, 2.5));
        assert!(explanation.words[0].contains("touches 2.50 sectors instead of 16.5"), "{:?}", explanation.words);
    }

    #[test]
    fn tensor_cores_are_named() {
        let explanation = explanation("hgemm");
        let is_said = |words: &String| words.contains("100 % of the multiply-adds are done by the tensor cores");
        assert!(explanation.words.iter().any(is_said), "{:?}", explanation.words);
    }

    #[test]
    fn the_first_step_has_no_base() {
        let explanation = explanation("naive");
        assert!(explanation.base.is_none() && explanation.words.is_empty());
    }

    #[test]
    fn reuse_is_seen_in_the_fmas_per_load() {
        let explanation = explanation("2d-tiling");
        let base = explanation.base.unwrap();
        assert!(explanation.step.fmas_per_load() > 4.0 * base.fmas_per_load());
        assert!(explanation.words.iter().any(|words| words.contains("registers do not suffice")));
    }
}
