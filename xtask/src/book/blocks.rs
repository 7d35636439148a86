//! Blocks of Markdown that a program writes: text between `<!-- generated: NAME -->` and `<!-- /generated -->`, each on a line of
//! its own.

use std::fmt::Write;

const BEGIN: &str = "<!-- generated: ";
const BEGIN_END: &str = " -->";
const END: &str = "<!-- /generated -->";

/// A block as it stands in a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block<'a> {
    /// What generates it, and of what: `facts`, `picture ladder`.
    pub name: &'a str,
    /// The line of the page that it begins on, from 1.
    pub line: usize,
    /// What stands in it now: whole lines.
    pub content: &'a str,
}

/// A page in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece<'a> {
    /// What people wrote, the lines of the markers among it.
    Text(&'a str),
    Block(Block<'a>),
}

/// The blocks of a page, in its order.
///
/// # Errors
/// A complaint that begins with the line's number, where markers do not pair up.
pub fn find(page: &str) -> Result<Vec<Block<'_>>, String> {
    let blocks = pieces(page)?.into_iter().filter_map(|piece| match piece {
        Piece::Block(block) => Some(block),
        Piece::Text(_) => None,
    });
    Ok(blocks.collect())
}

/// The page with what `generate` makes of each block in its place. Blocks that it makes nothing of stay as they are.
///
/// # Errors
/// As [`find`].
pub fn refill<'a>(page: &'a str, mut generate: impl FnMut(Block<'a>) -> Option<String>) -> Result<String, String> {
    let mut text = String::with_capacity(page.len());
    for piece in pieces(page)? {
        match piece {
            Piece::Text(piece) => text.push_str(piece),
            Piece::Block(block) => match generate(block) {
                Some(content) => _ = writeln!(text, "{}", content.trim_end()),
                None => text.push_str(block.content),
            },
        }
    }
    Ok(text)
}

fn pieces(page: &str) -> Result<Vec<Piece<'_>>, String> {
    let mut pieces = Vec::new();
    let mut open: Option<(&str, usize)> = None;
    let (mut start, mut at) = (0, 0);
    for (number, line) in (1..).zip(page.split_inclusive('\n')) {
        let marker = line.trim_end();
        let name = marker.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(BEGIN_END));
        match (name, open) {
            (Some(_), Some((outer, _))) => {
                return Err(format!("{number}: a block begins before `{outer}` ends with `{END}`"));
            }
            (Some(name), None) => {
                pieces.push(Piece::Text(&page[start..at + line.len()]));
                (start, open) = (at + line.len(), Some((name, number)));
            }
            (None, Some((name, line))) if marker == END => {
                pieces.push(Piece::Block(Block { name, line, content: &page[start..at] }));
                (start, open) = (at, None);
            }
            (None, None) if marker == END => return Err(format!("{number}: `{END}` ends no block")),
            _ => {}
        }
        at += line.len();
    }
    match open {
        Some((name, line)) => Err(format!("{line}: the block `{name}` does not end with `{END}`")),
        None => {
            pieces.push(Piece::Text(&page[start..]));
            Ok(pieces)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str =
        "# T\n<!-- generated: a -->\nold\n<!-- /generated -->\n\n<!-- generated: b c -->\n<!-- /generated -->\nend";

    #[test]
    fn blocks_are_found_with_their_lines() {
        let a = Block { name: "a", line: 2, content: "old\n" };
        let b = Block { name: "b c", line: 6, content: "" };
        assert_eq!(find(PAGE), Ok(vec![a, b]));
    }

    #[test]
    fn refilling_keeps_what_people_wrote_and_is_stable() {
        let new = refill(PAGE, |block| (block.name == "a").then(|| "new\nlines\n\n".into())).unwrap();
        assert_eq!(new, PAGE.replace("old", "new\nlines"));
        let contents: Vec<_> = find(&new).unwrap().into_iter().map(|block| block.content.to_owned()).collect();
        let again = refill(&new, |block| Some(contents[usize::from(block.name != "a")].clone())).unwrap();
        assert_eq!(again, new.replace("b c -->\n", "b c -->\n\n"));
    }

    #[test]
    fn markers_that_do_not_pair_up_are_named() {
        let open = PAGE.replacen("<!-- /generated -->", "", 1);
        assert!(find(&open).unwrap_err().starts_with("6: a block begins before `a` ends"));
        assert!(find("x\n<!-- generated: a -->\n").unwrap_err().starts_with("2: the block `a` does not end"));
        assert!(find("<!-- /generated -->\n").unwrap_err().starts_with("1: "));
        assert_eq!(find("    <!-- generated: a -->\n"), Ok(vec![]));
    }
}
