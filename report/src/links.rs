//! Where a reader finds more: as addresses, which a page can follow from where it lies.

/// A step's chapter and source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepLinks {
    /// The step's slug.
    pub slug: String,
    /// The chapter's address.
    pub chapter: String,
    /// The address of the source.
    pub source: String,
    /// File and line of the kernel, such as `gpu-kernels/src/steps/01_naive.rs:24`.
    pub line: String,
}

/// What a page leads to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Links {
    /// Of each step.
    pub steps: Vec<StepLinks>,
    /// The address of each run's file.
    pub data: Vec<String>,
    /// The commit that the lines are of.
    pub commit: String,
}

impl Links {
    /// Those of a step.
    pub(crate) fn of(&self, slug: &str) -> Option<&StepLinks> {
        self.steps.iter().find(|step| step.slug == slug)
    }
}
