//! Which kernels to run, as the command line names them.

use gpu_kernels::{STEPS, Step};

use crate::backend::Device;
use crate::{Error, Kernel, Problem};

/// Names that `--kernel` takes beside the slugs, with what they stand for.
pub const GROUPS: [(&str, &str); 3] = [
    ("cublas", "NVIDIA's library: the baseline, fp32 in its default math mode"),
    ("auto", "the last step of the ladder whose blocks fill the device at that size"),
    ("all", "every step that the device runs, and cublas"),
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
    All,
}

impl Selection {
    /// Reads names: slugs of steps and variants, `cublas`, `auto`, `all`.
    ///
    /// # Errors
    /// [`Error::UnknownKernel`], with the nearest name.
    pub fn parse<S: AsRef<str>>(names: &[S]) -> Result<Self, Error> {
        let mut choices = Vec::new();
        for name in names {
            match name.as_ref() {
                "all" => choices.push(Choice::All),
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

    /// The kernels to run on this device and problem, each once, in the order in which they were named.
    #[must_use]
    pub fn resolve(&self, device: &Device, problem: &Problem) -> Vec<Kernel> {
        let mut kernels = Vec::new();
        for choice in &self.0 {
            let chosen: Vec<Kernel> = match choice {
                Choice::Kernel(kernel) => vec![*kernel],
                Choice::Auto => choose(device, problem).map(Kernel::Step).into_iter().collect(),
                Choice::All => {
                    let steps = STEPS.iter().filter(|step| device.check_runs(step).is_ok());
                    steps.map(Kernel::Step).chain([Kernel::Cublas]).collect()
                }
            };
            for kernel in chosen {
                if !kernels.contains(&kernel) {
                    kernels.push(kernel);
                }
            }
        }
        kernels
    }

    /// Why the device does not run those steps that `all` leaves out.
    #[must_use]
    pub fn left_out(&self, device: &Device) -> Vec<Error> {
        let steps = if self.0.contains(&Choice::All) { STEPS } else { &[] };
        let unnamed = steps.iter().filter(|step| !self.steps().any(|named| named == *step));
        unnamed.filter_map(|step| device.check_runs(step).err()).collect()
    }
}

/// What `auto` stands for: the last step that has a block for every multiprocessor, since a step's tiles grow along the
/// ladder and idle multiprocessors cost more than a better tile gains. Where no step has so many, the one with the most;
/// on a device that can run none, the last one there is, whose error will say so.
fn choose(device: &Device, problem: &Problem) -> Option<&'static Step> {
    let blocks =
        |step: &&Step| step.grid(problem.m, problem.n, device.sm_count).into_iter().map(u64::from).product::<u64>();
    let runs = || STEPS.iter().filter(|step| device.check_runs(step).is_ok());
    let full = runs().rfind(|step| blocks(step) >= u64::from(device.sm_count));
    full.or_else(|| runs().max_by_key(blocks)).or(STEPS.last())
}

/// The step of that slug.
///
/// # Errors
/// [`Error::UnknownKernel`], with the nearest name.
pub fn find(slug: &str) -> Result<&'static Step, Error> {
    gpu_kernels::find(slug).ok_or_else(|| Error::UnknownKernel { name: slug.to_owned(), suggestion: nearest(slug) })
}

fn nearest(name: &str) -> Option<String> {
    let names = gpu_kernels::runnable().map(|step| step.slug).chain(GROUPS.map(|(name, _)| name));
    let scored = names.map(|candidate| (strsim::jaro_winkler(&name.to_lowercase(), candidate), candidate));
    scored.filter(|(score, _)| *score > 0.75).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(selection: &[&str]) -> Vec<&'static str> {
        let problem = Problem::new(4096, 4096, 4096).unwrap();
        let kernels = Selection::parse(selection).unwrap().resolve(&Device::of_capability((9, 0)), &problem);
        kernels.into_iter().map(Kernel::name).collect()
    }

    /// The steps that a device runs.
    fn ladder(compute_capability: (u32, u32)) -> Vec<&'static str> {
        let device = Device::of_capability(compute_capability);
        STEPS.iter().filter(|step| device.check_runs(step).is_ok()).map(|step| step.slug).collect()
    }

    #[test]
    fn all_is_the_ladder_and_the_baseline() {
        assert_eq!(names(&["all"]), [ladder((9, 0)), vec!["cublas"]].concat());
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
        let resolved: Vec<_> = selection.resolve(&old, &problem).into_iter().map(Kernel::name).collect();
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
        assert_eq!(names(&["cublas", "all"]).len(), ladder((9, 0)).len() + 1);
    }

    #[test]
    fn auto_is_the_last_step_whose_blocks_fill_the_device() {
        let auto = |compute_capability, size| {
            let step =
                choose(&Device::of_capability(compute_capability), &Problem::new(size, size, size).unwrap()).unwrap();
            (step, step.grid(size, size, 132).into_iter().product::<u32>())
        };
        assert_eq!(auto((9, 0), 16384).0.slug, *ladder((9, 0)).last().unwrap());
        for size in [512, 1024, 2048, 4096] {
            let (step, blocks) = auto((9, 0), size);
            assert!(blocks >= 132, "{} at {size}", step.slug);
            let next = ladder((9, 0)).into_iter().skip_while(|other| *other != step.slug).skip(1);
            let mut next = next.filter_map(gpu_kernels::find);
            assert!(next.all(|next| next.grid(size, size, 132).into_iter().product::<u32>() < 132));
        }
        let blocks = |step: &Step| step.grid(64, 64, 132).into_iter().product::<u32>();
        let most = ladder((9, 0)).into_iter().filter_map(gpu_kernels::find).map(blocks).max().unwrap();
        assert_eq!(auto((9, 0), 64).1, most);
        assert_eq!(auto((7, 5), 4096).0.slug, STEPS.last().unwrap().slug, "its error will say what it needs");
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
