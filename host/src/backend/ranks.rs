//! Ranks of a distributed product: one GPU each. A process has one of them, or in the emulator all.

use sgemm::Problem;
use sgemm::distributed::{Plan, Scheme, Span};

use super::{Conditions, Device};
use crate::verify::distributed::Combine;
use crate::{Error, Matrix, Operands};

/// The ranks of this process, and its way to the others. [`place`](Self::place) plans a product, [`upload`](Self::upload) gives the ranks
/// their matrices, [`run`](Self::run) multiplies, [`download`](Self::download) hands the matrices back. All processes make the same
/// calls in the same order, but for what one GPU does alone.
pub trait Ranks {
    /// The backend's name in JSON: `cuda` or `emulator`.
    fn name(&self) -> &'static str;

    /// The device of the first rank of this process, or the device whose times are modelled.
    fn device(&self) -> &Device;

    /// Whether times come out of a model.
    fn is_modelled(&self) -> bool;

    /// Clocks and power at this moment, where the device tells them.
    fn conditions(&self) -> Option<Conditions>;

    /// Ranks in all processes.
    fn count(&self) -> usize;

    /// Whether rank 0 is among those of this process.
    fn has_first(&self) -> bool;

    /// Bytes of workspace that a plan may have beside matrices of so many bytes on each device: as many on all ranks.
    ///
    /// # Errors
    /// Where a device cannot say; as of [`Self::combine`].
    fn workspace_limit(&mut self, matrices: u64) -> Result<u64, Error>;

    /// Combines values of all ranks: all processes give as many, and all have the result. Since nobody has it before all have come, it
    /// keeps ranks together, too.
    ///
    /// # Errors
    /// Where another rank does not come, or the way to it fails.
    fn combine(&mut self, how: Combine, values: &mut [f64]) -> Result<(), Error>;

    /// Plans a product in place of the one before, and takes the memory for it: the plans of the ranks of this process. Where the scheme has
    /// a single rank, that is rank 0 alone, and other processes have no plan.
    ///
    /// # Errors
    /// What the library says of the problem, or the device of its memory.
    fn place(&mut self, problem: &Problem, scheme: &Scheme) -> Result<&[Plan], Error>;

    /// Puts matrices, guard bands included, into the memory of the ranks that have a plan, in their order.
    ///
    /// # Errors
    /// Where the device has no room for them, or fails.
    fn upload(&mut self, operands: &[Operands]) -> Result<(), Error>;

    /// The same of C alone.
    ///
    /// # Errors
    /// As of [`Self::upload`].
    fn upload_c(&mut self, c: &[&Matrix]) -> Result<(), Error>;

    /// Multiplies once: the time of the slowest rank of this process, in milliseconds.
    ///
    /// # Errors
    /// Where another rank does not come in time, or a device fails.
    fn run(&mut self, alpha: f32, beta: f32) -> Result<f64, Error>;

    /// When the tasks of the last run began and ended on the ranks of this process, in microseconds from its beginning.
    ///
    /// # Errors
    /// Where that cannot be read.
    fn spans(&mut self) -> Result<Vec<Span>, Error>;

    /// Hands the matrices back, guard bands included.
    ///
    /// # Errors
    /// Where the host has no room for them, or the device fails.
    fn download(&mut self) -> Result<Vec<Operands>, Error>;

    /// Gives back the memory of the product: all processes do so for what they placed together.
    fn clear(&mut self);
}
