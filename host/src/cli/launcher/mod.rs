//! Ranks as processes: started together, and ended together. What they print comes line by line, so that none is torn by another's.
//!
//! Each rank has a pipe as standard input. Its end says that this program has gone, and the rank ends too: see [`parent`]. What is
//! still there after that, because it was stopped or hangs, is killed.

pub mod parent;
mod rank;
mod signs;
#[cfg(all(test, unix))]
mod tests;

use std::process::{Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rank::{Line, Rank};
pub use signs::{is_started_by_host, processes};

use super::interrupt;
use crate::{Error, Stop, output};

/// How often ranks are looked at.
const POLL: Duration = Duration::from_millis(20);

/// How long ranks have to end once they are told to.
const GRACE: Duration = Duration::from_secs(2);

/// What a line begins with that says why a program failed.
const ERROR: &str = "error: ";

/// Starts a process for each rank, and waits for all. What rank 0 prints is printed. The first rank that fails has its error printed,
/// and the others are ended; where it went without a word, they have time to say what they miss, until the deadline. Returns the
/// exit code: that of the first one that failed, 130 where `stop` was raised, or else 0.
///
/// # Errors
/// [`Error::Launch`] where a process cannot be started; [`Error::Output`] where nobody reads what is printed. No rank is left then.
pub fn run(commands: Vec<Command>, deadline: Duration, stop: &Stop) -> Result<u8, Error> {
    let End { exit_code, line } = Launched::start(commands, deadline)?.wait(stop)?;
    if let Some(line) = line {
        output::complain(&line);
    }
    Ok(exit_code)
}

/// How a run of all ranks ended.
#[derive(Debug, PartialEq, Eq)]
struct End {
    exit_code: u8,
    /// What there is to say of it.
    line: Option<String>,
}

/// Ranks that were started.
struct Launched {
    ranks: Vec<Rank>,
    lines: Receiver<Line>,
    /// How long ranks may go on once one of them has ended.
    deadline: Duration,
    /// The first that failed.
    failure: Option<Failure>,
    /// When all must have ended.
    end: Option<Instant>,
}

/// A rank that failed.
struct Failure {
    rank: usize,
    /// What it said, or another one about it.
    line: Option<String>,
    /// How it ended, where that was seen.
    status: Option<ExitStatus>,
}

impl Launched {
    fn start(commands: Vec<Command>, deadline: Duration) -> Result<Self, Error> {
        let (sender, lines) = channel();
        let mut ranks = Vec::new();
        for (number, command) in commands.into_iter().enumerate() {
            // Where it fails, those before it are killed as they are dropped.
            ranks.push(Rank::start(number, command, sender.clone())?);
        }
        Ok(Self { ranks, lines, deadline, failure: None, end: None })
    }

    fn wait(mut self, stop: &Stop) -> Result<End, Error> {
        loop {
            match self.lines.recv_timeout(POLL) {
                Ok(line) => self.say(line)?,
                Err(RecvTimeoutError::Timeout) => {}
                // Nothing more is said: they are about to end.
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(POLL),
            }
            let ended: Vec<_> = self.ranks.iter_mut().map(Rank::has_ended).collect();
            // What those said is there now, and comes first.
            while let Ok(line) = self.lines.try_recv() {
                self.say(line)?;
            }
            if stop.is_raised() || ended.iter().flatten().any(|status| interrupt::has_ended(*status)) {
                return Ok(self.interrupt());
            }
            self.judge(&ended);
            self.look_for_stopped();
            if ended.iter().all(Option::is_some) || self.end.is_some_and(|end| Instant::now() > end) {
                return Ok(self.finish());
            }
        }
    }

    /// Prints what a rank said, or keeps it.
    fn say(&mut self, Line { rank, is_error, text }: Line) -> Result<(), Error> {
        match text.strip_prefix(ERROR) {
            Some(reason) if is_error => self.blame(rank, reason.to_owned()),
            _ if rank == 0 && !is_error => match output::print(&format!("{text}\n")) {
                // Records go to a file, perhaps.
                Err(error) if output::reader_has_gone(&error) => {}
                printed => printed?,
            },
            _ if rank == 0 => output::complain(&text),
            _ => output::complain(&format!("rank {rank}: {text}")),
        }
        Ok(())
    }

    /// Notes what a rank said of a failure: its own, or that of one that went without a word. The first one counts.
    fn blame(&mut self, rank: usize, reason: String) {
        let failure = self.failure.get_or_insert(Failure { rank, line: None, status: None });
        if failure.line.is_none() {
            failure.line = Some(reason);
            self.ranks.iter_mut().for_each(Rank::ask_to_end);
            self.end_within(GRACE);
        }
    }

    /// Notes which ranks failed without a word; where one has done its work, the others have nothing left to wait for.
    fn judge(&mut self, ended: &[Option<ExitStatus>]) {
        for (rank, status) in ended.iter().enumerate().filter_map(|(rank, status)| Some((rank, (*status)?))) {
            if !status.success() && self.failure.is_none() {
                self.failure = Some(Failure { rank, line: None, status: None });
                let lost = gone(rank, Some(status));
                self.ranks.iter_mut().for_each(|other| other.tell(&lost));
            }
            if let Some(failure) = self.failure.as_mut().filter(|failure| failure.rank == rank) {
                failure.status = Some(status);
            }
            self.end_within(self.deadline);
        }
    }

    /// Gives up a rank that has been stopped for as long as ranks wait for each other: it cannot say so itself.
    fn look_for_stopped(&mut self) {
        let deadline = self.deadline;
        let is_late = |rank: &mut Rank| rank.stopped_for().is_some_and(|time| time >= deadline);
        if let Some(rank) = self.ranks.iter_mut().position(is_late) {
            self.blame(rank, format!("rank {rank} was stopped, and did not go on: it was killed"));
        }
    }

    /// Has all ranks end within this time from now, or the time that was set before.
    fn end_within(&mut self, time: Duration) {
        let end = Instant::now() + time;
        self.end = Some(self.end.map_or(end, |before| before.min(end)));
    }

    /// Ends what is left, and says what failed.
    fn finish(&mut self) -> End {
        let left = self.ranks.iter().position(|rank| !rank.is_over());
        self.ranks.iter_mut().for_each(Rank::kill);
        let failed = |exit_code, reason| End { exit_code, line: Some(format!("{ERROR}{reason}")) };
        match (self.failure.take(), left) {
            (Some(Failure { rank, line, status }), _) => {
                let is_usage = status.and_then(|status| status.code()) == Some(USAGE.into());
                failed(if is_usage { USAGE } else { 1 }, line.unwrap_or_else(|| gone(rank, status)))
            }
            (None, Some(rank)) => failed(1, format!("rank {rank} did not end after others had: it was killed")),
            (None, None) => End { exit_code: 0, line: None },
        }
    }

    fn interrupt(&mut self) -> End {
        self.ranks.iter_mut().for_each(Rank::kill);
        let line = format!("interrupted: {} ranks were ended", self.ranks.len());
        End { exit_code: interrupt::EXIT_CODE, line: Some(line) }
    }
}

/// The exit code of a command line that is wrong.
const USAGE: u8 = 2;

/// That a rank has ended, and how.
fn gone(rank: usize, status: Option<ExitStatus>) -> String {
    status.map_or_else(|| format!("rank {rank} has ended"), |status| format!("rank {rank} has ended: {status}"))
}
