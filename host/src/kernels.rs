//! Which kernels to run, as the command line names them.

use gpu_kernels::{STEPS, Step};

use crate::{Error, Kernel};

/// Names that `--kernel` takes beside the slugs, with what they stand for.
pub const GROUPS: [(&str, &str); 3] = [
    ("cublas", "NVIDIA's library: the baseline, fp32 in its default math mode"),
    ("auto", "the last step of the ladder that the device can run"),
    ("all", "every step, and cublas"),
];

impl Kernel {
    /// The name on the command line and in every table: a step's slug, or `cublas`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Step(step) => step.slug,
            Self::Cublas => "cublas",
        }
    }

    /// The arithmetic that it does, as the tables name it.
    #[must_use]
    pub fn precision(self) -> &'static str {
        match self {
            Self::Step(step) => step.precision.name(),
            Self::Cublas => "fp32",
        }
    }

    /// The step that this one changes.
    #[must_use]
    pub fn base(self) -> Option<&'static str> {
        match self {
            Self::Step(step) => step.base,
            Self::Cublas => None,
        }
    }
}

/// What was asked for: kernels, and perhaps `auto`, which depends on the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection(Vec<Choice>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Kernel(Kernel),
    Auto,
}

impl Selection {
    /// Reads names: slugs, `cublas`, `auto`, `all`.
    ///
    /// # Errors
    /// [`Error::UnknownKernel`], with the nearest name.
    pub fn parse<S: AsRef<str>>(names: &[S]) -> Result<Self, Error> {
        let mut choices = Vec::new();
        for name in names {
            match name.as_ref() {
                "all" => {
                    choices.extend(STEPS.iter().map(|step| Choice::Kernel(Kernel::Step(step))));
                    choices.push(Choice::Kernel(Kernel::Cublas));
                }
                "auto" => choices.push(Choice::Auto),
                "cublas" => choices.push(Choice::Kernel(Kernel::Cublas)),
                slug => choices.push(Choice::Kernel(Kernel::Step(find(slug)?))),
            }
        }
        Ok(Self(choices))
    }

    /// The steps that are asked for by name.
    pub fn steps(&self) -> impl Iterator<Item = &'static Step> {
        self.0.iter().filter_map(|choice| match choice {
            Choice::Kernel(Kernel::Step(step)) => Some(*step),
            _ => None,
        })
    }

    /// The kernels to run on a device of this compute capability, each once, in the order in which they were named.
    #[must_use]
    pub fn resolve(&self, compute_capability: (u32, u32)) -> Vec<Kernel> {
        let mut kernels = Vec::new();
        for choice in &self.0 {
            let kernel = match choice {
                Choice::Kernel(kernel) => Some(*kernel),
                Choice::Auto => fastest(compute_capability).map(Kernel::Step),
            };
            kernels.extend(kernel.filter(|kernel| !kernels.contains(kernel)));
        }
        kernels
    }
}

/// The last step that the device can run; on a device that can run none, the last one there is, whose error will say so.
fn fastest((major, minor): (u32, u32)) -> Option<&'static Step> {
    STEPS.iter().rfind(|step| step.target.runs_on(major, minor)).or(STEPS.last())
}

fn find(slug: &str) -> Result<&'static Step, Error> {
    gpu_kernels::find(slug).ok_or_else(|| Error::UnknownKernel { name: slug.to_owned(), suggestion: nearest(slug) })
}

fn nearest(name: &str) -> Option<String> {
    let names = STEPS.iter().map(|step| step.slug).chain(GROUPS.map(|(name, _)| name));
    let scored = names.map(|candidate| (strsim::jaro_winkler(&name.to_lowercase(), candidate), candidate));
    scored.filter(|(score, _)| *score > 0.75).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(selection: &[&str]) -> Vec<&'static str> {
        Selection::parse(selection).unwrap().resolve((9, 0)).into_iter().map(Kernel::name).collect()
    }

    #[test]
    fn all_is_the_ladder_and_the_baseline() {
        let slugs: Vec<_> = STEPS.iter().map(|step| step.slug).chain(["cublas"]).collect();
        assert_eq!(names(&["all"]), slugs);
    }

    #[test]
    fn keeps_the_order_and_drops_repetitions() {
        assert_eq!(names(&["vectorized", "naive", "vectorized", "cublas"]), ["vectorized", "naive", "cublas"]);
        assert_eq!(names(&["cublas", "all"])[0], "cublas");
        assert_eq!(names(&["cublas", "all"]).len(), STEPS.len() + 1);
    }

    #[test]
    fn auto_is_the_last_step_that_runs() {
        let last = STEPS.iter().rfind(|step| step.target.runs_on(8, 0)).unwrap();
        assert_eq!(Selection::parse(&["auto"]).unwrap().resolve((8, 0)), [Kernel::Step(last)]);
    }

    #[test]
    fn suggests_the_nearest_name() {
        for (name, nearest) in [("vectorised", "vectorized"), ("2d-tilling", "2d-tiling"), ("CUBLAS", "cublas")] {
            let error = Selection::parse(&[name]).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("unknown kernel '{name}': did you mean '{nearest}'? --list shows all")
            );
            assert_eq!(error.exit_code(), 2);
        }
        assert_eq!(Selection::parse(&["xyz"]).unwrap_err().to_string(), "unknown kernel 'xyz'; --list shows all");
    }
}
