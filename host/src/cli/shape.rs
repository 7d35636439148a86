//! What `--size` takes.

use crate::measure::accuracy::{EMULATED, MEASURED};
use crate::measure::sizes;

/// The size where none is given.
pub const DEFAULT_SIZE: u32 = 4096;

/// The same for several GPUs that are emulated: every block of every rank runs.
const EMULATED_TOGETHER: u32 = 256;

/// What a size stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// `N`: m = n = k.
    Square(u32),
    /// `MxNxK`.
    Exact([u32; 3]),
    /// `ladder`.
    Ladder,
    /// `growth`.
    Growth,
    /// m = n = k for several GPUs: at a size that suits the backend.
    Together,
    /// m = n at several k, for accuracy: at this m, or at one that suits the backend.
    AllLengths(Option<u32>),
}

impl Shape {
    /// Each m, n, k.
    pub fn shapes(self, is_emulated: bool) -> Vec<[u32; 3]> {
        let squares = |sizes: &[u32]| sizes.iter().map(|&size| [size; 3]).collect();
        match self {
            Self::Square(size) => vec![[size; 3]],
            Self::Exact(shape) => vec![shape],
            Self::Together => vec![[if is_emulated { EMULATED_TOGETHER } else { DEFAULT_SIZE }; 3]],
            Self::Ladder if is_emulated => squares(sizes::EMULATED),
            Self::Ladder => squares(sizes::MEASURED),
            Self::Growth => squares(sizes::GROWTH),
            Self::AllLengths(size) => {
                let (default, lengths) = if is_emulated { EMULATED } else { MEASURED };
                let size = size.unwrap_or(default);
                lengths.iter().map(|&k| [size, size, k]).collect()
            }
        }
    }
}
