//! For which of the measured shapes `auto` chooses a step, and how it then compares with cuBLAS.

use gpu_kernels::Step;
use results::format::times;
use results::{Distribution, ShapeTiming};

use super::markdown::table;
use super::sources::{SHAPES, Sources};

/// The block `chosen`: a line for each accuracy class.
pub fn block(step: &Step, sources: &Sources) -> String {
    let all: Vec<_> = sources.shapes.iter().flat_map(|run| &run.shapes).collect();
    let is_own = |row: &&&ShapeTiming| row.kernel.split('/').next() == Some(step.slug);
    let own: Vec<_> = all.iter().filter(is_own).collect();
    let mut classes: Vec<&str> = Vec::new();
    for row in &own {
        if !classes.contains(&row.class.as_str()) {
            classes.push(&row.class);
        }
    }
    if classes.is_empty() {
        return format!("`auto` takes `{}` for none of the {} measured shapes (`{SHAPES}`).\n", step.slug, all.len());
    }
    let lines = classes.into_iter().filter_map(|class| {
        let of = all.iter().filter(|row| row.class == class).count();
        let ratios = Distribution::new(own.iter().filter(|row| row.class == class).map(|row| row.ratio))?;
        Some([
            class.to_owned(),
            format!("{} of {of}", ratios.sorted().len()),
            times(ratios.geometric_mean()),
            times(ratios.sorted()[0]),
            format!("{:.0} %", 100.0 * ratios.share_from(1.0)),
        ])
    });
    let text = table(["Class", "Shapes", "Geometric mean", "Least", "At 1.00 or above"], lines);
    format!(
        "{text}\nThe measured shapes for which `auto` takes `{}`: cuBLAS's time over ours. Every row: `{SHAPES}`.\n",
        step.slug
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::root;

    #[test]
    fn shapes_are_those_of_the_step_and_of_no_other() {
        let sources = Sources::read(root()).unwrap();
        let text = |slug: &str| block(gpu_kernels::find(slug).unwrap(), &sources);
        let all = || sources.shapes.iter().flat_map(|run| &run.shapes).filter(|row| row.class == "fp32-strict");
        let own = all().filter(|row| row.kernel.split('/').next() == Some("gemv")).count();
        assert!(text("gemv").contains(&format!("| fp32-strict | {own} of {} | ", all().count())), "{}", text("gemv"));
        assert!(text("naive").starts_with("`auto` takes `naive` for none of the "));
    }
}
