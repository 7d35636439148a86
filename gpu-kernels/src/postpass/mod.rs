//! Post-passes: kernels that make D of what a step's own kernel left in a workspace. See [`Postpass`].
//!
//! ```text
//!     W (m, n)    64 columns           a block: 16 lanes along columns, 16 rows, twice
//!   ┌─────────────┬────────────┬┄
//!   │ ▒▒▒▒ 0 1 ┄ 15  x 4       │      rows aligned:  lane 0 has 0 1 2 3, lane 1 has 4 5 6 7: an access each
//!   │ ▒▒▒▒        │            │      else:          lane 0 has 0 16 32 48, lane 1 has 1 17 33 49: four accesses,
//!   │ ▒▒▒▒        │            │                     each of 16 contiguous elements
//!   └─────────────┴────────────┴┄
//! ```
//!
//! Bound by memory: 4 bytes of W, an element of C where beta is not 0, and an element of D, each moved once, by whole sectors where
//! rows are aligned. All loads of a thread are on their way at once. A GELU is about 15 instructions of each element.

use crate::hardware::VEC;
use crate::{Element, Extent, Postpass};

#[cfg(feature = "device")]
pub mod kernel;

/// Lanes along the columns, each of VEC of them.
const LANES: u32 = 16;
const THREADS: u32 = 256;
/// Rows of a thread.
const ROWS: u32 = 2;
const TILE: Extent = Extent { rows: THREADS / LANES * ROWS, cols: LANES * VEC };

/// The post-pass for a D of these elements.
#[must_use]
pub const fn finish(element: Element) -> Postpass {
    let kernel = match element {
        Element::F32 => "finish_f32",
        Element::F16 => "finish_f16",
        Element::Bf16 => "finish_bf16",
    };
    Postpass { kernel, element, tile: TILE, threads: THREADS }
}
