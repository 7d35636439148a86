//! The field's words: what the project once called otherwise is refused, in identifiers, comments, messages and pages.

use std::sync::LazyLock;

use regex::Regex;

use super::retired::{RETIRED, Retired};

/// Where a word is refused. In a page all text is prose; in Rust comments and strings are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// In Rust code, without its comments and strings.
    Code,
    /// The same, of gpu-kernels alone.
    Kernels,
    /// In pages, comments and strings.
    Prose,
    /// Everywhere.
    Text,
}

/// The files that may name retired words: the glossary, and the list itself.
const EXEMPT: [&str; 3] = ["docs/src/glossary.md", "xtask/src/tidy/retired.rs", "xtask/src/tidy/words.rs"];

/// The patterns of [`RETIRED`], compiled.
static PATTERNS: LazyLock<Vec<(Regex, &'static Retired)>> = LazyLock::new(|| {
    let compile = |retired: &'static Retired| {
        Regex::new(&retired.pattern.replace(' ', r"(?:[ \t]+|[ \t]*\n[ \t]*)")).map(|regex| (regex, retired))
    };
    RETIRED.iter().map(compile).collect::<Result<_, _>>().expect("every pattern of RETIRED is a regular expression")
});

/// The complaints about the words of a file.
pub fn complaints(path: &str, text: &str) -> Vec<String> {
    if EXEMPT.contains(&path) {
        return Vec::new();
    }
    let pieces = if path.ends_with(".rs") { of_rust(text) } else { of_page(text) };
    let in_kernels = path.starts_with("gpu-kernels/");
    let found = pieces.iter().flat_map(|piece| {
        let patterns = PATTERNS.iter().filter(move |(_, retired)| match retired.scope {
            Scope::Code => !piece.is_prose,
            Scope::Kernels => !piece.is_prose && in_kernels,
            Scope::Prose => piece.is_prose,
            Scope::Text => true,
        });
        patterns.flat_map(move |(regex, retired)| {
            regex.find_iter(&piece.text).map(move |found| {
                let line = piece.line + piece.text[..found.start()].matches('\n').count();
                let words = found.as_str().split_whitespace().collect::<Vec<_>>().join(" ");
                format!("{path}:{line}: \"{words}\": the field says {}", retired.instead)
            })
        })
    });
    found.collect()
}

/// The complaints about the list itself: a pattern that does not find its example would find nothing else.
pub fn broken() -> Vec<String> {
    let misses = PATTERNS.iter().filter(|(regex, retired)| !regex.is_match(retired.example));
    misses.map(|(_, retired)| format!("xtask/src/tidy/retired.rs: {} misses its example", retired.pattern)).collect()
}

/// Consecutive lines of one kind.
struct Piece {
    is_prose: bool,
    /// The first line's number.
    line: usize,
    /// The lines, comments without their marks.
    text: String,
}

/// A page without its blocks of code.
fn of_page(text: &str) -> Vec<Piece> {
    let mut prose = String::new();
    let mut in_code = false;
    for line in text.lines() {
        in_code ^= line.trim_start().starts_with("```");
        let is_indented = line.starts_with("    ");
        prose += if in_code || is_indented { "" } else { line };
        prose.push('\n');
    }
    vec![Piece { is_prose: true, line: 1, text: prose }]
}

/// A Rust file's code and, line by line beside it, what it says to people.
fn of_rust(text: &str) -> Vec<Piece> {
    let [mut code, mut prose] = [String::new(), String::new()];
    for line in text.lines() {
        let Line { code: of_code, strings, comment } = split(line);
        code += &of_code;
        code.push('\n');
        prose += &strings;
        prose += comment.trim_start_matches(['/', '!', ' ']);
        prose.push('\n');
    }
    [(false, code), (true, prose)].map(|(is_prose, text)| Piece { is_prose, line: 1, text }).into()
}

/// A line of Rust.
pub struct Line<'a> {
    /// Its code, without the contents of strings.
    pub code: String,
    /// The contents of its strings.
    strings: String,
    /// Its comment, with the slashes.
    pub comment: &'a str,
}

/// Takes a line of Rust as code, strings and comment.
pub fn split(line: &str) -> Line<'_> {
    let [mut code, mut strings] = [String::new(), String::new()];
    let mut in_string = false;
    let mut characters = line.char_indices().peekable();
    while let Some((index, character)) = characters.next() {
        match character {
            '\\' if in_string => _ = characters.next(),
            '"' if in_string || !code.ends_with('\'') => in_string = !in_string,
            '/' if !in_string && characters.peek().is_some_and(|(_, next)| *next == '/') => {
                return Line { code, strings, comment: &line[index..] };
            }
            _ if in_string => strings.push(character),
            _ => code.push(character),
        }
    }
    Line { code, strings, comment: "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_finds_its_example() {
        assert_eq!(broken(), [""; 0]);
    }

    #[test]
    fn comments_strings_and_code_are_told_apart() {
        let path = "gpu-kernels/src/x.rs";
        let found = |text: &str| complaints(path, text).len();
        assert_eq!(found("let feeds = 1; // fine\n"), 1);
        assert_eq!(found("let x = \"one warp feeds\";\n"), 1);
        assert_eq!(found("// the second-level\n// cache\n"), 1, "a phrase goes on in the next line");
        assert_eq!(complaints("docs/src/glossary.md", "the second-level cache"), [""; 0]);
        assert_eq!(complaints("docs/src/x.md", "    feeds()\n\n```\nfeeds\n```\n"), [""; 0], "code of a page");
    }

    #[test]
    fn complaints_name_the_place_and_the_fields_word() {
        let found = complaints("README.md", "Fine.\nThe first-level\ncache.\n");
        assert_eq!(found, ["README.md:2: \"first-level cache\": the field says L1, L2"]);
    }

    #[test]
    fn ordinary_english_stays() {
        let text =
            "beside it, in turn; a streaming multiprocessor (SM) takes part; the sums of a row; placed inside a block";
        assert_eq!(complaints("README.md", text), [""; 0]);
    }
}
