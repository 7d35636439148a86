//! Pictures of a run.

use anyhow::{Result, bail};

use super::pages::Page;
use super::request::Figures;
use super::sources::Sources;

/// The block `picture NAME`.
pub fn block(name: &str, _sources: &Sources, _page: &Page, _figures: &mut Figures) -> Result<String> {
    bail!("there is no picture `{name}`")
}
