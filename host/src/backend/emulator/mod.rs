//! The emulator backend: PTX run on the CPU by `ptx_emu`, with its checkers on. Times are modelled, for a device that
//! need not be there.

use std::time::Duration;

use gpu_kernels::Step;
pub use ptx_emu::device::{DEVICES as MODELS, Device as Model};
use sgemm::emulator::Kernels;

use crate::backend::ptx::PtxSource;
use crate::backend::{Backend, Conditions, Device, Kernel};
use crate::verify::Coverage;
use crate::{Error, Matrix, Operands, Problem, Stop};

mod count;
mod estimate;
mod launch;
mod model;
mod operands;
mod ranks;

pub use estimate::Estimator;
pub use launch::Launched;
use launch::{Run, Runner};
pub use model::{find_model, model_for};
use operands::EmulatedOperands;
pub use ranks::EmulatedRanks;

/// How long one kernel runs on one problem before blocks are left out, unless all of them are asked for.
pub const BUDGET: Duration = Duration::from_secs(3);

/// Runs kernels on the CPU, block after block on every core.
///
/// Where a problem is too large for its budget of time, a sample of blocks runs: one of each kind of edge and corner,
/// and random ones until the time is up.
pub struct EmulatorBackend {
    model: &'static Model,
    device: Device,
    kernels: Kernels,
    budget: Option<Duration>,
    /// 0 for as many as there are cores.
    threads: usize,
    stop: Stop,
    operands: Option<EmulatedOperands>,
    /// What the last run of each step did, and on which problem.
    runs: Vec<(&'static Step, Problem, Run)>,
}

impl EmulatorBackend {
    /// An emulator that stands for a device, to run kernels out of `ptx`: as many blocks as there is time for in
    /// `budget`, or all.
    #[must_use]
    pub fn new(ptx: PtxSource, model: &'static Model, budget: Option<Duration>) -> Self {
        Self {
            model,
            device: model::describe(model),
            kernels: Kernels::new(ptx.modules()),
            budget,
            threads: 0,
            stop: Stop::default(),
            operands: None,
            runs: Vec::new(),
        }
    }

    /// The same, but it ends what it does once the flag is raised, in the midst of blocks.
    #[must_use]
    pub fn with_stop(self, stop: Stop) -> Self {
        Self { stop, ..self }
    }

    /// The same, on so many threads of the host instead of all: for a program that runs several at a time.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// What the last run of the step did, launch by launch: one, but for problems that are taller than a grid. Empty
    /// where there was nothing to launch.
    #[must_use]
    pub fn launches(&self, step: &Step) -> &[Launched] {
        let run = self.runs.iter().find(|(ran, ..)| ran.slug == step.slug);
        run.map_or(&[], |(_, _, run)| &run.launches)
    }

    /// What the pre-passes of the last run of the step did, in order.
    #[must_use]
    pub fn prepasses(&self, step: &Step) -> &[Launched] {
        let run = self.runs.iter().find(|(ran, ..)| ran.slug == step.slug);
        run.map_or(&[], |(_, _, run)| &run.before)
    }

    /// What the post-pass of the last run of the step did, where it had one.
    #[must_use]
    pub fn postpasses(&self, step: &Step) -> &[Launched] {
        let run = self.runs.iter().find(|(ran, ..)| ran.slug == step.slug);
        run.map_or(&[], |(_, _, run)| &run.after)
    }

    fn run_step(&mut self, step: &'static Step, problem: &Problem) -> Result<Coverage, Error> {
        self.load(step)?;
        let operands = operands::uploaded(self.operands.as_mut(), problem)?;
        self.runs.retain(|(ran, ..)| ran.slug != step.slug);
        let runner = Runner {
            kernels: &self.kernels,
            step,
            problem,
            model: self.model,
            budget: self.budget,
            checks: true,
            threads: self.threads,
            stop: &self.stop,
        };
        let run = runner.run(operands)?;
        let coverage = launch::coverage(step, problem, &run.launches, self.model.sm_count);
        self.runs.push((step, *problem, run));
        Ok(coverage)
    }

    fn load(&self, step: &'static Step) -> Result<(), Error> {
        self.device.check_runs(step)?;
        Ok(self.kernels.load(step)?)
    }
}

/// Why cuBLAS does not run here.
fn no_cublas() -> Error {
    Error::NoCublas { reason: "it runs on NVIDIA GPUs only, and times of the emulator are modelled".into() }
}

impl Backend for EmulatorBackend {
    fn name(&self) -> &'static str {
        "emulator"
    }

    fn device(&self) -> &Device {
        &self.device
    }

    fn is_modelled(&self) -> bool {
        true
    }

    fn conditions(&self) -> Option<Conditions> {
        None
    }

    fn prepare(&mut self, kernel: Kernel) -> Result<(), Error> {
        self.stop.check()?;
        match kernel {
            Kernel::Step(step) => self.load(step),
            Kernel::Cublas(_) => Err(no_cublas()),
        }
    }

    fn upload(&mut self, operands: &Operands) -> Result<(), Error> {
        // The old ones go first: peak memory is that of one problem.
        self.operands = None;
        self.operands = Some(EmulatedOperands::upload(operands));
        Ok(())
    }

    fn run(&mut self, kernel: Kernel, problem: &Problem) -> Result<Coverage, Error> {
        match kernel {
            Kernel::Step(step) => self.run_step(step, problem),
            Kernel::Cublas(_) => Err(no_cublas()),
        }
    }

    fn restore(&mut self, c: &Matrix) -> Result<(), Error> {
        self.operands.as_mut().ok_or_else(operands::missing)?.restore(c)
    }

    fn download(&mut self) -> Result<Operands, Error> {
        self.operands.take().ok_or_else(operands::missing)?.download()
    }

    fn time(
        &mut self,
        kernel: Kernel,
        problem: &Problem,
        _warmup: u32,
        iterations: u32,
        launched: &mut dyn FnMut(),
    ) -> Result<Vec<f32>, Error> {
        let Kernel::Step(step) = kernel else { return Err(no_cublas()) };
        let run = self.runs.iter().find(|(ran, of, _)| ran.slug == step.slug && of == problem);
        let not_run = || Error::Emulator { what: format!("time {}", step.slug), reason: "it was not run".into() };
        let (_, _, Run { before, launches, after }) = run.ok_or_else(not_run)?;
        let launched_all = before.iter().chain(launches).chain(after);
        let time_ms: f64 = launched_all.map(|launched| launched.prediction.time_ms).sum();
        Ok((0..iterations).map(|_| launched()).map(|()| time_ms as f32).collect())
    }
}
