//! What commands print.

use ptx_emu::trace::{Event, State, WarpId};
use ptx_emu::{Space, Type};

use super::command::{Layout, Topic};
use super::place::Place;
use super::session::{Session, not_there};
use crate::cli::findings::trace;
use crate::cli::output::shown;
use crate::cli::steps::{number, ranges, shown as value};

/// Lines of the PTX before and after the current one.
const AROUND: u32 = 5;

/// Warps that are listed at most.
const MAX_WARPS: usize = 64;

/// Characters of a line of the PTX.
const WIDTH: usize = 120;

/// Values of a line of memory.
const PER_LINE: usize = 8;

/// The selected warp or thread.
pub fn selected(session: &Session<'_>) -> String {
    let WarpId { block: [x, y, z], warp } = session.warp;
    if session.is_warp { format!("warp {warp} of block ({x}, {y}, {z})") } else { thread(session) }
}

/// The selected thread.
pub fn thread(session: &Session<'_>) -> String {
    let index = session.warp.warp * 32 + session.lane;
    let ([x, y, _], [bx, by, bz]) = (session.trace.block, session.warp.block);
    let (tx, ty, tz) = (index % x, index / x % y, index / x / y);
    format!("thread ({tx}, {ty}, {tz}) of block ({bx}, {by}, {bz})")
}

/// The selected warp or thread, and the instruction before which it stands.
pub fn here(session: &Session<'_>) -> String {
    let Some(step) = session.next().map(|next| &session.trace.steps[next]) else {
        let exited = |event: &Event| matches!(event, Event::Exited { lanes } if lanes & session.lanes() != 0);
        let last = session.previous().map(|last| &session.trace.steps[last]);
        let has_exited = last.is_some_and(|last| last.events.iter().any(exited));
        let why = if has_exited { "it has exited" } else { "nothing more of it is recorded" };
        return format!("{}: {why}\n", selected(session));
    };
    let text = session.writer.text(&session.trace.instructions[step.instruction as usize]);
    let lanes = if session.is_warp { format!(", lanes {}", ranges(step.lanes)) } else { String::new() };
    let mut text = format!("{}{lanes}, line {}: {text}\n", selected(session), step.line);
    if let frames @ [_, ..] = &session.kernel.source(step.line)[..] {
        text += &format!("    {}\n", trace(frames));
    }
    text
}

/// That the launch has ended, and with what.
pub fn end(session: &Session<'_>) -> String {
    if session.trace.truncated {
        return "nothing more is recorded: --steps allows more\n".to_owned();
    }
    let report = session.report;
    match (&report.fault, report.findings.len()) {
        (Some(fault), _) => format!("the launch has ended: {}\n", shown(&fault.to_string(), 1000)),
        (None, 0) => "the launch has ended\n".to_owned(),
        (None, 1) => "the launch has ended, with 1 finding: see info findings\n".to_owned(),
        (None, count) => format!("the launch has ended, with {count} findings: see info findings\n"),
    }
}

/// A lane's value of a register, and its type. Of several registers of that name, the one that the warp wrote last.
pub fn value_of(session: &Session<'_>, name: &str, lane: u32) -> Result<(u128, Type), String> {
    if let Some(value) = special(session, name, lane) {
        return Ok((value.into(), Type::U32));
    }
    let registers = session.trace.registers.iter().enumerate().filter(|(_, register)| *register.name == *name);
    let registers: Vec<u32> = registers.map(|(index, _)| index as u32).collect();
    let last = || {
        let steps = session.trace.steps_of(session.warp);
        let before = steps.partition_point(|step| *step < session.state.position());
        let writes = |step: &usize| {
            let writes = session.trace.steps[*step].registers.iter();
            writes.map(|write| write.register).find(|register| registers.contains(register))
        };
        steps[..before].iter().rev().find_map(writes)
    };
    let register = match registers[..] {
        [] => return Err(format!("the kernel has no register {name}")),
        [only] => only,
        [first, ..] => last().unwrap_or(first),
    };
    let ty = session.trace.registers[register as usize].ty;
    let value = session.state.register(session.warp, register, lane);
    value.map(|value| (value, ty)).ok_or_else(|| format!("{name} has no value yet in lane {lane}"))
}

/// The special registers that say which thread it is.
fn special(session: &Session<'_>, name: &str, lane: u32) -> Option<u32> {
    let (block, grid, [bx, by, bz]) = (session.trace.block, session.trace.grid, session.warp.block);
    let index = session.warp.warp * 32 + lane;
    let thread = [index % block[0], index / block[0] % block[1], index / block[0] / block[1]];
    let (name, dimension) = name.split_once('.').unwrap_or((name, ""));
    let of = |all: [u32; 3]| ["x", "y", "z"].iter().position(|at| *at == dimension).map(|at| all[at]);
    match name {
        "%tid" => of(thread),
        "%ntid" => of(block),
        "%ctaid" => of([bx, by, bz]),
        "%nctaid" => of(grid),
        "%laneid" => Some(lane),
        "%warpid" => Some(session.warp.warp),
        _ => None,
    }
}

/// A value in a format, or else as its type says.
fn formatted(bits: u128, ty: Type, format: Option<char>) -> String {
    let of = |width: [Type; 4]| match ty.bits() {
        ..=8 => width[0],
        16 => width[1],
        64 => width[3],
        _ => width[2],
    };
    match format {
        Some('x') => format!("{bits:#x}"),
        Some('u') => bits.to_string(),
        Some('d') => value(of([Type::S8, Type::S16, Type::S32, Type::S64]), bits),
        Some(_) => value(of([Type::U8, Type::F16, Type::F32, Type::F64]), bits),
        None => value(ty, bits),
    }
}

/// Values of the selected thread.
pub fn print(session: &Session<'_>, format: Option<char>, names: &[String]) -> Result<String, String> {
    let lines = names.iter().map(|name| {
        let (bits, ty) = value_of(session, name, session.lane)?;
        Ok(format!("{name} = {}\n", formatted(bits, ty, format)))
    });
    lines.collect()
}

/// Values of all lanes of the selected warp.
pub fn lanes(session: &Session<'_>, format: Option<char>, names: &[String]) -> Result<String, String> {
    let mut text = String::new();
    for name in names {
        let values = (0..32).map(|lane| match value_of(session, name, lane) {
            Ok((bits, ty)) => Ok(formatted(bits, ty, format)),
            Err(why) if why.contains("no register") => Err(why),
            Err(_) => Ok("-".to_owned()),
        });
        let values = values.collect::<Result<Vec<_>, _>>()?;
        text += &format!("{name}\n");
        for (index, values) in values.chunks(PER_LINE).enumerate() {
            let first = index * PER_LINE;
            text += &format!("{first:5}-{:<2} {}\n", first + PER_LINE - 1, values.join(" "));
        }
    }
    Ok(text)
}

/// Values in memory from a place on.
pub fn memory(state: &State, place: &Place, layout: Layout) -> Result<String, String> {
    let width = layout.bytes.unwrap_or_else(|| place.ty.map_or(4, Type::bytes));
    let ty = place.ty.filter(|ty| ty.bytes() == width).unwrap_or(match width {
        1 => Type::U8,
        2 => Type::U16,
        4 => Type::U32,
        _ => Type::U64,
    });
    let bytes = (layout.count.unwrap_or(1) * width) as usize;
    let place = &Place { bytes: bytes as u32, ..place.clone() };
    let bytes = place.read(state, bytes).ok_or_else(|| not_there(place))?;
    let values: Vec<String> = bytes
        .chunks(width as usize)
        .map(|bytes| formatted(number(bytes).unwrap_or_default(), ty, layout.format))
        .collect();
    let lines = values.chunks(PER_LINE).enumerate().map(|(index, values)| {
        let address = place.address + index as u64 * PER_LINE as u64 * u64::from(width);
        format!("{}[{address:#x}]: {}\n", place.space, values.join(" "))
    });
    Ok(lines.collect())
}

/// The value at a place.
pub fn value_at(state: &State, place: &Place) -> String {
    let Some(bytes) = place.read(state, place.bytes as usize) else { return "?".to_owned() };
    match (place.ty.filter(|ty| ty.bytes() == place.bytes), number(&bytes)) {
        (Some(ty), Some(bits)) => value(ty, bits),
        (None, Some(bits)) => value(Type::U64, bits),
        _ => "...".to_owned(),
    }
}

/// Whether bytes from an address on overlap with a place.
pub fn overlaps(address: u64, bytes: u32, place: &Place) -> bool {
    address < place.address + u64::from(place.bytes) && place.address < address + u64::from(bytes)
}

/// The PTX around a line, or around the selected thread's.
pub fn list(session: &Session<'_>, line: Option<u32>) -> Result<String, String> {
    let here = session.next().map(|next| session.trace.steps[next].line);
    let around = line.or(here).ok_or_else(|| format!("{} has exited: give a line", thread(session)))?;
    let lines: Vec<&str> = session.text.lines().collect();
    if around == 0 || around as usize > lines.len() {
        return Err(format!("the PTX has the lines 1 to {}", lines.len()));
    }
    let shown_lines = around.saturating_sub(AROUND).max(1)..=(around + AROUND).min(lines.len() as u32);
    let text = shown_lines.map(|at| {
        let mark = if Some(at) == here { '>' } else { ' ' };
        let text = lines[at as usize - 1].replace('\t', "    ");
        format!("{mark}{at:5}  {}", shown(&text, WIDTH)).trim_end().to_owned() + "\n"
    });
    Ok(text.collect())
}

/// The source of the selected thread's line, the innermost call first.
pub fn backtrace(session: &Session<'_>) -> String {
    let Some(line) = session.next().map(|next| session.trace.steps[next].line) else { return here(session) };
    let mut text = format!("#0  {}, line {line} of the PTX\n", session.kernel.name());
    for (index, frame) in session.kernel.source(line).iter().enumerate() {
        text += &format!("#{}  {}\n", index + 1, shown(&trace(std::slice::from_ref(frame)), WIDTH));
    }
    text
}

/// What `info` is asked for.
pub fn info(session: &Session<'_>, topic: Topic) -> String {
    let text: String = match topic {
        Topic::Warps => warps(session),
        Topic::Registers => registers(session),
        Topic::Variables => variables(session),
        Topic::Breakpoints => session.stops.iter().map(|stop| stop.text() + "\n").collect(),
        Topic::Findings => {
            let all = session.report.findings.iter().chain(&session.report.fault);
            all.map(|finding| shown(&finding.to_string(), 1000) + "\n").collect()
        }
    };
    if text.is_empty() { "none\n".to_owned() } else { text }
}

fn warps(session: &Session<'_>) -> String {
    let (trace, position) = (session.trace, session.state.position());
    let all = trace.warps();
    let mut text = String::new();
    for &warp in all.iter().take(MAX_WARPS) {
        let [x, y, z] = warp.block;
        let mark = if warp == session.warp { '>' } else { ' ' };
        let waiting = trace.previous_of(warp, position).map_or(0, |step| trace.steps[step].waiting);
        let what = match trace.next_of(warp, position).map(|next| &trace.steps[next]) {
            None if trace.truncated => "not recorded any more".to_owned(),
            None => "exited".to_owned(),
            Some(step) => {
                let waits = if waiting != 0 { ", after waiting" } else { "" };
                format!("line {}, lanes {}{waits}", step.line, ranges(step.lanes))
            }
        };
        text += &format!("{mark} block ({x}, {y}, {z}) warp {}: {what}\n", warp.warp);
    }
    if all.len() > MAX_WARPS {
        text += &format!("  and {} more\n", all.len() - MAX_WARPS);
    }
    text
}

fn registers(session: &Session<'_>) -> String {
    let all = session.trace.registers.iter().enumerate();
    let values = all.filter_map(|(index, register)| {
        let bits = session.state.register(session.warp, index as u32, session.lane)?;
        Some(format!("{} = {}\n", register.name, value(register.ty, bits)))
    });
    values.collect()
}

fn variables(session: &Session<'_>) -> String {
    let mut text = String::new();
    for variable in &session.trace.variables {
        let bytes = match variable.bytes {
            0 if variable.space == Space::Shared => "dynamic".to_owned(),
            bytes => format!("{bytes} bytes"),
        };
        let name = shown(&variable.name, WIDTH);
        text += &format!("{name}: {} memory at {:#x}, {bytes}\n", variable.space, variable.address);
    }
    for buffer in &session.buffers {
        let (number, ty, elements, address) = (buffer.number, buffer.ty.name(), buffer.elements, buffer.address);
        text += &format!("arg{number}: {ty}[{elements}] at {address:#x}\n");
    }
    text
}
