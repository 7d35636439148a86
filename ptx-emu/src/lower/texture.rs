//! `tex`, `tld4`, `suld` and `sust` on objects given by a handle. PTX ISA, "Texture Instructions", "Surface Instructions".

use super::access::is_cache_hint;
use super::opcode::Opcode;
use super::operands::Operands;
use super::{Unsupported, register_rows};
use crate::memory::{Geometry, Layering};
use crate::program::{Action, Element, Fetched, Outside, TextureAccess, TextureKind};
use crate::syntax::Operand;
use crate::types::Type;

pub(super) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Option<Action>, Unsupported> {
    let access = match op.name() {
        "tex" => fetch(op, o)?,
        "tld4" => gather(op, o)?,
        "suld" => surface(op, o, false)?,
        "sust" => surface(op, o, true)?,
        "txq" | "suq" | "sured" => {
            let reason =
                format!("{} is not supported; of textures and surfaces, tex, tld4, suld.b and sust.b are", op.name());
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
    let geometry = take_geometry(op)?;
    let fetched = match op.types() {
        [Type::F32 | Type::S32 | Type::U32, Type::F32] => Fetched::Sample,
        [Type::F32 | Type::S32 | Type::U32, Type::S32] if !geometry.is_cubemap() => Fetched::Texel,
        _ => {
            return Err(Unsupported::new(
                "only results of .f32, .s32 and .u32 by coordinates of .f32 and .s32 are known, of cubes by those of .f32",
            ));
        }
    };
    o.expect(if has_level { 3 } else { 2 })?;
    fetched_by(op, o, geometry, fetched)
}

/// `tld4.r.2d.v4.f32.f32 {d}, [handle, {x, y}]`
fn gather(op: &Opcode<'_>, o: &Operands<'_>) -> Result<TextureAccess, Unsupported> {
    const COMPONENTS: [&str; 4] = ["r", "g", "b", "a"];
    let component = op.take_first(&COMPONENTS);
    let component = component.and_then(|name| COMPONENTS.iter().position(|known| *known == name));
    let component = component.ok_or_else(|| Unsupported::new("a component, .r, .g, .b or .a, is expected"))?;
    let geometry = take_geometry(op)?;
    if geometry.rank != 2 {
        return Err(Unsupported::new("only .2d, .a2d, .cube and .acube have four texels around a place"));
    }
    if !matches!(op.types(), [Type::F32 | Type::S32 | Type::U32, Type::F32]) {
        return Err(Unsupported::new("only results of .f32, .s32 and .u32 by coordinates of .f32 are known"));
    }
    o.expect(2)?;
    fetched_by(op, o, geometry, Fetched::Gathered(component))
}

fn fetched_by(
    op: &Opcode<'_>,
    o: &Operands<'_>,
    geometry: Geometry,
    fetched: Fetched,
) -> Result<TextureAccess, Unsupported> {
    if !op.take("v4") {
        return Err(Unsupported::new("only results of four values, .v4, are known"));
    }
    let Operand::Vector(d) = o.get(0)? else { return Err(Unsupported::new("four registers are expected")) };
    if d.len() != 4 {
        return Err(Unsupported::new(format!("4 registers are expected, {} are there", d.len())));
    }
    let d = d.iter().map(|operand| o.dst_of(operand, Type::B32)).collect::<Result<_, _>>()?;
    object(o, 1, geometry, TextureKind::Fetch { fetched, d })
}

/// `suld.b.2d.v4.b32.trap {d}, [handle, {x, y}]`, `sust.b.2d.v4.b32.trap [handle, {x, y}], {a}`
fn surface(op: &Opcode<'_>, o: &Operands<'_>, is_store: bool) -> Result<TextureAccess, Unsupported> {
    if !op.take("b") {
        return Err(Unsupported::new("only unformatted accesses, .b, are known"));
    }
    let geometry = take_geometry(op)?;
    if geometry.is_cubemap() {
        return Err(Unsupported::new("surfaces have no cubes: their faces are layers, .a2d"));
    }
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
    object(o, usize::from(!is_store), geometry, TextureKind::Surface { is_store, outside, width: ty.bytes(), elements })
}

fn take_geometry(op: &Opcode<'_>) -> Result<Geometry, Unsupported> {
    const GEOMETRIES: [(&str, usize, Option<Layering>); 7] = [
        ("1d", 1, None),
        ("2d", 2, None),
        ("3d", 3, None),
        ("a1d", 1, Some(Layering::Layered)),
        ("a2d", 2, Some(Layering::Layered)),
        ("cube", 2, Some(Layering::Cubemap)),
        ("acube", 2, Some(Layering::LayeredCubemap)),
    ];
    let name = op.take_first(&GEOMETRIES.map(|(name, ..)| name));
    let found = name.and_then(|name| GEOMETRIES.into_iter().find(|(known, ..)| *known == name));
    let (_, rank, layering) = found.ok_or_else(|| {
        Unsupported::new("only .1d, .2d, .3d, .a1d, .a2d, .cube and .acube are known: no samples of a texel")
    })?;
    Ok(Geometry { rank, layering })
}

fn object(o: &Operands<'_>, index: usize, geometry: Geometry, kind: TextureKind) -> Result<TextureAccess, Unsupported> {
    let (handle, of_variable) = o.tensor(index)?;
    if of_variable.is_some() || handle.base.is_none() {
        return Err(Unsupported::new("only textures and surfaces by a handle in a register are known"));
    }
    let all = o.coordinates(index)?;
    // Behind three there is a fourth that says nothing.
    let expected = match usize::from(geometry.has_layers()) + geometry.coordinates() {
        3 => 4,
        count => count,
    };
    if all.len() != expected {
        return Err(Unsupported::new(format!("{expected} coordinates are expected, {} are there", all.len())));
    }
    let (layer, coordinates) = all.split_at(geometry.has_layers().into());
    let coordinates = coordinates[..geometry.coordinates()].into();
    Ok(TextureAccess { geometry, handle, layer: layer.first().copied(), coordinates, kind })
}
