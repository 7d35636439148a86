//! Plans run on GPUs: three streams each, and events between them.

mod copy;
mod gpu;
mod host;
mod issue;
mod pool;
mod staging;

use std::sync::atomic::{AtomicBool, Ordering};

use gpu::Gpu;
use host::Host;
pub use host::Registered;
use pool::{Pool, no_thread};

use super::plan::Plan;
use crate::cuda::Handle;
use crate::{Error, Problem, Scalar};

/// A product of matrices in the host's memory, on one or several GPUs, as often as wanted: [`Handle::streamed`] makes it. All memory is
/// allocated when it is made, but for page-locked buffers, which the first run makes that finds a matrix pageable.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use sgemm::Problem;
/// use sgemm::cuda::{Handle, open};
/// use sgemm::streamed::{Registered, StreamedGemm};
///
/// let problem = Problem::new(20_000, 30_000, 10_000);
/// let (mut a, mut b, mut c) = (vec![1.0_f32; 200_000_000], vec![2.0; 300_000_000], vec![0.0; 600_000_000]);
/// // On two GPUs, in 2 GiB of each.
/// let contexts = [open(0)?, open(1)?];
/// let handles = [Handle::new(&contexts[0])?, Handle::new(&contexts[1])?];
/// let mut streamed = StreamedGemm::new(&handles, &problem, &[2 << 30; 2])?;
/// streamed.run(1.0, &a, &b, 0.0, &mut c)?;
/// // Page-locked once, matrices go over PCIe without the CPU's help, as often as they are used.
/// let mut c = Registered::new(&contexts[0], &mut c)?;
/// let (a, b) = (Registered::new(&contexts[0], &mut a)?, Registered::new(&contexts[0], &mut b)?);
/// streamed.run(1.0, &a, &b, 0.0, &mut c)?;
/// # Ok(())
/// # }
/// ```
pub struct StreamedGemm {
    plan: Plan,
    gpus: Vec<Gpu>,
}

impl Handle {
    /// The product of matrices in the host's memory, with no more than `limit` bytes of the device's.
    ///
    /// # Errors
    /// As of [`StreamedGemm::new`].
    pub fn streamed(&self, problem: &Problem, limit: u64) -> Result<StreamedGemm, Error> {
        StreamedGemm::new(std::slice::from_ref(self), problem, &[limit])
    }
}

impl StreamedGemm {
    /// The same on several GPUs of one kind, each with its limit.
    ///
    /// # Errors
    /// Those of [`Plan::new`] and [`Handle::load`]; [`Error::NotDistributed`] where the GPUs differ, or are more or fewer
    /// than limits; [`Error::Driver`] where a device has
    /// no room, or the driver refuses.
    pub fn new(handles: &[Handle], problem: &Problem, limits: &[u64]) -> Result<Self, Error> {
        let first = handles.first().ok_or(Error::NoDevice)?;
        Self::with_plan(handles, Plan::new(problem, first.device(), limits)?)
    }

    /// The same by a plan for GPUs of that kind, such as one for a C that is read: [`Plan::with_factors`].
    ///
    /// # Errors
    /// As of [`Self::new`].
    pub fn with_plan(handles: &[Handle], plan: Plan) -> Result<Self, Error> {
        if handles.len() != plan.parts().len() || handles.iter().any(|handle| handle.device() != plan.device()) {
            return Err(Error::NotDistributed { what: "a product over other GPUs than its plan is for" });
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let copying = (cores / 2 / handles.len()).clamp(1, MOST_COPYING);
        let gpu = |(handle, part)| Gpu::new(handle, part, Pool::new(copying)?);
        let gpus = handles.iter().zip(plan.parts()).map(gpu).collect::<Result<_, Error>>()?;
        Ok(Self { plan, gpus })
    }

    /// What each GPU does.
    #[must_use]
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// C = alpha\*A\*B + beta\*C, and returns when it is done. Memory that is page-locked as a whole is read and written by the GPUs
    /// themselves, as through [`Registered`]; the rest is copied by the CPU, through page-locked buffers.
    ///
    /// # Errors
    /// [`Error::Elements`] and [`Error::ShortBuffer`] before anything runs; [`Error::Driver`] where a GPU fails, which ends all of them: C
    /// is in part computed then.
    pub fn run<I: Scalar, O: Scalar>(
        &mut self,
        alpha: f32,
        a: &[I],
        b: &[I],
        beta: f32,
        c: &mut [O],
    ) -> Result<(), Error> {
        self.plan.check_given([I::ELEMENT, O::ELEMENT], [a.len(), b.len(), c.len()])?;
        // What is asked of an address takes a context.
        self.gpus.first().map_or(Ok(()), Gpu::bind)?;
        let (host, has_failed) = (Host::new(a, b, c), AtomicBool::new(false));
        let Self { plan, gpus } = self;
        std::thread::scope(|scope| {
            let mut threads = Vec::with_capacity(gpus.len());
            for (gpu, part) in gpus.iter_mut().zip(plan.parts()) {
                let (host, has_failed) = (&host, &has_failed);
                let run = move || {
                    // SAFETY: the slices were found long enough, and are borrowed until all threads have ended. Parts share no element of C.
                    unsafe { gpu.run(part, host, [alpha, beta], has_failed) }
                };
                let name = format!("sgemm-gpu-{}", part.gpu());
                match std::thread::Builder::new().name(name).spawn_scoped(scope, run) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => {
                        has_failed.store(true, Ordering::Relaxed);
                        return Err(no_thread(error));
                    }
                }
            }
            let panicked =
                |_| Err(Error::Driver { what: "multiply on a GPU".into(), code: "its thread panicked".into() });
            let results: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).collect();
            results.into_iter().collect()
        })
    }
}

/// Threads that copy between pageable memory and the buffers of one GPU, at most: they are as fast as PCIe.
const MOST_COPYING: usize = 8;
