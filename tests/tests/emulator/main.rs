//! The emulator is what a GPU is: every step and variant keeps the contract, every launch gets what it asks for, and every
//! instruction gives what an H200 gave.
//!
//! A name says which: `contract::naive`, `layouts::naive`, `orders::fp32 in 7 splits`, `support::transpose_16 of far rows`, `launches::plain`, `conformance::add.rn.f32`.

mod conformance;
mod launches;
mod layouts;
mod orders;
mod steps;
mod support;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let trials: Vec<Trial> = steps::trials()
        .chain(layouts::trials())
        .chain(orders::trials())
        .chain(support::trials())
        .chain(launches::trials())
        .chain(conformance::trials())
        .collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
