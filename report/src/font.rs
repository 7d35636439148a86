//! The font of the PNGs, and how wide texts are in it.

use std::sync::LazyLock;

use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, MetadataProvider};

/// Noto Sans, under the SIL Open Font License.
pub(crate) const FILES: [&[u8]; 2] = [notosans::REGULAR_TTF, notosans::BOLD_TTF];

/// The family's name.
#[cfg(feature = "png")]
pub(crate) const FAMILY: &str = "Noto Sans";

/// What browsers take: their own.
pub(crate) const STACK: &str = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', Arial, sans-serif";

/// Other machines' fonts are wider, DejaVu Sans by that much.
const MARGIN: f64 = 1.12;

/// The character that stands for those that the table lacks.
const TYPICAL: char = 'n';

/// Widths of the characters below 256, for a size of 1; of both weights.
static WIDTHS: LazyLock<[Vec<f64>; 2]> = LazyLock::new(|| {
    FILES.map(|file| {
        let Ok(font) = FontRef::new(file) else { return Vec::new() };
        let (characters, metrics) = (font.charmap(), font.glyph_metrics(Size::new(1.0), LocationRef::default()));
        let width = |c: u8| characters.map(char::from(c)).and_then(|glyph| metrics.advance_width(glyph));
        (0..=u8::MAX).map(|c| width(c).map_or(0.6, f64::from)).collect()
    })
});

/// The width of a text in pixels, at the most: with a margin for the fonts of other machines.
pub(crate) fn width(text: &str, size: f64, is_bold: bool) -> f64 {
    let widths = &WIDTHS[usize::from(is_bold)];
    let one = |c: char| widths.get(c as usize).or_else(|| widths.get(TYPICAL as usize)).copied().unwrap_or(0.6);
    text.chars().map(one).sum::<f64>() * size * MARGIN
}

/// The text in lines that are no wider than that, the first one and the others, where its words allow.
pub(crate) fn wrap(text: &str, size: f64, is_bold: bool, [first, others]: [f64; 2]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    // Not `split_whitespace`: spaces that do not break are whitespace, too.
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let most = if lines.len() > 1 { others } else { first };
        match lines.last_mut() {
            Some(line) if width(&format!("{line} {word}"), size, is_bold) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        let most = width("one two", 13.0, false);
        assert_eq!(wrap("one two three", 13.0, false, [most; 2]), ["one two", "three"]);
        assert_eq!(wrap("one two\u{a0}three", 13.0, false, [most; 2]), ["one", "two\u{a0}three"]);
        assert_eq!(wrap("one two one two", 13.0, false, [1.0, most]), ["one", "two one", "two"]);
        assert_eq!(wrap("", 13.0, false, [most; 2]), Vec::<String>::new());
    }
}
