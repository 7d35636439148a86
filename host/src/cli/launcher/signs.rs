//! How a process is told that it is a rank: by the environment, as `torchrun` does it.

use std::ffi::OsString;
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;

use crate::Error;

/// Its value is the number of the process that started the rank, and waits at the other end of the rank's standard input.
const PARENT: &str = "SGEMM_HOST_PARENT";

/// Whether this process was started by [`run`](super::run).
#[must_use]
pub fn is_started_by_host() -> bool {
    std::env::var_os(PARENT).is_some()
}

/// This program with these arguments, once for each rank.
///
/// # Errors
/// [`Error::Launch`] where the program's file or a free port cannot be found.
pub fn processes(arguments: &[OsString], ranks: usize) -> Result<Vec<Command>, Error> {
    let failed = |source| Error::Launch { rank: 0, source };
    let program = std::env::current_exe().map_err(failed)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    let process = |rank: usize| {
        let mut command = Command::new(&program);
        command.args(arguments);
        command.env(PARENT, std::process::id().to_string());
        command.env("RANK", rank.to_string()).env("LOCAL_RANK", rank.to_string());
        command.env("WORLD_SIZE", ranks.to_string());
        command.env("MASTER_ADDR", Ipv4Addr::LOCALHOST.to_string()).env("MASTER_PORT", port.to_string());
        command
    };
    Ok((0..ranks).map(process).collect())
}
