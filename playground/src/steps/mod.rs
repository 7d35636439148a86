//! The steps of the ladder at a small size, with one thing to try: what the book's chapters embed.

mod case;
mod samples;
mod table;
#[cfg(test)]
mod tests;

use gpu_kernels::{STEPS, Step};
use serde::Serialize;

pub use samples::samples;
pub use table::{Change, Entry, Outcome, TABLE};

use crate::Case;

/// A step or a sample as a page loads it.
#[derive(Debug, Clone, Serialize)]
pub struct Lesson {
    /// The step's name, such as `smem-tiling`.
    pub slug: &'static str,
    /// Its idea in one line.
    pub summary: &'static str,
    /// m, n and k of a step.
    pub sizes: Option<[usize; 3]>,
    /// What is run.
    pub case: Case,
    /// What to try.
    pub exercise: Exercise,
}

/// A change of one line of the first module, and what it shows.
#[derive(Debug, Clone, Serialize)]
pub struct Exercise {
    /// What to do and what to look at, in a sentence or two.
    pub text: &'static str,
    /// The line of the PTX, counted from 1.
    pub line: usize,
    /// What stands there.
    pub from: String,
    /// What stands there after the change; a comment where the instruction is deleted.
    pub to: String,
    /// What comes of it.
    #[serde(skip)]
    pub outcome: Outcome,
}

/// Every lesson: the samples, then the steps in the ladder's order.
///
/// # Errors
/// As of [`lesson`].
pub fn all() -> Result<Vec<Lesson>, String> {
    samples().into_iter().chain(STEPS.iter().map(lesson)).collect()
}

/// The lesson of a step.
///
/// # Errors
/// One line, where the step has no entry in [`TABLE`], no plan, or not the line that is to be changed.
pub fn lesson(step: &'static Step) -> Result<Lesson, String> {
    let entry = TABLE.iter().find(|entry| entry.slug == step.slug);
    let entry = entry.ok_or_else(|| format!("{}: playground/src/steps/table.rs has no entry for it", step.slug))?;
    let case = case::of(step, entry)?;
    let exercise =
        entry.change.exercise(entry.text, entry.outcome, &case).map_err(|error| format!("{}: {error}", step.slug))?;
    Ok(Lesson { slug: step.slug, summary: step.summary, sizes: Some(entry.sizes), case, exercise })
}

impl Exercise {
    /// The case with the line changed.
    #[must_use]
    pub fn apply(&self, case: &Case) -> Case {
        let mut changed = case.clone();
        if let Some(module) = changed.modules.first_mut() {
            let line =
                |(number, line): (usize, &str)| if number == self.line { self.to.clone() } else { line.to_owned() };
            *module = (1..).zip(module.lines()).map(line).collect::<Vec<_>>().join("\n");
        }
        changed
    }
}
