//! Which kernels to run, as the command line names them.

use std::fmt;

use gpu_kernels::{Element, Precision, STEPS, Step};
pub use sgemm::select::Reason;
use sgemm::select::{self, Choice as Selected};

use results::format::significant;

use crate::backend::Device;
use crate::measure::tables::Table;
use crate::{AccuracyClass, BASELINES, Baseline, Error, Kernel, Problem};

/// The step that stands for its best variant.
const AUTOTUNED: &str = "autotuned";

/// Names that `--kernel` takes beside the slugs, with what they stand for.
pub const GROUPS: [(&str, &str); 3] = [
    ("auto", "the kernel that is predicted to be the fastest on this device, or was measured to be"),
    ("pinned", "the one with an order of sums along k that does not depend on m and n"),
    ("all", "every step that the device runs, and cuBLAS in the arithmetic of each"),
];

impl Kernel {
    /// The name on the command line and in every table: a step's slug, or a baseline's.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Step(step) => step.slug,
            Self::Cublas(baseline) => baseline.name,
        }
    }

    /// The name of the step or baseline: what [`Self::name`] is, less the name of a variant.
    #[must_use]
    pub fn step_name(self) -> &'static str {
        self.name().split('/').next().unwrap_or_default()
    }

    /// The arithmetic that it does, as the tables name it.
    #[must_use]
    pub fn precision(self) -> Precision {
        match self {
            Self::Step(step) => step.precision,
            Self::Cublas(baseline) => baseline.precision,
        }
    }

    /// What it has A and B, and C, made of.
    #[must_use]
    pub fn elements(self) -> [Element; 2] {
        let output = match self {
            Self::Step(step) => step.output,
            Self::Cublas(baseline) => baseline.output,
        };
        [self.precision().input(), output]
    }

    /// The step that this one changes.
    #[must_use]
    pub fn base(self) -> Option<&'static str> {
        match self {
            Self::Step(step) => step.base,
            Self::Cublas(_) => None,
        }
    }
}

/// The kernels that a [`Selection`] comes to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Resolved {
    /// In the order in which they run.
    pub kernels: Vec<Kernel>,
    /// Those of them that were chosen by device and problem.
    pub chosen: Vec<Chosen>,
}

/// A kernel that a name stands for on one device and problem. Its text is a line for people.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chosen {
    /// What was asked for: `auto`, `pinned` or `autotuned`.
    pub name: &'static str,
    /// What runs.
    pub kernel: Kernel,
    /// Why.
    pub reason: Reason,
}

impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, kernel, reason } = self;
        write!(f, "{name}: {}", kernel.name())?;
        if kernel.precision() != Precision::Fp32 {
            write!(f, " in {}", kernel.precision().name())?;
        }
        write!(f, ", ")?;
        match reason {
            Reason::Measured => write!(f, "measured to be the fastest at this shape"),
            Reason::Predicted(us) => write!(f, "predicted to be the fastest, with {} us", significant(*us)),
        }
    }
}

/// What was asked for: kernels, and perhaps `auto` or `pinned`, which depend on the device.
///
/// ```
/// use host::Problem;
/// use host::backend::{BackendChoice, Options, open};
/// use host::measure::kernels::Selection;
/// use host::measure::tables::Table;
///
/// let backend = open(BackendChoice::Emulator, Options::default())?.backend;
/// let device = backend.device(); // the emulator stands for an H200
/// let selection = Selection::parse(&["naive", "auto", "cublas"])?;
/// let resolved = selection.resolve(device, &Problem::new(4096, 4096, 4096)?, Table::of(&device.gpu()));
/// assert_eq!(resolved.kernels.len(), 3);
/// println!("{}", resolved.chosen[0]); // what `auto` stands for, and why
///
/// let error = Selection::parse(&["vectorised"]).unwrap_err();
/// assert_eq!(error.to_string(), "unknown kernel 'vectorised': did you mean 'vectorized'? `host list` shows all");
/// # Ok::<(), host::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    choices: Vec<Choice>,
    /// What all kernels must meet, if that was asked for.
    class: Option<AccuracyClass>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Kernel(Kernel),
    Auto,
    Pinned,
    All,
}

impl Selection {
    /// Reads names: slugs of steps and variants, baselines, `auto`, `pinned`, `all`.
    ///
    /// # Errors
    /// [`Error::UnknownKernel`], with the nearest name.
    pub fn parse<S: AsRef<str>>(names: &[S]) -> Result<Self, Error> {
        let mut choices = Vec::new();
        for name in names {
            match name.as_ref() {
                "all" => choices.push(Choice::All),
                "auto" => choices.push(Choice::Auto),
                "pinned" => choices.push(Choice::Pinned),
                name => choices.push(Choice::Kernel(match Baseline::find(name) {
                    Some(baseline) => Kernel::Cublas(baseline),
                    None => Kernel::Step(find(name)?),
                })),
            }
        }
        Ok(Self { choices, class: None })
    }

    /// The same, but `auto` and `all` stand for kernels that meet the class alone. Without one, `all` stands for kernels of
    /// every arithmetic, and `auto` for one that meets [`AccuracyClass::default`].
    ///
    /// # Errors
    /// [`Error::OtherPrecision`] where a kernel is named that does not meet it, [`Error::NoStep`] where none does.
    pub fn with_class(self, class: AccuracyClass) -> Result<Self, Error> {
        if let Some(kernel) = self.kernels().find(|kernel| !class.admits(kernel.precision())) {
            return Err(Error::OtherPrecision {
                kernel: kernel.name(),
                computes: kernel.precision().name(),
                asked: class.name(),
                meets: AccuracyClass::of(kernel.precision()).name(),
            });
        }
        let is_open = self.choices.iter().any(|choice| !matches!(choice, Choice::Kernel(_)));
        if is_open && !gpu_kernels::runnable().any(|step| class.meets(step)) {
            return Err(Error::NoStep(class.name()));
        }
        Ok(Self { class: Some(class), ..self })
    }

    /// The steps that are asked for by name.
    pub fn steps(&self) -> impl Iterator<Item = &'static Step> {
        self.kernels().filter_map(|kernel| match kernel {
            Kernel::Step(step) => Some(step),
            Kernel::Cublas(_) => None,
        })
    }

    /// The steps and baselines that are asked for by name.
    pub fn kernels(&self) -> impl Iterator<Item = Kernel> {
        self.choices.iter().filter_map(|choice| match choice {
            Choice::Kernel(kernel) => Some(*kernel),
            Choice::Auto | Choice::Pinned | Choice::All => None,
        })
    }

    /// Whether any of the kernels depends on a table of what is fastest.
    #[must_use]
    pub fn uses_table(&self) -> bool {
        let is_tuned = |step: &Step| step.slug == AUTOTUNED;
        self.choices.iter().any(|choice| !matches!(choice, Choice::Kernel(_))) || self.steps().any(is_tuned)
    }

    /// How many steps there are to run on one problem, at the most.
    #[must_use]
    pub fn most(&self) -> usize {
        let steps = |choice: &Choice| match choice {
            Choice::Kernel(_) | Choice::Auto | Choice::Pinned => 1,
            Choice::All => self.all().count(),
        };
        self.choices.iter().map(steps).sum()
    }

    /// The kernels to run on this device and problem, each once, in the order in which they were named. `table` is what was
    /// measured on this device.
    #[must_use]
    pub fn resolve(&self, device: &Device, problem: &Problem, table: &Table) -> Resolved {
        let mut resolved = Resolved::default();
        let gpu = device.gpu();
        let class = self.class.unwrap_or_default();
        let elements = class.input();
        let of_class = sgemm::Problem::from(problem.gemm).with_elements(elements, elements).with_accuracy(class);
        // A problem that is none fails where it is measured.
        let variant = |step: &'static Step| {
            let is_tuned = step.slug == AUTOTUNED && !step.variants.is_empty();
            let chosen = is_tuned.then(|| select::variant(table, &gpu, &problem.gemm.into(), step));
            let chosen = chosen.and_then(|chosen| chosen.ok().flatten());
            let stands_for = chosen.map(|chosen| (AUTOTUNED, chosen.reason));
            (Kernel::Step(chosen.map_or(step, |chosen| chosen.step)), stands_for)
        };
        let selected = |name, chosen: Result<Option<Selected>, sgemm::Error>| {
            let chosen = chosen.ok().flatten();
            chosen.into_iter().map(|Selected { step, reason }| (Kernel::Step(step), Some((name, reason)))).collect()
        };
        for choice in &self.choices {
            let kernels: Vec<(Kernel, Option<(&'static str, Reason)>)> = match choice {
                Choice::Kernel(Kernel::Step(step)) => vec![variant(step)],
                Choice::Kernel(Kernel::Cublas(baseline)) => vec![(Kernel::Cublas(baseline), None)],
                Choice::Auto => selected("auto", select::choose(table, &gpu, &of_class)),
                Choice::Pinned => selected("pinned", select::pinned(table, &gpu, &of_class)),
                Choice::All => {
                    let steps = self.all().filter(|step| device.check_runs(step).is_ok());
                    let steps: Vec<_> = steps.map(variant).collect();
                    let mut baselines: Vec<_> = baselines(steps.iter().map(|(kernel, _)| *kernel)).collect();
                    if baselines.is_empty() {
                        baselines
                            .extend(self.all().next().map(|step| Kernel::Cublas(Baseline::of(Kernel::Step(step)))));
                    }
                    steps.into_iter().chain(baselines.into_iter().map(|baseline| (baseline, None))).collect()
                }
            };
            for (kernel, stands_for) in kernels {
                resolved.chosen.extend(stands_for.map(|(name, reason)| Chosen { name, kernel, reason }));
                if !resolved.kernels.contains(&kernel) {
                    resolved.kernels.push(kernel);
                }
            }
        }
        resolved
    }

    /// The steps that `all` stands for, where a device runs all of them.
    fn all(&self) -> impl Iterator<Item = &'static Step> {
        let meets = |step: &&Step| self.class.is_none_or(|class| class.meets(step));
        // Of a step that computes in something else, a variant may not.
        STEPS.iter().filter_map(move |step| std::iter::once(step).chain(step.variants).find(meets))
    }

    /// Why the device does not run those steps that `all` leaves out.
    #[must_use]
    pub fn left_out(&self, device: &Device) -> Vec<Error> {
        let steps = self.all().filter(|_| self.choices.contains(&Choice::All));
        let unnamed = steps.filter(|step| !self.steps().any(|named| named == *step));
        unnamed.filter_map(|step| device.check_runs(step).err()).collect()
    }
}

/// What the kernels are compared with, each once, and SGEMM first.
pub(crate) fn baselines(kernels: impl Iterator<Item = Kernel>) -> impl Iterator<Item = Kernel> {
    let of: Vec<_> = kernels.map(Baseline::of).collect();
    BASELINES.iter().filter(move |baseline| of.contains(baseline)).map(Kernel::Cublas)
}

/// The step of that slug.
///
/// # Errors
/// [`Error::UnknownKernel`], with the nearest name; [`Error::NotAStep`] where the name stands for something else.
pub fn find(slug: &str) -> Result<&'static Step, Error> {
    if Baseline::find(slug).is_some() || GROUPS.iter().any(|(name, _)| *name == slug) {
        return Err(Error::NotAStep { name: slug.to_owned() });
    }
    gpu_kernels::find(slug).ok_or_else(|| Error::UnknownKernel { name: slug.to_owned(), suggestion: nearest(slug) })
}

fn nearest(name: &str) -> Option<String> {
    let names = gpu_kernels::runnable().map(|step| step.slug).chain(BASELINES.iter().map(|baseline| baseline.name));
    let names = names.chain(GROUPS.map(|(name, _)| name));
    let scored = names.map(|candidate| (strsim::jaro_winkler(&name.to_lowercase(), candidate), candidate));
    scored.filter(|(score, _)| *score > 0.75).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(selection: &[&str]) -> Vec<&'static str> {
        let problem = Problem::new(4096, 4096, 4096).unwrap();
        let resolved =
            Selection::parse(selection).unwrap().resolve(&Device::of_capability((9, 0)), &problem, &Table::guess());
        resolved.kernels.into_iter().map(Kernel::step_name).collect()
    }

    /// The steps that a device runs.
    fn ladder(compute_capability: (u32, u32)) -> Vec<&'static str> {
        let device = Device::of_capability(compute_capability);
        STEPS.iter().filter(|step| device.check_runs(step).is_ok()).map(|step| step.slug).collect()
    }

    /// The steps that Hopper runs, and what these are compared with.
    fn all() -> Vec<&'static str> {
        let steps = ladder((9, 0));
        let kernels = steps.iter().map(|slug| Kernel::Step(find(slug).unwrap()));
        let baselines: Vec<_> = baselines(kernels).map(Kernel::name).collect();
        assert_eq!(baselines[0], "cublas");
        [steps, baselines].concat()
    }

    #[test]
    fn all_is_the_ladder_and_the_baseline() {
        assert_eq!(names(&["all"]), all());
        assert_eq!(Selection::parse(&["all", "auto", "naive"]).unwrap().most(), STEPS.len() + 2);
    }

    #[test]
    fn what_all_leaves_out_is_said() {
        for capability in [(7, 5), (8, 0), (9, 0), (10, 0)] {
            let device = Device::of_capability(capability);
            let left_out = |names: &[&str]| Selection::parse(names).unwrap().left_out(&device);
            assert_eq!(left_out(&["all"]).len() + ladder(capability).len(), STEPS.len());
            assert!(left_out(&["naive"]).is_empty());
        }
        let selection = Selection::parse(&["all", "naive"]).unwrap();
        let old = Device::of_capability((7, 5));
        assert_eq!(selection.left_out(&old).len(), STEPS.len() - 1);
        let problem = Problem::new(4, 4, 4).unwrap();
        let resolved: Vec<_> =
            selection.resolve(&old, &problem, &Table::guess()).kernels.into_iter().map(Kernel::name).collect();
        assert_eq!(resolved, ["cublas", "naive"], "what is named fails by itself");
    }

    #[test]
    fn variants_are_found_by_their_names() {
        for step in gpu_kernels::runnable() {
            assert_eq!(find(step.slug).unwrap().kernel, step.kernel);
        }
    }

    #[test]
    fn keeps_the_order_and_drops_repetitions() {
        assert_eq!(names(&["vectorized", "naive", "vectorized", "cublas"]), ["vectorized", "naive", "cublas"]);
        assert_eq!(names(&["cublas", "all"])[0], "cublas");
        assert_eq!(names(&["cublas", "all"]).len(), all().len());
    }

    #[test]
    fn suggests_the_nearest_name() {
        for (name, nearest) in [("vectorised", "vectorized"), ("2d-tilling", "2d-tiling"), ("CUBLAS", "cublas")] {
            let error = Selection::parse(&[name]).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("unknown kernel '{name}': did you mean '{nearest}'? `host list` shows all")
            );
            assert_eq!(error.exit_code(), 2);
        }
        assert_eq!(Selection::parse(&["xyz"]).unwrap_err().to_string(), "unknown kernel 'xyz'; `host list` shows all");
    }
}
