//! What was measured of a step.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use gpu_kernels::Step;
use results::Measurement;
use results::format::{error, or_dash, percent, tflops, times};

use super::markdown::table;
use super::sources::Sources;

/// The block `numbers`: a table with a line for each square size.
pub fn block(step: &Step, sources: &Sources) -> Result<String> {
    let rows = sources.squares(step.slug);
    if rows.is_empty() {
        let devices = step.target.devices();
        return Ok(format!(
            "`{}` was not measured yet: `{}` has no row of it. It needs {devices}.\n",
            step.slug, sources.file
        ));
    }
    if let Some(row) = rows.iter().find(|row| !row.verified) {
        ensure!(row.verified, "{}: {} at {} is not verified, so it is not shown", sources.file, row.kernel, row.m);
    }
    let over = step.base.map_or("over its base".into(), |base| format!("over `{base}`"));
    let speed = if rows.iter().all(|row| row.modelled) { "TFLOPS, modelled" } else { "TFLOPS" };
    let with_error = ["m = n = k", speed, "of cuBLAS", &over, "rel. error"];
    let mut text = table(with_error, rows.iter().map(|row| line(row, step, sources)));
    text += &format!("\n{}\n", caption(&rows, &sources.file));
    Ok(text)
}

fn line(row: &Measurement, step: &Step, sources: &Sources) -> [String; 5] {
    let variant = if row.kernel == step.slug { String::new() } else { format!(" (`{}`)", row.kernel) };
    [
        format!("{}{variant}", row.m),
        tflops(row.gflops),
        or_dash(row.percent_of_cublas, |value| format!("{} %", percent(value))),
        or_dash(sources.run.speedup_over_base(row), |value| format!("{} x", times(value))),
        error(row.rel_error),
    ]
}

/// How the figures came about.
fn caption(rows: &[&Measurement], file: &str) -> String {
    let distinct = |field: fn(&Measurement) -> String| {
        let values: BTreeSet<_> = rows.iter().map(|row| field(row)).collect();
        values.into_iter().collect::<Vec<_>>().join(", ")
    };
    let device = distinct(|row| row.device.clone());
    let date = distinct(|row| row.date.chars().take(10).collect());
    let cublas = distinct(|row| match row.precision.as_str() {
        "fp32" | "fp16x3" | "tf32x3" => "cuBLAS SGEMM".into(),
        other => format!("cuBLAS in {other}"),
    });
    match rows.iter().all(|row| row.modelled) {
        true => format!("Modelled by the emulator for {device}, not measured; {date}. Every row: `{file}`."),
        false => {
            let l2 = distinct(|row| row.l2.clone());
            format!("Measured on {device}, {date}, L2 {l2}, beside {cublas} in the same run. Every row: `{file}`.")
        }
    }
}
