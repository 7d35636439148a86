//! Lowers the syntax tree to a `Program`: calls inlined, registers assigned to rows, opcodes turned into functions.

mod access;
mod asynchronous;
mod atomic;
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
mod size;
mod slots;
mod wgmma;

use std::collections::HashSet;
use std::sync::Arc;

use flow::Flow;
use layout::{Layout, Preset, rows};
use opcode::Opcode;
use operands::Operands;

use crate::memory::Image;
use crate::program::{Action, Converge, Instruction, ParamInfo, Program};
use crate::syntax::{self, Body, Function, Module, Variable};
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

/// Memory that a block's variables, or a thread's, may take.
const MAX_STATIC_SHARED_BYTES: u64 = 256 << 10;
const MAX_LOCAL_BYTES: u64 = 512 << 10;

/// Bytes that the parameters of a kernel may take: those of compute capability 7.0 and later.
const MAX_PARAM_BYTES: u64 = 32_764;

/// Lowers one kernel of the module.
pub(crate) fn lower(module: &Module, kernel: &Function, image: Arc<Image>) -> Result<Program, LowerError> {
    if module.address_size != 64 {
        let reason = "the module's addresses have 32 bits; only 64 are supported".to_owned();
        return Err(LowerError { line: 1, instruction: ".address_size".into(), reason });
    }
    let body = flatten::flatten(module, kernel)?;
    let names = names::of_module(&body);
    let flow = Flow::new(&body)?;
    let slots = slots::assign(&body, &flow);
    let in_flight = in_flight::InFlight::new(&body, &flow);
    let variables = Variables::new(module, &body, &names)?;
    let (params, param_bytes) = params(kernel)?;
    let mut layout = Layout { locations: slots.locations, variables: variables.addresses, ..Layout::default() };
    layout.spaces = variables.spaces;
    layout.params = params.iter().map(|param| param.offset.into()).collect();
    let named = names.iter().filter_map(|&name| Some((name.to_owned(), *image.addresses.get(name)?)));
    layout.module = named.collect();
    layout.module.extend(variables.module);
    layout.preset = Preset { rows: slots.rows, predicates: slots.predicates, ..Preset::default() }.into();

    let mut instructions = instructions(&flow, &layout)?;
    for (instruction, touch) in instructions.iter_mut().zip(in_flight.touches) {
        instruction.touch = touch;
    }
    let names = described::names(module, &body, &flow, &layout);
    let preset = layout.preset.into_inner();
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
        local_bytes: variables.local_bytes,
        registers: slots.live,
        undefined: slots.undefined,
        watched: in_flight.names,
        names,
        image,
    })
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
    if let Some(action) = wgmma::lower(op, o)? {
        return Ok(action);
    }
    if let Some(action) = asynchronous::lower(op, o)? {
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
            _ => return None,
        };
        (of == space || of == Space::Generic).then_some(bytes)
    });
    bytes.min().unwrap_or(4).clamp(1, 4).ilog2()
}

/// Addresses of the variables of a block or a thread.
#[derive(Default)]
struct Variables {
    /// By `VariableId`.
    addresses: Vec<u64>,
    spaces: Vec<Space>,
    /// `.shared` variables of the module.
    module: Vec<(String, (Space, u64))>,
    shared_bytes: u32,
    dynamic_shared_offset: u32,
    local_bytes: u32,
}

impl Variables {
    fn new(module: &Module, body: &Body, names: &HashSet<&str>) -> Result<Self, LowerError> {
        let mut variables = Self::default();
        let (mut shared, mut local) = (0u64, 0u64);
        let is_static = |variable: &Variable| variable.space == Space::Shared && variable.bytes > 0;
        for variable in &body.variables {
            let end = match variable.space {
                Space::Shared if is_static(variable) => &mut shared,
                Space::Local => &mut local,
                Space::Shared => {
                    variables.push(Space::Shared, u64::MAX);
                    continue;
                }
                space => return Err(LowerError::of_variable(variable, format!("a .{space} variable in a body"))),
            };
            let address = allocate(end, variable);
            variables.push(variable.space, address);
        }
        // Variables that only other kernels name are not part of this one.
        let is_here = |variable: &&Variable| variable.space == Space::Shared && names.contains(variable.name.as_str());
        let of_module = || module.variables.iter().filter(is_here);
        for variable in of_module().filter(|variable| is_static(variable)) {
            let address = allocate(&mut shared, variable);
            variables.module.push((variable.name.clone(), (Space::Shared, address)));
        }
        let dynamic = || of_module().chain(&body.variables).filter(|v| v.space == Space::Shared && v.bytes == 0);
        let align = dynamic().map(|variable| variable.align).max().unwrap_or(16).max(16);
        let start = shared.next_multiple_of(align.into());
        for variable in of_module().filter(|variable| variable.bytes == 0) {
            variables.module.push((variable.name.clone(), (Space::Shared, start)));
        }
        variables.addresses.iter_mut().filter(|address| **address == u64::MAX).for_each(|address| *address = start);
        if shared > MAX_STATIC_SHARED_BYTES || local > MAX_LOCAL_BYTES {
            let reason = format!("{shared} bytes of shared and {local} of local memory are more than there are");
            return Err(LowerError { line: 0, instruction: "variables".into(), reason });
        }
        (variables.shared_bytes, variables.dynamic_shared_offset) = (shared as u32, start as u32);
        variables.local_bytes = local as u32;
        Ok(variables)
    }

    fn push(&mut self, space: Space, address: u64) {
        self.addresses.push(address);
        self.spaces.push(space);
    }
}

fn allocate(end: &mut u64, variable: &Variable) -> u64 {
    let address = end.next_multiple_of(variable.align.max(1).into());
    *end = address.saturating_add(variable.bytes).min(1 << 40);
    address
}

/// Rows that the register of an element takes.
fn register_rows(o: &Operands<'_>, operand: &syntax::Operand, ty: Type) -> u32 {
    rows(o.register_bits(operand).unwrap_or(ty.bits()))
}
