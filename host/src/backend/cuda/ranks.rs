//! A rank on a CUDA device: this process has one, and NCCL joins it with the others.

use std::time::Duration;

use cust::context::Context;
use cust::event::{Event, EventFlags};
use cust::memory::{DeviceBuffer, mem_get_info};
use cust::stream::{Stream, StreamFlags};
use ptx_emu::device::Device as Model;
use sgemm::Problem;
use sgemm::cuda::{Gemm, Handle};
use sgemm::distributed::nccl::{Communicator, DistributedGemm, Reduction};
use sgemm::distributed::{Buffer, Launched, Machine, Plan, Scheme, Span, Work, predict};

use super::failure::Context as _;
use super::nvml::Monitor;
use super::operands::{DeviceOperands, check_memory, uploaded};
use super::{device, raw};
use crate::backend::{Conditions, Device, Ranks};
use crate::verify::distributed::Combine;
use crate::{Error, Matrix, Operands};

/// One of the ranks that a launcher started, on its own device.
pub struct JoinedRank {
    // Dropped in this order: what uses memory before it, the context last.
    placed: Option<Placed>,
    operands: Option<DeviceOperands>,
    events: [Event; 2],
    /// What ranks add up where they meet before a run.
    meeting: DeviceBuffer<f64>,
    stream: Stream,
    communicator: Communicator,
    plans: Vec<Plan>,
    /// How long ranks wait for each other beyond the predicted time.
    deadline: Duration,
    keeps_times: bool,
    device: Device,
    monitor: Option<Monitor>,
    _context: Context,
}

/// How long after the first one a process of a launcher may be ready to join.
const START: Duration = Duration::from_secs(10);

/// One part in so many of the memory that is free is left to NCCL's buffers.
const NCCL_SHARE: u64 = 16;

/// What [`Ranks::run`] runs.
enum Placed {
    /// A product over all ranks, and how long it may take.
    Together(Box<DistributedGemm>, Duration),
    /// One on this rank alone, and its workspace.
    Alone(Gemm, DeviceBuffer<u32>),
}

/// Ends what a rank waits for, from any thread.
pub struct Aborter(Communicator);

impl Aborter {
    /// What waits for other ranks fails.
    pub fn abort(&self) {
        self.0.abort();
    }
}

impl JoinedRank {
    /// Joins the other ranks of the launcher. They wait `deadline` for each other: in products beyond the predicted time, and now beyond what
    /// processes start apart; `grace` where the host has something to do. Times of tasks are kept where that is asked for.
    ///
    /// # Errors
    /// Those of [`super::CudaBackend::new`], and the library's: where there is no NCCL, or another rank does not come.
    pub fn join(launched: &Launched, [deadline, grace]: [Duration; 2], keeps_times: bool) -> Result<Self, Error> {
        let ordinal = launched.ordinal(device::device_count()?)?;
        let handle = device::open(ordinal)?;
        let context = Context::new(handle).context("use the device")?;
        let stream = Stream::new(StreamFlags::DEFAULT, None).context("create a stream")?;
        let event = || Event::new(EventFlags::DEFAULT).context("create an event");
        let monitor = Monitor::new(device::pci_bus_id(handle)?);
        let device = device::describe(handle, monitor.as_ref())?;
        // The same primary context.
        let library = Handle::new(&sgemm::cuda::open(ordinal)?)?;
        Ok(Self {
            placed: None,
            operands: None,
            events: [event()?, event()?],
            meeting: DeviceBuffer::zeroed(1).context("allocate a word")?,
            stream,
            communicator: Communicator::launched(&library, launched, deadline + START)?.with_grace(grace),
            plans: Vec::new(),
            deadline,
            keeps_times,
            device,
            monitor,
            _context: context,
        })
    }

    /// What ends this rank's waiting from another thread.
    #[must_use]
    pub fn aborter(&self) -> Aborter {
        Aborter(self.communicator.clone())
    }

    /// A product on this rank alone.
    fn alone(&self, plan: &Plan) -> Result<Placed, Error> {
        let gemm = self.communicator.handle().load(only_product(plan)?.1.clone())?;
        let words = plan.part_bytes(Buffer::Scratch).div_ceil(size_of::<u32>() as u64);
        check_memory([words * size_of::<u32>() as u64])?;
        let scratch = DeviceBuffer::zeroed(words.max(1) as usize).context("allocate a workspace")?;
        Ok(Placed::Alone(gemm, scratch))
    }

    /// Queues the product, and waits for it.
    fn multiply(&mut self, alpha: f32, beta: f32) -> Result<(), Error> {
        let Some(placed) = &mut self.placed else { return Err(missing()) };
        let addresses @ [a, b, c] = uploaded(self.operands.as_ref())?.addresses();
        let [start, stop] = &self.events;
        let stream = raw::stream(&self.stream);
        if let Placed::Together(..) = placed {
            // Devices begin together, whenever their hosts come here.
            let word = raw::address(&self.meeting);
            // SAFETY: one value is there, as long as this rank, and nothing else uses it.
            unsafe { self.communicator.all_reduce_raw(stream, Reduction::Sum, word, 1) }?;
        }
        start.record(&self.stream).context("record an event")?;
        match placed {
            Placed::Together(gemm, limit) => {
                // SAFETY: the operands are this rank's parts by the scheme of the plan, without gaps between rows: `upload` takes those of
                // `place`. They live until the run is done, which is waited for; nothing else writes to them.
                unsafe { gemm.run_raw(stream, alpha, a, b, beta, c) }?;
                stop.record(&self.stream).context("record an event")?;
                gemm.wait(*limit)?;
            }
            Placed::Alone(gemm, scratch) => {
                let plan = self.plans.first().ok_or_else(missing)?;
                let base = |buffer: Buffer| match buffer {
                    Buffer::A => addresses[0],
                    Buffer::B => addresses[1],
                    Buffer::C => addresses[2],
                    _ => raw::address(scratch),
                };
                let bindings = plan.bindings_of(only_product(plan)?.0, [alpha, beta], base);
                // SAFETY: as above; of a workspace the plan has nothing but `Scratch`, which has as many bytes as it says.
                unsafe { gemm.run_raw(stream, &bindings) }?;
                stop.record(&self.stream).context("record an event")?;
            }
        }
        stop.synchronize().context("wait for the product")
    }
}

/// The one product that a plan of a single rank is, and its own plan.
fn only_product(plan: &Plan) -> Result<(&sgemm::distributed::Product, &sgemm::plan::Plan), Error> {
    let only = match plan.tasks() {
        [task] => match &task.work {
            Work::Product(product) => plan.gemms().get(product.gemm).map(|gemm| (product, gemm)),
            _ => None,
        },
        _ => None,
    };
    let several = || Error::Cuda { what: "multiply on one GPU".into(), reason: "the plan is not one product".into() };
    only.ok_or_else(several)
}

fn missing() -> Error {
    Error::Cuda { what: "run a product".into(), reason: "none was placed".into() }
}

impl Ranks for JoinedRank {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn device(&self) -> &Device {
        &self.device
    }

    fn is_modelled(&self) -> bool {
        Model::is_emulated(&self.device.name)
    }

    fn conditions(&self) -> Option<Conditions> {
        self.monitor.as_ref()?.conditions()
    }

    fn count(&self) -> usize {
        self.communicator.ranks()
    }

    fn has_first(&self) -> bool {
        self.communicator.rank() == 0
    }

    fn workspace_limit(&mut self, matrices: u64) -> Result<u64, Error> {
        let (free, _) = mem_get_info().context("ask for free device memory")?;
        let left = (free as u64 - free as u64 / NCCL_SHARE).saturating_sub(matrices);
        let mut least = [-(left as f64)];
        self.combine(Combine::Max, &mut least)?;
        Ok(-least[0] as u64)
    }

    fn combine(&mut self, how: Combine, values: &mut [f64]) -> Result<(), Error> {
        if values.is_empty() {
            return Ok(());
        }
        let reduction = match how {
            Combine::Sum => Reduction::Sum,
            Combine::Max => Reduction::Max,
        };
        Ok(self.communicator.all_reduce(reduction, values)?)
    }

    fn place(&mut self, problem: &Problem, scheme: &Scheme) -> Result<&[Plan], Error> {
        self.clear();
        let (plan, placed) = if scheme.grid.ranks() == 1 {
            let plan = Plan::new(problem, scheme, 0, self.communicator.handle().device())?;
            let placed = self.alone(&plan)?;
            (plan, placed)
        } else {
            let mut gemm = self.communicator.plan(problem, scheme)?;
            gemm.keep_times(self.keeps_times)?;
            let predicted = predict(problem, scheme, self.communicator.handle().device(), &Machine::h200())?;
            let limit = self.deadline + Duration::from_secs_f64(predicted.time_us / 1e6);
            (gemm.plan().clone(), Placed::Together(Box::new(gemm), limit))
        };
        self.placed = Some(placed);
        self.plans = vec![plan];
        Ok(&self.plans)
    }

    fn upload(&mut self, operands: &[Operands]) -> Result<(), Error> {
        // The old ones go first.
        self.operands = None;
        self.operands = operands.first().map(DeviceOperands::upload).transpose()?;
        Ok(())
    }

    fn upload_c(&mut self, c: &[&Matrix]) -> Result<(), Error> {
        match (&mut self.operands, c) {
            (Some(operands), [c]) => operands.restore_c(c),
            _ => Err(missing()),
        }
    }

    fn run(&mut self, alpha: f32, beta: f32) -> Result<f64, Error> {
        self.multiply(alpha, beta)?;
        let [start, stop] = &self.events;
        stop.elapsed_time_f32(start).context("read the events").map(f64::from)
    }

    fn spans(&mut self) -> Result<Vec<Span>, Error> {
        let Some(Placed::Together(gemm, _)) = &self.placed else { return Ok(Vec::new()) };
        Ok(gemm.timeline()?)
    }

    fn download(&mut self) -> Result<Vec<Operands>, Error> {
        Ok(vec![uploaded(self.operands.as_ref())?.download()?])
    }

    fn clear(&mut self) {
        self.placed = None;
        self.operands = None;
        self.plans.clear();
    }
}
