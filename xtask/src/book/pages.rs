//! The pages that have generated blocks, and what each must have.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use gpu_kernels::{STEPS, Step};

use super::page::{FOLDER, Page};
use super::{blocks, links};
use crate::workspace::step_file_name;

/// The folder of the chapters of steps.
const CHAPTERS: &str = "docs/src/steps";

const README: &str = "README.md";
const SUMMARY: &str = "docs/src/SUMMARY.md";

/// Pages that are not in the summary: itself, and what a wrong address shows.
const UNLISTED: [&str; 2] = [SUMMARY, "docs/src/404.md"];

/// Blocks that a step's chapter must have, each once; `diff` only where the step has a base.
const REQUIRED: [&str; 7] = ["result", "facts", "tile", "diff", "counters", "numbers", "limits"];

/// The name of a step's chapter and of its drawing, without an extension: that of its source.
pub fn stem(step: &Step) -> String {
    let index = STEPS.iter().position(|other| other.slug == step.slug).unwrap_or_default();
    step_file_name(index, step).trim_end_matches(".rs").to_owned()
}

/// The path of a step's chapter.
pub fn chapter(step: &Step) -> String {
    format!("{CHAPTERS}/{}.md", stem(step))
}

/// Reads the README and all pages of the book under `root`.
///
/// # Errors
/// Where one cannot be read.
pub fn read(root: &Path) -> Result<Vec<Page>> {
    let mut paths = vec![README.to_owned()];
    list(root, FOLDER, &mut paths).with_context(|| format!("cannot list {FOLDER}"))?;
    paths.sort();
    let page = |path: String| {
        let text = fs::read_to_string(root.join(&path)).with_context(|| format!("cannot read {path}"))?;
        let step = STEPS.iter().find(|step| chapter(step) == path);
        Ok(Page { path, text, step })
    };
    paths.into_iter().map(page).collect()
}

fn list(root: &Path, folder: &str, paths: &mut Vec<String>) -> std::io::Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            list(root, &path, paths)?;
        } else if path.ends_with(".md") {
            paths.push(path);
        }
    }
    Ok(())
}

/// What is wrong with the set of pages: chapters and blocks that are missing or there twice, pages that no reader finds.
pub fn complaints(pages: &[Page]) -> Vec<String> {
    let mut complaints = Vec::new();
    for step in STEPS {
        let path = chapter(step);
        match pages.iter().find(|page| page.path == path) {
            None => complaints
                .push(format!("{path}: the chapter of `{}` is missing: write it around its blocks", step.slug)),
            Some(page) => complaints.extend(blocks_of(page, step)),
        }
    }
    let strays = pages.iter().filter(|page| page.path.starts_with(CHAPTERS) && page.step.is_none());
    complaints
        .extend(strays.map(|page| format!("{}: no step has this chapter: name it after the step's source", page.path)));

    let summary = pages.iter().find(|page| page.path == SUMMARY);
    let listed: Vec<_> = summary.iter().flat_map(|page| links::targets(page)).collect();
    let unlisted = pages
        .iter()
        .filter(|page| page.is_in_book() && !UNLISTED.contains(&&*page.path) && !listed.contains(&page.path));
    complaints.extend(unlisted.map(|page| format!("{}: is not in SUMMARY.md: add it there", page.path)));
    complaints
}

/// The complaints about the blocks of a step's chapter.
fn blocks_of(page: &Page, step: &Step) -> Vec<String> {
    let Ok(blocks) = blocks::find(&page.text) else { return vec![] }; // who refills them complains
    let required = REQUIRED.into_iter().filter(|name| *name != "diff" || step.base.is_some());
    let wrong = required.filter_map(|name| match blocks.iter().filter(|block| block.name == name).count() {
        1 => None,
        0 => Some(format!(
            "{}: has no block `{name}`: add `<!-- generated: {name} -->` and `<!-- /generated -->`",
            page.path
        )),
        count => Some(format!("{}: has the block `{name}` {count} times: leave one", page.path)),
    });
    wrong.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str, text: &str) -> Page {
        let step = STEPS.iter().find(|step| chapter(step) == path);
        Page { path: path.into(), text: text.into(), step }
    }

    #[test]
    fn links_lead_from_page_to_file() {
        let link = |from: &str, to: &str| page(from, "").link(to);
        assert_eq!(link("docs/src/steps/a.md", "docs/src/figures/a.svg"), "../figures/a.svg");
        assert_eq!(link("docs/src/a.md", "docs/src/figures/a.svg"), "figures/a.svg");
        assert_eq!(link("README.md", "docs/results/x"), "docs/results/x");
    }

    #[test]
    fn missing_chapters_and_blocks_are_named() {
        let blocks = |names: &[&str]| {
            let block = |name: &&str| format!("<!-- generated: {name} -->\n<!-- /generated -->\n");
            names.iter().map(block).collect::<String>()
        };
        let naive =
            page("docs/src/steps/01_naive.md", &blocks(&["result", "facts", "tile", "counters", "numbers", "limits"]));
        let coalesced = page(
            "docs/src/steps/02_coalesced.md",
            &blocks(&["result", "facts", "facts", "tile", "counters", "numbers", "limits"]),
        );
        let stray = page("docs/src/steps/99_other.md", "");
        let summary = page(SUMMARY, "- [1](steps/01_naive.md)\n- [x](steps/99_other.md)\n");
        let found = complaints(&[naive, coalesced, stray, summary]);
        let about = |what: &str| found.iter().filter(|line| line.contains(what)).cloned().collect::<Vec<_>>();
        assert_eq!(about("01_naive"), Vec::<String>::new());
        assert_eq!(about("02_coalesced").len(), 3, "{found:#?}"); // facts twice, no diff, not in SUMMARY.md
        assert!(about("03_smem_tiling.md: the chapter of `smem-tiling` is missing").len() == 1);
        assert_eq!(about("no step has this chapter").len(), 1);
    }
}
