//! The README's table of results: generated from a file of records that `host` wrote, never typed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use results::{Ladder, Peers, Run};

use crate::workspace::{relative, root};

/// The folder of committed results.
pub const FOLDER: &str = "docs/results";

/// Kernels in CUDA C++ that the steps stand beside.
pub const PEERS: &str = "docs/results/peers.json";

const BEGIN: &str = "<!-- results:begin -->";
const END: &str = "<!-- results:end -->";

/// Writes the table of `file`, by default the newest in docs/results, into the README.
pub fn write_readme(file: Option<&Path>) -> Result<()> {
    let file = match file {
        Some(file) => file.to_owned(),
        None => {
            newest()?.context("there are no results in docs/results: name a file that `cargo xtask bench` wrote")?
        }
    };
    fs::write(readme_file(), replace_table(&read_readme()?, &table(&file)?)?)?;
    println!("wrote the table of {} into README.md", relative(&file));
    Ok(())
}

/// Fails if the README's table is not that of the newest file of results.
pub fn check_readme() -> Result<()> {
    let Some(file) = newest()? else {
        println!("{FOLDER} holds no results yet");
        return Ok(());
    };
    let readme = read_readme()?;
    let name = relative(&file);
    let is_current = readme == replace_table(&readme, &table(&file)?)?;
    ensure!(is_current, "the table is not that of {name}: run `cargo xtask bench --write-readme`");
    println!("README.md shows {name}");
    Ok(())
}

/// The file of measurements that the documents show: the newest one.
pub fn newest() -> Result<Option<PathBuf>> {
    Ok(Run::newest_in(&root().join(FOLDER))?)
}

/// What others measured.
pub fn peers() -> Result<Peers> {
    Ok(Peers::read(&root().join(PEERS))?)
}

fn table(file: &Path) -> Result<String> {
    Ok(Ladder::new(&Run::read(file)?, &peers()?)?.markdown(&relative(file), PEERS))
}

fn readme_file() -> PathBuf {
    root().join("README.md")
}

fn read_readme() -> Result<String> {
    fs::read_to_string(readme_file()).context("cannot read README.md")
}

/// `readme` with `table` between its two markers.
fn replace_table(readme: &str, table: &str) -> Result<String> {
    let markers = readme.find(BEGIN).zip(readme.find(END)).filter(|(begin, end)| begin < end);
    let (begin, end) = markers.with_context(|| format!("README.md has no `{BEGIN}` with an `{END}` after it"))?;
    Ok(format!("{}{BEGIN}\n{table}{}", &readme[..begin], &readme[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_goes_between_the_markers() {
        let readme = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        let new = replace_table(&readme, "new\n").unwrap();
        assert_eq!(new, format!("before\n{BEGIN}\nnew\n{END}\nafter\n"));
        assert_eq!(replace_table(&new, "new\n").unwrap(), new);
        assert!(replace_table("no markers", "new\n").is_err());
    }
}
