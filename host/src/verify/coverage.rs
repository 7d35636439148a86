//! How much of C a run computed.

use std::ops::Range;

/// The part of C that a block of a grid computes, or several together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Region {
    /// Its rows.
    pub rows: Range<usize>,
    /// Its columns.
    pub columns: Range<usize>,
}

/// How much of C a run computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Coverage {
    /// All of it.
    Whole {
        /// Blocks of the grid, where the backend counts them.
        blocks: Option<u64>,
    },
    /// Some blocks of the grid ran.
    Sample {
        /// What these computed: none overlap, and their row ranges are equal or disjoint.
        regions: Vec<Region>,
        /// How many ran.
        blocks_run: u64,
        /// Blocks of the grid.
        blocks: u64,
    },
}

impl Coverage {
    /// Blocks of the grid, where the backend counts them.
    #[must_use]
    pub fn blocks(&self) -> Option<u64> {
        match self {
            Self::Whole { blocks } => *blocks,
            Self::Sample { blocks, .. } => Some(*blocks),
        }
    }

    /// Blocks that ran, where not all did.
    #[must_use]
    pub fn sampled_blocks(&self) -> Option<u64> {
        match self {
            Self::Whole { .. } => None,
            Self::Sample { blocks_run, .. } => Some(*blocks_run),
        }
    }
}
