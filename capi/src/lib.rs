//! The library `sgemm` for C: `libsgemm.so` and `libsgemm.a`, which the header `capi/include/sgemm.h` describes. It is a thin layer: each
//! function checks its arguments, and calls one of `sgemm`'s.
//!
//! Handles and plans are numbers that a registry knows, not addresses: one that is null, destroyed or of the other kind is found there, and
//! nothing is read through it. Every function catches panics, and returns a status.
//!
//! The header is generated from this crate, and its comments are those of the items here: so these are written for readers of C.

mod choices;
mod constants;
mod cuda;
mod handle;
mod host;
mod operands;
mod plan;
mod problem;
mod registry;
mod run;
mod status;

pub use constants::*;
pub use handle::{
    sgemm_backend, sgemm_create_cuda, sgemm_create_emulator, sgemm_destroy, sgemm_device_name, sgemm_handle,
    sgemm_handle_t,
};
pub use operands::sgemm_arguments_t;
pub use plan::{
    sgemm_plan, sgemm_plan_create, sgemm_plan_destroy, sgemm_plan_kernel, sgemm_plan_t, sgemm_plan_workspace_bytes,
};
pub use problem::{
    sgemm_column_major, sgemm_layout_t, sgemm_problem_init, sgemm_problem_t, sgemm_row_major, sgemm_transposed,
};
pub use run::{sgemm_run, sgemm_run_host, sgemm_run_with};
pub use status::{sgemm_last_error, sgemm_status_string, sgemm_version};
