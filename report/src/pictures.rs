//! The pictures, one module each.

mod counted;
mod ladder;
mod occupancy;
mod precision;
mod roofline;
mod sizes;
mod traffic;

use crate::canvas::{Anchor, Canvas, Type};
use crate::data::Data;
use crate::picture::Picture;
use crate::scale::Scale;

/// Draws one, if there are figures for it.
type Draw = fn(&Data) -> Result<Picture, LeftOut>;

/// All of them, in the order of the page.
pub(crate) const ALL: [Draw; 6] =
    [ladder::picture, sizes::picture, precision::picture, roofline::picture, occupancy::picture, traffic::picture];

/// A picture that is not there, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The picture's name.
    pub name: &'static str,
    /// What it would show.
    pub title: String,
    /// Why it is not there, and what to do.
    pub reason: String,
}

/// The colour and form of an arithmetic, where steps are not told apart by their own.
pub(crate) fn group(precision: &str) -> usize {
    match precision {
        "fp32" => 0,
        precision if precision.ends_with("x3") => 2,
        _ => 1,
    }
}

/// What [`group`] returns, in words, in the order of legends.
pub(crate) const GROUPS: [(usize, &str); 3] =
    [(0, "fp32"), (2, "tensor cores, fp32's accuracy"), (1, "tensor cores, less accuracy")];

/// Lines across from `left` to `right` at the ticks of `scale`, with their values left of them.
pub(crate) fn horizontal_grid(
    canvas: &mut Canvas,
    scale: &Scale,
    [left, right]: [f64; 2],
    ticks: &[f64],
    text: impl Fn(f64) -> String,
) {
    let look = Type { size: canvas.layout.font() - 1.0, class: "f-muted" };
    for &tick in ticks {
        let y = scale.at(tick);
        canvas.line([left, y], [right, y], 1.0, "s-faint");
        canvas.text(left - 6.0, y, Anchor::End, look, &text(tick));
    }
}

/// Lines upright from `top` to `bottom` at the ticks of `scale`, with their values below, inside of the picture, as many as fit.
pub(crate) fn vertical_grid(
    canvas: &mut Canvas,
    scale: &Scale,
    [top, bottom]: [f64; 2],
    ticks: &[f64],
    text: impl Fn(f64) -> String,
) {
    let look = Type { size: canvas.layout.font() - 1.0, class: "f-muted" };
    let mut free = f64::MIN;
    for &tick in ticks {
        let (x, text) = (scale.at(tick), text(tick));
        canvas.line([x, top], [x, bottom], 1.0, "s-faint");
        let half = look.width(&text) / 2.0;
        let middle = x.clamp(half, canvas.layout.width() - half);
        if middle - half >= free {
            canvas.text(middle, bottom + look.size, Anchor::Middle, look, &text);
            free = middle + half + 4.0;
        }
    }
}
