//! Colours, light and dark, and the style sheets made of them.
//!
//! The six colours of series are after Okabe and Ito's, which colour-blind people can tell apart, some of them darker, since
//! they are lines on white. None of them stands alone: shapes, dashes or labels say the same.

use std::collections::BTreeSet;
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

/// The name of each colour, how it is on light and on dark paper. Of the first three series' colours, those of A, B and C in
/// drawings of tiles, there are two tints.
const PALETTE: [Colour; 18] = [
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
    ("c0-light", "#cfe4f8", "#1b3a5a"),
    ("c0-half", "#8cc0ec", "#2b6aa3"),
    ("c1-light", "#fbe1c6", "#4b2f16"),
    ("c1-half", "#f2b070", "#96591f"),
    ("c2-light", "#cdebdd", "#163d30"),
    ("c2-half", "#82cdae", "#237556"),
];

/// A colour's name, and its values.
type Colour = (&'static str, &'static str, &'static str);

/// Colours for series.
pub(crate) const SERIES: usize = 6;

/// What pictures have in common wherever they are.
const COMMON: &str = ".l{fill:none}.b{font-weight:700}.dash{stroke-dasharray:4 3}.soft{opacity:.35}.pale{opacity:.55}.dots{stroke-dasharray:1.5 3}\
     .dash2{stroke-dasharray:8 3}.dash3{stroke-dasharray:5 3}.dash4{stroke-dasharray:8 3 2 3}.halo{paint-order:stroke;stroke-width:4px;\
     stroke-linejoin:round}";

/// Series that are in the background of a picture which stands alone.
const ALONE: &str = ".off .m,.off .lab{display:none}.off .line{stroke:GHOST;stroke-width:1px}";

/// The variables of a page: light, dark where that is preferred or chosen.
pub(crate) fn variables() -> String {
    let list = |pick: fn(&Colour) -> &'static str| {
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

/// The rules for a picture that stands alone, as far as what is drawn in it has use for them.
pub(crate) fn alone(theme: Theme, drawn: &[&str]) -> String {
    let classes: BTreeSet<&str> = drawn.iter().flat_map(|drawn| classes(drawn)).collect();
    let rules = |pick: fn(&Colour) -> &'static str| {
        let mut text = String::new();
        if classes.contains("off") {
            let ghost = PALETTE.iter().find(|colour| colour.0 == "ghost").map_or("", pick);
            text += &ALONE.replace("GHOST", ghost);
        }
        for colour in &PALETTE {
            for (letter, property) in [('f', "fill"), ('s', "stroke")] {
                let class = format!("{letter}-{}", colour.0);
                if classes.contains(&*class) {
                    let _ = write!(text, ".{class}{{{property}:{}}}", pick(colour));
                }
            }
        }
        text
    };
    let (light, dark) = (rules(|colour| colour.1), rules(|colour| colour.2));
    let colours = match theme {
        Theme::Light => light,
        Theme::Dark => dark,
        Theme::Auto => format!("{light}@media(prefers-color-scheme:dark){{{dark}}}"),
    };
    format!("text{{font-family:{}}}{COMMON}{colours}", font::STACK)
}

/// The classes of what is drawn.
fn classes(drawn: &str) -> impl Iterator<Item = &str> {
    drawn.split(" class=\"").skip(1).filter_map(|rest| rest.split('"').next()).flat_map(|all| all.split(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_the_rules_that_it_needs() {
        let style = alone(Theme::Dark, &[r#"<rect class="f-c0-half"/>"#, r#"<g class="x off s-ink">"#]);
        assert!(style.contains(".f-c0-half{fill:#2b6aa3}") && style.contains(".s-ink{stroke:#e9ebee}"), "{style}");
        assert!(!style.contains(".f-c0{") && style.contains(".off .line{stroke:#454e59"), "{style}");
    }
}
