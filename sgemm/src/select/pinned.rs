//! The kernel where bits must not depend on m and n: one of those with the same order along k.

use gpu_kernels::{Precision, Step};

use super::rule::{fills, most_blocks, on_tensor_cores, sequential, widest};
use super::{Choice, Reason, Table, is_usable, measured};
use crate::{AccuracyClass, Device, Product};

/// The splits of a k that is longer than [`UNSPLIT`]: few rows of C occupy a device only with many; where tiles are many, the splits of
/// one follow each other in its block.
const SPLITS: u32 = 7;

/// The longest k that is not split.
const UNSPLIT: u32 = 64;

/// The steps with the order along k that is pinned for this k and class. It depends on the device by what it runs, on nothing else.
pub(super) fn family(device: &Device, k: u32, class: AccuracyClass) -> impl Fn(&Step) -> bool + use<> {
    let usable = |precision| {
        gpu_kernels::runnable().filter(move |step| step.precision == precision).filter(|step| is_usable(device, step))
    };
    let family = class.precisions().iter().find(|precision| usable(**precision).next().is_some()).map(|&precision| {
        let is_split = k > UNSPLIT && usable(precision).any(|step| step.k_splits() == Some(SPLITS));
        (precision, Some(if is_split { SPLITS } else { 1 }))
    });
    move |step| family == Some((step.precision, step.k_splits()))
}

/// The kernel of the pinned order along k that suits a product: its bits are those of the same rows and columns in any other product of
/// this k. `None` where none meets the class.
///
/// ```
/// use sgemm::select::{Table, pinned};
/// use sgemm::{AccuracyClass, Device, Product};
///
/// let device = Device::new("NVIDIA H200", (9, 0), 132);
/// let of_rows = |m| pinned(Table::of(&device.name), &device, &Product::new(m, 4096, 4096).unwrap(), AccuracyClass::Fp32Strict);
/// let (few, many) = (of_rows(16).expect("one meets it").step, of_rows(4096).expect("one meets it").step);
/// assert!(few.tile != many.tile && few.k_splits() == many.k_splits());
/// ```
#[must_use]
pub fn pinned(table: Option<&Table>, device: &Device, product: &Product, class: AccuracyClass) -> Option<Choice> {
    let is_pinned = family(device, product.k, class);
    let suits = |step: &&'static Step| class.meets(step) && is_usable(device, step) && is_pinned(step);
    let steps: Vec<_> = gpu_kernels::runnable().filter(suits).collect();
    let by_rule = |step| Choice { step, reason: Reason::Rule };
    if steps.iter().any(|step| step.k_splits() != Some(1)) {
        // Other orders are measured besides; what is nearest of this one may be far.
        return split(&steps, product, device).map(by_rule);
    }
    let known = |step: &&Step| steps.iter().any(|other| other.slug == step.slug);
    measured(table, product, |entry| Some(entry.first.step).filter(|step| entry.class == class && known(step))).or_else(
        || {
            let step = match steps.first()?.precision {
                Precision::Fp32 => sequential(&steps, product, device),
                _ => on_tensor_cores(steps, device, product, false),
            };
            step.map(by_rule)
        },
    )
}

/// The largest tiles that fill the device, or else the most blocks.
fn split(steps: &[&'static Step], product: &Product, device: &Device) -> Option<&'static Step> {
    let filling = steps.iter().copied().filter(|step| fills(step, product, device));
    widest(filling, product).or_else(|| most_blocks(steps.iter().copied(), product))
}
