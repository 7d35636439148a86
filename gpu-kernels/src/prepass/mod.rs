//! Pre-passes: kernels that rewrite A or B in memory before a step's own kernel reads it. See [`crate::Prepass`].

pub mod align;
pub mod split;
pub mod transpose;
