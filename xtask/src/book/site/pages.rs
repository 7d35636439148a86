//! What mdBook's pages lack: colours of PTX and SASS, links to the API, the sources and the records, pictures that load when they are
//! scrolled to.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result};
use html5gum::{StartTag, Token};
use regex::Regex;

use super::highlight::highlight;
use super::html::{attribute, text, to_root, tokens};
use super::terms::Terms;

/// What a page about the library names: on others, a `Gemm` is a kernel's.
const LIBRARY: &str = "sgemm::";

/// The page of all pages, for paper.
const PRINT: &str = "print.html";

/// Finishes the page at `path` of the site.
pub fn finish(site: &Path, path: &str, terms: &Terms) -> Result<()> {
    let file = site.join(path);
    let page = fs::read_to_string(&file)?;
    let size = |picture: &str| {
        let picture = file.with_file_name(picture);
        size(&fs::read_to_string(&picture).with_context(|| format!("cannot read {}", picture.display()))?)
    };
    fs::write(&file, finished(&page, path, terms, size)?)?;
    Ok(())
}

/// The page with what it lacks. `size` gives width and height of a drawing.
fn finished(page: &str, path: &str, terms: &Terms, size: impl Fn(&str) -> Result<[String; 2]>) -> Result<String> {
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    // The elements that are open around the code, and what stands in it.
    let mut open: Vec<String> = Vec::new();
    let mut code: Option<(StartTag<usize>, String)> = None;
    let is_about_library = path != PRINT && page.contains(LIBRARY);
    let mut named: BTreeSet<String> = BTreeSet::new();
    for token in tokens(page) {
        match token {
            Token::StartTag(tag) => match &**tag.name {
                b"img" => edits.extend(picture(&tag, &size)?),
                b"code" if open.iter().any(|name| name == "main") => code = Some((tag, String::new())),
                b"main" | b"a" | b"h1" | b"h2" | b"h3" | b"h4" | b"pre" => {
                    if **tag.name == *b"h2" {
                        named.clear();
                    }
                    open.push(text(&tag.name));
                }
                _ => {}
            },
            Token::String(string) => {
                if let Some((_, code)) = &mut code {
                    code.push_str(&text(&string));
                }
            }
            Token::EndTag(end) if **end.name == *b"code" => {
                let Some((tag, code)) = code.take() else { continue };
                let whole = tag.span.start..end.span.end;
                let is_inline = open.iter().all(|name| name == "main");
                if open.last().is_some_and(|name| name == "pre") {
                    edits.extend(coloured(&tag, &code).map(|html| (whole, html)));
                } else if is_inline && let Some(target) = target(&code, terms, is_about_library.then_some(&mut named)) {
                    let link = format!("<a href=\"{}{target}\">", to_root(path));
                    edits.push((whole.start..whole.start, link));
                    edits.push((whole.end..whole.end, "</a>".into()));
                }
            }
            Token::EndTag(end) if open.last().is_some_and(|name| name.as_bytes() == &**end.name) => _ = open.pop(),
            _ => {}
        }
    }
    let (mut finished, mut at) = (String::with_capacity(page.len()), 0);
    for (range, html) in edits {
        finished.push_str(&page[at..range.start]);
        finished.push_str(&html);
        at = range.end;
    }
    Ok(finished + &page[at..])
}

/// Where the code leads: to a file, or to an item of the API that is not yet among those `named`.
fn target(code: &str, terms: &Terms, named: Option<&mut BTreeSet<String>>) -> Option<String> {
    match (terms.file(code), named) {
        (Some(file), _) => Some(file.to_owned()),
        (None, Some(named)) => terms.item(code).filter(|item| named.insert(item.clone())),
        (None, None) => None,
    }
}

/// A block of code with its colours, if they are ours. highlight.js leaves alone what has the class `nohighlight`.
fn coloured(tag: &StartTag<usize>, code: &str) -> Option<String> {
    let class = attribute(tag, "class")?;
    let language = class.split_whitespace().find_map(|class| class.strip_prefix("language-"))?;
    let html = highlight(language, code)?;
    Some(format!("<code class=\"{language} nohighlight hljs\">{html}</code>"))
}

/// What a drawing's tag gets: its size, so that nothing moves when it is there, and that it may come late.
fn picture(
    tag: &StartTag<usize>,
    size: impl Fn(&str) -> Result<[String; 2]>,
) -> Result<Option<(Range<usize>, String)>> {
    let Some(source) = attribute(tag, "src").filter(|source| source.ends_with(".svg")) else { return Ok(None) };
    let [width, height] = size(&source)?;
    let name = tag.span.start + "<img".len();
    let attributes = format!(" loading=\"lazy\" width=\"{width}\" height=\"{height}\"");
    Ok(Some((name..name, attributes)))
}

/// Width and height of a drawing, in whole pixels.
fn size(svg: &str) -> Result<[String; 2]> {
    let pattern = Regex::new(r#"^<svg [^>]*?width="(\d+)[^"]*" height="(\d+)[^"]*""#)?;
    let (_, [width, height]) = pattern.captures(svg).context("a drawing without a size")?.extract();
    Ok([width.to_owned(), height.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finish(main: &str, path: &str) -> String {
        let terms = Terms::new(
            Path::new(""),
            [("docs/results/x.jsonl", "data/x.jsonl")],
            [("Problem", "api/sgemm/struct.Problem.html")],
        );
        let page = format!("<html><code>sgemm::Problem</code><main>{main}</main></html>");
        let size = |_: &str| Ok(["7".to_owned(), "8".to_owned()]);
        let finished = finished(&page, path, &terms, size).unwrap();
        let main = finished.strip_prefix("<html><code>sgemm::Problem</code><main>").unwrap();
        main.strip_suffix("</main></html>").unwrap().to_owned()
    }

    #[test]
    fn code_that_names_something_leads_to_it() {
        let link = "<a href=\"api/sgemm/struct.Problem.html\"><code>Problem</code></a>";
        let twice = "<p><code>Problem</code> <code>Problem</code> <code>other</code></p>";
        assert_eq!(finish(twice, "a.html"), format!("<p>{link} <code>Problem</code> <code>other</code></p>"));
        let section = finish("<code>Problem</code><h2><code>Problem</code></h2><code>Problem</code>", "a.html");
        assert_eq!(section, format!("{link}<h2><code>Problem</code></h2>{link}"));
        for kept in ["<a href=x><code>Problem</code></a>", "<pre><code>Problem</code></pre>"] {
            assert_eq!(finish(kept, "a.html"), kept);
        }
        let chapter = finish("<code>docs/results/x.jsonl</code>", "steps/a.html");
        assert_eq!(chapter, "<a href=\"../data/x.jsonl\"><code>docs/results/x.jsonl</code></a>");
        assert_eq!(finish("<code>Problem</code>", "print.html"), "<code>Problem</code>");
    }

    #[test]
    fn ptx_is_coloured_and_drawings_have_sizes() {
        let code = finish("<pre><code class=\"language-ptx\">ret; // &lt;\n</code></pre>", "a.html");
        let expected = "<pre><code class=\"ptx nohighlight hljs\"><span class=\"hljs-keyword\">ret</span>; \
            <span class=\"hljs-comment\">// &lt;</span>\n</code></pre>";
        assert_eq!(code, expected);
        let rust = "<pre><code class=\"language-rust\">let x;</code></pre>";
        assert_eq!(finish(rust, "a.html"), rust);
        let picture = finish("<img src=\"a.svg\" alt=\"b\">", "a.html");
        assert_eq!(picture, "<img loading=\"lazy\" width=\"7\" height=\"8\" src=\"a.svg\" alt=\"b\">");
        assert_eq!(size("<svg xmlns=\"x\" width=\"10.5\" height=\"20\" viewBox=\"0 0 1 1\">").unwrap(), ["10", "20"]);
        assert!(size("<svg>").is_err());
    }
}
