//! The progress bar: on standard error, and only where that is a terminal.

use std::time::Duration;

use host::Problem;
use host::bench::Progress;
use indicatif::{ProgressBar, ProgressStyle};

/// Between two pictures of the spinner, where nothing else moves.
const TICK: Duration = Duration::from_millis(100);

/// Shows what is going on.
pub struct Display {
    bar: ProgressBar,
    /// Which part of the whole this is.
    part: String,
    size: String,
}

impl Display {
    /// A bar that shows nothing yet; nothing at all where standard error is no terminal.
    pub fn new() -> Self {
        let bar = ProgressBar::no_length();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {wide_bar} {pos}/{len}") {
            bar.set_style(style);
        }
        Self { bar, part: String::new(), size: String::new() }
    }

    /// What stands before every size from here on, such as `2 of 5, `.
    pub fn set_part(&mut self, part: &str) {
        self.part = part.to_owned();
    }

    /// Shows the next state.
    pub fn show(&mut self, progress: Progress) {
        match progress {
            Progress::Preparing(Problem { m, n, k, .. }) => {
                self.size = format!("{}{m}x{n}x{k}", self.part);
                self.start(format!("{}: operands and reference", self.size), 1);
            }
            Progress::Modelling(kernel) => self.start(format!("{}: modelling {}", self.size, kernel.name()), 1),
            Progress::Emulating(kernel) => {
                self.start(format!("{}: running {} on the emulator", self.size, kernel.name()), 1);
                self.bar.enable_steady_tick(TICK);
            }
            Progress::Verifying(kernel) => self.start(format!("{}: verifying {}", self.size, kernel.name()), 1),
            Progress::Timing(kernel, launches) => {
                self.start(format!("{}: timing {}", self.size, kernel.name()), launches.into());
            }
            Progress::Launched => self.bar.inc(1),
        }
    }

    /// Removes the bar, so that text can follow.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }

    fn start(&self, message: String, steps: u64) {
        self.bar.disable_steady_tick();
        self.bar.reset();
        self.bar.set_length(steps);
        self.bar.set_message(message);
    }
}
