//! The progress bar: on standard error, and only where that is a terminal.

use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::measure::bench::{Progress, Timing};
use crate::{Problem, Stop};
use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};

use crate::cli::interrupt;
use crate::output;

mod forecast;

use forecast::Forecast;
pub use forecast::Work;

/// Between two pictures of the spinner, where nothing else moves.
const TICK: Duration = Duration::from_millis(100);

/// How finely the bar is divided.
const LENGTH: u64 = 1000;

const TEMPLATE: &str = "{spinner} {prefix} {bar:16} {elapsed}{left}: {wide_msg}";

/// Shows how much of the whole is done, how long the rest will take, and what is going on.
pub struct Display {
    bar: ProgressBar,
    stop: Stop,
    forecast: Forecast,
    began: Instant,
    /// When the last piece of work was done.
    last: Instant,
    /// When all will be, if that can be guessed.
    end: Arc<Mutex<Option<Instant>>>,
    /// Which part of the whole this is.
    part: String,
    problem: String,
    doing: String,
    launches: (u32, u32),
}

impl Display {
    /// A bar that shows nothing yet; nothing at all where standard error is no terminal. From here on Ctrl-C raises
    /// [`stop`](Self::stop), and a second one ends the program.
    pub fn new() -> Self {
        let bar = ProgressBar::no_length();
        let stop = interrupt::stop(&bar);
        let end = Arc::new(Mutex::new(None));
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            let until = Arc::clone(&end);
            let left = move |_: &ProgressState, text: &mut dyn Write| {
                if let Some(end) = *until.lock().unwrap_or_else(PoisonError::into_inner) {
                    let left = HumanDuration(Instant::saturating_duration_since(&end, Instant::now()));
                    // There is nobody to tell where the bar cannot be written.
                    let _ = write!(text, ", about {left:#} left");
                }
            };
            bar.set_style(style.with_key("left", left));
        }
        bar.set_length(LENGTH);
        let now = Instant::now();
        Self {
            bar,
            stop,
            forecast: Forecast::new(Vec::new(), Timing::default(), None),
            began: now,
            last: now,
            end,
            part: String::new(),
            problem: String::new(),
            doing: String::new(),
            launches: (0, 0),
        }
    }

    /// All that is to be done; the emulator runs a kernel for so many seconds at the most, if there is a `budget`.
    pub fn expect(&mut self, work: Vec<Work>, timing: Timing, budget: Option<Duration>) {
        self.forecast = Forecast::new(work, timing, budget.map(|budget| budget.as_secs_f64()));
        self.last = Instant::now();
        self.bar.reset_elapsed();
        self.measure();
    }

    /// What Ctrl-C raises.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Whether Ctrl-C has left some of the work undone.
    pub fn is_interrupted(&self) -> bool {
        let (done, all) = self.forecast.counts();
        self.stop.is_raised() && done < all
    }

    /// What stands before every problem from here on, such as `near-cancelling, `.
    pub fn set_part(&mut self, part: &str) {
        self.part = part.to_owned();
    }

    /// Shows the next state.
    pub fn show(&mut self, progress: Progress) {
        match progress {
            Progress::Preparing(problem) => {
                self.set_problem(problem);
                self.start("operands and reference".into());
            }
            Progress::Counting(problem, kernel) => {
                self.set_problem(problem);
                self.start(format!("counting what {} does", kernel.name()));
            }
            Progress::Modelling(kernel) => self.start(format!("modelling {}", kernel.name())),
            Progress::Emulating(kernel) => self.start(format!("running {}", kernel.name())),
            Progress::Verifying(kernel) => self.start(format!("verifying {}", kernel.name())),
            Progress::Timing(kernel, launches) => {
                self.launches = (0, launches);
                self.start(format!("timing {}", kernel.name()));
                // Nothing else runs on the host meanwhile.
                self.bar.disable_steady_tick();
            }
            Progress::Launched => {
                self.launches.0 += 1;
                let (done, all) = self.launches;
                self.say(&format!("{}, launch {done} of {all}", self.doing));
            }
            Progress::Finished(kernel, launch_ms) => self.finish(kernel.name(), launch_ms),
        }
    }

    /// Work of that name is done; a launch of it takes so many milliseconds, where that was measured.
    pub fn finish(&mut self, name: &str, launch_ms: Option<f64>) {
        let now = Instant::now();
        let seconds = now.duration_since(std::mem::replace(&mut self.last, now)).as_secs_f64();
        self.forecast.finish(name, seconds, launch_ms);
        self.measure();
    }

    /// Nothing more will come of that part of the work.
    pub fn leave_part(&mut self, part: usize) {
        self.forecast.leave_part(part);
        self.measure();
    }

    /// Does something with the bar out of the way, such as printing.
    pub fn aside<R>(&self, what: impl FnOnce() -> R) -> R {
        self.bar.suspend(what)
    }

    /// Removes the bar. Returns the exit code: where the work was interrupted, it says how far it came.
    pub fn end(&self, exit_code: u8, what: &str) -> u8 {
        self.bar.finish_and_clear();
        let (done, all) = self.forecast.counts();
        if !self.is_interrupted() {
            return exit_code;
        }
        output::complain(&format!("interrupted: {done} of {all} {what} are done"));
        interrupt::EXIT_CODE
    }

    /// Shows how much is done: as a share of the time, since some work takes a hundred times as long as other.
    fn measure(&self) {
        let left = self.forecast.seconds_left();
        let (done, all) = self.forecast.counts();
        self.bar.set_prefix(format!("{done} of {all}"));
        if let Some(left) = left.and_then(|left| Duration::try_from_secs_f64(left).ok()) {
            let passed = self.began.elapsed().as_secs_f64();
            self.bar.set_position((LENGTH as f64 * passed / (passed + left.as_secs_f64())) as u64);
            *self.end.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now().checked_add(left);
        }
    }

    fn set_problem(&mut self, problem: Problem) {
        let sgemm::Product { m, n, k, .. } = problem.gemm;
        self.problem = format!("{}{m}x{n}x{k}", self.part);
    }

    fn start(&mut self, doing: String) {
        self.doing = format!("{}: {doing}", self.problem);
        self.say(&self.doing);
        self.bar.enable_steady_tick(TICK);
    }

    fn say(&self, text: &str) {
        // The last word is that it ends.
        if !self.stop.is_raised() {
            self.bar.set_message(text.to_owned());
        }
    }
}
