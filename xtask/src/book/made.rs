//! What the generator makes of a workspace, compared with what is there, or written in its place.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result};
use report::Report;

use super::figures::FIGURES;
use super::request::Request;
use super::sass::Mode;
use super::sources::Sources;
use super::{blocks, links, pages, picture, readability};

/// What the generator makes.
pub struct Made {
    /// Pages and figures as they should be, by their path from the workspace's root.
    pub files: BTreeMap<String, String>,
    /// What no generator can mend, each with its place and what to do.
    pub complaints: Vec<String>,
    /// Blocks that are not what they should be, each as a complaint.
    stale_blocks: Vec<String>,
}

impl Made {
    /// Makes all pages and figures of the workspace at `root`; nothing is written.
    ///
    /// # Errors
    /// Where pages cannot be read. What is wrong with a page is a complaint.
    pub fn of(root: &Path, sources: &Sources, mode: Mode) -> Result<Self> {
        let pages = pages::read(root)?;
        let mut made = Self { files: BTreeMap::new(), complaints: pages::complaints(&pages), stale_blocks: Vec::new() };
        let mut figures = BTreeMap::new();
        let shown = [picture::run(sources)];
        let report = Report::new(&shown, &sources.peers);
        for page in &pages {
            let at = |line: usize, name: &str| format!("{}:{line}: the block `{name}`", page.path);
            let text = blocks::refill(&page.text, |block| {
                match (Request { sources, report: &report, page, block, mode }).answer(&mut figures) {
                    Ok(content) if content.trim_end() == block.content.trim_end() => None,
                    Ok(content) => {
                        let place = at(block.line, block.name);
                        made.stale_blocks.push(format!("{place} is stale: run `cargo xtask book`"));
                        Some(content)
                    }
                    Err(error) => {
                        made.complaints.push(format!("{}: {error:#}", at(block.line, block.name)));
                        None
                    }
                }
            });
            match text {
                Ok(text) => _ = made.files.insert(page.path.clone(), text),
                Err(complaint) => made.complaints.push(format!("{}:{complaint}", page.path)),
            }
        }
        made.files.extend(figures.into_iter().map(|(name, svg)| (format!("{FIGURES}/{name}.svg"), svg)));
        made.complaints.extend(links::complaints(&made.files));
        made.complaints.extend(readability::complaints(&pages));
        Ok(made)
    }

    /// A complaint for each block and figure that is not what it should be.
    ///
    /// # Errors
    /// Where files cannot be read.
    pub fn stale(&self, root: &Path) -> Result<Vec<String>> {
        let mut stale = self.stale_blocks.clone();
        let figures = self.files.iter().filter(|(path, _)| path.starts_with(FIGURES));
        for (path, svg) in figures {
            if read(&root.join(path))?.as_ref() != Some(svg) {
                stale.push(format!("{path}: the figure is stale: run `cargo xtask book`"));
            }
        }
        let unused = self.unused(root)?.into_iter();
        stale.extend(
            unused.map(|path| format!("{path}: no page shows this figure: run `cargo xtask book`, which removes it")),
        );
        Ok(stale)
    }

    /// Writes what is not as it should be, removes figures that no page shows, and counts both.
    ///
    /// # Errors
    /// Where files cannot be written.
    pub fn write(&self, root: &Path) -> Result<usize> {
        let mut written = 0;
        for (path, text) in &self.files {
            let file = root.join(path);
            if read(&file)?.as_ref() != Some(text) {
                fs::create_dir_all(file.with_file_name(""))?;
                fs::write(&file, text).with_context(|| format!("cannot write {path}"))?;
                written += 1;
            }
        }
        for path in self.unused(root)? {
            fs::remove_file(root.join(&path)).with_context(|| format!("cannot remove {path}"))?;
            written += 1;
        }
        Ok(written)
    }

    /// Figures that are there and that nothing makes.
    fn unused(&self, root: &Path) -> Result<Vec<String>> {
        let Ok(folder) = fs::read_dir(root.join(FIGURES)) else { return Ok(vec![]) };
        let mut unused = Vec::new();
        for entry in folder {
            let path = format!("{FIGURES}/{}", entry?.file_name().to_string_lossy());
            if path.ends_with(".svg") && !self.files.contains_key(&path) {
                unused.push(path);
            }
        }
        unused.sort();
        Ok(unused)
    }
}

/// A file's text, if it is there.
fn read(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A workspace with these files, the README among them.
    fn workspace(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let file = folder.path().join(path);
            fs::create_dir_all(file.with_file_name("")).unwrap();
            fs::write(file, text).unwrap();
        }
        folder
    }

    const README: (&str, &str) = ("README.md", "# T\n<!-- generated: ladder -->\nold\n<!-- /generated -->\nend\n");

    #[test]
    fn what_is_stale_is_found_and_what_is_written_is_not() {
        let chapter = "<!-- generated: facts -->\n<!-- /generated -->\n<!-- generated: tile -->\n<!-- /generated -->\n";
        let files = [README, ("docs/src/steps/01_naive.md", chapter), ("docs/src/figures/old.svg", "<svg/>")];
        let workspace = workspace(&files);
        let sources = Sources::read(crate::workspace::root()).unwrap();
        let made = || Made::of(workspace.path(), &sources, Mode::Compare).unwrap();
        let stale = made().stale(workspace.path()).unwrap().join("\n");
        for place in
            ["README.md:2: the block `ladder`", "01_naive.md:1: the block `facts`", "figures/01_naive.svg", "old.svg"]
        {
            assert!(stale.contains(place), "{place}: {stale}");
        }
        assert_eq!(stale.lines().count(), 5, "{stale}");

        assert_eq!(made().write(workspace.path()).unwrap(), 4);
        assert_eq!(made().stale(workspace.path()).unwrap(), Vec::<String>::new());
        assert_eq!(made().write(workspace.path()).unwrap(), 0);
        let readme = fs::read_to_string(workspace.path().join("README.md")).unwrap();
        assert!(readme.contains("| `naive` | fp32 |") && readme.ends_with("<!-- /generated -->\nend\n"), "{readme}");
    }

    #[test]
    fn blocks_that_nothing_can_fill_are_named_and_kept() {
        let page =
            "<!-- generated: nonsense -->\nkept\n<!-- /generated -->\n<!-- generated: facts -->\n<!-- /generated -->\n";
        let workspace = workspace(&[README, ("docs/src/a.md", page)]);
        let sources = Sources::read(crate::workspace::root()).unwrap();
        let made = Made::of(workspace.path(), &sources, Mode::Compare).unwrap();
        assert_eq!(made.files["docs/src/a.md"], page);
        let has = |text: &str| made.complaints.iter().any(|complaint| complaint.starts_with(text));
        assert!(has("docs/src/a.md:1: the block `nonsense`: there is no such block"), "{:?}", made.complaints);
        assert!(has("docs/src/a.md:4: the block `facts`: this block belongs to the chapter"), "{:?}", made.complaints);
    }
}
