//! Ratios to cuBLAS over a set of shapes, for people.

use results::{ShapeSet, ShapeTable, text_table};

/// How the ratios are distributed, the worst shapes by name, and what else there is to say.
#[must_use]
pub fn shapes(set: &ShapeSet) -> String {
    let Some(first) = set.rows.first() else { return String::new() };
    let table = |ShapeTable { texts, columns, lines }| text_table(&(0..texts).collect::<Vec<_>>(), columns, lines);
    let cublas = first.cublas.as_deref().unwrap_or("unknown");
    let ShapeSet { rows, .. } = set;
    format!(
        "{}; {} ({}); driver {}, CUDA {}; cuBLAS {cublas} ({})\nRatio: cuBLAS's time over ours, in CUDA graphs, L2 cold\n{}\n\nThe worst {}\n{}\n\n{}\n\n",
        set.title(),
        first.device,
        first.compute_capability,
        first.driver,
        first.cuda,
        first.cublas_math,
        table(set.distribution_table()),
        rows.len().min(ShapeSet::WORST),
        table(set.worst_table()),
        set.remarks().join("\n"),
    )
}

#[cfg(test)]
mod tests {
    use results::Run;

    use super::*;

    #[test]
    fn the_summary_has_the_tables_and_the_remarks() {
        let run = Run::parse("shapes", include_str!("../../../results/tests/shapes.jsonl")).unwrap();
        let sets = ShapeSet::all(&run.shapes);
        let text = shapes(&sets[0]);
        for part in [
            "random:11:1, fp32-strict: 10 shapes; Test GPU (9.0)",
            "The worst 10\n",
            "k >= 8 max(m, n)",
            "64x64x100000",
            "99th",
        ] {
            assert!(text.contains(part), "{part} is missing in:\n{text}");
        }
        assert!(!text.contains("500x500x500"), "what is not verified is not shown");
        let one = shapes(&sets[1]);
        assert!(one.contains("The worst 1\n") && one.contains("512x512x512") && !one.contains("Regret"), "{one}");
    }
}
