//! Judges mutants of steps: what `cargo xtask mutants` runs. Arguments: the file of results, how many, the seed, and the steps' slugs.

use std::path::Path;

use anyhow::{Context, Result, bail};
use gpu_kernels::Step;
use tests::mutants::campaign::{self, Judged};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, count, seed, slugs @ ..] = &arguments[..] else { bail!("FILE COUNT SEED STEP...") };
    let (count, seed) = (count.parse()?, seed.parse()?);
    let find = |slug: &String| gpu_kernels::find(slug).with_context(|| format!("there is no step `{slug}`"));
    let steps = slugs.iter().map(find).collect::<Result<Vec<&'static Step>>>()?;
    let watch = |Judged { step, number, kind, verdict, reason, .. }: &Judged| {
        println!("{step} {number}: {kind:?}: {verdict:?}: {}", reason.lines().next().unwrap_or_default());
    };
    let judged = campaign::run(&steps, count, seed, Path::new(file), &watch)?;
    print!("\n{}", campaign::report(&judged));
    Ok(())
}
