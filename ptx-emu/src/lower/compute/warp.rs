//! Warp-level operations. PTX ISA, "shfl.sync", "vote.sync", "match.sync", "redux.sync", "elect.sync" and "activemask".
//!
//! The mask has the active lanes; the executor has converged the lanes of a member mask.

use super::logic::pred_result;
use super::{Compute, Opcode, Operands, Unsupported, d_ab, no_such_type, single_type};
use crate::lanes::{ALL_LANES, LANES, Lane, Mask, PredSlot, Registers, Slot, lanes_of, lanes_where};
use crate::ops::shuffle::{Shuffle, reduce, reduce_float, reduction};
use crate::program::Source;
use crate::syntax::Operand;
use crate::types::Type;

pub(super) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    match op.name() {
        "shfl" => shfl(op, o),
        "vote" => vote(op, o),
        "match" => matching(op, o),
        "redux" => redux(op, o),
        "elect" => elect(op, o),
        _ => {
            o.expect(1)?;
            let (ty, d) = (single_type(op)?, o.dst(0, Type::B32)?);
            if ty != Type::B32 {
                return Err(no_such_type(op, ty));
            }
            Ok(Box::new(move |registers, mask| registers.write(d, &[mask; LANES], mask)))
        }
    }
}

/// The active lanes, grouped by member mask: each mask and its active lanes.
fn groups(registers: &Registers, members: Slot, mask: Mask) -> impl Iterator<Item = Mask> + use<> {
    let members: [u32; LANES] = registers.read(members);
    let mut rest = mask;
    std::iter::from_fn(move || {
        let first = members[lanes_of(rest).next()?];
        let group = lanes_where(|lane| members[lane] == first) & rest;
        rest &= !group;
        Some(group)
    })
}

/// `d` or `d|p`.
fn with_predicate(o: &Operands<'_>, ty: Type) -> Result<(Slot, Option<PredSlot>), Unsupported> {
    match o.get(0)? {
        Operand::Pair(d, p) => Ok((o.dst_of(d, ty)?, o.pred_dst_of(p)?)),
        _ => Ok((o.dst(0, ty)?, None)),
    }
}

/// The mode of a shuffle.
fn mode(op: &Opcode<'_>) -> Option<Shuffle> {
    let modes = [("up", Shuffle::Up), ("down", Shuffle::Down), ("bfly", Shuffle::Butterfly), ("idx", Shuffle::Index)];
    modes.into_iter().find(|(name, _)| op.has(name)).map(|(name, mode)| {
        op.take(name);
        mode
    })
}

/// Which lanes a shuffle reads; `None` for other instructions.
pub(in crate::lower) fn shuffle_source(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Option<Source>, Unsupported> {
    let Some(shuffle) = mode(op).filter(|_| op.name() == "shfl") else { return Ok(None) };
    Ok(Some(Source { shuffle, b: o.src(2, Type::B32)?, c: o.src(3, Type::B32)? }))
}

fn shfl(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let ty = single_type(op)?;
    if ty != Type::B32 {
        return Err(no_such_type(op, ty));
    }
    let shuffle = mode(op).ok_or_else(|| Unsupported::new("shfl needs .up, .down, .bfly or .idx"))?;
    // The member mask equals the active lanes.
    let operands = if op.take("sync") { 5 } else { 4 };
    o.expect(operands)?;
    if operands == 5 {
        o.src(4, Type::B32)?;
    }
    let (d, p) = with_predicate(o, ty)?;
    let (a, b, c) = (o.src(1, ty)?, o.src(2, ty)?, o.src(3, ty)?);
    Ok(Box::new(move |registers, mask| {
        let (a, b): ([u32; LANES], [u32; LANES]) = (registers.read(a), registers.read(b));
        let c: [u32; LANES] = registers.read(c);
        let sources: [_; LANES] = std::array::from_fn(|lane| shuffle.source(lane as u32, b[lane], c[lane]));
        let result = std::array::from_fn(|lane| a[sources[lane].unwrap_or(lane as u32) as usize]);
        registers.write(d, &result, mask);
        if let Some(p) = p {
            registers.set_predicate(p, lanes_where(|lane| sources[lane].is_some()), mask);
        }
    }))
}

fn vote(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let ty = single_type(op)?;
    let mode = op
        .take_first(&["all", "any", "uni", "ballot"])
        .ok_or_else(|| Unsupported::new("vote needs .all, .any, .uni or .ballot"))?;
    let sync = op.take("sync");
    o.expect(if sync { 3 } else { 2 })?;
    let (a, members) = (o.pred(1)?, if sync { Some(o.src(2, Type::B32)?) } else { None });
    // Without a member mask, all active lanes are one group.
    let each_group = move |registers: &mut Registers, mask: Mask, f: &dyn Fn(&mut Registers, Mask, Mask)| {
        let yes = registers.test(a);
        match members {
            Some(members) => {
                for group in groups(registers, members, mask) {
                    f(registers, yes & group, group);
                }
            }
            None => f(registers, yes & mask, mask),
        }
    };
    if mode == "ballot" {
        if ty != Type::B32 {
            return Err(no_such_type(op, ty));
        }
        let d = o.dst(0, ty)?;
        return Ok(Box::new(move |registers, mask| {
            each_group(registers, mask, &|registers, yes, group| registers.write(d, &[yes; LANES], group));
        }));
    }
    if ty != Type::Pred {
        return Err(no_such_type(op, ty));
    }
    let p = pred_result(o)?;
    let holds: fn(Mask, Mask) -> bool = match mode {
        "all" => |yes, group| yes == group,
        "any" => |yes, _| yes != 0,
        _ => |yes, group| yes == group || yes == 0,
    };
    Ok(Box::new(move |registers, mask| {
        each_group(registers, mask, &|registers, yes, group| {
            registers.set_predicate(p, if holds(yes, group) { ALL_LANES } else { 0 }, group);
        });
    }))
}

fn needs_sync(op: &Opcode<'_>) -> Result<(), Unsupported> {
    if op.take("sync") { Ok(()) } else { Err(Unsupported::new(format!("{} needs .sync", op.name()))) }
}

fn matching(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    needs_sync(op)?;
    let ty = single_type(op)?;
    let all = match op.take_first(&["all", "any"]) {
        Some(mode) => mode == "all",
        None => return Err(Unsupported::new("match needs .all or .any")),
    };
    match ty {
        Type::B32 => match_lanes::<u32>(o, ty, all),
        Type::B64 => match_lanes::<u64>(o, ty, all),
        ty => Err(no_such_type(op, ty)),
    }
}

fn match_lanes<T: Lane + PartialEq>(o: &Operands<'_>, ty: Type, all: bool) -> Result<Compute, Unsupported> {
    o.expect(3)?;
    let (d, p) = if all { with_predicate(o, Type::B32)? } else { (o.dst(0, Type::B32)?, None) };
    let (a, members) = (o.src(1, ty)?, o.src(2, Type::B32)?);
    Ok(Box::new(move |registers, mask| {
        let a: [T; LANES] = registers.read(a);
        for group in groups(registers, members, mask) {
            let same = |value: T| lanes_where(|lane| a[lane] == value) & group;
            let result: [Mask; LANES] = std::array::from_fn(|lane| match same(a[lane]) {
                same if all && same != group => 0,
                same => same,
            });
            registers.write(d, &result, group);
            if let Some(p) = p {
                registers.set_predicate(p, lanes_where(|lane| result[lane] != 0), group);
            }
        }
    }))
}

fn redux(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    needs_sync(op)?;
    let ty = single_type(op)?;
    let name = op
        .take_first(&["add", "min", "max", "and", "or", "xor"])
        .ok_or_else(|| Unsupported::new("redux needs an operation such as .add"))?;
    let (d, (a, members)) = d_ab(o, ty, [ty, Type::B32])?;
    if ty == Type::F32 && matches!(name, "min" | "max") {
        let (nan, abs, is_min) = (op.take("NaN"), op.take("abs"), name == "min");
        return Ok(Box::new(move |registers, mask| {
            let a: [f32; LANES] = registers.read(a);
            for group in groups(registers, members, mask) {
                let result = reduce_float(lanes_of(group).map(|lane| a[lane]), is_min, nan, abs);
                registers.write(d, &[result; LANES], group);
            }
        }));
    }
    let f = reduction(name, ty).ok_or_else(|| Unsupported::new(format!("redux.{name} is not known for {ty}")))?;
    Ok(Box::new(move |registers, mask| {
        let a: [u32; LANES] = registers.read(a);
        for group in groups(registers, members, mask) {
            let result = reduce(lanes_of(group).map(|lane| a[lane]), f);
            registers.write(d, &[result; LANES], group);
        }
    }))
}

/// The lowest lane of the member mask is elected.
fn elect(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    needs_sync(op)?;
    if let Some(ty) = op.types().first() {
        return Err(no_such_type(op, *ty));
    }
    o.expect(2)?;
    let Operand::Pair(d, p) = o.get(0)? else { return Err(Unsupported::new("the result must be d|p")) };
    let (d, p, members) = (o.dst_of(d, Type::B32)?, o.pred_dst_of(p)?, o.src(1, Type::B32)?);
    Ok(Box::new(move |registers, mask| {
        for group in groups(registers, members, mask) {
            let leader = group.trailing_zeros();
            registers.write(d, &[leader; LANES], group);
            if let Some(p) = p {
                registers.set_predicate(p, 1 << leader, group);
            }
        }
    }))
}
