//! Loads, stores and address operations. PTX ISA, "Data Movement and Conversion Instructions".

use super::opcode::Opcode;
use super::operands::Operands;
use super::{Unsupported, register_rows};
use crate::lanes::{Slot, binary, lanes_where, predicate, unary};
use crate::memory::window;
use crate::program::{Access, Action, Element};
use crate::syntax::Operand;
use crate::types::{Scope, Semantics, Space, Type};

/// Bytes per lane at most.
const MAX_BYTES: u32 = 32;

pub(super) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Option<Action>, Unsupported> {
    Ok(Some(match op.name() {
        "ld" | "ldu" => Action::Load(access(op, o, 1, 0)?),
        "st" => Action::Store(access(op, o, 0, 1)?),
        "cvta" => cvta(op, o)?,
        "isspacep" => isspacep(op, o)?,
        "mapa" => mapa(op, o)?,
        "getctarank" => getctarank(op, o)?,
        "prefetch" | "prefetchu" | "discard" | "applypriority" | "createpolicy" => {
            while op.take_if(|_| true).is_some() {}
            Action::Nop
        }
        _ => return Ok(None),
    }))
}

fn access(op: &Opcode<'_>, o: &Operands<'_>, address: usize, data: usize) -> Result<Box<Access>, Unsupported> {
    let (is_strong, mut semantics) = take_semantics(op);
    let space = take_space(op);
    semantics.is_non_coherent = op.take("nc");
    while op.take_if(is_cache_hint).is_some() {}
    let count = match op.take_first(&["v2", "v4", "v8"]) {
        Some(vector) => vector[1..].parse().unwrap_or(1),
        None => 1,
    };
    let ty = op.ty(0)?;
    if ty.bytes() * count > MAX_BYTES {
        return Err(Unsupported::new(format!("more than {MAX_BYTES} bytes at once")));
    }
    if ty.bytes() > 8 {
        return Err(Unsupported::new(format!("elements of the type {ty} are not known here")));
    }
    let (address, of_variable) = o.address(address)?;
    let operands = match o.get(data)? {
        Operand::Vector(operands) => operands.as_slice(),
        operand => std::slice::from_ref(operand),
    };
    if operands.len() != count as usize {
        return Err(Unsupported::new(format!("{count} registers are expected, {} are there", operands.len())));
    }
    let elements = operands.iter().map(|operand| element(o, operand, ty)).collect::<Result<_, _>>()?;
    let space = match (space, of_variable) {
        // `.param` may also be a call's parameter, which is the thread's own.
        (Space::Generic | Space::Param, Some(space)) => space,
        (space, _) => space,
    };
    Ok(Box::new(Access { space, address, width: ty.bytes(), elements, is_strong, semantics }))
}

/// The register of an element; it may be wider than the element.
fn element(o: &Operands<'_>, operand: &Operand, ty: Type) -> Result<Element, Unsupported> {
    let wide = match o.register_bits(operand) {
        Some(bits) if bits > ty.bits() => match bits {
            64 => Type::B64,
            128 => Type::B128,
            _ => ty,
        },
        _ => ty,
    };
    let slot = o.src_of_sink(operand, wide)?;
    Ok(Element { slot, rows: register_rows(o, operand, ty), sign_extend: ty.is_signed() })
}

/// Takes the memory-ordering semantics and their scope. Whether any are named, and what an access has that is strong.
pub(super) fn take_semantics(op: &Opcode<'_>) -> (bool, Semantics) {
    op.take("weak");
    let ordering = op.take_first(&["volatile", "acquire", "release", "acq_rel", "relaxed"]);
    let is_mmio = op.take("mmio");
    let scope = take_scope(op);
    let (acquires, releases) =
        (matches!(ordering, Some("acquire" | "acq_rel")), matches!(ordering, Some("release" | "acq_rel")));
    (ordering.is_some() || is_mmio, Semantics { scope, acquires, releases, ..Semantics::DEFAULT })
}

/// Takes the scope; that of the device if none is named.
pub(super) fn take_scope(op: &Opcode<'_>) -> Scope {
    match op.take_first(&["cta", "cluster", "gpu", "gl", "sys"]) {
        Some("cta") => Scope::Block,
        Some("cluster") => Scope::Cluster,
        _ => Scope::Device,
    }
}

/// Takes the state space; generic if none is named.
pub(super) fn take_space(op: &Opcode<'_>) -> Space {
    let spaces = [
        (Space::Global, &["global"][..]),
        (Space::Shared, &["shared", "shared::cta", "shared::cluster"]),
        (Space::Local, &["local"]),
        (Space::Const, &["const"]),
        (Space::Param, &["param", "param::entry", "param::func"]),
    ];
    let found = spaces.into_iter().find(|(_, names)| op.take_first(names).is_some());
    found.map_or(Space::Generic, |(space, _)| space)
}

/// Cache hints, which change no result.
pub(super) fn is_cache_hint(part: &str) -> bool {
    ["ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "unified"].contains(&part)
        || ["L1::", "L2::", "level::"].iter().any(|prefix| part.starts_with(prefix))
}

/// `cvta.space` converts to a generic address, `cvta.to.space` from one.
fn cvta(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Action, Unsupported> {
    let to_space = op.take("to");
    let base = window::base(take_space(op));
    let ty = op.ty(0)?;
    o.expect(2)?;
    if ty != Type::U64 {
        return Err(Unsupported::new("addresses have 64 bits"));
    }
    let difference = if to_space { base.wrapping_neg() } else { base };
    let (d, a) = (o.dst(0, ty)?, o.src(1, ty)?);
    Ok(Action::Compute(unary(d, a, move |address: u64| address.wrapping_add(difference))))
}

/// `mapa`: the same offset in the shared memory of the block of a rank.
fn mapa(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Action, Unsupported> {
    let is_generic = !op.take("shared::cluster");
    let ty = address_type(op)?;
    o.expect(3)?;
    let (d, a, rank) = (o.dst(0, ty)?, o.src(1, ty)?, o.src(2, Type::U32)?);
    if ty == Type::U32 {
        return Ok(Action::Compute(binary(d, (a, rank), |a: u32, rank: u32| window::of_rank(a.into(), rank) as u32)));
    }
    Ok(Action::Compute(binary(d, (a, rank), move |a: u64, rank: u32| match window::resolve(a) {
        (Space::Shared, address) if is_generic => window::base(Space::Shared) + window::of_rank(address, rank),
        _ if is_generic => a,
        _ => window::of_rank(a, rank),
    })))
}

/// `getctarank`: the rank of the block whose shared memory contains the address; the own rank if the address carries
/// none.
fn getctarank(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Action, Unsupported> {
    let is_generic = !op.take("shared::cluster");
    let ty = address_type(op)?;
    o.expect(2)?;
    let (d, a, own) = (o.dst(0, Type::U32)?, o.src(1, ty)?, own_rank(o)?);
    let rank = move |address: u64, own: u32| {
        let address = if is_generic { window::resolve(address).1 } else { address };
        window::rank(address).map_or(own, |rank| rank as u32)
    };
    Ok(Action::Compute(match ty {
        Type::U32 => binary(d, (a, own), move |a: u32, own: u32| rank(a.into(), own)),
        _ => binary(d, (a, own), rank),
    }))
}

/// The slot of the block's rank in its cluster.
fn own_rank(o: &Operands<'_>) -> Result<Slot, Unsupported> {
    o.src_of(&Operand::Special("cluster_ctarank".to_owned()), Type::U32)
}

fn address_type(op: &Opcode<'_>) -> Result<Type, Unsupported> {
    match op.ty(0)? {
        ty @ (Type::U32 | Type::U64) => Ok(ty),
        _ => Err(Unsupported::new("an address has 32 or 64 bits")),
    }
}

fn isspacep(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Action, Unsupported> {
    let is_any_block = op.take("shared::cluster");
    let space = if is_any_block { Space::Shared } else { take_space(op) };
    o.expect(2)?;
    let Some(p) = o.pred_dst(0)? else { return Ok(Action::Nop) };
    let a = o.src(1, Type::U64)?;
    // Only `shared::cluster` includes other blocks.
    let own = if space == Space::Shared && !is_any_block { Some(own_rank(o)?) } else { None };
    Ok(Action::Compute(predicate(p, move |registers, _| {
        let addresses = registers.read::<u64>(a);
        let own = own.map(|own| registers.read::<u32>(own));
        lanes_where(|lane| {
            let (found, address) = window::resolve(addresses[lane]);
            found == space
                && own.is_none_or(|own| window::rank(address).is_none_or(|rank| rank == u64::from(own[lane])))
        })
    })))
}
