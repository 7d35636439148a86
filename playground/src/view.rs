//! A step of the trace as a page shows it.

use ptx_emu::Space;
use ptx_emu::trace::{Access, AccessKind, Step, WarpId};
use serde::Serialize;

use crate::session::Last;
use crate::timeline;

/// Places of an access that are shown: those of a warp, and of a copy as many.
const MAX_PLACES: usize = 64;

/// What a step does. Masks have bit i for lane i.
#[derive(Serialize)]
pub(crate) struct View {
    step: usize,
    warp: usize,
    line: u32,
    instruction: String,
    /// Lanes at the instruction, those of them whose guard holds, and those that have to wait there.
    lanes: u32,
    active: u32,
    waiting: u32,
    registers: Vec<Register>,
    accesses: Vec<Accessed>,
    events: Vec<String>,
    warps: Vec<Warp>,
}

/// A register in the lanes of the warp, as hexadecimal digits of its bits; `None` where it has no value.
#[derive(Serialize)]
struct Register {
    name: String,
    ty: &'static str,
    is_read: bool,
    is_written: bool,
    before: Vec<Option<String>>,
    /// Where the instruction writes it.
    after: Option<Vec<Option<String>>>,
}

/// An access to memory.
#[derive(Serialize)]
struct Accessed {
    line: u32,
    is_async: bool,
    kind: &'static str,
    space: &'static str,
    /// Bytes of each place.
    bytes: u32,
    places: Vec<Placed>,
    /// How many more places there are.
    more: usize,
    sectors: Option<u32>,
    wavefronts: Option<u32>,
}

/// Where a lane accesses memory, and what was there before and after.
#[derive(Serialize)]
struct Placed {
    lane: u8,
    /// In decimal digits: JavaScript's numbers have fewer bits.
    address: String,
    name: String,
    before: String,
    after: Option<String>,
}

/// A warp between two steps.
#[derive(Serialize)]
struct Warp {
    /// The step that it does next; `None` where it has ended.
    next: Option<usize>,
    line: Option<u32>,
    /// Lanes that its next step has, and those for which its last step waits.
    lanes: u32,
    waiting: u32,
}

/// The view of a step.
pub(crate) fn step(last: &mut Last, index: usize, watched: &[String]) -> Result<View, String> {
    last.state.seek(&last.trace, index);
    let Last { trace, warps, .. } = &*last;
    let step = trace.steps.get(index).ok_or_else(|| format!("there is no step {index}"))?;
    let instruction = &trace.instructions[step.instruction as usize];
    let mut shown: Vec<u32> = instruction.reads.iter().chain(&instruction.writes).copied().collect();
    shown.extend(watched.iter().filter_map(|name| trace.register_named(name)));
    let mut seen = std::collections::HashSet::new();
    shown.retain(|register| seen.insert(*register));
    let events = step.events.iter().filter_map(|event| timeline::sentence(event, last));
    Ok(View {
        step: index,
        warp: warps.iter().position(|warp| *warp == step.warp).unwrap_or_default(),
        line: step.line,
        instruction: instruction.mnemonic.to_string(),
        lanes: step.lanes,
        active: step.active,
        waiting: step.waiting,
        registers: shown.into_iter().map(|register| self::register(last, step, register)).collect(),
        accesses: step.accesses.iter().map(|access| accessed(last, access)).collect(),
        events: events.collect(),
        warps: warps.iter().map(|id| warp(last, *id, index)).collect(),
    })
}

fn register(last: &Last, step: &Step, register: u32) -> Register {
    let Last { trace, state, .. } = last;
    let instruction = &trace.instructions[step.instruction as usize];
    let write = step.registers.iter().find(|write| write.register == register);
    let before = |lane| state.register(step.warp, register, lane);
    let after = |lane| write.and_then(|write| write.after(lane)).or_else(|| before(lane));
    let hex = |value: Option<u128>| value.map(|bits| format!("{bits:x}"));
    let described = &trace.registers[register as usize];
    Register {
        name: described.name.to_string(),
        ty: described.ty.name(),
        is_read: instruction.reads.contains(&register),
        is_written: write.is_some(),
        before: (0..32).map(|lane| hex(before(lane))).collect(),
        after: write.map(|_| (0..32).map(|lane| hex(after(lane))).collect()),
    }
}

fn accessed(last: &Last, access: &Access) -> Accessed {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let placed = |(index, place): (usize, &ptx_emu::trace::Place)| Placed {
        lane: place.lane,
        address: place.address.to_string(),
        name: name(last, access.space, place.address),
        before: hex(access.before_at(index)),
        after: access.writes().then(|| hex(access.after_at(index))),
    };
    Accessed {
        line: access.line,
        is_async: access.is_async,
        kind: match access.kind {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
            AccessKind::Atomic => "atomic",
        },
        space: access.space.name(),
        bytes: access.bytes,
        places: access.places.iter().enumerate().take(MAX_PLACES).map(placed).collect(),
        more: access.places.len().saturating_sub(MAX_PLACES),
        sectors: access.sectors(),
        wavefronts: access.wavefronts(),
    }
}

/// An address as a reader knows it: an element of the case's memory, or an offset in a variable.
pub(crate) fn name(last: &Last, space: Space, address: u64) -> String {
    if matches!(space, Space::Global | Space::Generic) {
        return last.filled.name(address);
    }
    let within = |variable: &&ptx_emu::trace::Variable| {
        variable.space == space && (variable.address..variable.address + variable.bytes).contains(&address)
    };
    match last.trace.variables.iter().find(within) {
        Some(variable) => format!("{} + {}", variable.name, address - variable.address),
        None => format!("{address:#x}"),
    }
}

fn warp(last: &Last, id: WarpId, index: usize) -> Warp {
    let steps = &last.trace.steps;
    let next = last.trace.next_of(id, index);
    let waiting = last.trace.previous_of(id, index).map_or(0, |previous| steps[previous].waiting);
    Warp { next, line: next.map(|next| steps[next].line), lanes: next.map_or(0, |next| steps[next].lanes), waiting }
}
