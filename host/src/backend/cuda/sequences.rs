//! Timing kernels and cuBLAS side by side on one problem after the other: sequences of products on copies of the operands that no cache
//! holds, each sequence recorded as one CUDA graph. Memory is kept from one problem to the next.

use cust::event::{Event, EventFlags};
use cust::memory::DeviceBuffer;
use gpu_kernels::Element;
use sgemm::cuda::Loaded;
use sgemm::emulator::POISON;
use sgemm::plan::Plan;

use super::CudaBackend;
use super::contender::{Contender, Runs};
use super::failure::Context as _;
use super::graph::Graph;
use super::operands::check_memory;
use super::placement::Placement;
use super::raw;
use crate::backend::{Backend as _, Baseline, Case, Conditions, Device, Kernel, Options, Rotation};
use crate::verify::Numbers;
use crate::verify::element::{SENTINEL, to_words};
use crate::{Error, Matrix};

/// What NVIDIA recommends for cuBLAS on Hopper and Blackwell, and what it has by itself there.
const CUBLAS_WORKSPACE_BYTES: usize = 32 << 20;

/// Kernels and cuBLAS on the operands of one [`Case`] at a time. [`Self::place`] begins a case; [`Self::add_step`] and
/// [`Self::add_cublas`] add what runs on it, and say by which number it is called.
pub struct Sequences {
    // In this order: graphs before the memory that they use, and what lives in the context before the backend, which has it.
    contenders: Vec<Contender>,
    placed: Option<(Case, Placement)>,
    inputs: Option<(Element, DeviceBuffer<u32>)>,
    outputs: Option<DeviceBuffer<u32>>,
    /// The last one is the largest; those before it are used by contenders that were added before it was needed.
    workspaces: Vec<DeviceBuffer<u32>>,
    events: Vec<[Event; 2]>,
    _cublas_workspace: DeviceBuffer<u32>,
    backend: CudaBackend,
}

impl Sequences {
    /// Opens the device, and loads cuBLAS.
    ///
    /// # Errors
    /// Those of [`CudaBackend::new`], and [`Error::NoCublas`].
    pub fn open(options: Options) -> Result<Self, Error> {
        let backend = CudaBackend::new(options.device_ordinal, options.ptx, false)?;
        let mut backend = backend.with_stop(options.stop);
        backend.prepare(Kernel::CUBLAS)?;
        let words = CUBLAS_WORKSPACE_BYTES / size_of::<u32>();
        let workspace = DeviceBuffer::zeroed(words).context("allocate the workspace of cuBLAS")?;
        if let Some(cublas) = &backend.cublas {
            // SAFETY: it is freed when nothing is queued any more; all goes into the backend's one stream.
            unsafe { cublas.set_workspace(&workspace) }?;
        }
        Ok(Self {
            contenders: Vec::new(),
            placed: None,
            inputs: None,
            outputs: None,
            workspaces: Vec::new(),
            events: Vec::new(),
            _cublas_workspace: workspace,
            backend,
        })
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.backend.device()
    }

    /// Clocks and power at this moment.
    #[must_use]
    pub fn conditions(&self) -> Option<Conditions> {
        self.backend.conditions()
    }

    /// Elements that the inputs of these cases need, all copies of each; of those that take at most half of the device's memory.
    #[must_use]
    pub fn numbers_needed<'a>(&self, cases: impl IntoIterator<Item = &'a Case>, element: Element) -> usize {
        let Device { l2_bytes, memory_bytes, .. } = *self.device();
        let placements = cases.into_iter().map(|case| Placement::new(case, element));
        let fitting = placements.filter(|placement| placement.bytes() <= memory_bytes / 2);
        let bytes = fitting.map(|placement| Rotation::most_bytes(placement.input_bytes(), l2_bytes)).max();
        (bytes.unwrap_or(0) / u64::from(element.bytes())) as usize
    }

    /// Copies the numbers to the device: from here on, A and B are cut out of them.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Cuda`].
    pub fn supply(&mut self, numbers: &Numbers) -> Result<(), Error> {
        self.clear();
        self.inputs = None;
        let words = to_words(numbers.element(), numbers.values());
        check_memory([words.len() as u64 * 4])?;
        let buffer = DeviceBuffer::from_slice(&words).context("copy the operands to the device")?;
        self.inputs = Some((numbers.element(), buffer));
        Ok(())
    }

    /// Begins a case whose A, B and C are made of what was supplied. The first copy of A begins where the numbers do, that of B at
    /// [`Case::b_offset`].
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] where the device has no room for the copies.
    pub fn place(&mut self, case: &Case) -> Result<(), Error> {
        self.clear();
        self.backend.stop.check()?;
        let (element, inputs) = self.inputs()?;
        let (placement, l2_bytes) = (Placement::new(case, element), self.device().l2_bytes);
        let available = inputs.len() as u64 * 4;
        let needed = Rotation::most_bytes(placement.input_bytes(), l2_bytes);
        if needed > available {
            return Err(Error::OutOfMemory { needed, available });
        }
        let words = Rotation::most_bytes(placement.output_bytes(), l2_bytes).div_ceil(4) as usize;
        if self.outputs.as_ref().is_none_or(|outputs| outputs.len() < words) {
            self.outputs = None;
            self.outputs = Some(allocate(words, "allocate memory for results")?);
        }
        self.placed = Some((*case, placement));
        Ok(())
    }

    /// Adds the plan of a step.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], or what the driver says of the kernel.
    pub fn add_step(&mut self, plan: Plan) -> Result<usize, Error> {
        self.backend.stop.check()?;
        let words = plan.workspace_bytes().div_ceil(4) as usize;
        if self.workspaces.last().map_or(0, |workspace| workspace.len()) < words {
            self.workspaces.push(allocate(words, "allocate a workspace")?);
        }
        if let Some(workspace) = self.workspaces.last().filter(|_| words > 0) {
            // A kernel that reads what it has not written is found out.
            workspace.index(..words).set_32(POISON).context("fill a workspace")?;
        }
        let loaded = Loaded::new(&self.backend.modules, plan)?;
        let parts = loaded.plan().part_bytes().at(self.workspaces.last().map_or(0, raw::address));
        let runs = Runs::step(loaded, parts)?;
        self.contenders.push(Contender { graph: None, runs });
        Ok(self.contenders.len() - 1)
    }

    /// Adds cuBLAS.
    pub fn add_cublas(&mut self, baseline: &'static Baseline) -> usize {
        self.contenders.push(Contender { graph: None, runs: Runs::Cublas(baseline) });
        self.contenders.len() - 1
    }

    /// Bytes of one copy of A, B and C, as they lie on the device.
    ///
    /// # Errors
    /// Where no case was placed.
    pub fn copy_bytes(&self) -> Result<u64, Error> {
        let (_, placement) = self.placed()?;
        Ok(placement.bytes())
    }

    /// Runs a contender once, and returns C of the whole batch as it lies in memory: a row-major matrix, or where the case is
    /// column-major its transpose. What it did not write is NaN.
    ///
    /// # Errors
    /// What the driver or cuBLAS says.
    pub fn run(&mut self, contender: usize) -> Result<Matrix, Error> {
        self.backend.stop.check()?;
        let (_, placement) = self.placed()?;
        let words = placement.c_words();
        self.fill_outputs(words)?;
        self.enqueue(contender, 0)?;
        self.first_c(contender)
    }

    /// Launches the graph that was recorded of a contender, as it was timed, and returns what [`Self::run`] does: C of the first copy,
    /// which the sequence wrote. Before it, every C and the workspace are poisoned, but for flags.
    ///
    /// # Errors
    /// What the driver says; where no graph was recorded.
    pub fn run_recorded(&mut self, contender: usize) -> Result<Matrix, Error> {
        self.backend.stop.check()?;
        self.fill_outputs(self.outputs()?.len())?;
        // Flags have memory of their own.
        for workspace in &self.workspaces {
            workspace.index(..).set_32(POISON).context("fill a workspace")?;
        }
        self.launch_graph(contender)?;
        self.first_c(contender)
    }

    /// Milliseconds of one product of a contender, after one that warms it up, with the L2 cache flushed before.
    ///
    /// # Errors
    /// What the driver or cuBLAS says.
    pub fn time_once(&mut self, contender: usize) -> Result<f64, Error> {
        self.enqueue(contender, 0)?;
        let times = self.time(&[contender], 1, true, |sequences, contender| sequences.enqueue(contender, 0))?;
        Ok(times[0][0])
    }

    /// Records the contenders' sequences as graphs.
    ///
    /// # Errors
    /// What the driver or cuBLAS says.
    pub fn record(&mut self, contenders: &[usize], rotation: Rotation) -> Result<(), Error> {
        for &contender in contenders {
            let graph = Graph::record(&self.backend.stream, || self.enqueue_all(contender, rotation))?;
            // The first launch copies the graph to the device.
            graph.launch(&self.backend.stream)?;
            self.contenders[contender].graph = Some(graph);
        }
        Ok(())
    }

    /// Times the contenders' graphs in so many rounds, all of them in each, in one order and then in the other: milliseconds of a
    /// product by round and contender. The device does not wait for the host in between.
    ///
    /// # Errors
    /// What the driver says; [`Error::Interrupted`].
    pub fn time_graphs(
        &mut self,
        contenders: &[usize],
        rotation: Rotation,
        rounds: u32,
    ) -> Result<Vec<Vec<f64>>, Error> {
        // It keeps the device busy while the host queues the rest.
        if let Some(first) = contenders.first() {
            self.launch_graph(*first)?;
        }
        let times = self.time(contenders, rounds, rotation.is_flushed, Self::launch_graph)?;
        Ok(per_product(times, rotation))
    }

    /// The same of plain calls, each sequence by itself: where the host takes longer to queue a product than the device to compute it,
    /// that is what is timed.
    ///
    /// # Errors
    /// What the driver or cuBLAS says; [`Error::Interrupted`].
    pub fn time_calls(
        &mut self,
        contenders: &[usize],
        rotation: Rotation,
        rounds: u32,
    ) -> Result<Vec<Vec<f64>>, Error> {
        let mut times = Vec::new();
        for _ in 0..rounds {
            let mut round = Vec::new();
            for contender in contenders {
                let call = |sequences: &Self, contender| sequences.enqueue_all(contender, rotation);
                round.push(self.time(&[*contender], 1, rotation.is_flushed, call)?[0][0]);
            }
            times.push(round);
        }
        Ok(per_product(times, rotation))
    }

    /// Times what `enqueue` queues for each contender, in so many rounds: milliseconds by round and contender.
    fn time(
        &mut self,
        contenders: &[usize],
        rounds: u32,
        is_flushed: bool,
        enqueue: impl Fn(&Self, usize) -> Result<(), Error>,
    ) -> Result<Vec<Vec<f64>>, Error> {
        self.backend.stop.check()?;
        let (each, all) = (contenders.len(), contenders.len() * rounds as usize);
        while self.events.len() < all {
            let event = || Event::new(EventFlags::DEFAULT).context("create an event");
            self.events.push([event()?, event()?]);
        }
        for round in 0..rounds as usize {
            for place in 0..each {
                let place = if round % 2 == 0 { place } else { each - 1 - place };
                if is_flushed {
                    self.backend.timer.flush(&self.backend.stream)?;
                }
                let [start, stop] = &self.events[round * each + place];
                start.record(&self.backend.stream).context("record an event")?;
                enqueue(self, contenders[place])?;
                stop.record(&self.backend.stream).context("record an event")?;
            }
        }
        if let Some(last) = contenders.last() {
            self.wait(*last)?;
        }
        let elapsed =
            |[start, stop]: &[Event; 2]| stop.elapsed_time_f32(start).context("read the events").map(f64::from);
        let times = self.events[..all].iter().map(elapsed).collect::<Result<Vec<_>, _>>()?;
        Ok(times.chunks(each.max(1)).map(<[f64]>::to_vec).collect())
    }

    /// Queues the products of a sequence, one after the other.
    fn enqueue_all(&self, contender: usize, rotation: Rotation) -> Result<(), Error> {
        (0..rotation.products).try_for_each(|product| self.enqueue(contender, product % rotation.copies))
    }

    /// Queues one product on a copy of the operands.
    fn enqueue(&self, contender: usize, copy: u32) -> Result<(), Error> {
        let (case, placement) = self.placed()?;
        let inputs = raw::address(self.inputs()?.1);
        let addresses = placement.addresses(inputs, raw::address(self.outputs()?), copy);
        let (runs, stream) = (&self.contenders[contender].runs, &self.backend.stream);
        // SAFETY: `place` saw to it that there is room for the copies of any rotation. Contenders are dropped before the memory.
        unsafe { runs.enqueue(case, addresses, stream, self.backend.cublas.as_ref()) }
    }

    fn launch_graph(&self, contender: usize) -> Result<(), Error> {
        let missing = || Error::Cuda { what: "launch a sequence".into(), reason: "it was not recorded".into() };
        self.contenders[contender].graph.as_ref().ok_or_else(missing)?.launch(&self.backend.stream)
    }

    /// Fills so many words of the results' memory with what no kernel writes.
    fn fill_outputs(&self, words: usize) -> Result<(), Error> {
        let (_, placement) = self.placed()?;
        let nan = to_words(placement.c_shape().element, &[f32::from_bits(SENTINEL); 2])[0];
        self.outputs()?.index(..words).set_32(nan).context("fill C")
    }

    /// Waits for a contender, and returns C of the first copy.
    fn first_c(&self, contender: usize) -> Result<Matrix, Error> {
        self.wait(contender)?;
        let (_, placement) = self.placed()?;
        let c = self.outputs()?.index(..placement.c_words());
        let words = c.as_host_vec().context("copy C from the device")?;
        Ok(Matrix::from_words(placement.c_shape(), words))
    }

    fn wait(&self, contender: usize) -> Result<(), Error> {
        self.backend.stream.synchronize().context(format!("run {}", self.contenders[contender].runs.name()))
    }

    /// Drops what belongs to one case.
    fn clear(&mut self) {
        self.contenders.clear();
        self.placed = None;
        let largest = self.workspaces.pop();
        self.workspaces.clear();
        self.workspaces.extend(largest);
    }

    fn placed(&self) -> Result<&(Case, Placement), Error> {
        self.placed.as_ref().ok_or_else(missing)
    }

    fn inputs(&self) -> Result<(Element, &DeviceBuffer<u32>), Error> {
        self.inputs.as_ref().map(|(element, inputs)| (*element, inputs)).ok_or_else(missing)
    }

    fn outputs(&self) -> Result<&DeviceBuffer<u32>, Error> {
        self.outputs.as_ref().ok_or_else(missing)
    }
}

fn missing() -> Error {
    Error::Cuda { what: "run a sequence".into(), reason: "no operands were placed".into() }
}

fn allocate(words: usize, what: &str) -> Result<DeviceBuffer<u32>, Error> {
    check_memory([words as u64 * 4])?;
    DeviceBuffer::zeroed(words).context(what)
}

fn per_product(times: Vec<Vec<f64>>, rotation: Rotation) -> Vec<Vec<f64>> {
    let products = f64::from(rotation.products);
    times.into_iter().map(|round| round.into_iter().map(|ms| ms / products).collect()).collect()
}
