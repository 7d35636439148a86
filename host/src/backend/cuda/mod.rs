//! The CUDA backend: context, stream, memory and events of `cust`, on which `sgemm` launches, with cuBLAS beside it. The only place
//! that knows `cust`.
//!
//! The driver, cuBLAS and NVML are loaded at run time, so that one binary runs on machines with and without each of them.

use cust::context::Context;
use cust::stream::{Stream, StreamFlags};
use gpu_kernels::Step;
use ptx_emu::device::Device as Model;
use sgemm::cuda::Modules;

use crate::backend::ptx::PtxSource;
use crate::backend::{Backend, Conditions, Device, Kernel};
use crate::verify::Coverage;
use crate::{Error, Matrix, Operands, Problem, Stop};

mod contender;
mod cublas;
mod device;
mod failure;
mod graph;
mod launch;
mod nvml;
mod operands;
mod placement;
mod prepared;
mod ranks;
mod raw;
mod runner;
mod sequences;
mod timer;

use cublas::Cublas;
pub use device::device_count;
use failure::Context as _;
use launch::Launch;
use nvml::Monitor;
use operands::{DeviceOperands, Gemm};
use prepared::Prepared;
pub use ranks::{Aborter, JoinedRank};
pub use runner::PtxRunner;
pub use sequences::Sequences;
use timer::Timer;

/// Runs kernels on one CUDA device, on the thread that made it.
///
/// It holds the device's primary context, which cuBLAS shares. Work is queued in one stream.
pub struct CudaBackend {
    // Fields are dropped in this order: what lives in the context goes before the stream, the context last.
    prepared: Option<Prepared>,
    operands: Option<DeviceOperands>,
    timer: Timer,
    cublas: Option<Cublas>,
    modules: Modules,
    graphs: bool,
    stop: Stop,
    stream: Stream,
    device: Device,
    monitor: Option<Monitor>,
    _context: Context,
}

impl CudaBackend {
    /// Opens device `ordinal`, counted as the driver counts, to run kernels out of `ptx`: each step's launches one by one, or
    /// with `graphs` as one CUDA graph.
    ///
    /// # Errors
    /// [`Error::NoDriver`] and [`Error::NoDevice`] where there is nothing to run on, [`Error::Cuda`] where the driver
    /// refuses.
    pub fn new(ordinal: usize, ptx: PtxSource, graphs: bool) -> Result<Self, Error> {
        let handle = device::open(ordinal)?;
        let context = Context::new(handle).context("use the device")?;
        let stream = Stream::new(StreamFlags::DEFAULT, None).context("create a stream")?;
        let monitor = Monitor::new(device::pci_bus_id(handle)?);
        let device = device::describe(handle, monitor.as_ref())?;
        let timer = Timer::new(device.l2_bytes)?;
        // SAFETY: the context is the current one, and stands after the modules and what is prepared in this struct, so that it is
        // dropped after them.
        let modules = unsafe { Modules::new(ptx.modules()) }?;
        Ok(Self {
            prepared: None,
            operands: None,
            timer,
            cublas: None,
            modules,
            graphs,
            stop: Stop::default(),
            stream,
            device,
            monitor,
            _context: context,
        })
    }

    /// The same, but it ends what it does once the flag is raised, between two launches.
    #[must_use]
    pub fn with_stop(self, stop: Stop) -> Self {
        Self { stop, ..self }
    }

    /// Loads cuBLAS where it is not loaded yet, and notes its version.
    fn load_cublas(&mut self) -> Result<(), Error> {
        if self.cublas.is_none() {
            // SAFETY: `cublas` stands before `stream` in this struct, and so is dropped before it.
            let cublas = unsafe { Cublas::load(&self.stream) }?;
            self.device.cublas = Some(cublas.version()?);
            self.cublas = Some(cublas);
        }
        Ok(())
    }

    /// The launches of a kernel on the uploaded operands, which must be those of the problem, and the timer and the stream
    /// for them. What a step needs beside the operands is made on its first launch.
    fn launch(&mut self, kernel: Kernel, problem: &Problem) -> Result<(Launch<'_>, &mut Timer, &Stream), Error> {
        self.prepare(kernel)?;
        let gemm = Gemm::new(self.operands.as_ref(), problem)?;
        let launch = match kernel {
            Kernel::Step(step) => {
                let prepared = match self.prepared.take().filter(|prepared| prepared.is_for(step, problem)) {
                    Some(prepared) => prepared,
                    None => {
                        let sm_count = self.device.sm_count;
                        Prepared::new(step, &gemm, sm_count, &self.modules, self.graphs, &self.stream)?
                    }
                };
                Launch::Step(self.prepared.insert(prepared))
            }
            Kernel::Cublas(baseline) => {
                problem.check_kernel(kernel)?;
                let missing = || Error::NoCublas { reason: "it was not loaded".into() };
                Launch::Cublas(self.cublas.as_ref().ok_or_else(missing)?, baseline, gemm)
            }
        };
        Ok((launch, &mut self.timer, &self.stream))
    }

    /// Loads the step's kernel, if this device has what the step's target asks for.
    fn load_step(&mut self, step: &'static Step) -> Result<(), Error> {
        self.device.check_runs(step)?;
        self.modules.load(step)?;
        Ok(())
    }
}

impl Backend for CudaBackend {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn device(&self) -> &Device {
        &self.device
    }

    fn is_modelled(&self) -> bool {
        Model::is_emulated(&self.device.name)
    }

    fn launches_graphs(&self) -> bool {
        self.graphs
    }

    fn conditions(&self) -> Option<Conditions> {
        self.monitor.as_ref()?.conditions()
    }

    fn prepare(&mut self, kernel: Kernel) -> Result<(), Error> {
        self.stop.check()?;
        match kernel {
            Kernel::Step(step) => self.load_step(step),
            Kernel::Cublas(_) => self.load_cublas(),
        }
    }

    fn upload(&mut self, operands: &Operands) -> Result<(), Error> {
        // The old ones go first: peak memory is that of one problem.
        self.prepared = None;
        self.operands = None;
        self.operands = Some(DeviceOperands::upload(operands)?);
        Ok(())
    }

    fn run(&mut self, kernel: Kernel, problem: &Problem) -> Result<Coverage, Error> {
        let (launch, _, stream) = self.launch(kernel, problem)?;
        launch.enqueue(stream)?;
        stream.synchronize().context(launch.what())?;
        Ok(Coverage::Whole { blocks: None })
    }

    fn restore(&mut self, c: &Matrix) -> Result<(), Error> {
        self.operands.as_mut().ok_or_else(operands::missing)?.restore_c(c)?;
        self.prepared.as_mut().map_or(Ok(()), Prepared::poison)
    }

    fn download(&mut self) -> Result<Operands, Error> {
        operands::uploaded(self.operands.as_ref())?.download()
    }

    fn download_c(&mut self) -> Result<Matrix, Error> {
        operands::uploaded(self.operands.as_ref())?.download_c()
    }

    fn time(
        &mut self,
        kernel: Kernel,
        problem: &Problem,
        warmup: u32,
        iterations: u32,
        launched: &mut dyn FnMut(),
    ) -> Result<Vec<f32>, Error> {
        let stop = self.stop.clone();
        let (launch, timer, stream) = self.launch(kernel, problem)?;
        for _ in 0..warmup {
            stop.check()?;
            timer.time(&launch, stream)?;
        }
        let timed = (0..iterations).map(|_| {
            stop.check()?;
            let time_ms = timer.time(&launch, stream)?;
            launched();
            Ok(time_ms)
        });
        timed.collect()
    }
}
