//! The book as a site: one folder that any static host serves, and that opens as files.
//!
//!     index.html, steps/, ...   the book, by mdBook
//!     api/                      the documentation of the crates that others use, and their sources, by rustdoc
//!     report/                   the page of the newest run
//!     data/                     the records, as they lie in docs/results/
//!     playground/               the emulator in the page
//!
//! The book's Markdown is read in the repository, too, where there is no `api/`: so links there are added to the finished pages.

mod api;
mod highlight;
mod html;
mod links;
mod mdbook;
mod pages;
mod playground;
mod terms;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use report::Report;

use super::picture;
use super::sources::{FOLDER as RESULTS, Sources};
use crate::workspace::{self, root};
use terms::Terms;

/// The site, in the workspace.
const FOLDER: &str = "target/book";

/// Folders of the site, beside the book's own pages.
const API: &str = "api";
const DATA: &str = "data";
const REPORT: &str = "report/index.html";

/// Builds the site, checks its links, and opens it in the browser if `open`.
pub fn build(sources: &Sources, open: bool) -> Result<()> {
    let site = root().join(FOLDER);
    mdbook::render(&site)?;
    let pages = html_files(&site)?;
    api::document(&site.join(API))?;
    copy(&root().join(RESULTS), &site.join(DATA))?;
    let report = site.join(REPORT);
    fs::create_dir_all(report.with_file_name(""))?;
    fs::write(report, Report::new(&[picture::run(sources)], &sources.peers).html())?;

    let terms = Terms::of(&site)?;
    for page in &pages {
        pages::finish(&site, page, &terms).with_context(|| page.clone())?;
    }
    playground::build(&site, &pages)?;
    let outward = links::check(&site)?;
    say!("the site: {FOLDER}/index.html; every link in it leads somewhere, {outward} lead out of it");
    if open { show(&site.join("index.html")) } else { Ok(()) }
}

/// Opens a file with the program that the system has for it.
fn show(file: &Path) -> Result<()> {
    let program = if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(windows) {
        "explorer"
    } else {
        "xdg-open"
    };
    workspace::run(Command::new(program).arg(file)).context("open it yourself")
}

/// The pages under a folder, by their paths in it, with `/`.
fn html_files(folder: &Path) -> Result<Vec<String>> {
    Ok(files(folder)?.into_iter().filter(|path| path.ends_with(".html")).collect())
}

/// The files under a folder, by their paths in it, with `/`, in order.
fn files(folder: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inner) = folders.pop() {
        let entries = fs::read_dir(folder.join(&inner)).with_context(|| format!("cannot list {}", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            let path = inner.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else {
                files.push(path.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Copies all files under a folder.
fn copy(from: &Path, to: &Path) -> Result<()> {
    for file in files(from)? {
        let copy = to.join(&file);
        fs::create_dir_all(copy.with_file_name(""))?;
        fs::copy(from.join(&file), copy).with_context(|| format!("cannot copy {file}"))?;
    }
    Ok(())
}
