//! GPUs that stream one product after another, of any sizes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;

use super::gpu::{Gpu, Loaded};
use super::host::Host;
use super::peers::{Peer, connect};
use super::pool::{Pool, no_thread};
use super::progress::Ending;
use crate::cuda::Handle;
use crate::streamed::{Part, Plan, Rates};
use crate::{Error, Problem, Scalar};

/// GPUs with what streaming takes, whatever the problem: streams, page-locked buffers, threads that copy, and as much memory as the
/// largest plan has needed so far. Problems of different sizes share one, where [`StreamedGemm`](super::StreamedGemm) is for one problem.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use sgemm::Problem;
/// use sgemm::cuda::{Handle, open};
/// use sgemm::streamed::{Plan, Streamer};
///
/// let handle = Handle::new(&open(0)?)?;
/// let mut streamer = Streamer::new(&[handle.clone()])?;
/// for n in [20_000, 10_000] {
///     let plan = Plan::new(&Problem::new(n, n, n), handle.device(), &[2 << 30])?;
///     let mut plan = streamer.load(plan)?; // worth keeping, for the next product of this size
///     let (a, b, mut c) = (vec![1.0_f32; n * n], vec![2.0_f32; n * n], vec![0.0_f32; n * n]);
///     streamer.run(&mut plan, 1.0, &a, &b, 0.0, &mut c)?;
/// }
/// # Ok(())
/// # }
/// ```
pub struct Streamer {
    gpus: Vec<Gpu>,
    /// Whether all have access to each other's memory.
    are_connected: bool,
}

/// A plan with its kernels loaded on the GPUs of a [`Streamer`]. It holds none of their memory for matrices.
pub struct StreamedPlan {
    plan: Plan,
    loaded: Vec<Loaded>,
}

impl StreamedPlan {
    /// What each GPU does.
    #[must_use]
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }
}

impl Streamer {
    /// Of these GPUs, which get access to each other's memory where that is possible.
    ///
    /// # Errors
    /// [`Error::NoDevice`] without handles; [`Error::Driver`] where the driver refuses.
    pub fn new(handles: &[Handle]) -> Result<Self, Error> {
        if handles.is_empty() {
            return Err(Error::NoDevice);
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let copying = (cores / 2 / handles.len()).clamp(1, MOST_COPYING);
        let gpu = |handle| Gpu::new(handle, Pool::new(copying)?);
        let gpus = handles.iter().map(gpu).collect::<Result<_, _>>()?;
        Ok(Self { gpus, are_connected: connect(handles) })
    }

    /// The plan for these GPUs, as of [`Plan::with_factors`]: panels are handed on between them only where all have access to each other's
    /// memory.
    ///
    /// # Errors
    /// As of [`Plan::new`].
    pub fn plan(&self, problem: &Problem, limits: &[u64], factors: [f32; 2]) -> Result<Plan, Error> {
        let device = self.gpus.first().ok_or(Error::NoDevice)?.device();
        let rates = Rates::h200(limits.len());
        let rates = if self.are_connected { rates } else { rates.without_peers() };
        Plan::with_rates(problem, device, limits, factors, rates)
    }

    /// Loads the kernels of a plan.
    ///
    /// # Errors
    /// [`Error::NotDistributed`] where the plan is for other GPUs, or more or fewer; those of [`Handle::load`]; [`Error::Driver`] where the
    /// driver refuses.
    pub fn load(&self, plan: Plan) -> Result<StreamedPlan, Error> {
        if self.gpus.len() != plan.parts().len() || self.gpus.iter().any(|gpu| gpu.device() != plan.device()) {
            return Err(OTHER_GPUS);
        }
        let loaded = self
            .gpus
            .iter()
            .zip(plan.parts())
            .map(|(gpu, part)| gpu.load(plan.parts(), part))
            .collect::<Result<_, _>>()?;
        Ok(StreamedPlan { plan, loaded })
    }

    /// Has as much device memory as the plan takes, so that its runs allocate none. What there is already is kept where it is enough, and
    /// freed before where it is not.
    ///
    /// # Errors
    /// [`Error::Driver`] where a device has no room.
    pub fn reserve(&mut self, plan: &StreamedPlan) -> Result<(), Error> {
        self.gpus.iter_mut().zip(plan.plan.parts()).try_for_each(|(gpu, part)| gpu.reserve(part))
    }

    /// C = alpha\*A\*B + beta\*C, and returns when it is done. Memory that is page-locked as a whole is read and written by the GPUs
    /// themselves, as through [`Registered`](super::Registered); the rest is copied by the CPU, through page-locked buffers.
    ///
    /// # Errors
    /// [`Error::Elements`] and [`Error::ShortBuffer`]; those of [`Self::run_raw`].
    pub fn run<I: Scalar, O: Scalar>(
        &mut self,
        plan: &mut StreamedPlan,
        alpha: f32,
        a: &[I],
        b: &[I],
        beta: f32,
        c: &mut [O],
    ) -> Result<(), Error> {
        plan.plan.check_given([I::ELEMENT, O::ELEMENT], [a.len(), b.len(), c.len()])?;
        // SAFETY: the slices were found long enough, and are borrowed until this returns.
        unsafe { self.run_raw(plan, alpha, a.as_ptr(), b.as_ptr(), beta, c.as_mut_ptr()) }
    }

    /// The same on raw pointers to the first element of each matrix, which has the problem's layout there. What lies between the lines of
    /// a matrix is neither read nor written: it may be in use elsewhere.
    ///
    /// # Errors
    /// [`Error::Elements`]; [`Error::NotDistributed`] where the plan was loaded for other GPUs; [`Error::Driver`] where memory or buffers
    /// cannot be had: C is as it was then. [`Error::Unfinished`] where a GPU fails later, which ends all of them: C is in part computed.
    ///
    /// # Safety
    /// The elements of C can be read and written, and nothing else uses them until this returns; those of A and B can be read, and nothing
    /// writes to them. Where alpha is 0, A and B are not read, nor C where beta is 0.
    pub unsafe fn run_raw<I: Scalar, O: Scalar>(
        &mut self,
        plan: &mut StreamedPlan,
        alpha: f32,
        a: *const I,
        b: *const I,
        beta: f32,
        c: *mut O,
    ) -> Result<(), Error> {
        let StreamedPlan { plan, loaded } = plan;
        let Self { gpus, .. } = self;
        if gpus.len() != loaded.len() || gpus.iter().zip(loaded.iter()).any(|(gpu, loaded)| !gpu.is_of(loaded)) {
            return Err(OTHER_GPUS);
        }
        let [of_a, of_b, of_c, ..] = plan.problem().extents()?;
        plan.check_given([I::ELEMENT, O::ELEMENT], [of_a, of_b, of_c])?;
        let bytes = [of_a * size_of::<I>(), of_b * size_of::<I>(), of_c * size_of::<O>()];
        // What is asked of an address takes a context.
        gpus.first().map_or(Ok(()), Gpu::bind)?;
        let host = Host::new([a.cast_mut().cast(), b.cast_mut().cast(), c.cast()], bytes);
        gpus.iter_mut().zip(plan.parts()).try_for_each(|(gpu, part)| gpu.make_ready(part, &host))?;
        let peers: Vec<_> = gpus.iter().zip(loaded.iter()).map(|(gpu, loaded)| gpu.as_peer(loaded)).collect();
        let parts = gpus.iter_mut().zip(plan.parts()).zip(loaded.iter());
        let parts = parts.map(|((gpu, part), loaded)| (gpu, part, loaded)).collect();
        // SAFETY: upheld by the caller; the extents are those of the problem. Parts share no element of C. The events are this run's alone,
        // since the plan is borrowed to be changed. The GPUs' memory is theirs until all parts have returned.
        unsafe { run_all(parts, &peers, &host, [alpha, beta]) }.map_err(Error::unfinished)
    }
}

/// Runs all parts, each but the only one in a thread of its own.
///
/// # Safety
/// As of [`Gpu::run`], for each.
unsafe fn run_all(
    parts: Vec<(&mut Gpu, &Part, &Loaded)>,
    peers: &[Peer<'_>],
    host: &Host,
    factors: [f32; 2],
) -> Result<(), Error> {
    // Where one fails or is never started, those that wait for it hear of it.
    let parts: Vec<_> = parts.into_iter().zip(peers.iter().map(|peer| Ending(&peer.progress))).collect();
    let has_failed = &AtomicBool::new(false);
    let is_alone = parts.len() == 1;
    std::thread::scope(|scope| {
        let mut threads = Vec::with_capacity(parts.len());
        for ((gpu, part, loaded), ending) in parts {
            let name = format!("sgemm-gpu-{}", part.gpu());
            let run = move || {
                let _ending = ending;
                // SAFETY: upheld by the caller.
                unsafe { gpu.run(part, loaded, host, factors, peers, has_failed) }
            };
            if is_alone {
                return run();
            }
            match Builder::new().name(name).spawn_scoped(scope, run) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    has_failed.store(true, Ordering::Relaxed);
                    return Err(no_thread(error));
                }
            }
        }
        let panicked = |_| Err(Error::Driver { what: "multiply on a GPU".into(), code: "its thread panicked".into() });
        let results: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).collect();
        results.into_iter().collect()
    })
}

const OTHER_GPUS: Error = Error::NotDistributed { what: "a product over other GPUs than its plan is for" };

/// Threads that copy between pageable memory and the buffers of one GPU, at most: they are as fast as PCIe.
const MOST_COPYING: usize = 8;
