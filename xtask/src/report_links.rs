//! Where a report's page leads to: chapters, sources and data, relative to the folder that it lies in.

use std::path::{Component, Path};
use std::process::Command;

use gpu_kernels::{STEPS, Step};
use report::{Links, StepLinks};
use results::Run;

use crate::workspace::{relative, root, step_file};

/// The addresses for a page in `folder` about `runs`.
pub fn links(folder: &Path, runs: &[Run]) -> Links {
    let up = upwards(folder, root());
    let commit = runs.iter().find_map(|run| Some(run.measurements.first()?.commit.clone())).unwrap_or_default();
    let address =
        |path: &str| if Path::new(path).is_absolute() { format!("file://{path}") } else { format!("{up}{path}") };
    let of = |step: &Step| {
        let source = relative(&step_file(step));
        let stem = Path::new(&source).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let line = line(&commit, &source, step.kernel);
        StepLinks {
            slug: step.slug.to_owned(),
            chapter: address(&format!("docs/src/steps/{stem}.md")),
            source: format!("{}#L{line}", address(&source)),
            line: format!("{source}:{line}"),
        }
    };
    let data = runs.iter().map(|run| address(&run.name)).collect();
    Links { steps: STEPS.iter().map(of).collect(), data, commit }
}

/// What leads from a folder to the workspace: steps upwards within it, else the whole path.
fn upwards(folder: &Path, root: &Path) -> String {
    match folder.strip_prefix(root) {
        Ok(inside) => "../".repeat(inside.components().filter(|part| matches!(part, Component::Normal(_))).count()),
        Err(_) => format!("file://{}/", root.display()),
    }
}

/// The line in which a kernel's name is given to the macro that makes it, in its file at a commit; where that is not known, as the file is
/// now.
fn line(commit: &str, file: &str, kernel: &str) -> usize {
    let shown = Command::new("git").arg("-C").arg(root()).arg("show").arg(format!("{commit}:{file}")).output();
    let at_commit = shown.ok().filter(|output| output.status.success()).map(|output| output.stdout);
    let text = at_commit.or_else(|| std::fs::read(root().join(file)).ok()).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let is_name = |character: char| character.is_alphanumeric() || character == '_' || character == '"';
    let is_it = |line: &str| line.split(|character| !is_name(character)).any(|word| word == kernel);
    text.lines().position(is_it).map_or(1, |line| line + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_has_a_chapter_and_a_line() {
        let links = links(&root().join("target/report"), &[]);
        assert_eq!(links.steps.len(), STEPS.len());
        for StepLinks { slug, chapter, source, line } in &links.steps {
            let file = |address: &str| root().join(address.strip_prefix("../../").unwrap_or(address));
            assert!(file(chapter).is_file() && file(source.split('#').next().unwrap()).is_file(), "{slug}");
            assert!(!line.ends_with(":1"), "{line}");
        }
    }

    #[test]
    fn outside_of_the_workspace_the_way_is_absolute() {
        assert_eq!(upwards(Path::new("/a/b/c"), Path::new("/a")), "../../");
        assert_eq!(upwards(Path::new("/x"), Path::new("/a")), "file:///a/");
    }
}
