//! `ptx-emu debug`: steps through a recorded launch, forwards and backwards.

mod command;
mod place;
mod session;
mod show;
mod stops;

use std::io::{self, BufRead, IsTerminal};

use command::Command;
use session::Session;

use super::args::DebugArgs;
use super::error::Error;
use super::output::print;
use super::ready::Ready;

/// What stands before a command on a terminal.
const PROMPT: &str = "(ptx-emu) ";

/// Bytes of a command at most.
const MAX_LINE: u64 = 1 << 16;

/// Records the launch, then does what standard input says. Returns the exit code.
pub fn debug(args: &DebugArgs) -> Result<u8, Error> {
    let mut ready = Ready::new(&args.launch)?;
    let launched = ready.kernel.trace(&mut ready.memory, &ready.launch, args.steps);
    let (trace, report) = launched.map_err(|error| Error::Usage(error.to_string()))?;
    let buffers = place::buffers(&args.launch, &ready.launch, &trace);
    let mut session = Session::new(&trace, &report, &ready.kernel, &ready.source.text, buffers);
    print(&format!("{}\n{}", opening(&session), show::here(&session)))?;
    converse(&mut session)?;
    Ok(0)
}

/// What was recorded.
fn opening(session: &Session<'_>) -> String {
    let (steps, warps) = (session.trace.steps.len(), session.trace.warps().len());
    let more = if session.trace.truncated { ", and there are more (--steps)" } else { "" };
    let found = match session.report.findings.len() + usize::from(session.report.fault.is_some()) {
        0 => String::new(),
        1 => "; 1 finding".to_owned(),
        count => format!("; {count} findings"),
    };
    format!(
        "{}: {steps} instructions of {warps} warps recorded{more}{found}; help lists the commands",
        session.kernel.name()
    )
}

fn converse(session: &mut Session<'_>) -> Result<(), Error> {
    let mut input = io::stdin().lock();
    let is_terminal = io::stdin().is_terminal();
    let mut last = None;
    loop {
        if is_terminal {
            print(PROMPT)?;
        }
        let mut line = Vec::new();
        let read = io::Read::take(&mut input, MAX_LINE).read_until(b'\n', &mut line);
        let failed = |source| Error::Read { path: "standard input".into(), source };
        if read.map_err(failed)? == 0 {
            return Ok(());
        }
        let line = String::from_utf8_lossy(&line);
        let command = match line.trim() {
            "" if is_terminal => last.clone().map(Ok),
            line if line.is_empty() || line.starts_with('#') => None,
            line => Some(Command::parse(line)),
        };
        let text = match command {
            None => continue,
            Some(Ok(Command::Quit)) => return Ok(()),
            Some(command) => {
                last = command.as_ref().ok().filter(|command| command.is_repeated()).cloned();
                command.and_then(|command| session.execute(command))
            }
        };
        match text {
            Ok(text) => print(&text)?,
            Err(why) => print(&format!("error: {}\n", super::output::shown(&why, 1000)))?,
        }
    }
}
