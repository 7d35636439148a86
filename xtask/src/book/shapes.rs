//! How `auto` compares with cuBLAS over sets of shapes.

use anyhow::{Context, Result};
use results::format::times;
use results::{Distribution, ShapeSet, ShapeTiming};

use super::sources::{SHAPES, Sources};

/// The block `shapes`: a line for each set, accuracy class, and way to store the operands.
pub fn block(sources: &Sources) -> Result<String> {
    let rows: Vec<_> = sources.shapes.iter().flat_map(|run| &run.shapes).cloned().collect();
    let first = rows.first().with_context(|| format!("there are no shapes in {SHAPES}"))?;
    let ShapeTiming { device, driver, cublas, date, .. } = first;
    let mut text = String::from(
        "| Set | Class | A, B | Shapes | Geometric mean | 5 % | Least | At 1.00 or above |\n|---|---|---|---:|---:|---:|---:|---:|\n",
    );
    for set in ShapeSet::all(&rows) {
        let mut stored: Vec<[&str; 2]> = Vec::new();
        for row in &set.rows {
            let ops = [row.op_a.as_str(), row.op_b.as_str()];
            if !stored.contains(&ops) {
                stored.push(ops);
            }
        }
        for ops in stored {
            let own = set.rows.iter().filter(|row| [row.op_a.as_str(), row.op_b.as_str()] == ops);
            let Some(ratios) = Distribution::new(own.map(|row| row.ratio)) else { continue };
            let share = 100.0 * ratios.share_from(1.0);
            text += &format!(
                "| `{}` | {} | {} | {} | {} | {} | {} | {share:.0} % |\n",
                set.set,
                set.class,
                ops.concat().to_uppercase(),
                ratios.sorted().len(),
                times(ratios.geometric_mean()),
                times(ratios.quantile(0.05)),
                times(ratios.sorted()[0]),
            );
        }
    }
    let date: String = date.chars().take(10).collect();
    let cublas = cublas.as_deref().unwrap_or_default();
    text += &format!(
        "\ncuBLAS's time over ours, as CUDA graphs, operands not in L2. {device}; driver {driver}; cuBLAS {cublas}; {date}. Every row: `{SHAPES}`.\n"
    );
    Ok(text)
}
