//! Links between the book's pages: none may be dead, and none may lead to a file that is not part of the book.

use std::collections::{BTreeMap, BTreeSet};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::page::{FOLDER, Page};

/// The files of the workspace that a page's links lead to, whether they exist or not.
pub fn targets(page: &Page) -> Vec<String> {
    links(&page.text).into_iter().filter_map(|link| resolve(&page.path, link.file())).collect()
}

/// The complaints about the links of the book's pages, among all files that are or will be there.
pub fn complaints(files: &BTreeMap<String, String>) -> Vec<String> {
    let pages = files.iter().filter(|(path, _)| path.starts_with(FOLDER) && path.ends_with(".md"));
    let complaints = pages.flat_map(|(path, text)| {
        let complaint = move |link: Link| Some(format!("{path}:{}: {}", link.line, problem(path, &link, files)?));
        links(text).into_iter().filter_map(complaint)
    });
    complaints.collect()
}

/// What is wrong with a link of the page at `path`.
fn problem(path: &str, link: &Link, files: &BTreeMap<String, String>) -> Option<String> {
    let Link { target, .. } = link;
    let file = if link.file().is_empty() { Some(path.to_owned()) } else { resolve(path, link.file()) };
    let Some(file) = file.filter(|file| file.starts_with(FOLDER)) else {
        return Some(format!("the link to {target} leads out of the book: name the file as code instead"));
    };
    let Some(text) = files.get(&file) else {
        return Some(format!("the link to {target} is dead: there is no {file}"));
    };
    let anchor = link.anchor().filter(|anchor| !anchors(text).contains(*anchor))?;
    Some(format!("the link to {target} is dead: {file} has no heading `{anchor}`"))
}

/// A relative link, or an image.
struct Link {
    line: usize,
    target: String,
}

impl Link {
    fn file(&self) -> &str {
        self.target.split('#').next().unwrap_or_default()
    }

    fn anchor(&self) -> Option<&str> {
        self.target.split_once('#').map(|(_, anchor)| anchor)
    }
}

/// The relative links of a page.
fn links(text: &str) -> Vec<Link> {
    let events = Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter();
    let links = events.filter_map(|(event, range)| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) if is_relative(&dest_url) => {
            let line = 1 + text[..range.start].matches('\n').count();
            Some(Link { line, target: dest_url.into_string() })
        }
        _ => None,
    });
    links.collect()
}

fn is_relative(target: &str) -> bool {
    !target.contains("://") && !target.starts_with("mailto:")
}

/// The file that a link from `page` leads to; `None` if that is outside the workspace.
fn resolve(page: &str, link: &str) -> Option<String> {
    let mut parts: Vec<_> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The places within a page that links can name: mdBook's identifiers of its headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match (event, &mut heading) {
            (Event::Start(Tag::Heading { .. }), _) => heading = Some(String::new()),
            (Event::Text(text) | Event::Code(text), Some(heading)) => heading.push_str(&text),
            (Event::End(TagEnd::Heading(_)), _) => anchors.extend(heading.take().map(|heading| identifier(&heading))),
            _ => {}
        }
    }
    anchors
}

fn identifier(heading: &str) -> String {
    let characters = heading.chars().filter_map(|c| match c {
        c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c.to_ascii_lowercase()),
        c if c.is_whitespace() => Some('-'),
        _ => None,
    });
    characters.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_links_are_found_and_code_is_not_searched() {
        let page = "# A heading: `x`\n[good](b.md) [there](b.md#the-rows), [here](#a-heading-x)\n\n[dead](c.md) ![no](f/x.svg)\n\
            [out](../../README.md) [web](https://example.org) `[code](d.md)`\n[no heading](b.md#x)\n";
        let files = [("docs/src/a.md", page), ("docs/src/b.md", "## The rows\n"), ("README.md", "[dead](x.md)")];
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned())).into();
        let found = complaints(&files);
        let expected = [
            "docs/src/a.md:4: the link to c.md is dead: there is no docs/src/c.md",
            "docs/src/a.md:4: the link to f/x.svg is dead: there is no docs/src/f/x.svg",
            "docs/src/a.md:5: the link to ../../README.md leads out of the book: name the file as code instead",
            "docs/src/a.md:6: the link to b.md#x is dead: docs/src/b.md has no heading `x`",
        ];
        assert_eq!(found, expected);
    }
}
