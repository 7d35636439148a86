//! The pictures, one module each.

mod comparison;
mod counted;
mod ladder;
mod occupancy;
mod precision;
mod roofline;
mod shapes;
mod sizes;
mod traffic;

use crate::data::{Data, View};
use crate::picture::{LeftOut, Picture};

/// Draws one, if there are figures for it.
type Draw = fn(&Data) -> Result<Picture, LeftOut>;

/// Those of steps, in the order of the page.
const STEPS: [Draw; 6] =
    [ladder::picture, sizes::picture, precision::picture, roofline::picture, occupancy::picture, traffic::picture];

/// Those of shapes beside cuBLAS.
const SHAPES: [Draw; 2] = [shapes::distribution, shapes::by_size];

/// Those that a page of the runs has, or says why not: runs of shapes, of steps and of several GPUs are different ones, and each has its
/// own.
pub(crate) fn all(data: &Data) -> impl Iterator<Item = Draw> {
    let has_shapes = data.views.iter().any(|view| !view.run.shapes.is_empty());
    let has_steps = data.views.iter().any(View::has_steps);
    let has_together = data.views.iter().any(View::has_together);
    let [ladder, others @ ..] = STEPS;
    let steps = std::iter::once(ladder).chain((!data.is_single()).then_some(comparison::picture as Draw)).chain(others);
    let steps = (has_steps || !(has_shapes || has_together)).then_some(steps).into_iter().flatten();
    steps.chain(has_shapes.then_some(SHAPES).into_iter().flatten())
}
