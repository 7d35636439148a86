//! `book`: refills the generated blocks of the book and of the README, draws the book's figures, and renders it.

mod accuracy;
mod blocks;
mod counters;
mod example;
mod figures;
mod html;
mod links;
mod made;
mod markdown;
mod metrics;
mod numbers;
mod page;
mod pages;
mod picture;
mod request;
mod sass;
mod scale;
mod schema;
mod shapes;
mod sources;
mod step;
mod tile;

use anyhow::{Result, ensure};

use crate::workspace::root;
use made::Made;
use sass::Mode;
use sources::Sources;
pub use sources::{FOLDER, PEERS};

/// Refill the book's and the README's generated blocks, and draw the book's figures
///
/// A block stands between the lines `<!-- generated: NAME -->` and `<!-- /generated -->`. In a step's chapter NAME is `facts`,
/// `tile`, `diff`, `counters`, `numbers` or `sass`; on any page `sass STEP`, `ladder`, `picture NAME` (of the report),
/// `accuracy`, `shapes`, `scale CLASS`, `figures`, `metrics`, `schema` or `example NAME` (of the library). They are made of the steps' source, constants and
/// PTX, of the newest file in docs/results/, and of sgemm/examples/. `cargo xtask check book` fails when one of them is not what this command would write.
#[derive(clap::Args)]
pub struct Args {
    /// Render the book to target/book as well, by mdBook, which is installed under target/ if there is none
    #[arg(long)]
    html: bool,
    /// Render it, and open it in the browser
    #[arg(long)]
    open: bool,
}

/// Runs `book`.
pub fn run(args: &Args) -> Result<()> {
    let made = Made::of(root(), &Sources::read(root())?, Mode::Assemble)?;
    let written = made.write(root())?;
    say!("{written} files written, {} as they were", made.files.len() - written.min(made.files.len()));
    complain(&made.complaints)?;
    if args.html || args.open { html::render(args.open) } else { Ok(()) }
}

/// Fails if the book is not complete, or anything generated is not what [`run`] would write.
pub fn check() -> Result<()> {
    let made = Made::of(root(), &Sources::read(root())?, Mode::Compare)?;
    complain(&[made.complaints.clone(), made.stale(root())?].concat())?;
    say!("{} pages and figures are as generated", made.files.len());
    Ok(())
}

fn complain(complaints: &[String]) -> Result<()> {
    ensure!(complaints.is_empty(), "{} complaints\n{}", complaints.len(), complaints.join("\n"));
    Ok(())
}
