//! Copies that go on while the thread does: `cp.async`. PTX ISA, "Data Movement and Conversion Instructions: Asynchronous
//! copy".

use super::Unsupported;
use super::mbarrier;
use super::opcode::Opcode;
use super::operands::Operands;
use crate::Type;
use crate::program::{Action, Async, Bulk, Copy, CopySource};
use crate::syntax::Operand;

pub(super) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Option<Action>, Unsupported> {
    if op.name() != "cp" || !op.take("async") {
        return Ok(None);
    }
    if op.take("mbarrier") {
        return mbarrier::barrier(op, o, true).map(Some);
    }
    let action = if op.take("bulk") {
        match bulk(op, o)? {
            Some(action) => action,
            None => return Ok(Some(Action::Nop)),
        }
    } else if op.take("commit_group") {
        o.expect(0)?;
        Async::Commit
    } else if op.take("wait_group") {
        o.expect(1)?;
        Async::Wait(Some(u32::try_from(o.integer(0)?).unwrap_or(u32::MAX)))
    } else if op.take("wait_all") {
        o.expect(0)?;
        Async::Wait(None)
    } else {
        Async::Copy(copy(op, o)?)
    };
    Ok(Some(Action::Async(Box::new(action))))
}

/// `cp.async.ca.shared.global [to], [from], bytes{, source bytes | ignore source}{, cache policy}`
fn copy(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Copy, Unsupported> {
    let cache = op.take_first(&["ca", "cg"]).ok_or_else(|| Unsupported::new("ca or cg?"))?;
    let to_shared = op.take_first(&["shared", "shared::cta"]).is_some();
    if !to_shared || !op.take("global") {
        return Err(Unsupported::new("it copies from global to shared memory"));
    }
    let has_policy = op.take("L2::cache_hint");
    op.take_if(|part| part.starts_with("L2::"));
    let bytes = o.integer(2)?;
    let is_known = matches!((cache, bytes), ("ca", 4 | 8) | (_, 16));
    if !is_known {
        return Err(Unsupported::new(format!("{bytes} bytes cannot be copied with .{cache}")));
    }
    let source = match o.count() - usize::from(has_policy) {
        3 => CopySource::All,
        4 => source(o, 3)?,
        _ => return Err(Unsupported::new("too few or too many operands")),
    };
    let (to, from) = (o.address(0)?.0, o.address(1)?.0);
    Ok(Copy { to, from, bytes: bytes as u32, source })
}

/// `cp.async.bulk`, but for tensors; `None` for what does nothing.
fn bulk(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Option<Async>, Unsupported> {
    if op.take("tensor") {
        return Err(Unsupported::new("copies of tensors are not supported"));
    }
    if op.take("prefetch") {
        while op.take_if(|_| true).is_some() {}
        return Ok(None);
    }
    if op.take("commit_group") {
        o.expect(0)?;
        return Ok(Some(Async::CommitBulk));
    }
    if op.take("wait_group") {
        op.take("read");
        o.expect(1)?;
        return Ok(Some(Async::WaitBulk(u32::try_from(o.integer(0)?).unwrap_or(u32::MAX))));
    }
    let counts = op.take("mbarrier::complete_tx::bytes");
    let is_known = op.take("global")
        && if counts {
            op.take_first(&["shared::cluster", "shared::cta"]).is_some()
        } else {
            op.take("shared::cta") && op.take("bulk_group")
        };
    if !is_known {
        return Err(Unsupported::new("it copies from global to shared memory or back"));
    }
    let operands = 3 + usize::from(counts) + usize::from(op.take("L2::cache_hint"));
    o.expect(operands)?;
    let (to, from) = (o.address(0)?.0, o.address(1)?.0);
    let barrier = if counts { Some(o.address(3)?.0) } else { None };
    Ok(Some(Async::Bulk(Bulk { to, from, bytes: o.src(2, Type::U32)?, barrier })))
}

/// A number of bytes, or a predicate that says whether to ignore the source.
fn source(o: &Operands<'_>, index: usize) -> Result<CopySource, Unsupported> {
    let operand = o.get(index)?;
    let is_predicate = match operand {
        Operand::Register(_) => o.register_bits(operand).is_none(),
        operand => matches!(operand, Operand::Not(_)),
    };
    Ok(if is_predicate { CopySource::Unless(o.pred(index)?) } else { CopySource::Bytes(o.src(index, Type::U32)?) })
}
