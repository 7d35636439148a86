//! Where the kernels stand in a module's text.

use std::ops::Range;

/// A kernel in a module's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    pub(super) name: &'a str,
    /// From its linkage, such as `.visible`, to the end of its body.
    pub(super) range: Range<usize>,
}

/// What may stand before `.entry`.
const LINKAGE: [&str; 4] = [".visible", ".weak", ".extern", ".common"];

/// The kernels of a module, in order. A kernel that the text does not end is none.
pub(super) fn entries(text: &str) -> Vec<Entry<'_>> {
    let mut words = Words { text, at: 0 }.peekable();
    let (mut entries, mut linkage, mut depth) = (Vec::new(), None, 0_usize);
    while let Some((start, word)) = words.next() {
        match word {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            _ if LINKAGE.contains(&word) => _ = linkage.get_or_insert(start),
            ".entry" => {
                let Some(&(_, name)) = words.peek() else { break };
                let Some(end) = end_of_body(&mut words) else { break };
                entries.push(Entry { name, range: linkage.take().unwrap_or(start)..end });
            }
            _ => linkage = None,
        }
    }
    entries
}

/// Whether each kernel of a module waits for the launch before it, such that it may be launched before that one has ended: PTX ISA,
/// "griddepcontrol".
pub(crate) fn wait_for_launches(text: &str) -> bool {
    let waits = |entry: Entry<'_>| (Words { text: &text[entry.range], at: 0 }).any(|(_, word)| word == WAIT);
    let entries = entries(text);
    !entries.is_empty() && entries.into_iter().all(waits)
}

const WAIT: &str = "griddepcontrol.wait";

/// Where the next body ends, or the declaration if there is none.
fn end_of_body<'a>(words: &mut impl Iterator<Item = (usize, &'a str)>) -> Option<usize> {
    let mut depth = 0_usize;
    for (start, word) in words {
        match word {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && matches!(word, "}" | ";") {
            return Some(start + 1);
        }
    }
    None
}

/// Whether a byte is one of a word's.
const IS_WORD: [bool; 256] = {
    let mut is_word = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        is_word[byte] = (byte as u8).is_ascii_alphanumeric() || matches!(byte as u8, b'.' | b'_' | b'$' | b'%');
        byte += 1;
    }
    is_word
};

/// Words and marks with their places, without comments and strings.
struct Words<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Words<'a> {
    type Item = (usize, &'a str);

    // By bytes, since modules are long: what is not ASCII stands in comments and strings, and is whole there.
    fn next(&mut self) -> Option<Self::Item> {
        let is_word = |byte: u8| IS_WORD[byte as usize];
        loop {
            let start = self.at;
            let rest = &self.text[start..];
            let bytes = rest.as_bytes();
            let first = *bytes.first()?;
            let length = |end: &str, skip: usize| rest[skip..].find(end).map_or(rest.len(), |at| skip + at + end.len());
            if is_word(first) {
                let word = &rest[..bytes.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len())];
                self.at += word.len();
                return Some((start, word));
            } else if bytes.starts_with(b"//") {
                self.at += length("\n", 2);
            } else if bytes.starts_with(b"/*") {
                self.at += length("*/", 2);
            } else if first == b'"' {
                self.at += length("\"", 1);
            } else {
                let mark = rest.chars().next().map_or(1, char::len_utf8);
                self.at += mark;
                if !first.is_ascii_whitespace() {
                    return Some((start, &rest[..mark]));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<&str> {
        entries(text).into_iter().map(|entry| entry.name).collect()
    }

    #[test]
    fn finds_entries_and_no_comments() {
        let text = "// .entry no() {}\n.visible .entry one() {}\n.entry two ();\n/* .entry no() { */ .weak .entry three\n(\n) \
                    { ret; // .entry no() {}\n }";
        assert_eq!(names(text), ["one", "two", "three"]);
    }

    #[test]
    fn braces_in_bodies_comments_and_strings_are_no_end() {
        let text = ".version 7.0 .target sm_80 .func f() { .entry }\n.visible .entry k(.param .u64 p) .maxntid 4\n\
                    { { ret; } // }\n .pragma \"}\"; /* } */ }\n.entry last() { ret; }";
        let found = entries(text);
        assert_eq!(names(text), ["k", "last"]);
        let k = &text[found[0].range.clone()];
        assert!(k.starts_with(".visible .entry k(") && k.ends_with("/* } */ }"), "{k}");
        assert_eq!(&text[found[1].range.clone()], ".entry last() { ret; }");
    }

    #[test]
    fn a_module_waits_where_each_kernel_does() {
        let [waits, comment, other] = [WAIT, "// griddepcontrol.wait\n", "griddepcontrol.launch_dependents"]
            .map(|instruction| format!(".entry k() {{ {instruction}; ret; }}\n"));
        assert!(wait_for_launches(&waits) && wait_for_launches(&format!("{waits}{waits}")));
        for not_all in [String::new(), comment.clone(), other, format!("{waits}{comment}"), format!("{comment}{waits}")]
        {
            assert!(!wait_for_launches(&not_all), "{not_all}");
        }
    }

    #[test]
    fn text_that_breaks_off_has_no_entry_there() {
        for text in [".entry", ".visible .entry k", ".entry k() { { }", "\"", "/*", ".entry k() \"} ;"] {
            assert_eq!(names(text), [""; 0], "{text}");
        }
    }
}
