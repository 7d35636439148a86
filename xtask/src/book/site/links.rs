//! Links of the finished site: every one that stays in it leads to a file, and to a place in it; nothing is loaded from elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use anyhow::{Context, Result, ensure};
use html5gum::Token;
use regex::Regex;

use super::files;
use super::html::{attribute, text, tokens};

/// What is shown of many complaints.
const SHOWN: usize = 40;

/// What a style sheet loads.
static LOADED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"url\(\s*["']?([^"')]+)["']?\s*\)|@import\s+["']([^"']+)["']"#).expect("the tests use it")
});

/// A page or a style sheet: the places in it, and what it leads to or loads.
#[derive(Default)]
struct Document {
    /// What its addresses are relative to, if not to itself.
    base: Option<String>,
    /// Whether it only leads on to another page, with the place that was asked for: rustdoc has such pages.
    leads_on: bool,
    places: BTreeSet<String>,
    /// Addresses, and whether each is loaded with the document.
    addresses: BTreeMap<String, bool>,
}

/// Fails if a link of the site leads nowhere, or a page loads something from elsewhere. How many addresses lead out of it.
pub fn check(site: &Path) -> Result<usize> {
    let all: BTreeSet<String> = files(site)?.into_iter().collect();
    let mut documents = BTreeMap::new();
    for path in &all {
        let read = || fs::read_to_string(site.join(path)).with_context(|| format!("cannot read {path}"));
        if path.ends_with(".html") {
            documents.insert(path.as_str(), page(&read()?));
        } else if path.ends_with(".css") {
            documents.insert(path.as_str(), style(&read()?));
        }
    }
    let mut outward = BTreeSet::new();
    let mut complaints = Vec::new();
    for (path, document) in &documents {
        for (address, is_loaded) in &document.addresses {
            match complaint(path, document, address, *is_loaded, &all, &documents) {
                Ok(true) => _ = outward.insert(address),
                Ok(false) => {}
                Err(complaint) => complaints.push(format!("{path}: {address}: {complaint}")),
            }
        }
    }
    let count = complaints.len();
    complaints.truncate(SHOWN);
    ensure!(count == 0, "{count} links of the site are wrong\n{}", complaints.join("\n"));
    Ok(outward.len())
}

/// What is wrong with an address of a document; otherwise whether it leads out of the site.
fn complaint(
    path: &str,
    document: &Document,
    address: &str,
    is_loaded: bool,
    all: &BTreeSet<String>,
    documents: &BTreeMap<&str, Document>,
) -> Result<bool, String> {
    if ["data:", "javascript:", "mailto:"].iter().any(|scheme| address.starts_with(scheme)) {
        return Ok(false);
    }
    if address.contains("://") || address.starts_with("//") {
        return if is_loaded { Err("is loaded from elsewhere".into()) } else { Ok(true) };
    }
    let (file, place) = address.split_once('#').unwrap_or((address, ""));
    let file = decoded(file.split('?').next().unwrap_or_default());
    let target = match (file.is_empty(), &document.base) {
        (true, _) => path.to_owned(),
        (false, base) => resolve(base.as_deref().unwrap_or(path), &file).ok_or("leads out of the site")?,
    };
    if !all.contains(&target) {
        let is_folder = all.contains(format!("{}/index.html", target.trim_end_matches('/')).trim_start_matches('/'));
        return Err(if is_folder {
            "is a folder: name its index.html".into()
        } else {
            format!("there is no {target}")
        });
    }
    match documents.get(target.as_str()) {
        Some(page) if !place.is_empty() && !page.leads_on && !has(page, place) && !has(page, &decoded(place)) => {
            Err(format!("{target} has no such place"))
        }
        _ => Ok(false),
    }
}

/// Whether a page has a place; rustdoc's pages of sources name lines by their first and last.
fn has(page: &Document, place: &str) -> bool {
    let lines =
        place.split_once('-').filter(|(first, last)| [first, last].iter().all(|line| line.parse::<u32>().is_ok()));
    match lines {
        Some((first, last)) => page.places.contains(first) && page.places.contains(last),
        None => page.places.contains(place),
    }
}

fn page(html: &str) -> Document {
    let mut document = Document::default();
    for token in tokens(html) {
        let Token::StartTag(tag) = token else { continue };
        document.places.extend(attribute(&tag, "id"));
        let name = text(&tag.name);
        match name.as_str() {
            "base" => document.base = attribute(&tag, "href").map(|base| base.trim_start_matches('/').to_owned()),
            "meta" => document.leads_on |= attribute(&tag, "http-equiv").is_some_and(|name| name == "refresh"),
            "a" => {
                document.places.extend(attribute(&tag, "name"));
                document.addresses.extend(attribute(&tag, "href").map(|address| (address, false)));
            }
            _ => {
                let loaded = ["href", "src", "data", "poster"].into_iter().filter_map(|name| attribute(&tag, name));
                document.addresses.extend(loaded.map(|address| (address, true)));
                document.addresses.extend(attribute(&tag, "style").into_iter().flat_map(|css| loads(&css)));
            }
        }
    }
    document
}

fn style(css: &str) -> Document {
    Document { addresses: loads(css), ..Document::default() }
}

/// What a piece of style loads.
fn loads(css: &str) -> BTreeMap<String, bool> {
    let addresses = LOADED.captures_iter(css).filter_map(|found| found.get(1).or(found.get(2)));
    addresses.map(|address| (address.as_str().trim().to_owned(), true)).collect()
}

/// The file that an address of the document at `from` names; `None` beyond the site.
fn resolve(from: &str, address: &str) -> Option<String> {
    let mut parts: Vec<_> = from.split('/').collect();
    parts.pop();
    if address.starts_with('/') {
        parts.clear();
    }
    for part in address.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// An address without `%20` and the like.
fn decoded(address: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = address.as_bytes();
    while let [first, behind @ ..] = rest {
        let code = behind.get(..2).filter(|_| *first == b'%').and_then(|code| std::str::from_utf8(code).ok());
        let byte = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &behind[2..] } else { behind };
    }
    text(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(files: &[(&str, &str)]) -> Result<usize> {
        let site = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let file = site.path().join(path);
            fs::create_dir_all(file.with_file_name("")).unwrap();
            fs::write(file, text).unwrap();
        }
        check(site.path())
    }

    const GOOD: [(&str, &str); 6] = [
        (
            "index.html",
            "<a href='steps/a.html#x'>a</a> <a href='#top' id=top>b</a> <a href='https://example.org'>c</a>",
        ),
        (
            "steps/a.html",
            "<h1 id=x>x</h1><img src='../a%20b.svg'><a href='../api/s.rs.html#1-2'>s</a><link href=../b.css>",
        ),
        ("api/s.rs.html", "<a id=1></a><a id=2></a>"),
        ("404.html", "<base href='/'><script src='b.css'>'<a href=no.html>'</script>"),
        ("on.html", "<meta http-equiv=refresh content='0;URL=index.html'><a href=on.html#any>on</a>"),
        ("b.css", "p { background: url(\"a b.svg\") } q { background: url(data:image/png;base64,x) }"),
    ];

    #[test]
    fn good_links_are_counted() {
        assert_eq!(checked(&[&GOOD[..], &[("a b.svg", "<svg/>")]].concat()).unwrap(), 1);
    }

    #[test]
    fn each_mistake_is_named() {
        let mistakes = [
            ("<a href=c.html>", "x.html: c.html: there is no c.html"),
            ("<a href='index.html#y'>", "index.html#y: index.html has no such place"),
            ("<a href='api/s.rs.html#1-3'>", "api/s.rs.html has no such place"),
            ("<img src=no.png>", "there is no no.png"),
            ("<a href=../x.html>", "leads out of the site"),
            ("<a href=d/>", "is a folder: name its index.html"),
            ("<script src='https://example.org/x.js'></script>", "is loaded from elsewhere"),
            ("<link rel=stylesheet href='//example.org/x.css'>", "is loaded from elsewhere"),
            ("<p style='background: url(https://example.org/x.png)'>", "is loaded from elsewhere"),
        ];
        for (html, expected) in mistakes {
            let files = [&GOOD[..], &[("a b.svg", ""), ("d/index.html", ""), ("x.html", html)]].concat();
            let error = checked(&files).unwrap_err().to_string();
            assert!(error.starts_with("1 links") && error.contains(expected), "{html}: {error}");
        }
        let imported = [("index.html", ""), ("a.css", "@import 'https://example.org/a.css';")];
        assert!(checked(&imported).unwrap_err().to_string().contains("a.css: https://example.org/a.css: is loaded"));
    }
}
