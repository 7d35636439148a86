//! `tex`, `suld` and `sust` on objects given by a handle. PTX ISA, "Texture Instructions", "Surface Instructions".

use super::access::is_cache_hint;
use super::opcode::Opcode;
use super::operands::Operands;
use super::{Unsupported, register_rows};
use crate::program::{Action, Element, Outside, TextureAccess, TextureKind};
use crate::syntax::Operand;
use crate::types::Type;

pub(super) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Option<Action>, Unsupported> {
    let access = match op.name() {
        "tex" => fetch(op, o)?,
        "suld" => surface(op, o, false)?,
        "sust" => surface(op, o, true)?,
        "tld4" | "txq" | "suq" | "sured" => {
            let reason =
                format!("{} is not supported; of textures and surfaces, tex, suld.b and sust.b are", op.name());
            return Err(Unsupported::new(reason));
        }
        _ => return Ok(None),
    };
    Ok(Some(Action::Texture(Box::new(access))))
}

/// `tex.2d.v4.f32.f32 {d}, [handle, {x, y}]`
fn fetch(op: &Opcode<'_>, o: &Operands<'_>) -> Result<TextureAccess, Unsupported> {
    // There is one level.
    let has_level = op.take("level");
    let rank = take_rank(op)?;
    let coordinates_are_floats = match op.types() {
        [Type::F32 | Type::S32 | Type::U32, Type::F32] => true,
        [Type::F32 | Type::S32 | Type::U32, Type::S32] => false,
        _ => {
            return Err(Unsupported::new(
                "only results of .f32, .s32 and .u32 by coordinates of .f32 and .s32 are known",
            ));
        }
    };
    if !op.take("v4") {
        return Err(Unsupported::new("only results of four values, .v4, are known"));
    }
    o.expect(if has_level { 3 } else { 2 })?;
    let Operand::Vector(d) = o.get(0)? else { return Err(Unsupported::new("four registers are expected")) };
    if d.len() != 4 {
        return Err(Unsupported::new(format!("4 registers are expected, {} are there", d.len())));
    }
    let d = d.iter().map(|operand| o.dst_of(operand, Type::B32)).collect::<Result<_, _>>()?;
    object(o, 1, rank, TextureKind::Fetch { coordinates_are_floats, d })
}

/// `suld.b.2d.v4.b32.trap {d}, [handle, {x, y}]`, `sust.b.2d.v4.b32.trap [handle, {x, y}], {a}`
fn surface(op: &Opcode<'_>, o: &Operands<'_>, is_store: bool) -> Result<TextureAccess, Unsupported> {
    if !op.take("b") {
        return Err(Unsupported::new("only unformatted accesses, .b, are known"));
    }
    let rank = take_rank(op)?;
    while op.take_if(is_cache_hint).is_some() {}
    let count = match op.take_first(&["v2", "v4"]) {
        Some("v2") => 2,
        Some(_) => 4,
        None => 1,
    };
    let outside = match op.take_first(&["trap", "clamp", "zero"]) {
        Some("clamp") => Outside::Clamp,
        Some("zero") => Outside::Zero,
        _ => Outside::Trap,
    };
    let ty = op.ty(0)?;
    if !matches!(ty, Type::B8 | Type::B16 | Type::B32 | Type::B64) {
        return Err(Unsupported::new(format!("elements of the type {ty} are not known here")));
    }
    o.expect(2)?;
    let operands = match o.get(usize::from(is_store))? {
        Operand::Vector(operands) => operands.as_slice(),
        operand => std::slice::from_ref(operand),
    };
    if operands.len() != count {
        return Err(Unsupported::new(format!("{count} registers are expected, {} are there", operands.len())));
    }
    // A byte is in a register of 16 bits, or of 32.
    let element = |operand| {
        let slot = if is_store { o.src_of(operand, ty)? } else { o.dst_of(operand, ty)? };
        Ok(Element { slot, rows: register_rows(o, operand, ty), sign_extend: false })
    };
    let elements = operands.iter().map(element).collect::<Result<_, Unsupported>>()?;
    object(o, usize::from(!is_store), rank, TextureKind::Surface { is_store, outside, width: ty.bytes(), elements })
}

fn take_rank(op: &Opcode<'_>) -> Result<usize, Unsupported> {
    match op.take_first(&["1d", "2d", "3d"]) {
        Some("1d") => Ok(1),
        Some("2d") => Ok(2),
        Some(_) => Ok(3),
        None => Err(Unsupported::new("only .1d, .2d and .3d are known: no layers, cubes, samples or gradients")),
    }
}

fn object(o: &Operands<'_>, index: usize, rank: usize, kind: TextureKind) -> Result<TextureAccess, Unsupported> {
    let (handle, of_variable) = o.tensor(index)?;
    if of_variable.is_some() || handle.base.is_none() {
        return Err(Unsupported::new("only textures and surfaces by a handle in a register are known"));
    }
    let coordinates = o.coordinates(index)?;
    // Of three dimensions, a fourth coordinate follows that says nothing.
    let expected = if rank == 3 { 4 } else { rank };
    if coordinates.len() != expected {
        return Err(Unsupported::new(format!("{expected} coordinates are expected, {} are there", coordinates.len())));
    }
    Ok(TextureAccess { rank, handle, coordinates, kind })
}
