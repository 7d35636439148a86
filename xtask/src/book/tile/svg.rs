//! A drawing: shapes and text, in colours for light and for dark.

use std::fmt::Write;

/// Its width. A page shows it about as wide.
pub const WIDTH: f64 = 720.0;

/// The size of all text.
const TEXT: f64 = 13.0;

/// About how wide a character is.
pub const CHARACTER: f64 = 7.1;

/// A line of text and what follows it.
pub const LINE: f64 = 18.0;

/// What is light on light and dark on dark, of each matrix three shades: a tile, a warp's part of it, a thread's.
const STYLE: &str = "\
text{font:13px system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',Arial,sans-serif;fill:#1f2328}\
.bold{font-weight:600}.dense{font-size:12px}.mute{fill:#57606a}.paper{fill:#f6f8fa}\
.a1{fill:#cfe4f8}.a2{fill:#8cc0ec}.a3{fill:#1769b5}\
.b1{fill:#fbe1c6}.b2{fill:#f2b070}.b3{fill:#b9540a}\
.c1{fill:#cdebdd}.c2{fill:#82cdae}.c3{fill:#0b7a55}\
.ghost{fill:#e7ebef}.copy2{fill:#1f2328;fill-opacity:.3}.copy3{fill:#1f2328}\
.edge{fill:none;stroke:#57606a}.thin{fill:none;stroke:#57606a;stroke-width:.5;stroke-opacity:.55}\
.dash{fill:none;stroke:#1f2328;stroke-width:1.5;stroke-dasharray:5 3}.head{fill:#57606a}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.mute{fill:#a5b0bb}.paper{fill:#1c2128}\
.a1{fill:#1b3a5a}.a2{fill:#2f6ea8}.a3{fill:#8ec9ff}\
.b1{fill:#4b2f16}.b2{fill:#96591f}.b3{fill:#ffb066}\
.c1{fill:#163d30}.c2{fill:#237556}.c3{fill:#6be3b5}\
.ghost{fill:#2b323b}.copy2{fill:#e6edf3;fill-opacity:.4}.copy3{fill:#ffffff}\
.edge{stroke:#a5b0bb}.thin{stroke:#a5b0bb}.dash{stroke:#e6edf3}.head{fill:#a5b0bb}}";

/// Where a text's given point is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

/// A drawing that grows.
#[derive(Default)]
pub struct Svg {
    body: String,
}

impl Svg {
    /// A rectangle of a class of the style.
    pub fn rect(&mut self, class: &str, [x, y, width, height]: [f64; 4]) {
        let [x, y, width, height] = [x, y, width, height].map(short);
        let _ = write!(self.body, r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}"/>"#);
    }

    /// A line.
    pub fn line(&mut self, class: &str, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2]) {
        let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(short);
        let _ = write!(self.body, r#"<path class="{class}" d="M{x1} {y1}L{x2} {y2}"/>"#);
    }

    /// A line with a head at its end.
    pub fn arrow(&mut self, from: [f64; 2], to: [f64; 2]) {
        self.line("edge", from, to);
        let [dx, dy] = [to[0] - from[0], to[1] - from[1]];
        let length = dx.hypot(dy).max(1.0);
        let [ux, uy] = [dx / length, dy / length];
        let corner = |side: f64| [to[0] - 8.0 * ux - side * uy, to[1] - 8.0 * uy + side * ux].map(short);
        let ([ax, ay], [bx, by], [x, y]) = (corner(4.0), corner(-4.0), to.map(short));
        let _ = write!(self.body, r#"<path class="head" d="M{x} {y}L{ax} {ay}L{bx} {by}Z"/>"#);
    }

    /// A text; `class` may be empty, `bold` or `mute`.
    pub fn text(&mut self, class: &str, anchor: Anchor, [x, y]: [f64; 2], text: &str) {
        let class = if class.is_empty() { String::new() } else { format!(r#" class="{class}""#) };
        let anchor = match anchor {
            Anchor::Start => String::new(),
            other => format!(r#" text-anchor="{}""#, other.name()),
        };
        let [x, y] = [x, y].map(short);
        let _ = write!(self.body, r#"<text{class}{anchor} x="{x}" y="{y}">{}</text>"#, escape(text));
    }

    /// Lines of text under each other, the first so far indented; gives where the next line would be.
    pub fn hanging(&mut self, [x, mut y]: [f64; 2], indent: f64, width: f64, text: &str) -> f64 {
        for (index, line) in wrap(text, indent, width).iter().enumerate() {
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
        let (width, height) = (short(WIDTH), short(height));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\n\
            <title>{}</title>\n<desc>{}</desc>\n<style>{STYLE}</style>\n\
            <rect class=\"paper\" width=\"{width}\" height=\"{height}\" rx=\"6\"/>\n{}\n</svg>\n",
            escape(title),
            escape(description),
            self.body.replace("/><", "/>\n<").replace("</text><", "</text>\n<")
        )
    }
}

/// Words in lines of at most so wide, the first so far indented, by how wide characters are about.
pub fn wrap(text: &str, indent: f64, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    // Not `split_whitespace`: spaces that do not break are whitespace, too.
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let room = if lines.len() > 1 { width } else { width - indent };
        match lines.last_mut() {
            Some(line) if (line.chars().count() + 1 + word.chars().count()) as f64 * CHARACTER <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A number with as few digits as it needs.
fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("one two three", 0.0, 8.0 * CHARACTER), ["one two", "three"]);
        assert_eq!(wrap("", 0.0, 10.0), Vec::<String>::new());
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([1.0, 0.25, 2.0 / 3.0, 100.0].map(short), ["1", "0.25", "0.67", "100"]);
    }
}
