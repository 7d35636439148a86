//! Pages, opened in a headless Chromium; ignored where there is none, except on CI.

mod book;
mod examination;
mod playground;
mod report;

use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, ensure};
use cuda_builder::tools;
use libtest_mimic::{Arguments, Failed, Trial};
use tests::browser::{Browser, Loads, examine};

/// The browser of all trials, started by the first that needs it, or why it does not start.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Option<Result<Browser, String>>>>);

impl Shared {
    /// A trial that gets the browser.
    fn trial(&self, name: &str, test: impl FnOnce(&mut Browser) -> Result<()> + Send + 'static) -> Trial {
        let shared = self.clone();
        Trial::test(name, move || shared.with(test))
    }

    /// Runs `test` with the browser. After a failure the next one gets a new browser.
    fn with(&self, test: impl FnOnce(&mut Browser) -> Result<()>) -> Result<(), Failed> {
        let mut slot = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut browser = slot.take().unwrap_or_else(|| start().map_err(|error| format!("{error:#}")));
        let result = match &mut browser {
            Ok(browser) => test(browser).map_err(|error| format!("{error:#}")),
            Err(error) => Err(error.clone()),
        };
        if result.is_ok() || browser.is_err() {
            *slot = Some(browser);
        }
        Ok(result?)
    }
}

fn start() -> Result<Browser> {
    Browser::start(&tools::browser().context("no Chromium: run `cargo xtask setup --browser`")?)
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let is_ignored = tools::browser().is_none() && std::env::var_os("CI").is_none_or(|ci| ci != "true");
    if is_ignored {
        eprintln!("no page is opened: no Chromium (`cargo xtask setup --browser`)");
    }
    let browser = Shared::default();
    let trials =
        [examination::trials(&browser), report::trials(&browser), book::trials(&browser), playground::trials(&browser)];
    let ignored = |trial: Trial| {
        let is_ignored = is_ignored || trial.has_ignored_flag();
        trial.with_ignored_flag(is_ignored)
    };
    let trials = trials.into_iter().flatten().map(ignored).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Nobody complains about `page` in any window.
fn is_fine(browser: &mut Browser, page: &Path, name: &str, loads: Loads) -> Result<()> {
    let complaints = examine(browser, page, name, loads)?;
    ensure!(complaints.is_empty(), "{} complaints\n{}", complaints.len(), complaints.join("\n"));
    Ok(())
}
