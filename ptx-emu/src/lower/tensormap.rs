//! `tensormap.replace` and `tensormap.cp_fenceproxy`. PTX ISA, "Tensormap Manipulation Instructions", "tensormap.cp_fenceproxy".

use super::Unsupported;
use super::access::{take_scope, take_space};
use super::opcode::Opcode;
use super::operands::Operands;
use crate::memory::{MAP_BYTES, MapField};
use crate::program::{Access, Action, Async, Element, MapEdit};
use crate::types::{Semantics, Space, Type};

pub(super) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Option<Action>, Unsupported> {
    if op.name() != "tensormap" {
        return Ok(None);
    }
    let edit = if op.take("replace") { replace(op, o)? } else { copy(op, o)? };
    Ok(Some(Action::Async(Box::new(Async::Map(edit)))))
}

/// The field of a dimension.
type Field = fn(usize) -> MapField;

/// `tensormap.replace.tile.global_address.shared::cta.b1024.b64 [map], value`; of fields with one value for each dimension,
/// `[map], dimension, value`.
fn replace(op: &Opcode<'_>, o: &Operands<'_>) -> Result<MapEdit, Unsupported> {
    if !op.take("tile") || !op.take("b1024") {
        return Err(Unsupported::new(".tile and .b1024 are missing"));
    }
    let fields: [(&str, Field, Type); 10] = [
        ("global_address", |_| MapField::Address, Type::B64),
        ("rank", |_| MapField::Rank, Type::B32),
        ("box_dim", MapField::Side, Type::B32),
        ("global_dim", MapField::Dim, Type::B32),
        ("global_stride", MapField::Stride, Type::B64),
        ("element_stride", |_| MapField::ElementStride, Type::B32),
        ("elemtype", |_| MapField::Element, Type::B32),
        ("interleave_layout", |_| MapField::Interleave, Type::B32),
        ("swizzle_mode", |_| MapField::Swizzle, Type::B32),
        ("fill_mode", |_| MapField::Fill, Type::B32),
    ];
    let known = fields.into_iter().find(|(name, ..)| op.take(name));
    let (name, field, ty) = known.ok_or_else(|| Unsupported::new("the field is not known"))?;
    let has_dimension = ["box_dim", "global_dim", "global_stride", "element_stride"].contains(&name);
    o.expect(2 + usize::from(has_dimension))?;
    let dimension = if has_dimension { o.integer(1)? } else { 0 };
    let dimension = usize::try_from(dimension).ok().filter(|dimension| *dimension < MapField::DIMENSIONS);
    let dimension = dimension.ok_or_else(|| Unsupported::new("a map has at most five dimensions"))?;
    if op.ty(0)? != ty {
        return Err(Unsupported::new(format!("the field .{name} has the type {ty}")));
    }
    let space = take_space(op);
    Ok(MapEdit::Replace { map: words(o, 0, space)?, field: field(dimension), value: o.src(o.count() - 1, ty)?, ty })
}

/// `tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [to], [from], 128`
fn copy(op: &Opcode<'_>, o: &Operands<'_>) -> Result<MapEdit, Unsupported> {
    let parts = ["cp_fenceproxy", "global", "shared::cta", "tensormap::generic", "release", "sync", "aligned"];
    if let Some(part) = parts.into_iter().find(|part| !op.take(part)) {
        return Err(Unsupported::new(format!(".{part} is missing")));
    }
    o.expect(3)?;
    if o.integer(2)? != MAP_BYTES as u64 {
        return Err(Unsupported::new(format!("a map has {MAP_BYTES} bytes")));
    }
    Ok(MapEdit::Copy { to: words(o, 0, Space::Global)?, from: words(o, 1, Space::Shared)?, scope: take_scope(op) })
}

/// An access to a word of a map.
fn words(o: &Operands<'_>, index: usize, space: Space) -> Result<Access, Unsupported> {
    let (address, of_variable) = o.address(index)?;
    let space = of_variable.filter(|_| space == Space::Generic).unwrap_or(space);
    let elements = Box::new([Element { slot: o.scratch(), rows: 2, sign_extend: false }]);
    Ok(Access { space, address, width: 8, elements, is_strong: false, semantics: Semantics::DEFAULT })
}
