//! A picture: a drawing for pages, another one for phones, and the figures as a table.

#[cfg(feature = "png")]
use std::sync::{Arc, LazyLock};

use maud::{Markup, html};
#[cfg(feature = "png")]
use resvg::{tiny_skia, usvg};

use crate::canvas::{Drawing, Layout};
use crate::document::{Document, pixel};
#[cfg(feature = "png")]
use crate::error::Error;
use crate::font;
use crate::table::Table;
use crate::theme::Theme;

/// Pixels around a picture that stands alone.
const MARGIN: f64 = 20.0;

#[cfg(feature = "png")]
/// Pixels of a PNG for one of the picture.
const ZOOM: f32 = 2.0;

/// A picture in two widths.
#[derive(Debug, Clone)]
pub struct Picture {
    /// The stem of its files' names.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// Where the figures come from.
    pub source: String,
    /// How to read it.
    pub note: String,
    /// Its figures.
    pub table: Table,
    /// What a page has above it to choose what is shown.
    pub(crate) controls: Option<Markup>,
    /// Wide and narrow.
    pub(crate) drawings: [Drawing; 2],
    /// The same otherwise, for a page's controls to choose: the id of each.
    pub(crate) variants: Vec<(&'static str, [Drawing; 2])>,
}

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

impl Picture {
    fn drawing(&self, layout: Layout) -> &Drawing {
        let [wide, narrow] = &self.drawings;
        layout.pick(wide, narrow)
    }

    /// A file of its own, with its title and style.
    #[must_use]
    pub fn svg(&self, layout: Layout, theme: Theme) -> String {
        let drawing = self.drawing(layout);
        let (header, top) = self.header(layout);
        let size = [drawing.width + 2.0 * MARGIN, top + drawing.height + MARGIN];
        let paper = html! { rect width="100%" height="100%" class="f-paper" {} };
        let body = html! {
            (header)
            g transform={ "translate(" (pixel(MARGIN)) " " (pixel(top)) ")" } { (drawing.body) }
        };
        Document { size, title: &self.title, description: "", paper }.svg(&body, theme)
    }

    /// Title and source in lines, and where the picture begins.
    fn header(&self, layout: Layout) -> (Markup, f64) {
        let (title, source) = (layout.pick(20.0, 17.0), layout.font());
        let titles = font::wrap(&self.title, title, true, [layout.width(); 2]);
        let sources = font::wrap(&self.source, source, false, [layout.width(); 2]);
        let mut y = MARGIN - 4.0;
        let mut lines = Vec::new();
        for (text, size, class) in titles
            .into_iter()
            .map(|text| (text, title, "b f-ink"))
            .chain(sources.into_iter().map(|text| (text, source, "f-muted")))
        {
            y += 1.35 * size;
            lines.push(html! { text x=(pixel(MARGIN)) y=(pixel(y)) font-size=(pixel(size)) class=(class) { (text) } });
        }
        (html! { @for line in &lines { (line) } }, y + 18.0)
    }

    /// For a page that has the style.
    pub(crate) fn inline(&self) -> Markup {
        html! {
            @if self.variants.is_empty() { (self.both(&self.drawings)) } @else {
                div.v-absolute { (self.both(&self.drawings)) }
                @for (id, drawings) in &self.variants { div class={ "v-" (id) } { (self.both(drawings)) } }
            }
        }
    }

    /// Its table, for a page that shows the picture.
    pub(crate) fn details(&self) -> Markup {
        html! { details { summary { "As a table" } (self.table.html(&self.title)) } }
    }

    fn both(&self, [wide, narrow]: &[Drawing; 2]) -> Markup {
        html! {
            (self.one(wide, Layout::Wide))
            (self.one(narrow, Layout::Narrow))
        }
    }

    fn one(&self, drawing: &Drawing, layout: Layout) -> Markup {
        html! {
            svg class={ "pic " (layout.name()) } viewBox={ "0 0 " (pixel(drawing.width)) " " (pixel(drawing.height)) }
                role="group" aria-label=(self.title) { (drawing.body) }
        }
    }

    #[cfg(feature = "png")]
    /// Twice as large, in pixels.
    ///
    /// # Errors
    /// [`Error::Png`] where there is no memory for it.
    pub fn png(&self, layout: Layout, theme: Theme) -> Result<Vec<u8>, Error> {
        let failed = |reason: String| Error::Png { name: self.name.clone(), reason };
        let theme = if theme == Theme::Auto { Theme::Light } else { theme };
        let tree = parse(&self.svg(layout, theme)).map_err(|error| failed(error.to_string()))?;
        let size = tree.size().to_int_size().scale_by(ZOOM).ok_or_else(|| failed("it is too large".into()))?;
        let mut pixels = tiny_skia::Pixmap::new(size.width(), size.height())
            .ok_or_else(|| failed("there is no memory for it".into()))?;
        resvg::render(&tree, tiny_skia::Transform::from_scale(ZOOM, ZOOM), &mut pixels.as_mut());
        pixels.encode_png().map_err(|error| failed(error.to_string()))
    }
}

#[cfg(feature = "png")]
/// Reads an SVG, its texts in the font that comes along.
pub(crate) fn parse(svg: &str) -> Result<usvg::Tree, usvg::Error> {
    static FONTS: LazyLock<Arc<usvg::fontdb::Database>> = LazyLock::new(|| {
        let mut fonts = usvg::fontdb::Database::new();
        font::FILES.iter().for_each(|file| fonts.load_font_data(file.to_vec()));
        fonts.set_sans_serif_family(font::FAMILY);
        Arc::new(fonts)
    });
    let options = usvg::Options { fontdb: FONTS.clone(), font_family: font::FAMILY.into(), ..usvg::Options::default() };
    usvg::Tree::from_str(svg, &options)
}
