//! Branches, barriers and fences. PTX ISA, "Control Flow Instructions" and "Parallel Synchronization and Communication
//! Instructions".

use super::Unsupported;
use super::access::take_scope;
use super::built_in::{ASSERTFAIL, FREE, MALLOC, VPRINTF};
use super::flow::Flow;
use super::opcode::Opcode;
use super::operands::Operands;
use crate::program::{
    Action, Assertion, Barrier, BarrierKind, Call, ClusterBarrier, Print, Reduced, Reduction, Saved, Target,
};
use crate::syntax::{Instruction, Operand};
use crate::types::Type;

/// Alignment that `alloca` takes at most.
const MAX_ALIGN: u64 = 1 << 10;

pub(super) fn lower(
    op: &Opcode<'_>,
    o: &Operands<'_>,
    source: &Instruction,
    flow: &Flow<'_>,
) -> Result<Option<Action>, Unsupported> {
    Ok(Some(match op.name() {
        "bra" => {
            op.take("uni");
            Action::Branch(flow.target(source.operands.first())?)
        }
        "brx" => {
            op.take("idx");
            op.take("uni");
            Action::BranchIndex(o.src(0, Type::U32)?, flow.targets(source.operands.get(1))?.into())
        }
        "exit" => Action::Exit,
        "call" => Action::Call(Box::new(call(o)?)),
        "ret" => Action::Return,
        "alloca" => alloca(op, o)?,
        "stacksave" => Action::StackSave(o.dst(0, of_stack(op)?)?),
        "stackrestore" => Action::StackRestore(o.src(0, of_stack(op)?)?),
        "trap" => Action::Trap,
        VPRINTF => Action::Print(Print { format: o.src(0, Type::U64)?, arguments: o.src(1, Type::U64)? }),
        MALLOC => Action::Malloc { to: o.dst(0, Type::U64)?, bytes: o.src(1, Type::U64)? },
        FREE => Action::Free(o.src(0, Type::U64)?),
        ASSERTFAIL => {
            let text = |index| o.src(index, Type::U64);
            Action::Assert(Box::new(Assertion { texts: [text(0)?, text(1)?, text(2)?], line: o.src(3, Type::U32)? }))
        }
        "bar" if op.take("warp") => {
            op.take("sync");
            Action::WarpBarrier(o.src(0, Type::B32)?)
        }
        "bar" => barrier(op, o, true)?,
        "barrier" if op.take("cluster") => cluster_barrier(op, o)?,
        "barrier" => {
            let aligned = op.take("aligned");
            barrier(op, o, aligned)?
        }
        "fence" if op.take("proxy") && op.take("async") => {
            op.take_first(&["global", "shared", "shared::cta", "shared::cluster"]);
            o.expect(0)?;
            Action::ProxyFence
        }
        "membar" | "fence" => fence(op),
        "setmaxnreg" => set_max_registers(op, o)?,
        "nanosleep" | "pmevent" | "griddepcontrol" | "brkpt" => {
            while op.take_if(|_| true).is_some() {}
            Action::Nop
        }
        _ => return Ok(None),
    }))
}

/// A call at run time, as `calls` left it: of a label or a register, with variables alone.
fn call(o: &Operands<'_>) -> Result<Call, Unsupported> {
    let target = match o.get(1)? {
        Operand::Label(label) => Target::Function(o.function(*label)?),
        _ => Target::Pointer(o.src(1, Type::U64)?),
    };
    Ok(Call { target, params: o.variables(2)?, returns: o.variables(0)?, saved: Saved::default() })
}

/// `alloca.u64 address, bytes{, alignment}`
fn alloca(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Action, Unsupported> {
    let ty = of_stack(op)?;
    let align = if o.count() == 3 { o.integer(2)? } else { 8 };
    if !align.is_power_of_two() || align > MAX_ALIGN {
        return Err(Unsupported::new(format!("an alignment is a power of two up to {MAX_ALIGN}")));
    }
    Ok(Action::Alloca { to: o.dst(0, ty)?, bytes: o.src(1, ty)?, align: align as u32 })
}

/// The type of addresses on the stack.
fn of_stack(op: &Opcode<'_>) -> Result<Type, Unsupported> {
    match op.ty(0)? {
        ty @ (Type::U64 | Type::B64) => Ok(ty),
        _ => Err(Unsupported::new("only 64 bits are known")),
    }
}

/// `membar.scope`, `fence.sem.scope`, and fences of mbarriers and of other proxies.
fn fence(op: &Opcode<'_>) -> Action {
    let (of_proxy, of_mbarriers) = (op.take("proxy"), op.take("mbarrier_init"));
    let scope = take_scope(op);
    while op.take_if(|_| true).is_some() {}
    match (of_proxy, of_mbarriers) {
        (true, _) => Action::Nop,
        (_, true) => Action::MbarrierInitFence,
        _ => Action::Fence(scope),
    }
}

/// `setmaxnreg.inc.sync.aligned.u32 count`, which changes no value; the registers of all warps must suffice.
fn set_max_registers(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Action, Unsupported> {
    o.expect(1)?;
    let is_whole = op.take_first(&["inc", "dec"]).is_some() && op.take("sync") && op.take("aligned");
    let count = o.integer(0)?;
    if !is_whole || op.ty(0)? != Type::U32 {
        return Err(Unsupported::new("inc or dec, and .sync.aligned.u32?"));
    }
    if !(24..=256).contains(&count) || count % 8 != 0 {
        return Err(Unsupported::new(format!("{count} registers; they are a multiple of 8 from 24 to 256")));
    }
    Ok(Action::MaxRegisters(count as u32))
}

/// `bar` and `barrier`: `.sync a{, b}`, `.arrive a, b`, `.red.op d, a{, b}, p`.
fn barrier(op: &Opcode<'_>, o: &Operands<'_>, aligned: bool) -> Result<Action, Unsupported> {
    op.take("cta");
    let kind = op.take_first(&["sync", "arrive", "red"]).ok_or_else(|| Unsupported::new("sync, arrive or red?"))?;
    let (kind, first, last) = match kind {
        "sync" => (BarrierKind::Sync, 0, o.count()),
        "arrive" => (BarrierKind::Arrive, 0, o.count()),
        _ => (reduction(op, o)?, 1, o.count().saturating_sub(1)),
    };
    if matches!(kind, BarrierKind::Reduce { .. }) && o.count() < 3 {
        return Err(Unsupported::new("operands are missing"));
    }
    let threads = if last > first + 1 { Some(o.src(first + 1, Type::U32)?) } else { None };
    if threads.is_none() && matches!(kind, BarrierKind::Arrive) {
        return Err(Unsupported::new("how many threads take part must be given"));
    }
    Ok(Action::Barrier(Barrier { kind, id: o.src(first, Type::U32)?, threads, aligned }))
}

/// `barrier.cluster.arrive` and `barrier.cluster.wait`.
fn cluster_barrier(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Action, Unsupported> {
    o.expect(0)?;
    let waits = match op.take_first(&["arrive", "wait"]) {
        Some(name) => name == "wait",
        None => return Err(Unsupported::new("arrive or wait?")),
    };
    let is_relaxed = op.take_first(if waits { &["acquire"] } else { &["release", "relaxed"] }) == Some("relaxed");
    Ok(Action::ClusterBarrier(ClusterBarrier { waits, is_relaxed, aligned: op.take("aligned") }))
}

fn reduction(op: &Opcode<'_>, o: &Operands<'_>) -> Result<BarrierKind, Unsupported> {
    let (operation, to) = match op.take_first(&["popc", "and", "or"]) {
        Some("popc") => (Reduction::Count, Reduced::Register(o.dst(0, op.ty(0)?)?)),
        Some(name) => {
            op.take("pred");
            let p = o.pred_dst(0)?.ok_or_else(|| Unsupported::new("a predicate is expected"))?;
            (if name == "and" { Reduction::And } else { Reduction::Or }, Reduced::Predicate(p))
        }
        None => return Err(Unsupported::new("popc, and or or?")),
    };
    let source = o.pred(o.count().saturating_sub(1))?;
    Ok(BarrierKind::Reduce { operation, source, to })
}
