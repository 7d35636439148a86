//! Plans run in [`ptx_emu`]: the GPUs are emulated, and copies are copies within the host's memory.

use super::part::Part;
use super::plan::Plan;
use super::task::{PeerCopy, Queue, Task, Transfer, Work};
use crate::distributed::next_random;
use crate::emulator::{DeviceMemory, Emulator};
use crate::plan::{Address, Buffer};
use crate::{Error, Scalar};

/// GPUs that are emulated. Their queues run beside each other in an order that the seed gives: any that the plan allows.
///
/// ```
/// use sgemm::Problem;
/// use sgemm::emulator::Emulator;
/// use sgemm::streamed::{Emulation, Plan};
///
/// let emulator = Emulator::of("h200").expect("it is known");
/// let plan = Plan::new(&Problem::new(20, 30, 2), emulator.device(), &[100_000; 2])?;
/// let (a, b, mut c) = (vec![1.0_f32; 20 * 2], vec![2.0_f32; 2 * 30], vec![f32::NAN; 20 * 30]);
/// Emulation::new(&emulator, 1).run(&plan, 1.0, &a, &b, 0.0, &mut c)?;
/// assert_eq!(c, vec![4.0; 20 * 30]);
/// # Ok::<(), sgemm::Error>(())
/// ```
pub struct Emulation<'a> {
    emulator: &'a Emulator,
    seed: u64,
}

impl<'a> Emulation<'a> {
    /// GPUs that all are the emulator's.
    #[must_use]
    pub const fn new(emulator: &'a Emulator, seed: u64) -> Self {
        Self { emulator, seed }
    }

    /// C = alpha\*A\*B + beta\*C.
    ///
    /// # Errors
    /// [`Error::Elements`] and [`Error::ShortBuffer`], before anything runs; [`Error::OutOfMemory`]; [`Error::Emulated`] where a
    /// kernel does what it must not.
    pub fn run<I: Scalar, O: Scalar>(
        &self,
        plan: &Plan,
        alpha: f32,
        a: &[I],
        b: &[I],
        beta: f32,
        c: &mut [O],
    ) -> Result<(), Error> {
        plan.check_given([I::ELEMENT, O::ELEMENT], [a.len(), b.len(), c.len()])?;
        // SAFETY: the slices were found long enough, and are borrowed until this returns.
        unsafe { self.run_raw(plan, alpha, a.as_ptr(), b.as_ptr(), beta, c.as_mut_ptr()) }
    }

    /// The same on raw pointers to the first element of each matrix, as [`Streamer::run_raw`](super::Streamer::run_raw) has it.
    ///
    /// # Errors
    /// As of [`Self::run`]. C may be in part computed then.
    ///
    /// # Safety
    /// As of [`Streamer::run_raw`](super::Streamer::run_raw).
    pub unsafe fn run_raw<I: Scalar, O: Scalar>(
        &self,
        plan: &Plan,
        alpha: f32,
        a: *const I,
        b: *const I,
        beta: f32,
        c: *mut O,
    ) -> Result<(), Error> {
        let [of_a, of_b, of_c, ..] = plan.problem().extents()?;
        plan.check_given([I::ELEMENT, O::ELEMENT], [of_a, of_b, of_c])?;
        let host = Host { a: a.cast(), b: b.cast(), c: c.cast() };
        let gpus = plan.parts().iter().map(|part| Gpu::new(part, [alpha, beta]));
        let mut gpus = gpus.collect::<Result<Vec<_>, _>>()?;
        let mut random = self.seed;
        loop {
            let of = |(number, gpu): (usize, &Gpu<'_>)| gpu.ready(&gpus).map(move |task| (number, task));
            let ready: Vec<_> = gpus.iter().enumerate().flat_map(of).collect();
            if ready.is_empty() {
                return Ok(());
            }
            let chosen = (next_random(&mut random) * ready.len() as f64) as usize;
            let (number, task) = ready[chosen.min(ready.len() - 1)];
            match plan.parts()[number].tasks()[task].work {
                Work::Receive(copy) => receive(&mut gpus, number, &copy)?,
                // SAFETY: upheld by the caller.
                _ => unsafe { gpus[number].run(self.emulator, task, &host) }?,
            }
            gpus[number].is_done[task] = true;
        }
    }
}

/// Where the caller's matrices begin.
struct Host {
    a: *const u8,
    b: *const u8,
    c: *mut u8,
}

impl Host {
    fn matrix(&self, matrix: Buffer) -> *const u8 {
        match matrix {
            Buffer::A => self.a,
            Buffer::B => self.b,
            _ => self.c,
        }
    }
}

/// A GPU: its part, and its memory.
struct Gpu<'a> {
    part: &'a Part,
    memory: DeviceMemory,
    base: Address,
    factors: [f32; 2],
    is_done: Vec<bool>,
}

impl<'a> Gpu<'a> {
    fn new(part: &'a Part, factors: [f32; 2]) -> Result<Self, Error> {
        let mut memory = DeviceMemory::default();
        let base = memory.allocate(part.memory_bytes())?;
        let is_done = part.tasks().iter().map(|task| !task.is_needed(factors)).collect();
        Ok(Self { part, memory, base, factors, is_done })
    }

    /// The tasks that may run now: of each queue the first one, if nothing that it waits for is left.
    fn ready(&self, all: &[Self]) -> impl Iterator<Item = usize> + use<> {
        let tasks = self.part.tasks();
        let first = |queue| (0..tasks.len()).find(|index| tasks[*index].queue == queue && !self.is_done[*index]);
        let is_free = |task: &usize| {
            let Task { after, after_peers, .. } = &tasks[*task];
            after.iter().all(|before| self.is_done[*before])
                && after_peers.iter().all(|before| all[before.gpu].is_done[before.task])
        };
        Queue::ALL.into_iter().filter_map(first).filter(is_free).collect::<Vec<_>>().into_iter()
    }

    /// # Safety
    /// The lines of a transfer can be read, and written where it is a download.
    unsafe fn run(&mut self, emulator: &Emulator, index: usize, host: &Host) -> Result<(), Error> {
        let (part, base) = (self.part, self.base);
        let Task { work, .. } = &part.tasks()[index];
        match work {
            Work::Upload(transfer) => {
                for (from, to) in lines(transfer) {
                    let from = host.matrix(transfer.matrix).wrapping_add(from);
                    // SAFETY: upheld by the caller.
                    let line = unsafe { std::slice::from_raw_parts(from, transfer.bytes as usize) };
                    self.memory.write(base + to, line)?;
                }
            }
            Work::Download(transfer) => {
                for (to, from) in lines(transfer) {
                    // SAFETY: upheld by the caller; nothing else uses the line.
                    let line =
                        unsafe { std::slice::from_raw_parts_mut(host.c.wrapping_add(to), transfer.bytes as usize) };
                    self.memory.read(base + from, line)?;
                }
            }
            // It takes the memory of two.
            Work::Receive(_) => {}
            Work::Prepare { gemm, operand, source, target } => {
                let bindings = part.bindings_of_prepass(*gemm, *operand, [*source, *target], base);
                emulator.prepare_raw(&part.gemms()[*gemm], *operand, &bindings, &mut self.memory)?;
            }
            Work::Product(product) => {
                let bindings = part.bindings_of(product, self.factors, base);
                emulator.run_raw(&part.gemms()[product.gemm], &bindings, &mut self.memory)?;
            }
        }
        Ok(())
    }
}

/// Copies lines from another GPU's memory to that of a GPU.
fn receive(gpus: &mut [Gpu<'_>], to: usize, copy: &PeerCopy) -> Result<(), Error> {
    let mut bytes = vec![0; copy.bytes as usize];
    for line in 0..copy.lines {
        let [source, target] = [copy.source, copy.target].map(|first| first + line * copy.pitch);
        let (from, into) = (gpus[copy.gpu].base + source, gpus[to].base + target);
        gpus[copy.gpu].memory.read(from, &mut bytes)?;
        gpus[to].memory.write(into, &bytes)?;
    }
    Ok(())
}

/// Where each line is: on the host, and in the GPU's memory.
fn lines(transfer: &Transfer) -> impl Iterator<Item = (usize, u64)> {
    let Transfer { host, host_pitch, device, device_pitch, lines, .. } = *transfer;
    (0..lines).map(move |line| ((host + line * host_pitch) as usize, device + line * device_pitch))
}
