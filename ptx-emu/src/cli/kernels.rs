//! `ptx-emu list` and `ptx-emu check`.

use std::path::Path;

use ptx_emu::Kernel;
use ptx_emu::syntax::LaunchBounds;

use super::arguments::type_name;
use super::error::Error;
use super::input::{Source, located};
use super::output::{complain, print, shown};
use super::table::{grouped, table};

/// Characters of a name in the table.
const MAX_NAME: usize = 120;

/// Prints the kernels of a file as a table; unsupported ones go to standard error.
pub fn list(file: &Path) -> Result<u8, Error> {
    let source = Source::read(file)?;
    let mut rows = Vec::new();
    for name in source.module.kernels() {
        match source.module.kernel(name) {
            Ok(kernel) => rows.push(row(&kernel)),
            Err(error) => complain(&format!("note: {}", refusal(&source, name, &error))),
        }
    }
    let header = ["kernel", "parameters", "shared", "local", "registers", "bounds"];
    print(&table(header, &[0, 1, 5], rows))?;
    Ok(0)
}

/// Says of each kernel whether it can be run. Returns the exit code: 1 where one cannot.
pub fn check(file: &Path) -> Result<u8, Error> {
    let source = Source::read(file)?;
    let (mut all, mut good) = (0, 0);
    for name in source.module.kernels() {
        all += 1;
        match source.module.kernel(name) {
            Ok(_) => good += 1,
            Err(error) => complain(&refusal(&source, name, &error)),
        }
    }
    print(&format!("{good} of {all} kernels can be run\n"))?;
    Ok(u8::from(good < all))
}

/// `FILE:LINE: ... (in KERNEL)`
fn refusal(source: &Source, kernel: &str, error: &ptx_emu::Error) -> String {
    format!("{} (in {kernel})", located(&source.name, error))
}

fn row(kernel: &Kernel) -> [String; 6] {
    let params: Vec<String> = kernel.params().iter().map(type_name).collect();
    [
        shown(kernel.name(), MAX_NAME),
        params.join(" "),
        grouped(kernel.shared_bytes().into()),
        grouped(kernel.local_bytes().into()),
        kernel.live_registers().to_string(),
        bounds(kernel.bounds()),
    ]
}

fn bounds(bounds: &LaunchBounds) -> String {
    let sizes = |[x, y, z]: [u32; 3]| format!("{x},{y},{z}");
    let parts = [
        bounds.max_threads.map(|threads| format!("maxntid {}", sizes(threads))),
        bounds.required_threads.map(|threads| format!("reqntid {}", sizes(threads))),
        bounds.min_blocks_per_sm.map(|blocks| format!("minnctapersm {blocks}")),
        bounds.max_registers.map(|registers| format!("maxnreg {registers}")),
        bounds.required_cluster.map(|blocks| format!("cluster {}", sizes(blocks))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}
