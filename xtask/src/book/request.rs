//! Which generator writes which block.

use anyhow::{Context, Result, bail};
use gpu_kernels::Step;
use report::Report;
use results::Ladder;

use super::blocks::Block;
use super::figures::Figures;
use super::page::Page;
use super::sass::{self, Mode};
use super::sources::{PEERS, Sources};
use super::{
    accuracy, chosen, counters, drop_in, example, headline, host_pointers, limits, metrics, numbers, picture,
    public_kernels, result, scale, schema, shapes, step, tile, together,
};
use crate::workspace::parse_step;

/// A block of a page that is to be written.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// What the documents show.
    pub sources: &'a Sources,
    /// Their pictures.
    pub report: &'a Report<'a>,
    /// The page that it is in.
    pub page: &'a Page,
    /// The block as it stands there.
    pub block: Block<'a>,
    /// What may be done to have machine code.
    pub mode: Mode,
}

impl Request<'_> {
    /// The block's content; a figure that it shows is added to `figures`.
    ///
    /// # Errors
    /// One line that says what to do.
    pub fn answer(&self, figures: &mut Figures) -> Result<String> {
        let Self { sources, report, page, block, mode } = *self;
        let (kind, argument) = block.name.split_once(' ').unwrap_or((block.name, ""));
        match (kind, argument) {
            ("result", "") => result::block(self.step()?, sources),
            ("limits", "") => limits::block(self.step()?, sources),
            ("chosen", "") => Ok(chosen::block(self.step()?, sources)),
            ("timeline", "") => tile::timeline::block(self.step()?, sources, page, figures),
            ("headline", name) => headline::block(name, sources),
            ("facts", "") => step::facts(self.step()?),
            ("diff", "") => step::diff(self.step()?),
            ("tile", "") => tile::block(self.step()?, page, figures),
            ("counters", "") => Ok(counters::block(self.step()?, sources)),
            ("numbers", "") => numbers::block(self.step()?, sources),
            ("sass", "") => sass::block(self.step()?, block.content, mode),
            ("sass", slug) => sass::block(parse_step(slug).map_err(anyhow::Error::msg)?, block.content, mode),
            ("ladder", "") => self.ladder(),
            ("picture", name) if !name.is_empty() => picture::block(name, report, sources, page, figures),
            ("example", name) if !name.is_empty() => example::block(name),
            ("accuracy", "") => accuracy::block(sources),
            ("shapes", "") => shapes::block(sources),
            ("drop-in", "") => drop_in::block(),
            ("host-pointers", "") => host_pointers::block(),
            ("call-overhead", "") => host_pointers::calls(),
            ("scale", class) => scale::block(class),
            ("together", name) => together::block(name),
            ("figures", "") => Ok(counters::figures()),
            ("metrics", "") => metrics::block(sources),
            ("public-kernels", "") => public_kernels::block(),
            ("schema", "") => schema::block(),
            _ => bail!("there is no such block: `cargo xtask book --help` lists them"),
        }
    }

    fn step(&self) -> Result<&'static Step> {
        self.page.step.context("this block belongs to the chapter of a step: move it there")
    }

    /// The table of results. Its files are links only outside the book, which has no other files.
    fn ladder(&self) -> Result<String> {
        let Self { sources: Sources { run, peers, file, .. }, page, .. } = self;
        let ladder = Ladder::new(run, peers)?;
        let file_of = |text: &str, path: &str| match page.is_in_book() {
            true if text == path => format!("`{path}`"),
            true => format!("{text} (`{path}`)"),
            false => format!("[{text}]({})", page.link(path)),
        };
        Ok(ladder.markdown(&file_of(file, file), ladder.peers.as_ref().map(|what| file_of(what, PEERS)).as_deref()))
    }
}
