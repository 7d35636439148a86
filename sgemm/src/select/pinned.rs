//! The kernel where bits must not depend on m and n: one of those with the same order along k.

use gpu_kernels::Step;

use super::{Choice, Prediction, Table, is_usable};
use crate::{Device, Error, Problem};

/// The splits of a k that is longer than [`UNSPLIT`]: few rows of C occupy a device only with many; where tiles are many, the splits of
/// one follow each other in its block.
const SPLITS: u32 = 7;

/// The longest k that is not split.
const UNSPLIT: usize = 64;

/// The steps with the order along k that is pinned for this k and class. It depends on the device by what it runs, on nothing else.
pub(super) fn family(device: &Device, problem: &Problem) -> impl Fn(&Step) -> bool + use<> {
    let usable = |precision| {
        gpu_kernels::runnable().filter(move |step| step.precision == precision).filter(|step| is_usable(device, step))
    };
    let precisions = problem.class.precisions().iter();
    let family = precisions
        .copied()
        .find(|precision| usable(*precision).any(|step| problem.admits(step) && step.k_splits().is_some()))
        .map(|precision| {
            let is_split = problem.k > UNSPLIT && usable(precision).any(|step| step.k_splits() == Some(SPLITS));
            (precision, Some(if is_split { SPLITS } else { 1 }))
        });
    move |step| family == Some((step.precision, step.k_splits()))
}

/// The kernel of the pinned order along k that suits a problem: its bits are those of the same rows and columns in any other problem of
/// this k. `None` where none meets the class.
///
/// ```
/// use sgemm::select::{Table, pinned};
/// use sgemm::{Device, Problem};
///
/// let device = Device::new("NVIDIA H200", (9, 0), 132);
/// let of_rows = |m| Ok(pinned(Table::of(&device), &device, &Problem::new(m, 4096, 4096))?.expect("one meets it").step);
/// let (few, many) = (of_rows(16)?, of_rows(4096)?);
/// assert!(few.tile != many.tile && few.k_splits() == many.k_splits());
/// # Ok::<(), sgemm::Error>(())
/// ```
///
/// # Errors
/// Those of [`Problem::validate`].
pub fn pinned(table: &Table, device: &Device, problem: &Problem) -> Result<Option<Choice>, Error> {
    problem.validate()?;
    let prediction = Prediction::new(table, device, problem)?;
    let is_pinned = family(device, problem);
    Ok(prediction.least(|step, _| prediction.suits(step) && is_pinned(step)))
}
