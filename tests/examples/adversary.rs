//! Searches for the inputs on which fp16x3 and tf32x3 err most, `--seconds` in all, and prints them as lines of
//! `tests/data/adversary.txt`.

use std::time::{Duration, Instant};

use tests::adversary::{Arithmetic, LENGTHS, WINDOWS, worst};
use tests::grading::bound;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let seconds: f64 = match &arguments[..] {
        [] => 60.0,
        [name, seconds] if name == "--seconds" => seconds.parse()?,
        _ => anyhow::bail!("usage: adversary [--seconds N]"),
    };
    let arithmetics = [Arithmetic::Fp16x3, Arithmetic::Tf32x3];
    let each = Duration::from_secs_f64(seconds / (arithmetics.len() * WINDOWS.len() * LENGTHS.len()) as f64);
    for arithmetic in arithmetics {
        for window in WINDOWS {
            for k in LENGTHS {
                let since = Instant::now();
                let record = worst(arithmetic, k, window, || since.elapsed() < each);
                println!("{record}");
                let [all, tensor_cores] = [false, true].map(|is| record.found.c / bound(k, is));
                eprintln!(
                    "{} {window:?} k = {k}: c = {:.3}, {all:.3} of k + 2, {tensor_cores:.3} of c(k)",
                    arithmetic.slug(),
                    record.found.c
                );
            }
        }
    }
    Ok(())
}
