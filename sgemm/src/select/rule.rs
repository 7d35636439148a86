//! A rule of thumb for shapes that nobody measured: from how a kernel's blocks fill the device.

use std::cmp::Reverse;

use gpu_kernels::{Precision, STEPS, Schedule, Step};

use super::is_usable;
use crate::{AccuracyClass, Device, Product};

/// The least length of the sums that a block of split k is worth, in k-tiles.
const LEAST_K_TILES: u32 = 4;

/// The first precision that meets the class and has something for the product: of those on the tensor cores, the widest
/// tiles that fill the device, or else the most blocks. Where it may also be the CUDA cores, so few blocks that half of the
/// device is idle are not worth it. On a device that can run none, the last step, whose error will say so.
pub(super) fn rule(device: &Device, product: &Product, class: AccuracyClass) -> Option<&'static Step> {
    let has_choice = class.precisions().len() > 1;
    let of = |precision: Precision| match precision {
        Precision::Fp32 => on_cuda_cores(device, product),
        _ => {
            let meets = |step: &&Step| step.precision == precision && class.meets(step);
            let runs = |step: &&Step| meets(step) && is_usable(device, step);
            on_tensor_cores(gpu_kernels::runnable().filter(runs).collect(), device, product, has_choice)
        }
    };
    let last = || gpu_kernels::runnable().filter(|step| class.meets(step)).last();
    class.precisions().iter().find_map(|precision| of(*precision)).or_else(last)
}

/// Of steps in one precision, the first with the widest tiles that fill the device, or with the most blocks; `None` where half
/// of the device would be idle, and there is a choice.
pub(super) fn on_tensor_cores(
    steps: Vec<&'static Step>,
    device: &Device,
    product: &Product,
    is_choice: bool,
) -> Option<&'static Step> {
    let backwards = || steps.iter().rev().copied();
    let that_fill = backwards().filter(|step| fills(step, product, device));
    let chosen = widest(that_fill, product).or_else(|| most_blocks(backwards(), product));
    chosen.filter(|step| !is_choice || 2 * blocks(step, product) >= u64::from(device.sm_count))
}

/// The last step of the ladder with a tile for each block, and one for every SM, since idle SMs cost
/// more than a better tile gains; or, where one whose blocks share the sums of a tile fills the device with larger tiles,
/// that one. Where none has so many, the one with the most blocks.
fn on_cuda_cores(device: &Device, product: &Product) -> Option<&'static Step> {
    let runs = |step: &&Step| step.precision == Precision::Fp32 && is_usable(device, step);
    let shares = |step: &&Step| matches!(step.schedule, Schedule::SplitK { .. });
    // Stream-K tiles gain little where tiles are many, and cost the emulator much, which must run all of them.
    let mut alone = STEPS.iter().filter(runs).filter(|step| step.schedule == Schedule::DataParallel);
    let last = alone.rfind(|step| fills(step, product, device));
    let shared = gpu_kernels::runnable().filter(runs).filter(shares).filter(|step| is_long_enough(step, product));
    let shared = widest(shared.filter(|step| fills(step, product, device)), product);
    match (last, shared) {
        (Some(last), Some(shared)) => Some(if area(shared, product) > area(last, product) { shared } else { last }),
        (None, None) => {
            let worthwhile = gpu_kernels::runnable().filter(runs).filter(|step| is_long_enough(step, product));
            most_blocks(worthwhile, product)
        }
        (one, other) => one.or(other),
    }
}

/// Of steps with a tile for each block, the last of the ladder that fills the device, or the one with the most blocks.
pub(super) fn sequential(steps: &[&'static Step], product: &Product, device: &Device) -> Option<&'static Step> {
    let is_first = |step: &&&Step| STEPS.iter().any(|first| first.slug == step.slug);
    let last = steps.iter().filter(is_first).rfind(|step| fills(step, product, device)).copied();
    last.or_else(|| most_blocks(steps.iter().copied(), product))
}

/// Elements of C in a tile.
fn area(step: &Step, product: &Product) -> u32 {
    step.tile.bm.min(product.m) * step.tile.bn.min(product.n)
}

/// Blocks that have tiles of their own, or shares of one, to compute.
pub(super) fn blocks(step: &Step, product: &Product) -> u64 {
    let splits = if let Schedule::SplitK { splits } = step.schedule { splits } else { 1 };
    let tiles = u64::from(product.m.div_ceil(step.tile.bm)) * u64::from(product.n.div_ceil(step.tile.bn));
    tiles * u64::from(splits)
}

pub(super) fn fills(step: &Step, product: &Product, device: &Device) -> bool {
    blocks(step, product) >= u64::from(device.sm_count)
}

/// Whether each of the blocks that share a tile gets something to do.
fn is_long_enough(step: &Step, product: &Product) -> bool {
    let Schedule::SplitK { splits } = step.schedule else { return true };
    product.k / splits >= LEAST_K_TILES * step.tile.bk
}

/// The last of those with the most elements of C in a tile, and of these the fewest beyond it.
pub(super) fn widest(steps: impl Iterator<Item = &'static Step>, product: &Product) -> Option<&'static Step> {
    steps.max_by_key(|step| (area(step, product), smallest(step)))
}

/// The last of those with the most blocks, and of these the smallest tiles.
pub(super) fn most_blocks(steps: impl Iterator<Item = &'static Step>, product: &Product) -> Option<&'static Step> {
    steps.max_by_key(|step| (blocks(step, product), smallest(step)))
}

/// Larger where a tile is smaller: blocks compute all of it, whatever is in bounds.
fn smallest(step: &Step) -> impl Ord + use<> {
    Reverse(step.tile.bm * step.tile.bn)
}
