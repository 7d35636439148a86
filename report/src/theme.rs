//! Colours, light and dark, and the style sheets made of them.
//!
//! The six colours of series are after Okabe and Ito's, which colour-blind people can tell apart, some of them darker, since
//! they are lines on white. None of them stands alone: shapes, dashes or labels say the same.

use std::fmt::Write;

use crate::font;

/// For light surroundings, dark ones, or whichever the reader's are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
    /// What the reader's system prefers.
    Auto,
}

/// The name of each colour, how it is on light and on dark paper.
const PALETTE: [(&str, &str, &str); 12] = [
    ("paper", "#ffffff", "#15181d"),
    ("raised", "#f6f7f9", "#1c2027"),
    ("ink", "#1a1e24", "#e9ebee"),
    ("muted", "#59626d", "#a4adb8"),
    ("faint", "#e3e6ea", "#2c323b"),
    ("ghost", "#c5cbd3", "#454e59"),
    ("c0", "#0072b2", "#56a9e4"),
    ("c1", "#d55e00", "#ff8f4a"),
    ("c2", "#008f68", "#2fc79c"),
    ("c3", "#b0478f", "#e591c4"),
    ("c4", "#b98500", "#ecb93f"),
    ("c5", "#4a3aa7", "#a49cf5"),
];

/// Colours for series.
pub(crate) const SERIES: usize = 6;

/// What pictures have in common wherever they are.
const COMMON: &str = ".l{fill:none}.b{font-weight:700}.dash{stroke-dasharray:4 3}.soft{opacity:.35}.dots{stroke-dasharray:1.5 3}\
     .dash2{stroke-dasharray:8 3}.dash3{stroke-dasharray:5 3}.dash4{stroke-dasharray:8 3 2 3}.halo{paint-order:stroke;stroke-width:4px;\
     stroke-linejoin:round}";

/// Series that are in the background of a picture which stands alone.
const ALONE: &str = ".off .m,.off .lab{display:none}.off .line{stroke:GHOST;stroke-width:1px}";

/// The variables of a page: light, dark where that is preferred or chosen.
pub(crate) fn variables() -> String {
    let list = |pick: fn(&(&str, &'static str, &'static str)) -> &'static str| {
        PALETTE.iter().fold(String::new(), |text, colour| text + &format!("--{}:{};", colour.0, pick(colour)))
    };
    let (light, dark) = (list(|colour| colour.1), list(|colour| colour.2));
    format!(
        ":root{{color-scheme:light;{light}}}\
         @media(prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\
         :root[data-theme=dark]{{color-scheme:dark;{dark}}}"
    )
}

/// The rules for pictures in a page that has the [`variables`].
pub(crate) fn page_rules() -> String {
    let mut text = COMMON.to_owned();
    for (name, ..) in PALETTE {
        let _ = write!(text, ".f-{name}{{fill:var(--{name})}}.s-{name}{{stroke:var(--{name})}}");
    }
    text
}

/// The rules for a picture that stands alone.
pub(crate) fn alone(theme: Theme) -> String {
    let rules = |pick: fn(&(&str, &'static str, &'static str)) -> &'static str| {
        let ghost = PALETTE.iter().find(|colour| colour.0 == "ghost").map_or("", pick);
        PALETTE.iter().fold(ALONE.replace("GHOST", ghost), |text, colour| {
            let (name, value) = (colour.0, pick(colour));
            text + &format!(".f-{name}{{fill:{value}}}.s-{name}{{stroke:{value}}}")
        })
    };
    let (light, dark) = (rules(|colour| colour.1), rules(|colour| colour.2));
    let colours = match theme {
        Theme::Light => light,
        Theme::Dark => dark,
        Theme::Auto => format!("{light}@media(prefers-color-scheme:dark){{{dark}}}"),
    };
    format!("text{{font-family:{}}}{COMMON}{colours}", font::STACK)
}
