//! A sheet that a tile is drawn on: what tiles have in common, on the canvas and in the palette of the report.

pub use report::Anchor;
use report::{Canvas, Layout, Type};

/// Its width. A page shows it about as wide.
pub const WIDTH: f64 = Layout::Book.width();

/// The size of all text.
const TEXT: f64 = Layout::Book.font();

/// From the edge of the drawing to what is in it.
pub const MARGIN: f64 = 16.0;

/// A line of text and what follows it.
pub const LINE: f64 = 18.0;

/// A drawing that grows.
pub struct Sheet {
    canvas: Canvas,
}

impl Sheet {
    /// An empty one.
    pub fn new() -> Self {
        Self { canvas: Canvas::new("tile", Layout::Book) }
    }

    /// A rectangle. Classes: `a1` to `a3`, `b1` to `b3` and `c1` to `c3` are shades of a matrix (a tile, a warp's part of it, a
    /// thread's), `copy2` and `copy3` what a warp and its thread copy, `ghost` another block's; `edge`, `thin` and `dash` are
    /// outlines.
    pub fn rect(&mut self, class: &str, area: [f64; 4]) {
        let (class, stroke) = look(class);
        self.canvas.rect(area, class, stroke);
    }

    /// A line: `edge` or `thin`.
    pub fn line(&mut self, class: &str, from: [f64; 2], to: [f64; 2]) {
        let (class, stroke) = look(class);
        self.canvas.line(from, to, stroke, class);
    }

    /// A line with a head at its end.
    pub fn arrow(&mut self, from: [f64; 2], to: [f64; 2]) {
        self.canvas.arrow(from, to, "muted");
    }

    /// A text on its base line; `class` may be empty, `bold`, `dense` or `mute`.
    pub fn text(&mut self, class: &str, anchor: Anchor, [x, y]: [f64; 2], text: &str) {
        let look = match class {
            "bold" => Type { size: TEXT, class: "b f-ink" },
            "dense" => Type { size: TEXT - 1.0, class: "f-ink" },
            "mute" => Type { size: TEXT, class: "f-muted" },
            _ => PLAIN,
        };
        self.canvas.text(x, y - 0.35 * look.size, anchor, look, text);
    }

    /// Lines of text under each other, the first so far indented; gives where the next line would be.
    pub fn hanging(&mut self, [x, mut y]: [f64; 2], indent: f64, width: f64, text: &str) -> f64 {
        for (index, line) in PLAIN.wrap(text, width, indent).iter().enumerate() {
            self.text("", Anchor::Start, [if index == 0 { x + indent } else { x }, y], &line.replace('\u{a0}', " "));
            y += LINE;
        }
        y
    }

    /// A horizontal extent with a label in its middle, where it fits above or below.
    pub fn across(&mut self, [x1, x2]: [f64; 2], y: f64, label: &str, is_above: bool) {
        self.line("edge", [x1, y], [x2, y]);
        for x in [x1, x2] {
            self.line("edge", [x, y - 3.0], [x, y + 3.0]);
        }
        let at = if is_above { y - 7.0 } else { y + TEXT + 4.0 };
        self.text("", Anchor::Middle, [(x1 + x2) / 2.0, at], label);
    }

    /// A vertical extent with a label left of it.
    pub fn down(&mut self, x: f64, [y1, y2]: [f64; 2], label: &str) {
        self.line("edge", [x, y1], [x, y2]);
        for y in [y1, y2] {
            self.line("edge", [x - 3.0, y], [x + 3.0, y]);
        }
        self.text("", Anchor::End, [x - 7.0, (y1 + y2) / 2.0 + 4.5], label);
    }

    /// The whole file, so high, with what a reader hears who does not see it.
    pub fn finish(self, height: f64, title: &str, description: &str) -> String {
        self.canvas.document(height, title, description) + "\n"
    }
}

const PLAIN: Type = Type { size: TEXT, class: "f-ink" };

/// The palette's classes, and how wide the outline is.
fn look(class: &str) -> (&'static str, f64) {
    match class {
        "a1" => ("f-c0-light", 0.0),
        "a2" => ("f-c0-half", 0.0),
        "a3" => ("f-c0", 0.0),
        "b1" => ("f-c1-light", 0.0),
        "b2" => ("f-c1-half", 0.0),
        "b3" => ("f-c1", 0.0),
        "c1" => ("f-c2-light", 0.0),
        "c2" => ("f-c2-half", 0.0),
        "c3" => ("f-c2", 0.0),
        "copy2" => ("f-ink soft", 0.0),
        "copy3" => ("f-ink", 0.0),
        "ghost" => ("f-faint", 0.0),
        "thin" => ("l s-muted soft", 0.5),
        "dash" => ("l s-ink dash3", 1.5),
        _ => ("l s-muted", 1.0),
    }
}

/// The heading of a panel, and where what is under it begins.
pub fn heading(sheet: &mut Sheet, top: f64, text: &str) -> f64 {
    if top > 0.0 {
        sheet.line("thin", [MARGIN, top + 8.0], [WIDTH - MARGIN, top + 8.0]);
    }
    sheet.text("bold", Anchor::Start, [MARGIN, top + 32.0], text);
    top + 44.0
}
