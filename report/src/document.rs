//! A picture as a file: SVG with its own style, in the palette's colours.

use maud::{Markup, PreEscaped, html};

use crate::theme::{self, Theme};

/// A coordinate.
pub(crate) fn pixel(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// What a file has beside what is drawn.
#[derive(Debug)]
pub(crate) struct Document<'a> {
    /// Width and height, in pixels.
    pub(crate) size: [f64; 2],
    /// What it shows.
    pub(crate) title: &'a str,
    /// The same at length; may be empty.
    pub(crate) description: &'a str,
    /// What it is drawn on.
    pub(crate) paper: Markup,
}

impl Document<'_> {
    /// The file.
    pub(crate) fn svg(&self, body: &Markup, theme: Theme) -> String {
        let [width, height] = self.size.map(pixel);
        let paper = &self.paper.0;
        let style = PreEscaped(theme::alone(theme, &[paper, &body.0]));
        let file = html! {
            svg xmlns="http://www.w3.org/2000/svg" width=(width) height=(height)
                viewBox={ "0 0 " (width) " " (height) } role="img" aria-label=(self.title) {
                @if !self.description.is_empty() { desc { (self.description) } }
                style { (style) }
                (self.paper)
                (body)
            }
        };
        // An element to a line: files under version control are compared line by line.
        ["desc", "style", "rect", "line", "path", "circle", "text", "g"].iter().fold(file.into_string(), |text, tag| {
            let end = format!("</{tag}><");
            text.replace(&end, &format!("</{tag}>\n<"))
        })
    }
}
