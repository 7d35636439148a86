//! The steps of a trace as text: one line for each instruction, with what it reads and writes, and one for each event.

use ptx_emu::Type;
use ptx_emu::spec::value;
use ptx_emu::trace::{Access, AccessKind, Event, Instruction, State, Step, Trace};

/// Characters of an instruction's text; longer ones push the values to the right.
const WIDTH: usize = 44;

/// Values of a warp that are listed one by one; of more, the first and the last.
const LISTED: usize = 4;

/// Writes the steps of a trace.
pub struct Writer<'a> {
    trace: &'a Trace,
    lines: Vec<&'a str>,
}

impl<'a> Writer<'a> {
    /// For a trace of a kernel of that PTX.
    pub fn new(trace: &'a Trace, text: &'a str) -> Self {
        Self { trace, lines: text.lines().collect() }
    }

    /// The instruction as it is written, or where several stand on its line, its opcode.
    pub fn text(&self, instruction: &Instruction) -> String {
        let line = self.lines.get((instruction.line as usize).wrapping_sub(1)).map_or("", |line| line.trim());
        let line = line.split("//").next().unwrap_or_default().trim();
        let is_return = matches!(&*instruction.mnemonic, "exit" | "bra") && line.ends_with("ret;");
        let is_it = is_return || line.contains(&*instruction.mnemonic);
        let is_one = line.matches(';').count() == 1 && line.ends_with(';') && is_it;
        let text = if is_one { line } else { &*instruction.mnemonic };
        super::output::shown(text, 120)
    }

    /// A step for these lanes of it. `state` is before it.
    pub fn step(&self, step: &Step, state: &State, lanes: u32) -> String {
        let instruction = &self.trace.instructions[step.instruction as usize];
        let mut text = format!("{:5}  {:WIDTH$}", step.line, self.text(instruction));
        let active = step.active & lanes;
        if active == 0 {
            text += "  not executed";
        } else if lanes.count_ones() > 1 && active != lanes {
            text += &format!("  lanes {}", ranges(active));
        }
        let values = if active == 0 { lanes } else { active };
        let mut parts = self.reads(step, state, values);
        if active != 0 {
            parts.extend(step.accesses.iter().filter_map(|access| accessed(access, active, instruction)));
            parts.extend(self.writes(step, active));
        }
        if step.waiting & active != 0 {
            parts.push("waits".to_owned());
        }
        if !parts.is_empty() {
            text += "  ";
            text += &parts.join(", ");
        }
        let mut text = text.trim_end().to_owned() + "\n";
        if active != 0 {
            for event in step.events.iter().filter_map(event_text) {
                text += &format!("{:7}{event}\n", "");
            }
        }
        text
    }

    fn reads(&self, step: &Step, state: &State, lanes: u32) -> Vec<String> {
        let instruction = &self.trace.instructions[step.instruction as usize];
        let mut seen = vec![];
        let mut parts = vec![];
        for &register in &instruction.reads {
            if seen.contains(&register)
                || step.registers.iter().any(|write| write.register == register) && seen.len() > 8
            {
                continue;
            }
            seen.push(register);
            let ty = self.type_of(register, instruction, false);
            let values = each(lanes).map(|lane| state.register(step.warp, register, lane));
            parts.push(format!("{} = {}", self.trace.registers[register as usize].name, list(values, ty)));
        }
        shortened(parts)
    }

    fn writes(&self, step: &Step, lanes: u32) -> Vec<String> {
        let instruction = &self.trace.instructions[step.instruction as usize];
        let writes = step.registers.iter().filter(|write| write.lanes & lanes != 0);
        let parts = writes.map(|write| {
            let ty = self.type_of(write.register, instruction, true);
            let values = each(lanes & write.lanes).map(|lane| write.after(lane));
            format!("{} := {}", self.trace.registers[write.register as usize].name, list(values, ty))
        });
        shortened(parts.collect())
    }

    /// The type that an instruction takes a register for: the last of its types that has the register's size, or of a result the first.
    fn type_of(&self, register: u32, instruction: &Instruction, is_result: bool) -> Type {
        let own = self.trace.registers[register as usize].ty;
        let mut types =
            instruction.mnemonic.split('.').filter_map(Type::from_name).filter(|ty| ty.bits() == own.bits());
        let found = if is_result { types.next() } else { types.next_back() };
        found.unwrap_or(own)
    }
}

/// Results of a matrix product and the like: not all of them.
fn shortened(mut parts: Vec<String>) -> Vec<String> {
    const MOST: usize = 6;
    if parts.len() > MOST {
        let rest = parts.len() - MOST + 1;
        parts.truncate(MOST - 1);
        parts.push(format!("and {rest} more"));
    }
    parts
}

/// What an access finds or leaves in these lanes.
fn accessed(access: &Access, lanes: u32, instruction: &Instruction) -> Option<String> {
    let ty = instruction.mnemonic.split('.').filter_map(Type::from_name).next_back();
    let ty = ty.filter(|ty| ty.bytes() == access.bytes).unwrap_or(match access.bytes {
        1 => Type::U8,
        2 => Type::B16,
        4 => Type::U32,
        _ => Type::U64,
    });
    let places: Vec<usize> = (0..access.places.len()).filter(|&at| lanes >> access.places[at].lane & 1 != 0).collect();
    let first = *places.first()?;
    let last = *places.last()?;
    let address = |at: usize| format!("{:#x}", access.places[at].address);
    let addresses = if places.len() == 1 || access.places[first].address == access.places[last].address {
        address(first)
    } else {
        format!("{}..{}", address(first), address(last))
    };
    let name = format!("{}[{addresses}]", access.space);
    if access.is_async {
        let (bytes, does) = (access.bytes as usize * places.len(), if access.writes() { "written" } else { "read" });
        return Some(format!("{name} {bytes} bytes {does} by line {}", access.line));
    }
    let values = |get: fn(&Access, usize) -> &[u8]| list(places.iter().map(|&at| number(get(access, at))), ty);
    Some(match access.kind {
        AccessKind::Read if matches!(access.space, ptx_emu::Space::Param) => return None,
        AccessKind::Read => format!("{name} = {}", values(Access::before_at)),
        _ => format!("{name} = {} -> {}", values(Access::before_at), values(Access::after_at)),
    })
}

/// The number that bytes are, if they are at most 16.
pub fn number(bytes: &[u8]) -> Option<u128> {
    let is_short = bytes.len() <= 16;
    is_short.then(|| bytes.iter().rev().fold(0, |value, byte| value << 8 | u128::from(*byte)))
}

/// Values of lanes: one if all are the same, else some of them.
fn list(values: impl Iterator<Item = Option<u128>>, ty: Type) -> String {
    let values: Vec<String> = values.map(|value| value.map_or("?".to_owned(), |value| shown(ty, value))).collect();
    match values.split_first() {
        None => "?".to_owned(),
        Some((first, rest)) if rest.iter().all(|value| value == first) => first.clone(),
        Some((first, rest)) if rest.len() >= LISTED => {
            let (second, last) = (&rest[..LISTED - 2].join(" "), &rest[rest.len() - 1]);
            format!("[{first} {second} .. {last}]")
        }
        _ => format!("[{}]", values.join(" ")),
    }
}

/// A value as a reader wants it: bits that may be an address in hexadecimal.
pub fn shown(ty: Type, value: u128) -> String {
    match ty {
        Type::Pred => (value != 0).to_string(),
        Type::F16 | Type::Bf16 | Type::F32 | Type::F64 => value::format(ty, value as u64),
        _ if ty.is_signed() && value >> 32 != 0 && value >> 63 == 0 => format!("{value:#x}"),
        _ if ty.is_signed() && ty.bits() <= 64 && value::TYPES.contains(&ty) => value::format(ty, value as u64),
        _ if ty.is_float() || ty.bits() > 64 || value >= 1 << 24 => format!("{value:#x}"),
        _ => value.to_string(),
    }
}

/// What happened, as text; nothing for what the instruction's own line says.
pub fn event_text(event: &Event) -> Option<String> {
    let copy = |copy: &ptx_emu::trace::AsyncCopy| {
        let global = copy.global.map_or("out of bounds".to_owned(), |address| format!("global[{address:#x}]"));
        let shared = format!("shared[{:#x}]", copy.shared);
        let barrier = copy.barrier.map_or(String::new(), |barrier| format!(", mbarrier at {barrier:#x}"));
        let way = match copy.kind {
            ptx_emu::trace::CopyKind::BulkStore => format!("{shared} to {global}"),
            _ => format!("{global} to {shared}"),
        };
        format!("{} bytes from {way}{barrier}", copy.bytes)
    };
    Some(match event {
        Event::BarrierArrived { id, arrived, expected, .. } => format!("barrier {id}: {arrived} of {expected} threads"),
        Event::BarrierCompleted { id } => format!("barrier {id}: complete"),
        Event::ClusterArrived { arrived, expected } => format!("cluster barrier: {arrived} of {expected} threads"),
        Event::ClusterCompleted => "cluster barrier: complete".to_owned(),
        Event::MbarrierInit { address, count, .. } => format!("mbarrier at {address:#x}: expects {count} arrivals"),
        Event::MbarrierArrived { address, pending, bytes, .. } => {
            format!("mbarrier at {address:#x}: {pending} arrivals and {bytes} bytes pending")
        }
        Event::MbarrierCompleted { address, parity, .. } => {
            format!("mbarrier at {address:#x}: the phase of parity {parity} is complete")
        }
        Event::MbarrierTested { .. } => return None,
        Event::CopyIssued(issued) => format!("copy issued: {}", copy(issued)),
        Event::CopyCompleted(done) => format!("copy of line {} complete: {}", done.line, copy(done)),
        Event::Exited { .. } => return None,
        Event::Resumed { .. } => "goes on".to_owned(),
        Event::Found(finding) => finding.to_string(),
    })
}

/// The lanes of a mask.
pub fn each(lanes: u32) -> impl Iterator<Item = u32> {
    (0..32).filter(move |lane| lanes >> lane & 1 != 0)
}

/// `0-15, 17`
pub fn ranges(lanes: u32) -> String {
    let mut parts = vec![];
    let mut rest = lanes;
    while rest != 0 {
        let first = rest.trailing_zeros();
        let count = (!(u64::from(rest) >> first)).trailing_zeros();
        let last = first + count - 1;
        parts.push(if count == 1 { first.to_string() } else { format!("{first}-{last}") });
        rest &= !(((1u64 << count) - 1) << first) as u32;
    }
    parts.join(", ")
}
