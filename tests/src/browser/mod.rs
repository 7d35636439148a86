//! A headless Chromium that opens the project's pages, and says what a reader would complain about.
//!
//! [`examine`] opens a page in a wide and a narrow window, light and dark, saves pictures of it, and collects the
//! complaints: errors on the console, requests to elsewhere, and what `check.js` finds in the layout.

mod devtools;
mod page;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::json;
use tempfile::TempDir;

use devtools::Devtools;
pub use page::{Loads, Page};

/// A browser, which ends with this value.
#[derive(Debug)]
pub struct Browser {
    // Ends before its folder is removed.
    devtools: Devtools,
    _profile: TempDir,
}

impl Browser {
    /// Starts the browser `program`, with a profile of its own.
    pub fn start(program: &Path) -> Result<Self> {
        let profile = tempfile::tempdir()?;
        Ok(Self { devtools: Devtools::start(program, profile.path())?, _profile: profile })
    }

    /// Opens the page at `url` in a window of its own, whose storage is empty, and waits until it stands.
    pub fn open(&mut self, url: &str, window: Window, loads: Loads) -> Result<Page<'_>> {
        let context = self.devtools.call(None, "Target.createBrowserContext", json!({}))?;
        let context = text(&context["browserContextId"])?;
        Page::open(&mut self.devtools, context, url, window, loads).with_context(|| url.to_owned())
    }
}

/// How a page is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// CSS pixels.
    pub width: u32,
    /// Whether the reader asks for dark colours.
    pub is_dark: bool,
}

impl Window {
    /// Those in which each page is examined: a desk's screen and a phone's, light and dark.
    pub const ALL: [Self; 4] = [
        Self { width: 1400, is_dark: false },
        Self { width: 1400, is_dark: true },
        Self { width: 390, is_dark: false },
        Self { width: 390, is_dark: true },
    ];

    /// The name of its colours.
    #[must_use]
    pub fn theme(self) -> &'static str {
        if self.is_dark { "dark" } else { "light" }
    }

    /// A phone's screen: it has more dots than pixels, and the page decides how wide it is laid out.
    fn is_phone(self) -> bool {
        self.width < 600
    }
}

/// Where [`examine`] saves its pictures.
#[must_use]
pub fn screenshots() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "target", "screenshots"].iter().collect()
}

/// Opens the HTML file `page` in each window, saves a picture of each as `NAME-WIDTH-THEME.png` in [`screenshots`], and
/// returns the complaints, also those about what is folded away at first. A page too long for one picture continues in
/// `NAME-WIDTH-THEME-2.png` and so on.
pub fn examine(browser: &mut Browser, page: &Path, name: &str, loads: Loads) -> Result<Vec<String>> {
    let url = file_url(page)?;
    let mut complaints = Vec::new();
    for window in Window::ALL {
        let mut opened = browser.open(&url, window, loads)?;
        let look = format!("{}-{}", window.width, window.theme());
        let mut found = opened.complaints()?;
        save(&mut opened, &format!("{name}-{look}"))?;
        opened.unfold()?;
        let mut unfolded = opened.complaints()?;
        unfolded.retain(|complaint| !found.contains(complaint));
        found.extend(unfolded.into_iter().map(|complaint| format!("unfolded, {complaint}")));
        complaints.extend(found.into_iter().map(|complaint| format!("{name}-{look}: {complaint}")));
    }
    Ok(complaints)
}

/// Saves pictures of the page as `NAME.png`, `NAME-2.png` and so on in [`screenshots`].
pub fn save(page: &mut Page, name: &str) -> Result<()> {
    let folder = screenshots();
    fs::create_dir_all(&folder)?;
    for (picture, number) in page.pictures()?.into_iter().zip(1..) {
        let part = if number == 1 { String::new() } else { format!("-{number}") };
        fs::write(folder.join(format!("{name}{part}.png")), picture)?;
    }
    Ok(())
}

/// The address of the file `path`.
pub fn file_url(path: &Path) -> Result<String> {
    let path = path.canonicalize().with_context(|| path.display().to_string())?;
    let mut url = String::from("file://");
    for byte in path.to_str().context("a path that is no text")?.bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' => url.push(byte.into()),
            _ if byte.is_ascii_alphanumeric() => url.push(byte.into()),
            _ => url.push_str(&format!("%{byte:02X}")),
        }
    }
    Ok(url)
}

fn text(value: &serde_json::Value) -> Result<String> {
    value.as_str().map(str::to_owned).with_context(|| format!("a string was expected, not {value}"))
}
