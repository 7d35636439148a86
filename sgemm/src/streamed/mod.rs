//! Matrices in the host's memory, which may be larger than the memory of all GPUs: tiles of C are computed one after the other, while
//! panels of A and B arrive for the next ones, and those before are on their way back.
//!
//! A [`Plan`] has a [`Part`] for each GPU: copies to the device, pre-passes and products, and copies back, in queues, with the order
//! between them. A panel that several GPUs need is read from the host once: each uploads a piece, and has the others from its peers. Panels
//! of one operand are kept, as many as the memory holds, while those of the other pass by; into which blocks matrices are cut, and which
//! operand is kept, is what an event simulation predicts to be the fastest. The plan knows no address, so that it runs on GPUs and in the
//! emulator.
//!
//! ```
//! use sgemm::streamed::Plan;
//! use sgemm::{Device, Problem};
//!
//! let device = Device::new("NVIDIA H200", (9, 0), 132);
//! let problem = Problem::new(8192, 8192, 8192);
//! // 768 MiB of matrices, in 400 MiB of each of two GPUs.
//! let plan = Plan::new(&problem, &device, &[400 << 20; 2])?;
//! assert!(plan.parts().iter().all(|part| part.memory_bytes() <= 400 << 20));
//! # Ok::<(), sgemm::Error>(())
//! ```

mod build;
mod choose;
mod cuda;
#[cfg(feature = "emulator")]
mod emulated;
mod geometry;
mod grid;
mod kernels;
mod matrix;
mod order;
mod part;
mod plan;
mod side;
mod simulate;
mod slots;
mod task;

pub use cuda::{Registered, StreamedGemm, StreamedPlan, Streamer};
#[cfg(feature = "emulator")]
pub use emulated::Emulation;
pub use geometry::{Kept, Shape};
pub use kernels::ProductTime;
pub use part::Part;
pub use plan::Plan;
pub use simulate::Rates;
pub use task::{PeerCopy, PeerTask, Product, Queue, Task, Transfer, Work};

#[cfg(test)]
mod tests;
