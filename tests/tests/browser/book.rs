//! The book: its figures, and the site where it was built (`cargo xtask book --html`).

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use tests::browser::{Browser, Loads, Page, Window, file_url, save};

use crate::Shared;

const FIGURES: &str = "docs/src/figures";

/// A chapter with Rust, PTX and SASS, and one with a change of code.
const CODE: [&str; 2] = ["rust-to-ptx.html", "steps/07_bank_conflicts.html"];

const DESK: Window = Window { width: 1400, is_dark: false };
const PHONE: Window = Window { width: 390, is_dark: false };

/// The page for paper opens a dialogue, and that for wrong addresses needs a server.
const ELSEWHERE: [&str; 2] = ["print.html", "404.html"];

/// Pages by rustdoc, and the complaints about what it decides.
const API: [&str; 2] = ["api/sgemm/index.html", "api/src/gpu_kernels/steps/01_naive.rs.html"];
const LAYOUT: [&str; 5] = ["overflow", "overlap", "cut", "tiny", "contrast"];

/// mdBook's themes.
pub const THEMES: [&str; 5] = ["light", "rust", "coal", "navy", "ayu"];

/// The trials of this file.
pub fn trials(browser: &Shared) -> Vec<Trial> {
    // `cargo xtask check book` says where one is missing.
    let is_drawn = root().join(FIGURES).is_dir();
    let is_built = site("index.html").is_file();
    let trial = |name: &str, test: fn(&mut Browser) -> Result<()>| {
        let test = move |browser: &mut Browser| {
            test(browser).context("target/book, as `cargo xtask book --html` last built it")
        };
        browser.trial(name, test).with_ignored_flag(!is_built)
    };
    vec![
        browser.trial("the book's figures", figures).with_ignored_flag(!is_drawn),
        trial("the book: every page", pages),
        trial("the book: search", search),
        trial("the book: code in every theme", code),
    ]
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// A page of the site.
fn site(page: &str) -> PathBuf {
    root().join("target/book").join(page)
}

/// Figures at their own size, each in a page: what is inside of an image cannot be examined.
fn figures(browser: &mut Browser) -> Result<()> {
    let folder = root().join(FIGURES);
    let mut files = fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    files.sort();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "svg"));
    ensure!(!files.is_empty(), "there are no figures");
    let pages = tempfile::tempdir()?;
    let page = pages.path().join("figure.html");
    let mut complaints = Vec::new();
    let mut opened = browser.open("about:blank", DESK, Loads::Nothing)?;
    for file in files {
        let head =
            "<!DOCTYPE html><meta charset=utf-8><meta name=color-scheme content='light dark'><title>Figure</title>";
        fs::write(&page, format!("{head}{}", fs::read_to_string(&file)?))?;
        opened.go_to(&file_url(&page)?)?;
        for is_dark in [true, false] {
            opened.prefer_dark(is_dark)?;
            let name = format!("{}, {}", file.file_name().unwrap_or_default().display(), theme(is_dark));
            complaints.extend(opened.complaints()?.into_iter().map(|complaint| format!("{name}: {complaint}")));
        }
    }
    nobody_complains(&complaints)
}

fn theme(is_dark: bool) -> &'static str {
    if is_dark { "dark" } else { "light" }
}

/// Every chapter and the pages beside the book, unfolded, wide and narrow, light and dark; a picture of each that somebody complains
/// about.
fn pages(browser: &mut Browser) -> Result<()> {
    let mut pages = chapters("")?;
    pages.extend(chapters("steps/")?);
    pages.extend(
        ["report/index.html", "api/sgemm/index.html", "api/src/gpu_kernels/steps/01_naive.rs.html"].map(str::to_owned),
    );
    pages.retain(|page| !ELSEWHERE.contains(&page.as_str()));
    let mut complaints = Vec::new();
    for width in [DESK, PHONE] {
        let mut opened = browser.open("about:blank", width, Loads::Files)?;
        for page in &pages {
            opened.go_to(&file_url(&site(page))?)?;
            opened.unfold()?;
            for is_dark in [true, false] {
                opened.prefer_dark(is_dark)?;
                let mut found = opened.complaints()?;
                if API.contains(&page.as_str()) {
                    found.retain(|complaint| LAYOUT.iter().all(|kind| !complaint.starts_with(kind)));
                }
                let look = format!("{page}-{}-{}", width.width, theme(is_dark));
                if !found.is_empty() {
                    save(&mut opened, &format!("book-{}", look.replace('/', "-")))?;
                }
                complaints.extend(found.into_iter().map(|complaint| format!("{look}: {complaint}")));
            }
        }
    }
    nobody_complains(&complaints)
}

/// The pages in a folder of the book.
fn chapters(folder: &str) -> Result<Vec<String>> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(site(folder))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".html") {
            pages.push(format!("{folder}{name}"));
        }
    }
    pages.sort();
    ensure!(!pages.is_empty(), "there is nothing in {folder}");
    Ok(pages)
}

/// The search finds a word without a server, and leads to where it stands.
fn search(browser: &mut Browser) -> Result<()> {
    for window in [DESK, PHONE] {
        let mut page = browser.open(&file_url(&site("index.html"))?, window, Loads::Files)?;
        let found: String = page.evaluate(
            "(async () => {
                document.querySelector('#mdbook-search-toggle').click();
                const bar = document.querySelector('#mdbook-searchbar');
                const results = document.querySelector('#mdbook-searchresults');
                bar.value = 'sector';
                bar.dispatchEvent(new KeyboardEvent('keyup', { key: 'r', bubbles: true }));
                bar.dispatchEvent(new InputEvent('input', { bubbles: true }));
                const isFound = () => results.querySelector('a');
                await { then: (found) => isFound() ? found() : new MutationObserver(() => isFound() && found())
                    .observe(results, { childList: true }) };
                return results.innerText;
            })()",
        )?;
        ensure!(found.to_lowercase().contains("sector"), "found: {found}");
        nobody_complains(&page.complaints()?)?;
    }
    Ok(())
}

/// Code has colours, and they can be read in every theme.
fn code(browser: &mut Browser) -> Result<()> {
    let mut complaints = Vec::new();
    for chapter in CODE {
        let mut page = browser.open(&file_url(&site(chapter))?, DESK, Loads::Files)?;
        page.unfold()?;
        for theme in THEMES {
            page.evaluate::<bool>(&format!("document.querySelector('#mdbook-theme-{theme}').click(), true"))?;
            page.settle()?;
            complaints.extend(page.complaints()?.into_iter().map(|found| format!("{chapter}, {theme}: {found}")));
        }
        let plain = colourless(&mut page)?.into_iter();
        complaints.extend(plain.map(|block| format!("{chapter}: code of {block} has no colours")));
    }
    nobody_complains(&complaints)
}

/// The languages of blocks without a coloured word.
fn colourless(page: &mut Page) -> Result<Vec<String>> {
    page.evaluate(
        "[...document.querySelectorAll('pre > code')]
            .filter((code) => /\\b(ptx|sass|rust|diff)\\b/.test(code.className) && !code.querySelector('[class^=hljs-]'))
            .map((code) => code.className)",
    )
}

fn nobody_complains(complaints: &[String]) -> Result<()> {
    ensure!(complaints.is_empty(), "{} complaints\n{}", complaints.len(), complaints.join("\n"));
    Ok(())
}
