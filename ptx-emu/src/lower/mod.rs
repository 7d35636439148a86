//! Lowers the syntax tree to a `Program`: calls inlined where they can be, registers assigned to rows, opcodes turned into functions.

mod access;
mod asynchronous;
mod atomic;
mod built_in;
mod call_graph;
mod calls;
mod compute;
mod control;
mod described;
mod flatten;
mod flow;
mod in_flight;
mod layout;
mod matrix;
mod mbarrier;
mod mma;
mod names;
mod opcode;
mod operands;
mod pieces;
mod rename;
mod size;
mod slots;
mod tensormap;
mod texture;
mod variables;
mod wgmma;
mod wmma;

use std::sync::Arc;

use flatten::{Callee, Flat};
use flow::Flow;
use layout::{Layout, Location, Preset, rows};
use opcode::Opcode;
use operands::Operands;
use variables::Variables;

use crate::memory::Image;
use crate::program::{
    self, Action, Converge, Fragments, Instruction, ParamInfo, Pc, Program, Saved, Special, TextureKind,
};
use crate::syntax::{self, Function, Module, Variable};
use crate::types::{Space, Type};

/// Why an instruction cannot be lowered; the line and the instruction are added where they are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unsupported {
    pub reason: String,
}

impl Unsupported {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}

/// An instruction that cannot be run, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: `{instruction}` cannot be run: {reason}")]
pub struct LowerError {
    /// Counted from 1.
    pub line: u32,
    /// Its opcode, or what else stands there.
    pub instruction: String,
    /// What is not supported.
    pub reason: String,
}

impl LowerError {
    fn new(instruction: &syntax::Instruction, error: Unsupported) -> Self {
        Self { line: instruction.line, instruction: shortened(&instruction.mnemonic()), reason: error.reason }
    }

    fn of_variable(variable: &Variable, reason: impl Into<String>) -> Self {
        Self { line: variable.line, instruction: shortened(&variable.name), reason: reason.into() }
    }
}

/// A name, short enough for a message of one line.
fn shortened(name: &str) -> String {
    const LONGEST: usize = 80;
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}

/// Bytes that the parameters of a kernel may take: those of compute capability 7.0 and later.
const MAX_PARAM_BYTES: u64 = 32_764;

/// Lowers one kernel of the module.
pub(crate) fn lower(module: &Module, kernel: &Function, image: Arc<Image>) -> Result<Program, LowerError> {
    if module.address_size != 64 {
        let reason = "the module's addresses have 32 bits; only 64 are supported".to_owned();
        return Err(LowerError { line: 1, instruction: ".address_size".into(), reason });
    }
    let flat = flatten::flatten(module, kernel)?;
    let body = &flat.body;
    let names = names::of_module(body);
    if let Some(variable) = module
        .variables
        .iter()
        .find(|variable| names.contains(variable.name.as_str()) && image.failed.contains_key(&variable.name))
    {
        return Err(LowerError::of_variable(variable, &image.failed[&variable.name]));
    }
    let flow = Flow::new(body, &flat.functions)?;
    let mut slots = slots::assign(body, &flow);
    let in_flight = in_flight::InFlight::new(body, &flow);
    let variables = Variables::new(module, &flat, &names)?;
    let functions = functions(&flat, &flow, &variables, &image);
    let (stack, local_bytes) = variables.stack();
    let (params, param_bytes) = params(kernel)?;
    let mut layout = Layout { locations: slots.locations, variables: variables.addresses, ..Layout::default() };
    layout.spaces = variables.spaces;
    layout.bytes = body.variables.iter().map(|variable| variable.bytes as u32).collect();
    layout.first_in_frame = flat.functions.first().map_or(usize::MAX, |function| function.variables.start);
    layout.functions = flat.functions.iter().enumerate().map(|(index, function)| (function.entry, index)).collect();
    layout.params = params.iter().map(|param| param.offset.into()).collect();
    let named = names.iter().filter_map(|&name| Some((name.to_owned(), *image.addresses.get(name)?)));
    layout.module = named.collect();
    layout.module.extend(variables.module);
    layout.preset = Preset { rows: slots.rows, predicates: slots.predicates, ..Preset::default() }.into();

    let mut instructions = instructions(&flow, &layout)?;
    for (pc, instruction) in instructions.iter_mut().enumerate() {
        if let Action::Call(call) = &mut instruction.action {
            call.saved = saved(slots.live_after.remove(&pc).unwrap_or_default());
        }
    }
    for (instruction, touch) in instructions.iter_mut().zip(in_flight.touches) {
        instruction.touch = touch;
    }
    let names = described::names(module, body, &flow, &layout);
    let preset = layout.preset.into_inner();
    let frame = preset.specials.get(&(Special::Frame, rows(64))).copied();
    Ok(Program {
        name: kernel.name.clone(),
        shared_granule: granule(&instructions, Space::Shared),
        global_granule: granule(&instructions, Space::Global),
        instructions,
        rows: preset.rows as usize,
        predicates: preset.predicates as usize,
        constants: preset.constants.into_iter().map(|((value, rows), slot)| (slot, value, rows)).collect(),
        shared: preset.shared.into_iter().map(|((address, rows), slot)| (slot, address, rows)).collect(),
        specials: preset.specials.into_iter().map(|((special, rows), slot)| (special, slot, rows)).collect(),
        always: preset.always.map(|slot| slot.0 as usize),
        params,
        param_bytes,
        bounds: kernel.bounds,
        shared_bytes: variables.shared_bytes,
        dynamic_shared_offset: variables.dynamic_shared_offset,
        reserved_shared: variables.reserved,
        local_bytes,
        stack,
        functions,
        frame,
        registers: slots.live,
        undefined: slots.undefined,
        watched: in_flight.names,
        names,
        image,
    })
}

/// The functions that are called at run time.
fn functions(flat: &Flat, flow: &Flow<'_>, variables: &Variables, image: &Image) -> Vec<program::Function> {
    let with_frames = flat.functions.iter().zip(&variables.frames).zip(&flow.entries[1..]);
    let function = |((callee, &(frame_bytes, align)), &entry): ((&Callee, &(u32, u32)), &Pc)| {
        let start = callee.variables.start;
        let place = |id: usize| (variables.addresses[id] as u32, flat.body.variables[id].bytes as u32);
        let (params, returns) = (start..start + callee.params, start + callee.params..);
        program::Function {
            name: callee.name.clone(),
            index: image.function_index(&callee.name),
            entry,
            frame_bytes,
            align,
            params: params.map(place).collect(),
            returns: returns.take(callee.returns).map(place).collect(),
        }
    };
    with_frames.map(function).collect()
}

fn saved(live: Vec<Location>) -> Saved {
    let (mut all_rows, mut predicates) = (vec![], vec![]);
    for location in live {
        match location {
            Location::Rows(slot, bits) => all_rows.push((slot, rows(bits))),
            Location::Predicate(slot) => predicates.push(slot),
        }
    }
    Saved { rows: all_rows.into(), predicates: predicates.into() }
}

fn instructions(flow: &Flow<'_>, layout: &Layout) -> Result<Vec<Instruction>, LowerError> {
    let mut instructions = Vec::with_capacity(flow.code.len() + 1);
    for block in &flow.blocks {
        for pc in block.first..block.end {
            let source = flow.code[pc];
            let lowered = instruction(source, flow, layout).map_err(|error| LowerError::new(source, error))?;
            instructions.push(Instruction { is_join: pc == block.first, order: block.order, ..lowered });
        }
    }
    let line = flow.code.last().map_or(0, |last| last.line);
    let order = flow.blocks.last().map_or(0, |block| block.order);
    let end = Instruction {
        guard: None,
        action: Action::Exit,
        touch: None,
        is_join: true,
        order,
        line,
        mnemonic: "exit".into(),
    };
    instructions.push(end);
    Ok(instructions)
}

fn instruction(source: &syntax::Instruction, flow: &Flow<'_>, layout: &Layout) -> Result<Instruction, Unsupported> {
    let guard = source.guard.map(|guard| match layout.location(guard.register) {
        layout::Location::Predicate(slot) => Ok(crate::lanes::Condition { slot, negate: guard.negate }),
        layout::Location::Rows(..) => Err(Unsupported::new("the guard is no predicate")),
    });
    let (op, o) = (Opcode::new(source), Operands::new(source, layout));
    let action = action(&op, &o, source, flow)?;
    op.finish()?;
    let mnemonic = source.mnemonic().into();
    let guard = guard.transpose()?;
    Ok(Instruction { guard, action, touch: None, is_join: false, order: 0, line: source.line, mnemonic })
}

fn action(
    op: &Opcode<'_>,
    o: &Operands<'_>,
    source: &syntax::Instruction,
    flow: &Flow<'_>,
) -> Result<Action, Unsupported> {
    if let Some(action) = control::lower(op, o, source, flow)? {
        return Ok(action);
    }
    if let Some(action) = access::lower(op, o)? {
        return Ok(action);
    }
    if let Some(action) = atomic::lower(op, o)? {
        return Ok(action);
    }
    if let Some(action) = mbarrier::lower(op, o)? {
        return Ok(action);
    }
    if let Some(action) = matrix::lower(op, o)? {
        return Ok(action);
    }
    if let Some(action) = mma::lower(op, o)? {
        return Ok(action);
    }
    if let Some(action) = wmma::lower(op, o)? {
        return Ok(action);
    }
    if let Some(action) = wgmma::lower(op, o)? {
        return Ok(action);
    }
    if let Some(action) = texture::lower(op, o)? {
        return Ok(action);
    }
    if let Some(action) = asynchronous::lower(op, o)? {
        return Ok(action);
    }
    if let Some(action) = tensormap::lower(op, o)? {
        return Ok(action);
    }
    let Some(compute) = compute::lower(op, o)? else {
        return Err(Unsupported::new("the instruction is not known"));
    };
    if source.opcode.iter().any(|part| part == "sync") {
        let members = o.src(o.count().saturating_sub(1), Type::B32)?;
        let (source, orders) = (compute::shuffle_source(op, o)?, op.name() == "match");
        return Ok(Action::Converge(Box::new(Converge { compute, members, source, orders })));
    }
    Ok(Action::Compute(compute))
}

fn params(kernel: &Function) -> Result<(Vec<ParamInfo>, u32), LowerError> {
    let mut end = 0u64;
    let infos = kernel.params.iter().map(|param| {
        let offset = end.next_multiple_of(param.align.max(1).into());
        end = offset + u64::from(param.bytes);
        if end > MAX_PARAM_BYTES {
            let reason = format!("the parameters take more than {MAX_PARAM_BYTES} bytes");
            return Err(LowerError { line: kernel.line, instruction: shortened(&param.name), reason });
        }
        Ok(ParamInfo { ty: param.ty, offset: offset as u32, bytes: param.bytes })
    });
    let infos = infos.collect::<Result<_, _>>()?;
    Ok((infos, end as u32))
}

/// Bytes of the narrowest access to the space, at most a word, as a power of two.
fn granule(instructions: &[Instruction], space: Space) -> u32 {
    let bytes = instructions.iter().filter_map(|instruction| {
        let (of, bytes) = match &instruction.action {
            Action::Load(access) | Action::Store(access) => (access.space, access.bytes()),
            Action::Atomic(atomic) => (atomic.space, atomic.width),
            Action::Fragments(fragments) => match &**fragments {
                Fragments::Access(access) => (access.space, access.bits.div_ceil(8)),
                Fragments::Transpose(_) => return None,
            },
            Action::Texture(access) => match access.kind {
                // Texels may be as narrow.
                TextureKind::Fetch { .. } => (Space::Global, 1),
                TextureKind::Surface { width, .. } => (Space::Global, width),
            },
            _ => return None,
        };
        (of == space || of == Space::Generic).then_some(bytes)
    });
    bytes.min().unwrap_or(4).clamp(1, 4).ilog2()
}

/// Rows that the register of an element takes.
fn register_rows(o: &Operands<'_>, operand: &syntax::Operand, ty: Type) -> u32 {
    rows(o.register_bits(operand).unwrap_or(ty.bits()))
}
