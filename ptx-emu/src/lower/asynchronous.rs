//! Copies that go on while the thread does: `cp.async`. PTX ISA, "Data Movement and Conversion Instructions: Asynchronous
//! copy".

use super::Unsupported;
use super::opcode::Opcode;
use super::operands::Operands;
use crate::Type;
use crate::program::{Action, Async, Copy, CopySource};
use crate::syntax::Operand;

pub(super) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Option<Action>, Unsupported> {
    if op.name() != "cp" || !op.take("async") {
        return Ok(None);
    }
    if op.take("bulk") {
        return Err(Unsupported::new("bulk copies are not supported"));
    }
    let action = if op.take("commit_group") {
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

/// A number of bytes, or a predicate that says whether to ignore the source.
fn source(o: &Operands<'_>, index: usize) -> Result<CopySource, Unsupported> {
    let operand = o.get(index)?;
    let is_predicate = match operand {
        Operand::Register(_) => o.register_bits(operand).is_none(),
        operand => matches!(operand, Operand::Not(_)),
    };
    Ok(if is_predicate { CopySource::Unless(o.pred(index)?) } else { CopySource::Bytes(o.src(index, Type::U32)?) })
}
