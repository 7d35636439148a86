//! Pictures of the newest results, as the report has them.

use anyhow::{Result, bail};
use report::{Layout, Report, Theme};
use results::Run;

use super::figures::{FIGURES, Figures};
use super::page::Page;
use super::sources::{Sources, TIMELINES};

/// The picture that has place for errors on many kinds of inputs.
const ERRORS: &str = "precision";

/// What pictures of timelines are called, but for a number behind it.
const TIMELINE: &str = "timeline";

/// What pictures show: the newest run, with the errors of [`errors`], and the timelines of several devices.
pub fn run(sources: &Sources) -> Run {
    let accuracy = errors(sources).map_or_else(Vec::new, |(_, run)| run.accuracy.clone());
    Run { accuracy, timelines: sources.timelines.clone(), ..sources.run.clone() }
}

/// Of the files of errors, the one with the largest C: cuBLAS has its sums in one piece there.
fn errors(sources: &Sources) -> Option<&(String, Run)> {
    sources.accuracy.iter().max_by_key(|(_, run)| run.accuracy.first().map(|row| (row.m, row.n)))
}

/// The block `picture NAME`: the picture of `report`, with its note and where its figures come from.
pub fn block(name: &str, report: &Report, sources: &Sources, page: &Page, figures: &mut Figures) -> Result<String> {
    let Some(picture) = report.picture(name) else {
        match report.left_out().iter().find(|left_out| left_out.name == name) {
            Some(left_out) => bail!("the picture cannot be drawn from {}: {}", sources.file, left_out.reason),
            None => bail!("there is no such picture: take {}", names(report)),
        }
    };
    figures.insert(name.to_owned(), picture.svg(Layout::Wide, Theme::Auto));
    let link = page.link(&format!("{FIGURES}/{name}.svg"));
    let title = picture.title.replace(['[', ']'], "");
    let also = errors(sources).filter(|_| name == ERRORS).map(|(file, _)| format!(", `{file}`")).unwrap_or_default();
    let file = if name.starts_with(TIMELINE) { TIMELINES } else { &sources.file };
    Ok(format!("![{title}]({link})\n\n*{}* Every figure: `{file}`{also}.\n", picture.note.trim_end()))
}

/// The names that there are.
fn names(report: &Report) -> String {
    let drawn = report.pictures().iter().map(|picture| picture.name.as_str());
    let all: Vec<_> = drawn.chain(report.left_out().iter().map(|left_out| left_out.name)).collect();
    all.join(", ")
}
