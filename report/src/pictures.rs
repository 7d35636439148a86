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
use crate::number::axis;
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

/// Lines across from `left` to `right` at the ticks of `scale`, with their values left of them.
pub(crate) fn horizontal_grid(canvas: &mut Canvas, scale: &Scale, [left, right]: [f64; 2], ticks: &[f64]) {
    let look = Type { size: canvas.layout.font() - 1.0, class: "f-muted" };
    for &tick in ticks {
        let y = scale.at(tick);
        canvas.line([left, y], [right, y], 1.0, "s-faint");
        canvas.text(left - 6.0, y, Anchor::End, look, &axis(tick));
    }
}

/// Lines upright from `top` to `bottom` at the ticks of `scale`, with their values below, as many as fit.
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
        if x - half >= free {
            canvas.text(x, bottom + look.size, Anchor::Middle, look, &text);
            free = x + half + 4.0;
        }
    }
}
