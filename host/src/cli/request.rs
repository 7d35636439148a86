//! What the command line asks for, as data: the program sees nothing else of it.

use std::path::PathBuf;
use std::time::Duration;

mod together;

use gpu_kernels::{STEPS, Step};
use results::Run;
use sgemm::distributed::Launched;

use super::args::{self, BackendName, Command, CommandLine, ExplanationFormat};
use super::effects;
use super::shape::{DEFAULT_SIZE, Shape};
use crate::backend::emulator::{BUDGET, MODELS, Model, find_model};
use crate::backend::{BackendChoice, Case, Options};
use crate::measure::accuracy::{self, Inputs};
use crate::measure::bench::Timing;
use crate::measure::kernels::{self, Selection};
use crate::measure::shapes::Set;
use crate::measure::sizes;
use crate::measure::tables::{self, Table};
use crate::measure::tune;
use crate::output::Format;
use crate::{AccuracyClass, Error, Problem, PtxSource};
pub use together::{Role, Together};

/// The kernel where none is given.
const DEFAULT_KERNEL: &str = "auto";

/// Every step.
const ALL: &str = "all";

/// How long each kernel runs that `host counters` counts.
const COUNTERS_BUDGET: Duration = Duration::from_millis(250);

/// Untimed launches, unless others are asked for.
const WARMUP: u32 = 2;

/// What stands for standard output where a file is asked for.
const STANDARD_OUTPUT: &str = "-";

/// How a quick look times.
const QUICK_TIMING: Timing = Timing { warmup: 1, iterations: Some(5) };

/// A run of the program. What the arguments alone can tell wrong is found before there is one.
#[derive(Debug)]
pub struct RunRequest {
    /// What is done with the problems.
    pub task: Task,
    /// The problems, in order.
    pub problems: Problems,
    /// What runs the kernels.
    pub backend: BackendChoice,
    /// What that is opened with.
    pub options: Options,
    /// What is printed.
    pub format: Format,
    /// Where the records go as JSON lines, whatever is printed.
    pub json: Option<PathBuf>,
}

/// What is done with the problems.
#[derive(Debug)]
pub enum Task {
    /// Kernels are verified and timed.
    Measure(Box<Measurement>),
    /// A product is distributed over several GPUs, verified and timed.
    Together(Together),
    /// A step is counted beside its base.
    Explain(&'static Step),
    /// The errors of kernels are compared with those of SGEMM.
    Accuracy(Study),
    /// Steps are counted.
    Counters(Vec<&'static Step>),
    /// What is chosen for many shapes is timed beside cuBLAS.
    Shapes(Sweep),
    /// A device is asked what kernels cost.
    Tune(Tuning),
}

/// Kernels to verify and time.
#[derive(Debug)]
pub struct Measurement {
    /// Which, with the accuracy class that `auto`, `pinned` and `all` must meet.
    pub kernels: Selection,
    /// How they are timed.
    pub timing: Timing,
    /// What `auto` selects by, instead of the device's own table.
    pub table: Option<Table>,
    /// Records of the device that it must run on.
    pub baseline: Option<Run>,
    /// Whether times and samples are a quick look's.
    pub is_quick: bool,
}

/// Kernels whose errors are compared with those of SGEMM.
#[derive(Debug)]
pub struct Study {
    /// Which, if any were named.
    pub kernels: Option<Selection>,
    /// On which kinds of inputs.
    pub inputs: Vec<Inputs>,
}

/// Many shapes to time beside cuBLAS.
#[derive(Debug)]
pub struct Sweep {
    /// The shapes.
    pub set: Set,
    /// What the kernels must meet, one after the other.
    pub classes: Vec<AccuracyClass>,
    /// Whether all kernels are timed.
    pub regret: bool,
}

/// What kernels cost.
#[derive(Debug)]
pub struct Tuning {
    /// What they are timed on.
    pub sweep: Sweep,
    /// Files with times that were taken before: nothing is timed then.
    pub records: Vec<PathBuf>,
    /// Into how many folds these are divided, each of which is predicted by the others.
    pub folds: Option<u8>,
    /// The device whose times are modelled instead.
    pub model: Option<&'static Model>,
    /// The table to write, where that is not the device's own.
    pub file: Option<PathBuf>,
}

/// The problems of a run.
#[derive(Debug)]
pub struct Problems {
    shapes: Vec<Shape>,
    alpha: f32,
    beta: f32,
    seed: u64,
}

impl Problems {
    /// Where what is done has others.
    const NONE: Self = Self { shapes: Vec::new(), alpha: 1.0, beta: 0.0, seed: 0 };

    /// The problems of these arguments, or of `default` where they name none.
    fn new(args: &args::Common, scalars: Option<&args::Scalars>, default: Vec<Shape>) -> Result<Self, Error> {
        let shapes = match (args.m, args.n, args.k) {
            (Some(m), Some(n), Some(k)) => vec![Shape::Exact([m, n, k])],
            _ if args.size.is_empty() => default,
            _ => args.size.clone(),
        };
        let (alpha, beta) = scalars.map_or((1.0, 0.0), |scalars| (scalars.alpha, scalars.beta));
        // 32 bits are enough to differ, and short enough to be typed again.
        let seed = args.seed.unwrap_or_else(|| rand::random::<u32>().into());
        let problems = Self { shapes, alpha, beta, seed };
        problems.on(false)?;
        Ok(problems)
    }

    /// What operands are drawn from.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The problems where the emulator runs them, or a device does.
    ///
    /// # Errors
    /// Where one of them is none.
    pub fn on(&self, is_emulated: bool) -> Result<Vec<Problem>, Error> {
        let problem =
            |[m, n, k]: [u32; 3]| Ok(Problem::new(m, n, k)?.with_scalars(self.alpha, self.beta)?.with_seed(self.seed));
        self.shapes.iter().flat_map(|shape| shape.shapes(is_emulated)).map(problem).collect()
    }
}

impl RunRequest {
    /// What the command line asks for; `None` where that is the list of kernels.
    ///
    /// # Errors
    /// What is wrong with the arguments, or with the files that they name.
    pub fn new(arguments: CommandLine) -> Result<Option<Self>, Error> {
        match arguments.command {
            None => Self::measure(arguments.measure),
            Some(Command::Explain(args)) => Self::explain(args),
            Some(Command::Accuracy(args)) => Self::accuracy(args),
            Some(Command::Counters(args)) => Self::counters(args),
            Some(Command::Shapes(args)) => Self::shapes(args),
            Some(Command::Tune(args)) => Self::tune(args),
            Some(Command::List) => return Ok(None),
        }
        .map(Some)
    }

    fn measure(args: args::Measure) -> Result<Self, Error> {
        if let Some(together) = Together::new(&args, Launched::from_environment()?)? {
            return Self::together(args, together);
        }
        effects::check_measure(&args)?;
        let default = if args.quick { ALL } else { DEFAULT_KERNEL };
        let kernels = selection(&args.kernel)?.map_or_else(|| Selection::parse(&[default]), Ok)?;
        let kernels = match args.precision {
            Some(class) => kernels.with_class(class)?,
            None => kernels,
        };
        let size = if args.quick { sizes::QUICK } else { DEFAULT_SIZE };
        let problems = Problems::new(&args.common, Some(&args.scalars), vec![Shape::Square(size)])?;
        let mut options = emulated(&args.emulator.model, &args.common)?;
        let timing = Timing { warmup: args.warmup.unwrap_or(WARMUP), iterations: args.iterations };
        let (timing, all) = if args.quick { (QUICK_TIMING, sizes::QUICK_BUDGET) } else { (timing, sizes::BUDGET) };
        // All kernels and sizes share the time that the emulator has.
        let runs = kernels.most() * problems.on(true)?.len();
        options.budget = (!args.emulator.full).then(|| BUDGET.min(all / runs.max(1) as u32));
        options.device_ordinal = args.backend.device.ordinal.unwrap_or_default();
        options.graphs = args.graphs;
        if args.tuned.is_some() && !kernels.uses_table() {
            let reason = "it is for auto, pinned, all and autotuned".to_owned();
            return Err(Error::NoEffect { option: "--tuned", reason });
        }
        let table = args.tuned.as_deref().map(tables::from_file).transpose()?;
        let baseline = args.same_device_as.as_deref().map(Run::read).transpose().map_err(Error::Records)?;
        for step in kernels.steps() {
            options.ptx.module(step)?;
        }
        let task = Task::Measure(Box::new(Measurement { kernels, timing, table, baseline, is_quick: args.quick }));
        let (format, json) = output(args.records)?;
        Ok(Self { task, problems, backend: args.backend.backend.into(), options, format, json })
    }

    fn together(args: args::Measure, together: Together) -> Result<Self, Error> {
        let problems = Problems::new(&args.common, Some(&args.scalars), vec![Shape::Together])?;
        let options = emulated(&args.emulator.model, &args.common)?;
        let (format, json) = output(args.records)?;
        let task = Task::Together(together);
        Ok(Self { task, problems, backend: args.backend.backend.into(), options, format, json })
    }

    fn explain(args: args::Explain) -> Result<Self, Error> {
        let task = Task::Explain(kernels::find(&args.step)?);
        let problems = Problems::new(&args.common, Some(&args.scalars), vec![Shape::Square(DEFAULT_SIZE)])?;
        let mut options = emulated(&args.emulator.model, &args.common)?;
        options.budget = (!args.emulator.full).then_some(BUDGET);
        let format = match args.format {
            ExplanationFormat::Table => Format::Table,
            ExplanationFormat::Json => Format::Json,
        };
        Ok(Self { task, problems, backend: BackendChoice::Emulator, options, format, json: None })
    }

    fn accuracy(args: args::Accuracy) -> Result<Self, Error> {
        effects::check_backend(&args.backend, &args.model)?;
        let kernels = selection(&args.kernel)?;
        kernels.iter().flat_map(Selection::kernels).try_for_each(accuracy::check_comparable)?;
        let mut problems = Problems::new(&args.common, None, vec![Shape::AllLengths(None)])?;
        for shape in &mut problems.shapes {
            if let Shape::Square(size) = *shape {
                *shape = Shape::AllLengths(Some(size));
            }
        }
        problems.on(false)?;
        let mut options = emulated(&args.model, &args.common)?;
        // Accuracy is that of all of C.
        options.budget = None;
        options.device_ordinal = args.backend.device.ordinal.unwrap_or_default();
        let inputs = if args.inputs.is_empty() { Inputs::ALL.to_vec() } else { args.inputs };
        let task = Task::Accuracy(Study { kernels, inputs });
        let (format, json) = output(args.records)?;
        Ok(Self { task, problems, backend: args.backend.backend.into(), options, format, json })
    }

    fn counters(args: args::Counters) -> Result<Self, Error> {
        let named = args.kernel.iter().filter(|name| *name != ALL);
        let mut steps = named.map(|name| kernels::find(name)).collect::<Result<Vec<_>, _>>()?;
        if steps.is_empty() {
            steps.extend(STEPS);
        }
        let problems = Problems::new(&args.common, None, vec![Shape::Square(DEFAULT_SIZE)])?;
        let mut options = emulated(&args.emulator.model, &args.common)?;
        options.budget = (!args.emulator.full).then_some(COUNTERS_BUDGET);
        let (format, json) = output(args.records)?;
        let task = Task::Counters(steps);
        Ok(Self { task, problems, backend: BackendChoice::Emulator, options, format, json })
    }

    fn shapes(args: args::Shapes) -> Result<Self, Error> {
        let args::Shapes { set, precision: classes, op: ops, order, batch, regret, device, records } = args;
        let set = Set::read(&set, &Case { ops, order, batch, ..Case::new([1; 3]) })?;
        let options = Options { device_ordinal: device.ordinal.unwrap_or_default(), ..Options::default() };
        let task = Task::Shapes(Sweep { set, classes, regret });
        let (format, json) = output(records)?;
        Ok(Self { task, problems: Problems::NONE, backend: BackendChoice::Cuda, options, format, json })
    }

    fn tune(args: args::Tune) -> Result<Self, Error> {
        let args::Tune { precision, records, folds, model, device, output: file, json } = args;
        let options = Options { device_ordinal: device.ordinal.unwrap_or_default(), ..Options::default() };
        let (format, json) = output(args::Records { format: Format::Table, json })?;
        // Kernels of the first two are those of fp32.
        let all = || AccuracyClass::ALL.into_iter().filter(|class| *class != AccuracyClass::Fp32Strict).collect();
        let classes = if precision.is_empty() { all() } else { precision };
        let sweep = Sweep { set: tune::set(), classes, regret: true };
        let model = model.as_deref().map(find_model).transpose()?;
        let task = Task::Tune(Tuning { sweep, records, folds, model, file });
        Ok(Self { task, problems: Problems::NONE, backend: BackendChoice::Cuda, options, format, json })
    }
}

/// What is printed, and the file that the records go to. Where that is standard output, nothing else goes there.
fn output(records: args::Records) -> Result<(Format, Option<PathBuf>), Error> {
    let args::Records { format, json } = records;
    match (json, format) {
        (Some(path), Format::Csv) if path.as_os_str() == STANDARD_OUTPUT => {
            let reason = "--json - prints JSON lines instead".to_owned();
            Err(Error::NoEffect { option: "--format csv", reason })
        }
        (Some(path), _) if path.as_os_str() == STANDARD_OUTPUT => Ok((Format::Json, None)),
        (json, format) => Ok((format, json)),
    }
}

/// The kernels of these names, if there are any.
fn selection(names: &[String]) -> Result<Option<Selection>, Error> {
    (!names.is_empty()).then(|| Selection::parse(names)).transpose()
}

/// What an emulator of this device runs these kernels with.
fn emulated(model: &args::Model, kernels: &args::Common) -> Result<Options, Error> {
    let model = model.slug.as_deref().map_or(Ok(&MODELS[0]), find_model)?;
    Ok(Options { model, ptx: ptx(kernels)?, ..Options::default() })
}

fn ptx(args: &args::Common) -> Result<PtxSource, Error> {
    args.ptx.as_deref().map_or(Ok(PtxSource::BuiltIn), PtxSource::from_file)
}

impl From<BackendName> for BackendChoice {
    fn from(name: BackendName) -> Self {
        match name {
            BackendName::Auto => Self::Auto,
            BackendName::Cuda => Self::Cuda,
            BackendName::Emulator => Self::Emulator,
        }
    }
}
