//! Ctrl-C: the first one ends what goes on, and what there is by then is written; the second one ends the program. SIGTERM does the
//! same.

use std::process::ExitStatus;

use crate::Stop;
use indicatif::ProgressBar;

/// What a shell gives as the exit code of a program that Ctrl-C ended.
pub const EXIT_CODE: u8 = 130;

/// A flag that Ctrl-C raises from here on, and shows on the bar.
pub fn stop(bar: &ProgressBar) -> Stop {
    let (stop, bar) = (Stop::default(), bar.clone());
    let flag = stop.clone();
    let interrupt = move || {
        if flag.raise() {
            std::process::exit(EXIT_CODE.into());
        }
        bar.set_message("stopping; Ctrl-C once more ends it at once");
    };
    // Where there are no such signals, Ctrl-C ends the program at once.
    let _ = ctrlc::set_handler(interrupt);
    stop
}

/// From here on, Ctrl-C does this.
pub fn instead(act: impl FnMut() + Send + 'static) {
    // As above.
    let _ = ctrlc::set_handler(act);
}

/// Whether it was Ctrl-C that ended a process.
#[cfg(unix)]
pub fn has_ended(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;

    /// SIGINT, on every system.
    const SIGINT: i32 = 2;
    status.signal() == Some(SIGINT)
}

/// Whether it was Ctrl-C that ended a process.
#[cfg(not(unix))]
pub fn has_ended(_: ExitStatus) -> bool {
    false
}
