//! Ctrl-C: the first one ends what goes on, and what there is by then is written; the second one ends the program. SIGTERM, which
//! job schedulers send, does what the first one does, however often it comes.

use std::process::ExitStatus;

use crate::Stop;
use indicatif::ProgressBar;

/// What a shell gives as the exit code of a program that Ctrl-C ended.
pub const EXIT_CODE: u8 = 130;

/// A flag that Ctrl-C and SIGTERM raise from here on, and show on the bar.
pub fn stop(bar: &ProgressBar) -> Stop {
    let stop = Stop::default();
    let (flag, shown) = (stop.clone(), bar.clone());
    let interrupt = move || {
        if flag.raise() {
            std::process::exit(EXIT_CODE.into());
        }
        shown.set_message("stopping; Ctrl-C once more ends it at once");
    };
    // Where there are no such signals, Ctrl-C ends the program at once.
    let _ = ctrlc::set_handler(interrupt);
    #[cfg(unix)]
    on_termination(stop.clone(), bar.clone());
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

/// Raises the flag at SIGTERM. Not at SIGHUP, which `nohup` tells programs to ignore.
#[cfg(unix)]
fn on_termination(stop: Stop, bar: ProgressBar) {
    let Ok(mut signals) = signal_hook::iterator::Signals::new([signal_hook::consts::SIGTERM]) else { return };
    std::thread::spawn(move || {
        for _ in signals.forever() {
            stop.raise();
            bar.set_message("stopping");
        }
    });
}
