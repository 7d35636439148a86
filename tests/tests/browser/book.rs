//! The book: its figures, and pages of it where it was rendered (`cargo xtask book --html`).

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use tests::browser::{Browser, Loads, Window, file_url};

use crate::{Shared, is_fine};

/// Pages of each kind: text, a step with its drawing, tables.
const PAGES: [(&str, &str); 3] =
    [("introduction", "index.html"), ("2d-tiling", "steps/05_tiling_2d.html"), ("results", "results.html")];

const FIGURES: &str = "docs/src/figures";

/// The trials of this file.
pub fn trials(browser: &Shared) -> Vec<Trial> {
    // `cargo xtask check book` says where one is missing.
    let is_drawn = root().join(FIGURES).is_dir();
    let mut trials = vec![browser.trial("the book's figures", figures).with_ignored_flag(!is_drawn)];
    let is_rendered = root().join("target/book/index.html").is_file();
    for (name, page) in PAGES {
        let examine = move |browser: &mut Browser| {
            is_fine(browser, &root().join("target/book").join(page), &format!("book-{name}"), Loads::Files)
                .context("target/book, as `cargo xtask book --html` last rendered it")
        };
        trials.push(browser.trial(&format!("the book: {name}"), examine).with_ignored_flag(!is_rendered));
    }
    trials
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
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
    for file in files {
        let head =
            "<!DOCTYPE html><meta charset=utf-8><meta name=color-scheme content='light dark'><title>Figure</title>";
        fs::write(&page, format!("{head}{}", fs::read_to_string(&file)?))?;
        for window in Window::ALL.into_iter().filter(|window| window.width > 1000) {
            let found = browser.open(&file_url(&page)?, window, Loads::Nothing)?.complaints()?;
            let name = file.file_name().unwrap_or_default().display();
            complaints.extend(found.into_iter().map(|complaint| format!("{name}, {}: {complaint}", window.theme())));
        }
    }
    ensure!(complaints.is_empty(), "{} complaints\n{}", complaints.len(), complaints.join("\n"));
    Ok(())
}
