//! One product over several GPUs: matrices that are distributed over ranks, one rank for each GPU.
//!
//! A [`Scheme`] says how: a [`Grid`] of ranks, and the blocks in which each dimension is dealt out, as in ScaLAPACK. Panels of rows are
//! its simplest form. A [`Plan`] is what one rank does: copies, collectives and products in three queues, with the order between
//! them. It knows no address and no communicator, so that the same plan runs on GPUs, in the emulator, and in a simulation that only
//! adds up times.
//!
//! ```
//! use sgemm::distributed::{Plan, Scheme};
//! use sgemm::{Device, Problem};
//!
//! // 1000 x 800 = (1000 x 600)(600 x 800) over three ranks, each with its rows of A, B and C.
//! let problem = Problem::new(1000, 800, 600);
//! let scheme = Scheme::row_panels(problem.sizes(), 3);
//! let share = scheme.share(&problem, 1);
//! assert_eq!((share.a, share.b, share.c), ([334, 600], [200, 800], [334, 800]));
//! let device = Device::new("NVIDIA H200", (9, 0), 132);
//! let plan = Plan::new(&problem, &scheme, 1, &device)?;
//! assert!(plan.tasks().len() > 2);
//! # Ok::<(), sgemm::Error>(())
//! ```

mod choose;
mod cyclic;
#[cfg(feature = "emulator")]
mod emulated;
mod grid;
mod launcher;
mod machine;
pub mod nccl;
mod patience;
mod plan;
mod rendezvous;
mod schedule;
mod scheme;
mod simulate;
mod transfer;

pub use choose::{Prediction, choose, predict, timeline};
pub use cyclic::Cyclic;
#[cfg(feature = "emulator")]
pub(crate) use emulated::next_random;
#[cfg(feature = "emulator")]
pub use emulated::{Cluster, Fault};
pub use grid::{Axis, Grid, Position};
pub use launcher::Launched;
pub use machine::{Link, Machine};
pub use plan::Plan;
pub use schedule::{Buffer, Copy, Dimension, Factor, Place, Product, Queue, Task, Work};
pub use scheme::{Blocks, Chunks, Scheme, Share};
pub use simulate::{Span, simulate};
