//! Plans run on GPUs: a stream for each queue, and events between them.

mod copy;
mod gpu;
mod host;
mod issue;
mod memory;
mod peers;
mod pool;
mod progress;
mod staging;
mod streamer;

pub use host::Registered;
pub use streamer::{StreamedPlan, Streamer};

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
    plan: StreamedPlan,
    streamer: Streamer,
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
    /// The same on several GPUs of one kind, each with its limit, by [`Streamer::plan`].
    ///
    /// # Errors
    /// Those of [`Plan::new`] and [`Handle::load`]; [`Error::NotDistributed`] where the GPUs differ, or are more or fewer
    /// than limits; [`Error::Driver`] where a device has
    /// no room, or the driver refuses.
    pub fn new(handles: &[Handle], problem: &Problem, limits: &[u64]) -> Result<Self, Error> {
        let streamer = Streamer::new(handles)?;
        let plan = streamer.plan(problem, limits, [1.0, 0.0])?;
        Self::on(streamer, plan)
    }

    /// The same by a plan for GPUs of that kind, such as one for a C that is read: [`Plan::with_factors`].
    ///
    /// # Errors
    /// As of [`Self::new`].
    pub fn with_plan(handles: &[Handle], plan: Plan) -> Result<Self, Error> {
        Self::on(Streamer::new(handles)?, plan)
    }

    fn on(mut streamer: Streamer, plan: Plan) -> Result<Self, Error> {
        let plan = streamer.load(plan)?;
        streamer.reserve(&plan)?;
        Ok(Self { plan, streamer })
    }

    /// What each GPU does.
    #[must_use]
    pub const fn plan(&self) -> &Plan {
        self.plan.plan()
    }

    /// C = alpha\*A\*B + beta\*C, and returns when it is done. Memory that is page-locked as a whole is read and written by the GPUs
    /// themselves, as through [`Registered`]; the rest is copied by the CPU, through page-locked buffers.
    ///
    /// # Errors
    /// As of [`Streamer::run`].
    pub fn run<I: Scalar, O: Scalar>(
        &mut self,
        alpha: f32,
        a: &[I],
        b: &[I],
        beta: f32,
        c: &mut [O],
    ) -> Result<(), Error> {
        self.streamer.run(&mut self.plan, alpha, a, b, beta, c)
    }

    /// The same on raw pointers: [`Streamer::run_raw`].
    ///
    /// # Errors
    /// As of [`Streamer::run_raw`].
    ///
    /// # Safety
    /// As of [`Streamer::run_raw`].
    pub unsafe fn run_raw<I: Scalar, O: Scalar>(
        &mut self,
        alpha: f32,
        a: *const I,
        b: *const I,
        beta: f32,
        c: *mut O,
    ) -> Result<(), Error> {
        // SAFETY: upheld by the caller.
        unsafe { self.streamer.run_raw(&mut self.plan, alpha, a, b, beta, c) }
    }
}
