//! Lines behind the figures, at the ticks of an axis.

use crate::canvas::{Anchor, Canvas, Type};
use crate::scale::Scale;

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
