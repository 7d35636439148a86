//! The CUDA driver's interface over ptx-emu: a program that calls the driver API, itself or through a library, runs on an emulated GPU.
//! `ptx-emu exec -- PROGRAM` lets it find this library in place of the driver.
//!
//! What a program asks for is done at once, in the order of its calls: that is one of the orders that streams and events allow. What a
//! capture records is done when its graph is launched. Times between events are those that ptx-emu's model predicts for kernels; copies
//! take none.
//!
//! Variables:
//! - `PTX_EMU_DEVICE`: the device, such as `h200` (which it is by default) or `a100`.
//! - `PTX_EMU_CHECK=all`: kernels run under all checkers, and an error that they find ends the context as a fault does. Unset: accesses out of bounds and
//!   misaligned ones are found, and what always ends a launch.
//!
//! Modules are PTX text. Managed and mapped memory lies at the address that the program has for it; nothing migrates. What is not here: machine
//! code, mapped memory of the program's own, mipmaps, texture and surface references, peers, and the tables that the CUDA runtime asks for. A call of those returns
//! `CUDA_ERROR_NOT_SUPPORTED`, and says so in a line on standard error.

mod abi;
mod array;
mod attribute;
mod capture;
mod code;
mod copy;
mod handles;
mod host;
mod machine;
mod operation;
mod status;

pub use abi::*;
