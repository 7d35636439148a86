//! Why a step is fast: what the emulator counts for it, beside the same for the step that it changes, and in words.

use gpu_kernels::Step;
use results::Counters;
use results::format::significant;
use serde::Serialize;

use crate::backend::emulator::EmulatorBackend;
use crate::{Error, Problem};

/// Changes below this share are not worth a sentence.
const NOTABLE: f64 = 0.05;

/// A step beside the one that it changes.
#[derive(Debug, Clone, Serialize)]
pub struct Explanation {
    /// The step's idea.
    pub summary: &'static str,
    /// The step that it changes, if it is not the first.
    pub base: Option<Counters>,
    /// The step.
    pub step: Counters,
    /// What the change did, in sentences.
    pub words: Vec<String>,
}

/// Runs the step, and the one that it changes, on the problem.
///
/// ```
/// use host::backend::emulator::{EmulatorBackend, MODELS};
/// use host::measure::explain::explain;
/// use host::measure::kernels;
/// use host::{Problem, PtxSource, output};
///
/// let mut emulator = EmulatorBackend::new(PtxSource::BuiltIn, &MODELS[0], None);
/// let explanation = explain(&mut emulator, kernels::find("coalesced")?, &Problem::new(64, 64, 64)?)?;
/// let base = explanation.base.as_ref().expect("it changes `naive`");
/// assert_eq!((base.sectors_per_load(), explanation.step.sectors_per_load()), (16.5, 2.5));
/// assert!(explanation.words[0].starts_with("A load from global memory touches 2.50 sectors instead of 16.5"));
/// println!("{}", output::explanation(&explanation));
/// # Ok::<(), host::Error>(())
/// ```
///
/// # Errors
/// Where the emulator cannot run one of them, finds a mistake in it, or there is nothing to run: m, n or k is 0.
pub fn explain(backend: &mut EmulatorBackend, step: &'static Step, problem: &Problem) -> Result<Explanation, Error> {
    let base = match step.base.and_then(gpu_kernels::find) {
        Some(base) => Some(backend.count(base, problem)?),
        None => None,
    };
    let counted = backend.count(step, problem)?;
    let words = base.as_ref().map_or_else(Vec::new, |base| words(base, &counted));
    Ok(Explanation { summary: step.summary, base, step: counted, words })
}

/// What changed from `base` to `step`, as far as it is notable.
fn words(base: &Counters, step: &Counters) -> Vec<String> {
    let mut words = Vec::new();
    let mut say = |get: fn(&Counters) -> f64, sentence: &dyn Fn(&str, &str, bool) -> String| {
        let (old, new) = (get(base), get(step));
        if old > 0.0 && new > 0.0 && (new / old - 1.0).abs() > NOTABLE {
            words.push(sentence(&significant(new), &significant(old), new < old));
        }
    };
    say(Counters::sectors_per_load, &|new, old, less| {
        let closer = if less { "closer together" } else { "further apart, or more at once" };
        format!("A load from global memory touches {new} sectors instead of {old}: the lanes of a warp read {closer}.")
    });
    say(Counters::global_bytes_per_fma, &|new, old, less| {
        let why = if less { "more is used again before the next load" } else { "less is used again" };
        format!("An FMA needs {new} bytes from global memory instead of {old}: {why}.")
    });
    say(Counters::wavefronts_per_shared_load, &|new, old, _| {
        format!(
            "A load from shared memory takes {new} wavefronts instead of {old}, wider loads and conflicts included."
        )
    });
    say(Counters::fmas_per_load, &|new, old, _| format!("There are {new} FMAs per load instead of {old}."));
    say(Counters::wavefronts_per_fma, &|new, old, less| {
        let what = if less { "The pipe for loads and stores has less to do" } else { "It has more to do" };
        format!("{what}: {new} wavefronts for each FMA of a warp instead of {old}.")
    });
    say(|counted| 100.0 * counted.fma_share(), &|new, old, _| {
        format!("FMAs are {new} % of all instructions instead of {old} %.")
    });
    words.extend(shared_memory(base, step));
    words.extend(copies(base, step));
    words.extend(tensor_cores(base, step));
    words.extend(occupancy(base, step));
    words.push(time(base, step));
    words
}

fn shared_memory(base: &Counters, step: &Counters) -> Option<String> {
    (base.shared_loads == 0 && step.shared_loads > 0).then(|| {
        let share = step.shared_loads as f64 / (step.shared_loads + step.warp_loads()) as f64;
        format!("{} % of all loads are from shared memory, which the base does not use.", significant(100.0 * share))
    })
}

fn copies(base: &Counters, step: &Counters) -> Option<String> {
    (base.copies == 0 && step.copies > 0).then(|| {
        let share = significant(100.0 * step.copy_sectors as f64 / step.global_load_sectors as f64);
        format!("{share} % of the sectors of global memory come by bulk (TMA) copies, which no warp loads.")
    })
}

fn tensor_cores(base: &Counters, step: &Counters) -> Option<String> {
    (base.tensor_core_fmas == 0 && step.tensor_core_fmas > 0).then(|| {
        let share = 100.0 * step.tensor_core_fmas as f64 / step.multiply_adds() as f64;
        format!("{share:.0} % of the multiply-adds are done by the tensor cores.")
    })
}

fn occupancy(base: &Counters, step: &Counters) -> Option<String> {
    let (old, new) = (base.warps_per_sm, step.warps_per_sm);
    (old != new).then(|| {
        let limit = &step.occupancy_limit;
        format!("An SM holds {new} warps instead of {old}: its {limit} do not suffice for more.")
    })
}

fn time(base: &Counters, step: &Counters) -> String {
    let bound = match base.bound == step.bound {
        true => format!("still bound by {}", step.bound),
        false => format!("bound by {}, and no longer by {}", step.bound, base.bound),
    };
    let (faster, than) = (significant(base.modelled_ms / step.modelled_ms), &base.kernel);
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
