//! `book`: refills the generated blocks of the book and of the README, draws the book's figures, and builds the site.

mod accuracy;
mod blocks;
mod causes;
mod chosen;
mod counters;
mod drop_in;
mod example;
mod figures;
mod headline;
mod host_pointers;
mod limits;
mod links;
mod made;
mod markdown;
mod metrics;
mod numbers;
mod page;
mod pages;
mod picture;
mod public_kernels;
mod readability;
mod request;
mod result;
mod sass;
mod scale;
mod schema;
mod shapes;
mod site;
mod sources;
mod step;
mod tile;
mod together;

use anyhow::{Result, ensure};

use crate::workspace::root;
use made::Made;
use sass::Mode;
use sources::Sources;
pub use sources::{FOLDER, PEERS};

/// Refill the book's and the README's generated blocks, and draw the book's figures
///
/// A block stands between the lines `<!-- generated: NAME -->` and `<!-- /generated -->`. In a step's chapter NAME is `facts`, `result`,
/// `tile`, `timeline`, `diff`, `counters`, `numbers`, `limits`, `chosen` or `sass`; on any page `headline NAME`, `sass STEP`, `ladder`,
/// `picture NAME` (of the report), `accuracy`, `shapes`, `drop-in`, `host-pointers`, `call-overhead`, `scale CLASS`, `together RUN`, `figures`, `metrics`, `public-kernels`, `schema` or `example NAME` (of
/// the library). They are made of the steps' source, constants and PTX, of the newest file in docs/results/, and of sgemm/examples/.
/// `cargo xtask check book` fails when one of them is not what this command would write.
#[derive(clap::Args)]
pub struct Args {
    /// Build the site in target/book as well: the book, the API, the newest run's report and its data, in one folder that any
    /// static host serves. mdBook is installed under target/ if there is none
    #[arg(long)]
    html: bool,
    /// Build it, and open it in the browser
    #[arg(long)]
    open: bool,
}

/// Runs `book`.
pub fn run(args: &Args) -> Result<()> {
    let sources = Sources::read(root())?;
    let made = Made::of(root(), &sources, Mode::Assemble)?;
    let written = made.write(root())?;
    say!("{written} files written, {} as they were", made.files.len() - written.min(made.files.len()));
    complain(&made.complaints)?;
    if args.html || args.open { site::build(&sources, args.open) } else { Ok(()) }
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
