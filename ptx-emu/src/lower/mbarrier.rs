//! Mbarriers. PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier".

use super::Unsupported;
use super::access::take_space;
use super::opcode::Opcode;
use super::operands::Operands;
use crate::lanes::unary;
use crate::ops::mbarrier;
use crate::program::{Action, Mbarrier, MbarrierKind, Phase};
use crate::syntax::Operand;
use crate::types::{Space, Type};

pub(super) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Option<Action>, Unsupported> {
    if op.name() == "mbarrier" { barrier(op, o, false).map(Some) } else { Ok(None) }
}

/// An mbarrier operation; `after_copies` for `cp.async.mbarrier.arrive`.
pub(super) fn barrier(op: &Opcode<'_>, o: &Operands<'_>, after_copies: bool) -> Result<Action, Unsupported> {
    let names = [
        "init",
        "inval",
        "expect_tx",
        "complete_tx",
        "arrive",
        "arrive_drop",
        "test_wait",
        "try_wait",
        "pending_count",
    ];
    let name = op.take_first(&names).ok_or_else(|| Unsupported::new("the operation is not known"))?;
    if op.ty(0)? != Type::B64 {
        return Err(Unsupported::new("a barrier has 64 bits"));
    }
    if name == "pending_count" {
        o.expect(2)?;
        let (d, a) = (o.dst(0, Type::U32)?, o.src(1, Type::B64)?);
        return Ok(Action::Compute(unary(d, a, mbarrier::pending)));
    }
    op.take_first(&["relaxed", "acquire", "release"]);
    op.take_first(&["cta", "cluster"]);
    let space = take_space(op);
    if !matches!(space, Space::Shared | Space::Generic) {
        return Err(Unsupported::new("a barrier is in shared memory"));
    }
    let first = usize::from(!matches!(o.get(0)?, Operand::Address(_)));
    let kind = match name {
        "arrive" if after_copies => MbarrierKind::ArriveAfterCopies { increments: !op.take("noinc") },
        _ if after_copies => return Err(Unsupported::new("copies only arrive")),
        "init" => MbarrierKind::Init(o.src(1, Type::U32)?),
        "inval" => MbarrierKind::Invalidate,
        "expect_tx" => MbarrierKind::Expect(o.src(1, Type::U32)?),
        "complete_tx" => MbarrierKind::Complete(o.src(1, Type::U32)?),
        "arrive" | "arrive_drop" => arrive(op, o, first, name == "arrive_drop")?,
        _ => wait(op, o)?,
    };
    let (address, _) = o.address(first)?;
    Ok(Action::Mbarrier(Box::new(Mbarrier { space, address, kind })))
}

/// `arrive{.noComplete} state, [barrier]{, count}`, `arrive.expect_tx state, [barrier], bytes`
fn arrive(op: &Opcode<'_>, o: &Operands<'_>, first: usize, drop: bool) -> Result<MbarrierKind, Unsupported> {
    let must_not_complete = op.take("noComplete");
    let expects = op.take("expect_tx");
    let state = match o.get(0)? {
        Operand::Address(_) | Operand::Sink => None,
        _ => Some(o.dst(0, Type::B64)?),
    };
    let number = if o.count() > first + 1 { Some(o.src(first + 1, Type::U32)?) } else { None };
    if number.is_none() && (expects || must_not_complete) {
        return Err(Unsupported::new("a number is missing"));
    }
    let (count, bytes) = if expects { (None, number) } else { (number, None) };
    Ok(MbarrierKind::Arrive { state, count, bytes, drop, must_not_complete })
}

/// `test_wait p, [barrier], state`, `try_wait.parity p, [barrier], parity{, time}`
fn wait(op: &Opcode<'_>, o: &Operands<'_>) -> Result<MbarrierKind, Unsupported> {
    let phase = if op.take("parity") { Phase::Parity(o.src(2, Type::U32)?) } else { Phase::Of(o.src(2, Type::B64)?) };
    Ok(MbarrierKind::Test { to: o.pred_dst(0)?, phase })
}
