//! SVG, piece by piece: the pictures of the report, and the drawings of tiles of the book.

use maud::{Markup, PreEscaped, Render, html};

use crate::document::{Document, pixel};
use crate::font;
use crate::theme::Theme;

/// How wide a picture is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// For pages: 960 pixels.
    Wide,
    /// For phones: 360 pixels.
    Narrow,
    /// For drawings between a chapter's paragraphs: 720 pixels.
    Book,
}

impl Layout {
    /// Those of a picture.
    pub const ALL: [Self; 2] = [Self::Wide, Self::Narrow];

    /// In file names and classes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wide => "wide",
            Self::Narrow => "narrow",
            Self::Book => "book",
        }
    }

    /// In pixels.
    #[must_use]
    pub const fn width(self) -> f64 {
        match self {
            Self::Wide => 960.0,
            Self::Narrow => 360.0,
            Self::Book => 720.0,
        }
    }

    pub(crate) const fn is_wide(self) -> bool {
        !matches!(self, Self::Narrow)
    }

    /// One of the two.
    pub(crate) fn pick<T>(self, wide: T, narrow: T) -> T {
        if self.is_wide() { wide } else { narrow }
    }

    /// The size of its texts.
    #[must_use]
    pub const fn font(self) -> f64 {
        match self {
            Self::Wide | Self::Book => 13.0,
            Self::Narrow => 12.5,
        }
    }
}

/// Where a text stands: left, top, right and bottom, in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Area {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
}

impl Area {
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }

    /// The area around a point.
    pub(crate) fn around(x: f64, y: f64, radius: f64) -> Self {
        Self { left: x - radius, top: y - radius, right: x + radius, bottom: y + radius }
    }
}

/// Which end of a text its place is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// It begins there.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

/// A text's look.
#[derive(Debug, Clone, Copy)]
pub struct Type {
    /// Its size in pixels.
    pub size: f64,
    /// Its classes: a colour such as `f-ink`, and `b` where it is bold.
    pub class: &'static str,
}

impl Type {
    pub(crate) fn is_bold(self) -> bool {
        self.class.split(' ').any(|class| class == "b")
    }

    pub(crate) fn width(self, text: &str) -> f64 {
        font::width(text, self.size, self.is_bold())
    }

    /// The text in lines that are no wider than `most`, where its words allow; the first is indented.
    #[must_use]
    pub fn wrap(self, text: &str, most: f64, indent: f64) -> Vec<String> {
        font::wrap(text, self.size, self.is_bold(), [most - indent, most])
    }

    /// The text, or as much of its beginning as fits.
    pub(crate) fn fit(self, text: &str, most: f64) -> String {
        if self.width(text) <= most {
            return text.to_owned();
        }
        let ends = text.char_indices().map(|(end, _)| format!("{}…", &text[..end]));
        ends.take_while(|part| self.width(part) <= most).last().unwrap_or_default()
    }

    /// The area of a text whose middle is at height `y`.
    pub(crate) fn area(self, x: f64, y: f64, anchor: Anchor, text: &str) -> Area {
        let width = self.width(text);
        let left = match anchor {
            Anchor::Start => x,
            Anchor::Middle => x - width / 2.0,
            Anchor::End => x - width,
        };
        Area { left, top: y - 0.6 * self.size, right: left + width, bottom: y + 0.6 * self.size }
    }
}

/// Collects what is drawn. Colours are classes: `f-NAME` fills, `s-NAME` strokes, in a colour of the one palette.
///
/// ```
/// use report::{Anchor, Canvas, Layout, Type};
///
/// let mut canvas = Canvas::new("example", Layout::Book);
/// canvas.rect([8.0, 8.0, 40.0, 20.0], "f-c0", 0.0);
/// canvas.text(60.0, 18.0, Anchor::Start, Type { size: 13.0, class: "b f-ink" }, "a tile");
/// let svg = canvas.document(40.0, "A tile", "A tile of A.");
/// assert!(svg.starts_with("<svg") && svg.contains(".f-c0{") && !svg.contains(".f-c1{"));
/// ```
#[derive(Debug)]
pub struct Canvas {
    pub(crate) layout: Layout,
    id: String,
    body: String,
    hatches: Vec<usize>,
}

/// A finished picture, without a title.
#[derive(Debug, Clone)]
pub(crate) struct Drawing {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) body: Markup,
}

impl Canvas {
    /// Nothing yet. The name makes ids differ within a page.
    #[must_use]
    pub fn new(name: &str, layout: Layout) -> Self {
        Self { layout, id: format!("{name}-{}", layout.name()), body: String::new(), hatches: Vec::new() }
    }

    pub(crate) fn finish(self, height: f64) -> Drawing {
        let patterns = html! {
            @if !self.hatches.is_empty() {
                defs { @for &colour in &self.hatches { (hatch(&self.id, colour)) } }
            }
        };
        let body = PreEscaped(patterns.into_string() + &self.body);
        Drawing { width: self.layout.width(), height, body }
    }

    /// A file of its own, with what a reader hears who does not see it.
    #[must_use]
    pub fn document(self, height: f64, title: &str, description: &str) -> String {
        let Drawing { width, height, body } = self.finish(height);
        let document = Document {
            size: [width, height],
            title,
            description,
            paper: html! {
                rect width="100%" height="100%" rx="6" class="f-raised" {}
            },
        };
        document.svg(&body, Theme::Auto)
    }

    pub(crate) fn add(&mut self, markup: &Markup) {
        markup.render_to(&mut self.body);
    }

    /// A text of which all is known; its middle is at height `y`.
    pub fn text(&mut self, x: f64, y: f64, anchor: Anchor, look: Type, text: &str) {
        let anchor = match anchor {
            Anchor::Start => None,
            Anchor::Middle => Some("middle"),
            Anchor::End => Some("end"),
        };
        self.add(&html! {
            text x=(pixel(x)) y=(pixel(y + 0.35 * look.size)) font-size=(pixel(look.size)) class=(look.class)
                text-anchor=[anchor] { (text) }
        });
    }

    /// A bar in the colour of a series: full where it was measured, hatched in a dashed frame where it was modelled.
    pub(crate) fn bar(&mut self, [x, y, width, height]: [f64; 4], colour: usize, is_modelled: bool) {
        let width = width.max(0.0);
        if !is_modelled {
            return self.add(&html! {
                rect x=(pixel(x)) y=(pixel(y)) width=(pixel(width)) height=(pixel(height)) rx="1.5"
                    class={ "bar f-c" (colour) } {}
            });
        }
        if !self.hatches.contains(&colour) {
            self.hatches.push(colour);
        }
        let fill = format!("url(#{}-hatch-{colour})", self.id);
        self.add(&html! {
            rect x=(pixel(x)) y=(pixel(y)) width=(pixel(width)) height=(pixel(height)) rx="1.5"
                class={ "bar modelled dash s-c" (colour) } fill=(fill) stroke-width="1" {}
        });
    }

    /// A rectangle: left, top, width and height; its outline is as wide as `stroke`, if it has one.
    pub fn rect(&mut self, [x, y, width, height]: [f64; 4], class: &str, stroke: f64) {
        let stroke = (stroke > 0.0).then(|| pixel(stroke));
        self.add(&html! {
            rect x=(pixel(x)) y=(pixel(y)) width=(pixel(width)) height=(pixel(height)) class=(class)
                stroke-width=[stroke] {}
        });
    }

    /// A line with a head at its end, in a colour of the palette.
    pub fn arrow(&mut self, from: [f64; 2], to: [f64; 2], colour: &str) {
        self.line(from, to, 1.0, &format!("s-{colour}"));
        let [dx, dy] = [to[0] - from[0], to[1] - from[1]];
        let length = dx.hypot(dy).max(1.0);
        let [ux, uy] = [dx / length, dy / length];
        let corner = |side: f64| [to[0] - 8.0 * ux - side * uy, to[1] - 8.0 * uy + side * ux];
        let points = [to, corner(4.0), corner(-4.0)].map(|[x, y]| format!("{} {}", pixel(x), pixel(y)));
        self.add(&html! { path d={ "M" (points.join("L")) "Z" } class={ "f-" (colour) } {} });
    }

    /// A line of some width.
    pub fn line(&mut self, from: [f64; 2], to: [f64; 2], width: f64, class: &str) {
        self.add(&html! {
            line x1=(pixel(from[0])) y1=(pixel(from[1])) x2=(pixel(to[0])) y2=(pixel(to[1])) class=(class)
                stroke-width=(pixel(width)) {}
        });
    }

    pub(crate) fn path(&mut self, points: &[[f64; 2]], width: f64, class: &str) {
        let d: Vec<_> = points.iter().map(|[x, y]| format!("{} {}", pixel(*x), pixel(*y))).collect();
        self.add(&html! {
            path d={ "M" (d.join("L")) } class={ "l " (class) } stroke-width=(pixel(width)) stroke-linejoin="round" {}
        });
    }

    /// A group of some class.
    pub(crate) fn group(&mut self, class: &str, draw: impl FnOnce(&mut Self)) {
        let inner = self.apart(draw);
        self.add(&html! { g class=(class) { (inner) } });
    }

    /// Something that has values to tell: the first line of them is what it is.
    pub(crate) fn mark(&mut self, tip: &[String], draw: impl FnOnce(&mut Self)) {
        let inner = self.apart(draw);
        self.add(&html! { g class="mark" { title { (tip.join("\n")) } (inner) } });
    }

    /// What is drawn, to be put into something else.
    fn apart(&mut self, draw: impl FnOnce(&mut Self)) -> Markup {
        let outer = std::mem::take(&mut self.body);
        draw(self);
        PreEscaped(std::mem::replace(&mut self.body, outer))
    }

    /// A shape of the colour and form of a series, full or hollow.
    pub(crate) fn point(&mut self, [x, y]: [f64; 2], radius: f64, series: usize, is_hollow: bool) {
        let colour = series % crate::theme::SERIES;
        let class = if is_hollow { format!("m f-paper s-c{colour}") } else { format!("m f-c{colour} s-paper") };
        self.shape([x, y], radius, series, &class, if is_hollow { 1.8 } else { 1.0 });
    }

    /// A shape of one of five forms.
    pub(crate) fn shape(&mut self, [x, y]: [f64; 2], radius: f64, form: usize, class: &str, stroke: f64) {
        let corners: &[[f64; 2]] = match form % 5 {
            0 => {
                return self.add(&html! {
                    circle cx=(pixel(x)) cy=(pixel(y)) r=(pixel(radius)) class=(class) stroke-width=(pixel(stroke)) {}
                });
            }
            1 => &[[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
            2 => &[[0.0, -1.2], [1.1, 0.8], [-1.1, 0.8]],
            3 => &[[0.0, -1.3], [1.3, 0.0], [0.0, 1.3], [-1.3, 0.0]],
            _ => &[[0.0, 1.2], [1.1, -0.8], [-1.1, -0.8]],
        };
        let corner = |[dx, dy]: &[f64; 2]| format!("{} {}", pixel(x + radius * dx), pixel(y + radius * dy));
        let d = corners.iter().map(corner).collect::<Vec<_>>().join("L");
        self.add(&html! { path d={ "M" (d) "Z" } class=(class) stroke-width=(pixel(stroke)) {} });
    }
}

fn hatch(id: &str, colour: usize) -> Markup {
    html! {
        pattern id={ (id) "-hatch-" (colour) } width="5" height="5" patternUnits="userSpaceOnUse"
            patternTransform="rotate(45)" {
            rect width="5" height="5" class="f-paper" {}
            rect width="2" height="5" class={ "f-c" (colour) } {}
        }
    }
}
