//! A rank: one process with one GPU.

use sgemm::distributed::Launched;

use crate::Error;
use crate::cli::request::{RunRequest, Together};

/// Measures with the other ranks. Returns the exit code.
pub fn run(_request: &RunRequest, _together: &Together, _launched: &Launched) -> Result<u8, Error> {
    Err(Error::NoDriver)
}
