//! A session of the debugger: where it stands, and what commands do.

use ptx_emu::trace::{State, Step, Trace, WarpId};
use ptx_emu::{Kernel, Report};

use super::command::{Command, HELP};
use super::place::{Buffer, Place};
use super::show;
use super::stops::Stop;
use crate::cli::selection::Thread;
use crate::cli::steps::Writer;

/// A recorded launch, and the thread that commands are about.
pub struct Session<'a> {
    pub trace: &'a Trace,
    pub report: &'a Report,
    pub kernel: &'a Kernel,
    pub text: &'a str,
    pub writer: Writer<'a>,
    pub buffers: Vec<Buffer>,
    pub state: State,
    pub warp: WarpId,
    pub lane: u32,
    /// Whether the whole warp is selected, and not a thread of it.
    pub is_warp: bool,
    pub stops: Vec<Stop>,
    /// Breakpoints and watchpoints so far.
    numbers: usize,
    /// Whether it stands before a step that it has stopped at, or begun with.
    has_moved: bool,
}

impl<'a> Session<'a> {
    /// Before the first instruction, with the first thread selected.
    pub fn new(trace: &'a Trace, report: &'a Report, kernel: &'a Kernel, text: &'a str, buffers: Vec<Buffer>) -> Self {
        let (writer, state) = (Writer::new(trace, text), State::new(trace));
        let warp = trace.steps.first().map_or(WarpId { block: [0; 3], warp: 0 }, |step| step.warp);
        let (lane, is_warp, stops, numbers, has_moved) = Default::default();
        Self { trace, report, kernel, text, writer, buffers, state, warp, lane, is_warp, stops, numbers, has_moved }
    }

    /// Does what a command says. Returns what it has to say; the error is one line.
    pub fn execute(&mut self, command: Command) -> Result<String, String> {
        match command {
            Command::Break(spot, condition) => {
                let stop = Stop::at(self.numbers + 1, spot, condition, self.trace, self.kernel)?;
                self.add(stop)
            }
            Command::Watch(place, bytes) => {
                let place = self.place(&place, bytes)?;
                place.read(&self.state, place.bytes as usize).ok_or_else(|| not_there(&place))?;
                self.add(Stop::Watch { number: self.numbers + 1, place })
            }
            Command::Delete(number) => {
                let index = self.stops.iter().position(|stop| stop.number() == number);
                self.stops.remove(index.ok_or_else(|| format!("there is no breakpoint {number}"))?);
                Ok(String::new())
            }
            Command::Continue => Ok(self.forwards()),
            Command::ReverseContinue => Ok(self.backwards()),
            Command::Step(count) => self.step(count),
            Command::Back(count) => self.back(count),
            Command::LastWrite(place, bytes) => {
                let place = self.place(&place, bytes)?;
                self.last_write(&place)
            }
            Command::Goto(position) => {
                let all = self.trace.steps.len();
                if position > all {
                    return Err(format!("the launch has {all} instructions"));
                }
                self.go(position);
                if let Some(step) = self.trace.steps.get(position) {
                    self.select(step, step.active);
                }
                Ok(show::here(self))
            }
            Command::Block(block) => {
                if block.iter().zip(self.trace.grid).any(|(at, size)| *at >= size) {
                    let [x, y, z] = self.trace.grid;
                    return Err(format!("the grid has {x} x {y} x {z} blocks"));
                }
                self.warp.block = block;
                Ok(show::here(self))
            }
            Command::Warp(warp) => {
                let warps = self.trace.threads().div_ceil(32);
                if warp >= warps {
                    return Err(format!("a block has {warps} warps"));
                }
                (self.warp.warp, self.lane, self.is_warp) = (warp, 0, true);
                Ok(show::here(self))
            }
            Command::Thread(thread) => self.thread(thread),
            Command::Print(format, names) if self.is_warp => show::lanes(self, format, &names),
            Command::Print(format, names) => show::print(self, format, &names),
            Command::Lanes(format, names) => show::lanes(self, format, &names),
            Command::Examine(layout, place) => {
                let place = self.place(&place, None)?;
                show::memory(&self.state, &place, layout)
            }
            Command::List(line) => show::list(self, line),
            Command::Where => Ok(show::here(self)),
            Command::Backtrace => Ok(show::backtrace(self)),
            Command::Info(topic) => Ok(show::info(self, topic)),
            Command::Help => Ok(HELP.to_owned()),
            Command::Quit => Ok(String::new()),
        }
    }

    fn add(&mut self, stop: Stop) -> Result<String, String> {
        self.numbers += 1;
        let text = stop.text() + "\n";
        self.stops.push(stop);
        Ok(text)
    }

    fn thread(&mut self, thread: Thread) -> Result<String, String> {
        if !thread.is_in(self.trace.block) {
            let [x, y, z] = self.trace.block;
            return Err(format!("a block has {x} x {y} x {z} threads"));
        }
        let index = thread.index(self.trace.block);
        (self.warp.warp, self.lane, self.is_warp) = (index / 32, index % 32, false);
        Ok(show::here(self))
    }

    /// The place of that name, for the selected thread.
    fn place(&self, name: &str, bytes: Option<u32>) -> Result<Place, String> {
        let register = |register: &str| show::value_of(self, register, self.lane).map(|(value, _)| value);
        Place::find(name, bytes, (self.warp, self.lane), self.trace, &self.buffers, register)
    }

    fn go(&mut self, position: usize) {
        self.state.seek(self.trace, position);
        self.has_moved = true;
    }

    /// Selects the step's warp, and of it a lane of these, the one that was selected if it is among them.
    fn select(&mut self, step: &Step, lanes: u32) {
        if self.warp != step.warp || lanes >> self.lane & 1 == 0 {
            (self.warp, self.lane) = (step.warp, lanes.trailing_zeros() % 32);
        }
    }

    /// The selected lanes.
    pub fn lanes(&self) -> u32 {
        if self.is_warp { u32::MAX } else { 1 << self.lane }
    }

    /// The next step of the selected thread or warp.
    pub fn next(&self) -> Option<usize> {
        let steps = self.trace.steps_of(self.warp);
        let from = steps.partition_point(|step| *step < self.state.position());
        steps[from..].iter().copied().find(|step| self.trace.steps[*step].lanes & self.lanes() != 0)
    }

    /// Its last step.
    pub fn previous(&self) -> Option<usize> {
        let steps = self.trace.steps_of(self.warp);
        let to = steps.partition_point(|step| *step < self.state.position());
        steps[..to].iter().rev().copied().find(|step| self.trace.steps[*step].lanes & self.lanes() != 0)
    }

    fn step(&mut self, count: usize) -> Result<String, String> {
        let mut text = String::new();
        for _ in 0..count {
            let Some(next) = self.next() else {
                if text.is_empty() {
                    return Err(format!("{}: no further instruction", show::selected(self)));
                }
                break;
            };
            self.go(next);
            let step = &self.trace.steps[next];
            text += &self.writer.step(step, &self.state, step.lanes & self.lanes());
            self.go(next + 1);
        }
        Ok(text + &show::here(self))
    }

    fn back(&mut self, count: usize) -> Result<String, String> {
        for done in 0..count {
            match self.previous() {
                Some(previous) => self.go(previous),
                None if done == 0 => return Err(format!("{}: no earlier instruction", show::selected(self))),
                None => break,
            }
        }
        Ok(show::here(self))
    }

    /// Runs to the next stop, or to the end.
    fn forwards(&mut self) -> String {
        let begin = self.state.position();
        for index in begin..self.trace.steps.len() {
            let step = &self.trace.steps[index];
            for stop in 0..self.stops.len() {
                if self.stops[stop].passes(step) {
                    continue;
                }
                if let Stop::Watch { number, place } = &self.stops[stop] {
                    let (number, place) = (*number, place.clone());
                    let text = format!("watchpoint {number}: {}", self.written(index, &place));
                    self.go(index + 1);
                    return text + &show::here(self);
                }
                if index == begin && self.has_moved {
                    continue;
                }
                self.state.seek(self.trace, index);
                let lanes = self.stops[stop].stops(step, &self.state, self.trace);
                if lanes != 0 {
                    return self.stopped(stop, step, lanes);
                }
            }
        }
        self.go(self.trace.steps.len());
        show::end(self)
    }

    /// Runs back to the last stop, or to the beginning.
    fn backwards(&mut self) -> String {
        for index in (0..self.state.position()).rev() {
            let step = &self.trace.steps[index];
            for stop in 0..self.stops.len() {
                if self.stops[stop].passes(step) {
                    continue;
                }
                if let Stop::Watch { number, place } = &self.stops[stop] {
                    let (number, place) = (*number, place.clone());
                    return format!("watchpoint {number}: {}", self.written(index, &place)) + &show::here(self);
                }
                self.state.seek(self.trace, index);
                let lanes = self.stops[stop].stops(step, &self.state, self.trace);
                if lanes != 0 {
                    return self.stopped(stop, step, lanes);
                }
            }
        }
        self.go(0);
        format!("the launch begins here\n{}", show::here(self))
    }

    fn stopped(&mut self, stop: usize, step: &Step, lanes: u32) -> String {
        self.has_moved = true;
        self.select(step, lanes);
        format!("breakpoint {}\n{}", self.stops[stop].number(), show::here(self))
    }

    fn last_write(&mut self, place: &Place) -> Result<String, String> {
        let writes = |step: &Step| step.accesses.iter().any(|access| place.is_written_by(step.warp, access));
        match self.trace.steps[..self.state.position()].iter().rposition(writes) {
            Some(index) => Ok(self.written(index, place) + &show::here(self)),
            None => {
                place.read(&self.state, place.bytes as usize).ok_or_else(|| not_there(place))?;
                Ok(format!("{}: nothing has written there before\n", place.name))
            }
        }
    }

    /// Goes to before a step that writes to a place, and selects the thread that does. Returns what it writes, as a line.
    fn written(&mut self, index: usize, place: &Place) -> String {
        let step = &self.trace.steps[index];
        self.go(index + 1);
        let after = show::value_at(&self.state, place);
        self.go(index);
        let before = show::value_at(&self.state, place);
        let access = step.accesses.iter().rev().find(|access| place.is_written_by(step.warp, access));
        let lanes = access.into_iter().filter(|access| !access.is_async).flat_map(|access| {
            access
                .places
                .iter()
                .filter(|at| show::overlaps(at.address, access.bytes, place))
                .map(|at| 1 << (at.lane % 32))
        });
        let lanes = lanes.fold(0, |mask, lane| mask | lane);
        self.select(step, if lanes == 0 { step.active } else { lanes });
        let by = match access {
            Some(access) if access.is_async => format!("the copy of line {} that completes here", access.line),
            _ => show::thread(self),
        };
        format!("{}: {before} -> {after}, by {by}\n", place.name)
    }
}

pub fn not_there(place: &Place) -> String {
    format!("{}: {} bytes of {} memory at {:#x} are not all there", place.name, place.bytes, place.space, place.address)
}
