//! The figures that pages show.

use std::collections::BTreeMap;

/// The folder of generated figures.
pub const FIGURES: &str = "docs/src/figures";

/// Figures by name, without an extension.
pub type Figures = BTreeMap<String, String>;
