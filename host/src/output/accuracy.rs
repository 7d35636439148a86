//! Errors beside those of SGEMM, for people.

use results::format::{error, times};
use results::text_table;

use crate::measure::accuracy::{AccuracyRow, Verdict};

/// The rows of one problem as a table, under a title that says on what they were measured. Empty where there are none.
#[must_use]
pub fn accuracy(rows: &[AccuracyRow]) -> String {
    let Some(AccuracyRow {
        m,
        n,
        k,
        seed,
        rows_compared,
        compared_with,
        device,
        compute_capability,
        backend,
        driver,
        cuda,
        cublas,
        ..
    }) = rows.first()
    else {
        return String::new();
    };
    let on = match (&**backend, cublas) {
        ("emulator", _) => {
            format!("No GPU: run by the emulator, as on {device} (compute capability {compute_capability})")
        }
        (_, Some(version)) => {
            format!("{device} ({compute_capability}); driver {driver}, CUDA {cuda}; cuBLAS {version}")
        }
        (_, None) => format!("{device} ({compute_capability}); driver {driver}, CUDA {cuda}"),
    };
    let of_rows = if *rows_compared == *m as usize { String::new() } else { format!(" of {rows_compared} rows") };
    let beside = if *compared_with == "cublas" { "" } else { ", which stands for SGEMM: cuBLAS is not there" };
    let header = [
        "inputs",
        "kernel",
        "precision",
        "||C-ref||/||ref||",
        &format!("x {compared_with}"),
        "max |C-ref|/(|A||B|)",
        &format!("x {compared_with}"),
        "verdict",
    ];
    let mut last = "";
    let lines = rows.iter().map(|row| {
        // Each kind of inputs is named once.
        let inputs = if std::mem::replace(&mut last, &row.inputs) == row.inputs { "" } else { &row.inputs };
        vec![
            inputs.to_owned(),
            row.kernel.to_owned(),
            row.precision.to_owned(),
            error(row.rel_error),
            times(row.rel_error_ratio),
            error(row.max_error),
            times(row.max_error_ratio),
            row.verdict.name().to_owned(),
        ]
    });
    let table = text_table(&[0, 1, 2], header, lines);
    format!(
        "Errors against f64{of_rows}: m = {m}, n = {n}, k = {k}, seed = {seed}; beside {compared_with}{beside}\n{on}\n{table}\n"
    )
}

/// A line for each kernel that is compared: in how many of the rows its errors are no larger.
#[must_use]
pub fn accuracy_summary(rows: &[AccuracyRow]) -> String {
    let mut kernels: Vec<(&str, &str)> = Vec::new();
    for row in rows.iter().filter(|row| row.verdict != Verdict::Same) {
        if !kernels.iter().any(|(kernel, _)| *kernel == row.kernel) {
            kernels.push((&row.kernel, &row.compared_with));
        }
    }
    let line = |(kernel, other): (&str, &str)| {
        let own: Vec<_> = rows.iter().filter(|row| row.kernel == kernel).collect();
        let kept = own.iter().filter(|row| row.verdict == Verdict::NoLarger).count();
        format!("{kernel}: errors no larger than those of {other} in {kept} of {} cases\n", own.len())
    };
    kernels.into_iter().map(line).collect()
}
