//! Which kernel: looked up where something was measured, by a rule of thumb elsewhere.

mod best;
mod fused;
mod pinned;
mod rule;
mod table;

use gpu_kernels::{Precision, Step};

pub use best::plan;
pub use pinned::pinned;
use rule::{fills, most_blocks, rule, widest};
pub use table::{Entry, Header, Table, Timed};

use crate::{AccuracyClass, Device, Product, modules};

/// The step of which the table says the best variant.
pub const AUTOTUNED: &str = "autotuned";

/// Why a kernel was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It was the fastest at the nearest shape that was measured on this device: m, n, k.
    Measured([u32; 3]),
    /// No such shape was measured: a rule, from how its blocks fill the device.
    Rule,
}

/// A kernel, and why it was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The kernel.
    pub step: &'static Step,
    /// Why.
    pub reason: Reason,
}

/// The kernel for a product, of those that meet the class; `None` only where none does. `table` is what was measured on this
/// device.
///
/// ```
/// use sgemm::select::{Table, choose};
/// use sgemm::{AccuracyClass, Device, Product};
///
/// let device = Device::new("NVIDIA H200", (9, 0), 132);
/// let product = Product::new(4096, 4096, 4096)?;
/// let choice = choose(Table::of(&device.name), &device, &product, AccuracyClass::Fp32Strict).expect("one meets it");
/// assert!(AccuracyClass::Fp32Strict.meets(choice.step));
/// # Ok::<(), sgemm::Error>(())
/// ```
#[must_use]
pub fn choose(table: Option<&Table>, device: &Device, product: &Product, class: AccuracyClass) -> Option<Choice> {
    let suits = |step: &&Step| class.meets(step) && is_usable(device, step);
    measured(table, product, |entry| Some(entry.first.step).filter(|step| entry.class == class && suits(step))).or_else(
        || match rule(device, product, class)? {
            // Which of these it is, the table of the stricter class knows better.
            step if step.precision == Precision::Fp32 && class != AccuracyClass::Fp32Strict => {
                choose(table, device, product, AccuracyClass::Fp32Strict)
            }
            step => Some(Choice { step, reason: Reason::Rule }),
        },
    )
}

/// The variant of a step that suits device and product, and why: of [`AUTOTUNED`] the fastest one, of all others their own.
#[must_use]
pub fn variant(
    table: Option<&Table>,
    device: &Device,
    product: &Product,
    step: &'static Step,
) -> (&'static Step, Option<Reason>) {
    if step.slug != AUTOTUNED || step.variants.is_empty() || !is_usable(device, step) {
        return (step, None);
    }
    let found = measured(table, product, |entry| entry.autotuned.map(|timed| timed.step));
    let of_step = || std::iter::once(step).chain(step.variants);
    let by_rule = || {
        widest(of_step().filter(|step| fills(step, product, device)), product)
            .or_else(|| most_blocks(of_step(), product))
    };
    let by_rule = || Choice { step: by_rule().unwrap_or(step), reason: Reason::Rule };
    let Choice { step, reason } = found.unwrap_or_else(by_rule);
    (step, Some(reason))
}

/// Whether a device runs it, and its module is built in.
fn is_usable(device: &Device, step: &Step) -> bool {
    device.runs(step) && modules::built_in(step.target).is_ok()
}

fn measured(
    table: Option<&Table>,
    product: &Product,
    wanted: impl Fn(&Entry) -> Option<&'static Step>,
) -> Option<Choice> {
    let (entry, step) = table?.nearest(product, wanted)?;
    Some(Choice { step, reason: Reason::Measured(entry.shape) })
}

#[cfg(test)]
mod tests;
