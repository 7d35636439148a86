//! A rank's process, as its parent has it.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::Error;

/// How long what a rank printed may take to arrive once it has ended: somebody else may have its pipes.
const DRAIN: Duration = Duration::from_secs(1);

/// A line that a rank printed.
pub(super) struct Line {
    pub(super) rank: usize,
    /// Whether it is of standard error.
    pub(super) is_error: bool,
    pub(super) text: String,
}

/// A rank's process. It is killed when this is dropped.
pub(super) struct Rank {
    child: Child,
    stdin: Option<ChildStdin>,
    readers: [JoinHandle<()>; 2],
    /// How it ended, and when that was seen.
    ended: Option<(ExitStatus, Instant)>,
    /// Whether it has, and all that it printed was read.
    is_over: bool,
    /// Since when it has been stopped, as far as was seen.
    stopped: Option<Instant>,
}

impl Rank {
    /// Starts the process; its lines go to `lines`.
    pub(super) fn start(number: usize, mut command: Command, lines: Sender<Line>) -> Result<Self, Error> {
        let failed = |source| Error::Launch { rank: number, source };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        let stdin = child.stdin.take();
        let readers =
            [read(child.stdout.take(), number, false, lines.clone()), read(child.stderr.take(), number, true, lines)];
        Ok(Self { child, stdin, readers, ended: None, is_over: false, stopped: None })
    }

    /// Whether it has ended, and all that it printed is there.
    pub(super) const fn is_over(&self) -> bool {
        self.is_over
    }

    /// How it ended, where it [is over](Self::is_over).
    pub(super) fn has_ended(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            // An error means that there is no such child: it is not ours to wait for.
            self.ended = self.child.try_wait().ok().flatten().map(|status| (status, Instant::now()));
        }
        let (status, since) = self.ended?;
        self.is_over |= self.readers.iter().all(JoinHandle::is_finished) || since.elapsed() > DRAIN;
        self.is_over.then_some(status)
    }

    /// For how long a signal has had it stopped; `None` where it runs, or has ended.
    pub(super) fn stopped_for(&mut self) -> Option<Duration> {
        let is_stopped = self.ended.is_none() && is_stopped(self.child.id());
        let since = is_stopped.then(|| self.stopped.unwrap_or_else(Instant::now));
        self.stopped = since;
        since.map(|since| since.elapsed())
    }

    /// Sends it a line; one that cannot be read any more is lost.
    pub(super) fn tell(&mut self, line: &str) {
        if let Some(stdin) = &mut self.stdin {
            let _ = writeln!(stdin, "{line}");
        }
    }

    /// Closes its standard input: it is to end.
    pub(super) fn ask_to_end(&mut self) {
        self.stdin = None;
    }

    /// Ends it, whether it runs, hangs or was stopped.
    pub(super) fn kill(&mut self) {
        if self.ended.is_none() {
            // It may have ended in between.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        self.is_over = true;
    }
}

impl Drop for Rank {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Whether a signal has stopped a process, where the system says so: Linux.
fn is_stopped(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name before the state may have any character.
    stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('T'))
}

/// Reads a pipe to its end, line by line, on a thread of its own.
fn read(pipe: Option<impl Read + Send + 'static>, rank: usize, is_error: bool, lines: Sender<Line>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let Some(pipe) = pipe else { return };
        let mut pipe = BufReader::new(pipe);
        let mut bytes = Vec::new();
        // What cannot be read has ended.
        while pipe.read_until(b'\n', &mut bytes).is_ok_and(|count| count > 0) {
            let text = String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned();
            if lines.send(Line { rank, is_error, text }).is_err() {
                return;
            }
            bytes.clear();
        }
    })
}
