//! What colours, shapes and dashes stand for, in a line above a picture.

use crate::canvas::{Anchor, Canvas, Type};

/// A sample of what is drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Swatch {
    /// A bar of a series' colour, modelled or measured.
    Bar(usize, bool),
    /// A bar whose first part is the base's.
    Gain,
    /// A shape: its form and class.
    Shape(usize, &'static str),
    /// A series' point, modelled or measured.
    Point(usize, bool),
    /// A line that rises: its class.
    Slope(&'static str),
    /// A line upwards: its class.
    Upright(&'static str),
}

/// Draws the legend from height `top` on, in as many lines as it needs, and returns where it ends.
pub(crate) fn draw(canvas: &mut Canvas, top: f64, items: &[(Swatch, String)]) -> f64 {
    if items.is_empty() {
        return top;
    }
    let look = Type { size: canvas.layout.font() - 1.0, class: "f-muted" };
    let line_height = look.size + 8.0;
    let (mut x, mut y) = (0.0, top + line_height / 2.0);
    for (swatch, text) in items {
        let text = look.fit(text, canvas.layout.width() - 26.0);
        let width = 26.0 + look.width(&text);
        if x > 0.0 && x + width > canvas.layout.width() {
            (x, y) = (0.0, y + line_height);
        }
        sample(canvas, [x, y], *swatch);
        canvas.text(x + 24.0, y, Anchor::Start, look, &text);
        x += width + 18.0;
    }
    y + line_height / 2.0 + 6.0
}

fn sample(canvas: &mut Canvas, [x, y]: [f64; 2], swatch: Swatch) {
    match swatch {
        Swatch::Bar(colour, is_modelled) => canvas.bar([x, y - 5.0, 18.0, 10.0], colour, is_modelled),
        Swatch::Gain => {
            canvas.bar([x, y - 5.0, 18.0, 10.0], 0, false);
            canvas.rect([x, y - 5.0, 10.0, 10.0], "f-paper pale", 0.0);
        }
        Swatch::Shape(form, class) => canvas.shape([x + 9.0, y], 4.0, form, class, 1.0),
        Swatch::Point(series, is_modelled) => canvas.point([x + 9.0, y], 4.5, series, is_modelled),
        Swatch::Slope(class) => canvas.line([x, y + 5.0], [x + 18.0, y - 5.0], 1.6, class),
        Swatch::Upright(class) => canvas.line([x + 9.0, y - 7.0], [x + 9.0, y + 7.0], 1.8, class),
    }
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
    [(0, "fp32 on the CUDA cores"), (2, "tensor cores, hi/lo split: three MMAs"), (1, "tensor cores, one MMA")];
