//! Asynchronous copies: `cp.async`. PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy" and "Tensor
//! copy".

use super::Unsupported;
use super::atomic;
use super::mbarrier;
use super::opcode::Opcode;
use super::operands::Operands;
use crate::program::{Action, Async, Bulk, BulkEnd, Copy, CopySource, Reduce, Tensor};
use crate::syntax::Operand;
use crate::types::{Space, Type};

pub(super) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Option<Action>, Unsupported> {
    if op.name() != "cp" || !op.take("async") {
        return Ok(None);
    }
    let reduces = op.take("reduce");
    if reduces && (!op.has("bulk") || op.has("tensor")) {
        return Err(Unsupported::new("only cp.reduce.async.bulk is known"));
    }
    if op.take("mbarrier") {
        return mbarrier::barrier(op, o, true).map(Some);
    }
    let action = if op.take("bulk") {
        match bulk(op, o, reduces)? {
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
    Ok(Copy { to, from, bytes: bytes as u32, source, bypasses_l1: cache == "cg" })
}

/// `cp.async.bulk`; `None` for prefetches.
fn bulk(op: &Opcode<'_>, o: &Operands<'_>, reduces: bool) -> Result<Option<Async>, Unsupported> {
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
    if op.take("tensor") {
        return tensor(op, o).map(Some);
    }
    let to_shared = direction(op)?;
    let (to, from) = (o.address(0)?.0, o.address(1)?.0);
    let (shared, global) = if to_shared { (to, from) } else { (from, to) };
    let reduce = if reduces { Some(reduce(op, to_shared)?) } else { None };
    let (bytes, end) = (o.src(2, Type::U32)?, end(op, o, to_shared, 3)?);
    Ok(Some(Async::Bulk(Bulk { shared, global, bytes, end, reduce })))
}

/// The operation and type of `cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32`.
fn reduce(op: &Opcode<'_>, to_shared: bool) -> Result<Reduce, Unsupported> {
    op.take("noftz");
    let operations = ["and", "or", "xor", "add", "inc", "dec", "min", "max"];
    let operation = op.take_first(&operations).ok_or_else(|| Unsupported::new("the operation is not known"))?;
    let ty = op.ty(0)?;
    match atomic::apply(operation, ty).filter(|_| !to_shared) {
        Some(apply) => Ok(Reduce { apply, width: ty.bytes() }),
        None => Err(Unsupported::new(format!("the reduction .{operation} on {ty} is not known"))),
    }
}

/// `cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [to], [map, {x, y}], [barrier]`, and
/// `cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [map, {x, y}], [from]`
fn tensor(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Async, Unsupported> {
    let to_shared = direction(op)?;
    let dimensions = ["1d", "2d", "3d", "4d", "5d"];
    let name = op.take_first(&dimensions).ok_or_else(|| Unsupported::new("1d to 5d?"))?;
    op.take("tile");
    let (map, space) = o.tensor(usize::from(to_shared))?;
    let start = o.coordinates(usize::from(to_shared))?;
    if dimensions.iter().position(|other| *other == name) != start.len().checked_sub(1) {
        return Err(Unsupported::new(format!("{name} with {} coordinates", start.len())));
    }
    let (shared, _) = o.address(usize::from(!to_shared))?;
    let space = space.unwrap_or(Space::Generic);
    Ok(Async::Tensor(Tensor { shared, map, space, start, end: end(op, o, to_shared, 2)? }))
}

/// Whether a bulk copy goes to shared memory or from it.
fn direction(op: &Opcode<'_>) -> Result<bool, Unsupported> {
    let to_shared = op.take("mbarrier::complete_tx::bytes");
    let is_known = op.take("global")
        && if to_shared {
            op.take_first(&["shared::cluster", "shared::cta"]).is_some()
        } else {
            op.take("shared::cta") && op.take("bulk_group")
        };
    if is_known { Ok(to_shared) } else { Err(Unsupported::new("it copies from global to shared memory or back")) }
}

/// The completion mechanism: `, [barrier]{, blocks}{, cache policy}` from that operand on.
fn end(op: &Opcode<'_>, o: &Operands<'_>, to_shared: bool, first: usize) -> Result<BulkEnd, Unsupported> {
    let (multicast, has_policy) = (op.take("multicast::cluster"), op.take("L2::cache_hint"));
    o.expect(first + usize::from(to_shared) + usize::from(multicast) + usize::from(has_policy))?;
    if !to_shared {
        return if multicast { Err(Unsupported::new("there is one global memory")) } else { Ok(BulkEnd::Group) };
    }
    let blocks = if multicast { Some(o.src(first + 1, Type::U16)?) } else { None };
    Ok(BulkEnd::Barrier { barrier: o.address(first)?.0, blocks })
}

/// The source size, or the predicate `ignore-src`.
fn source(o: &Operands<'_>, index: usize) -> Result<CopySource, Unsupported> {
    let operand = o.get(index)?;
    let is_predicate = match operand {
        Operand::Register(_) => o.register_bits(operand).is_none(),
        operand => matches!(operand, Operand::Not(_)),
    };
    Ok(if is_predicate { CopySource::Unless(o.pred(index)?) } else { CopySource::Bytes(o.src(index, Type::U32)?) })
}
