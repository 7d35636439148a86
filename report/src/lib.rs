//! What runs left, for people to look at: pictures, as SVG and PNG, and one page of HTML that needs nothing else.
//! [`Canvas`] and its palette draw these, and the book's drawings of tiles.
//!
//! [`Report`] takes one or several [`Run`]s and shows them side by side; `write` puts everything into a folder. All
//! figures are those of the [`results`] crate, so that the page, the README and the book cannot differ.
//!
//! ```
//! use report::{Layout, Report, Theme};
//! use results::{Peers, Run};
//!
//! let run = Run::parse("example", r#"{"record": "accuracy", "schema": 1, "kernel": "naive", "precision": "fp32", "inputs": "uniform", "m": 128, "n": 128, "k": 64, "seed": 1, "rows_compared": 128, "rel_error": 1.4e-7, "max_error": 2.8e-7, "compared_with": "naive", "rel_error_ratio": 1, "max_error_ratio": 1, "promises": false, "verdict": "same", "backend": "emulator", "device": "NVIDIA H200", "compute_capability": "9.0", "driver": "", "cuda": "", "date": "2026-05-04T03:02:01Z", "commit": "unknown"}"#)?;
//! let (runs, peers) = ([run], Peers::default());
//! let report = Report::new(&runs, &peers);
//! assert!(report.html().starts_with("<!DOCTYPE html>"));
//! for picture in report.pictures() {
//!     assert!(picture.svg(Layout::Wide, Theme::Auto).starts_with("<svg"));
//! }
//! # Ok::<(), results::Error>(())
//! ```

mod canvas;
mod data;
mod document;
mod environment;
mod error;
mod font;
mod grid;
mod headline;
mod html;
mod legend;
mod links;
mod picture;
mod pictures;
mod place;
mod scale;
mod table;
mod theme;
mod timeline;
mod together;

#[cfg(feature = "png")]
use std::{
    fs,
    path::{Path, PathBuf},
};

pub use canvas::{Anchor, Canvas, Layout, Type};
pub use error::Error;
pub use links::{Links, StepLinks};
pub use picture::{LeftOut, Picture};
use results::{Peers, Run};
pub use table::Table;
pub use theme::Theme;
pub use timeline::timeline;

use crate::data::Data;

/// One or several runs as pictures and tables. Of several, the first one is what the others are compared with.
#[derive(Debug)]
pub struct Report<'a> {
    data: Data<'a>,
    pictures: Vec<Picture>,
    left_out: Vec<LeftOut>,
    links: Links,
}

impl<'a> Report<'a> {
    /// Draws everything that the runs have figures for. `peers` are kernels of others, which stand beside the steps.
    #[must_use]
    pub fn new(runs: &[Run], peers: &'a Peers) -> Self {
        let data = Data::new(runs, peers);
        let (mut pictures, mut left_out) = (Vec::new(), Vec::new());
        for picture in pictures::all(&data) {
            match picture(&data) {
                Ok(picture) => pictures.push(picture),
                Err(reason) => left_out.push(reason),
            }
        }
        pictures.extend(timeline::all(&data));
        Self { data, pictures, left_out, links: Links::default() }
    }

    /// The same, with addresses that its page leads to.
    #[must_use]
    pub fn with_links(self, links: Links) -> Self {
        Self { links, ..self }
    }

    /// The pictures, in the order of the page.
    #[must_use]
    pub fn pictures(&self) -> &[Picture] {
        &self.pictures
    }

    /// A picture by its name, such as `ladder`.
    #[must_use]
    pub fn picture(&self, name: &str) -> Option<&Picture> {
        self.pictures.iter().find(|picture| picture.name == name)
    }

    /// The pictures that the runs have no figures for.
    #[must_use]
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// The page: one file that needs no network.
    #[must_use]
    pub fn html(&self) -> String {
        html::page(&self.data, &self.pictures, &self.left_out, &self.links)
    }
}

/// Writes report.html, and each picture as NAME.svg and NAME.png, into a folder, and says which files these are.
///
/// # Errors
/// [`Error::Nothing`] without runs, [`Error::Write`], [`Error::Png`].
#[cfg(feature = "png")]
pub fn write(folder: &Path, runs: &[Run], peers: &Peers, links: Links) -> Result<Vec<PathBuf>, Error> {
    if runs.is_empty() {
        return Err(Error::Nothing);
    }
    let report = Report::new(runs, peers).with_links(links);
    let mut files = vec![("report.html".to_owned(), report.html().into_bytes())];
    for picture in report.pictures() {
        files.push((format!("{}.svg", picture.name), picture.svg(Layout::Wide, Theme::Auto).into_bytes()));
        files.push((format!("{}.png", picture.name), picture.png(Layout::Wide, Theme::Light)?));
    }
    write_all(folder, &files)
}

/// Writes the files beside those that they replace, then puts them in their place: all of them, or none where one cannot be written.
#[cfg(feature = "png")]
fn write_all(folder: &Path, files: &[(String, Vec<u8>)]) -> Result<Vec<PathBuf>, Error> {
    let failed = |path: &Path, source| Error::Write { path: path.to_owned(), source };
    let new: Vec<_> = files.iter().map(|(name, _)| folder.join(format!(".{name}.new"))).collect();
    let result = new
        .iter()
        .zip(files)
        .try_for_each(|(path, (_, bytes))| fs::write(path, bytes).map_err(|source| failed(path, source)));
    if let Err(error) = result {
        for path in &new {
            // It may not be there.
            let _ = fs::remove_file(path);
        }
        return Err(error);
    }
    let put = |(new, (name, _)): (&PathBuf, &(String, Vec<u8>))| {
        let path = folder.join(name);
        fs::rename(new, &path).map_err(|source| failed(&path, source)).map(|()| path)
    };
    new.iter().zip(files).map(put).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_written_whole_or_not_at_all() {
        let folder = tempfile::TempDir::new().unwrap();
        let files = ["a", "b"].map(|name| (name.to_owned(), b"new".to_vec()));
        fs::write(folder.path().join("a"), "old").unwrap();
        // What is a folder cannot be written.
        fs::create_dir(folder.path().join(".b.new")).unwrap();
        let error = write_all(folder.path(), &files).unwrap_err();
        assert!(matches!(error, Error::Write { .. }), "{error}");
        assert_eq!(fs::read(folder.path().join("a")).unwrap(), b"old");
        assert!(!folder.path().join(".a.new").exists());
        fs::remove_dir(folder.path().join(".b.new")).unwrap();
        assert_eq!(write_all(folder.path(), &files).unwrap(), ["a", "b"].map(|name| folder.path().join(name)));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
