//! The picture of a distributed product over time.

use std::path::Path;

use report::{Layout, Theme};
use results::Timeline;

use crate::Error;

/// Draws to a file when tasks ran.
pub(crate) fn draw_timeline(path: &Path, timeline: &Timeline) -> Result<(), Error> {
    let svg = report::timeline(timeline).svg(Layout::Wide, Theme::Auto);
    std::fs::write(path, svg).map_err(|source| Error::Output { path: path.to_owned(), source })
}
