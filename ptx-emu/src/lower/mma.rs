//! `mma`, `mma.sp`. PTX ISA, "Warp-level Matrix Multiply-Accumulate Instructions: mma", "mma.sp".

use rustc_apfloat::Round;

use super::Unsupported;
use super::opcode::Opcode;
use super::operands::Operands;
use crate::lanes::{LANES, Slot};
use crate::ops::tensor_core::Format;
use crate::ops::warp_mma::{BitProduct, Float8};
use crate::program::sparse::{Groups, Sparse};
use crate::program::{Accumulator, Action, Arithmetic, IntegerFormat, MmaShape, WarpMma};
use crate::syntax::Operand;
use crate::types::Type;

/// `mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c}`
pub(super) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Option<Action>, Unsupported> {
    if op.name() != "mma" {
        return Ok(None);
    }
    let sparse = op.take_first(&["sp", "sp::ordered_metadata"]);
    if !op.take("sync") || !op.take("aligned") {
        return Err(Unsupported::new(".sync.aligned is missing"));
    }
    let shape = take_shape(op)?;
    let by_columns = take_layouts(op)?;
    let arithmetic = arithmetic(op, shape, by_columns, sparse.is_some())?;
    if !matches!(arithmetic, Arithmetic::Quads { .. }) && by_columns != [false, true] {
        return Err(Unsupported::new("only A by rows and B by columns, .row.col, is known for this shape"));
    }
    o.expect(if sparse.is_some() { 6 } else { 4 })?;
    let MmaShape { m, n, k } = shape;
    let depth = shape.depth(sparse.is_some());
    let (a_ty, a, b) = match arithmetic {
        Arithmetic::Double(_) => (Type::F64, m * k / LANES, n * k / LANES),
        Arithmetic::Quads { .. } => (Type::B32, 2, 2),
        arithmetic => {
            let bits = arithmetic.element_bits();
            (Type::B32, m * depth * bits / 32 / LANES, n * k * bits / 32 / LANES)
        }
    };
    let elements = if matches!(arithmetic, Arithmetic::Quads { .. }) { 8 } else { m * n / LANES };
    let ((c_ty, c), (d_ty, d)) = (accumulators(arithmetic, elements, false), accumulators(arithmetic, elements, true));
    let (d, a, b) = (results(o, 0, d, d_ty)?, sources(o, 1, a, a_ty)?, sources(o, 2, b, a_ty)?);
    let c = sources(o, 3, c, c_ty)?;
    let sparse = match sparse {
        Some(name) => Some(metadata(o, 4, Groups::new(arithmetic.element_bits(), k), name != "sp")?),
        None => None,
    };
    Ok(Some(Action::WarpMma(Box::new(WarpMma { arithmetic, sparse, shape, d, a, b, c }))))
}

/// The metadata operand, and the selector behind it.
pub(super) fn metadata(
    o: &Operands<'_>,
    index: usize,
    groups: Groups,
    is_ordered: bool,
) -> Result<Sparse, Unsupported> {
    let selector = o.integer(index + 1)?;
    let last = groups.selectors() as u64 - 1;
    if selector > last {
        return Err(Unsupported::new(format!("a sparsity selector of {selector}; of this shape it is at most {last}")));
    }
    Ok(Sparse { metadata: o.src(index, Type::B32)?, selector: selector as u32, is_ordered })
}

/// Takes a shape such as `m16n8k16`.
pub(super) fn take_shape(op: &Opcode<'_>) -> Result<MmaShape, Unsupported> {
    let parse = |part: &str| {
        let (m, rest) = part.strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        Some(MmaShape { m: m.parse().ok()?, n: n.parse().ok()?, k: k.parse().ok()? })
    };
    let part = op.take_if(|part| parse(part).is_some());
    part.and_then(parse).ok_or_else(|| Unsupported::new("a shape such as .m16n8k16 is missing"))
}

/// Takes the layouts of A and B: whether they are by columns.
pub(super) fn take_layouts(op: &Opcode<'_>) -> Result<[bool; 2], Unsupported> {
    let take = || match op.take_first(&["row", "col"]) {
        Some(layout) => Ok(layout == "col"),
        None => Err(Unsupported::new("the layouts, such as .row.col, are missing")),
    };
    Ok([take()?, take()?])
}

/// Takes the types of A and B that are narrower than a byte; without, those of `op.types()`.
pub(super) fn take_narrow<'a>(op: &Opcode<'a>) -> Option<[&'a str; 2]> {
    let take = || op.take_first(&["s4", "u4", "b1"]);
    Some([take()?, take()?])
}

pub(super) fn narrow_integers([a, b]: [&str; 2], saturates: bool) -> Arithmetic {
    let format = |name: &str| IntegerFormat { bits: 4, is_signed: name == "s4" };
    Arithmetic::Integer { a: format(a), b: format(b), saturates }
}

/// Takes what stands for the product of bits.
pub(super) fn take_bit_product(op: &Opcode<'_>) -> Result<BitProduct, Unsupported> {
    match (op.take_first(&["xor", "and"]), op.take("popc")) {
        (Some("xor"), true) => Ok(BitProduct::Xor),
        (Some(_), true) => Ok(BitProduct::And),
        _ => Err(Unsupported::new("of .b1, only .xor.popc and .and.popc are known")),
    }
}

fn arithmetic(
    op: &Opcode<'_>,
    shape: MmaShape,
    by_columns: [bool; 2],
    is_sparse: bool,
) -> Result<Arithmetic, Unsupported> {
    let saturates = op.take("satfinite");
    let narrow = take_narrow(op);
    let types = op.types();
    let (arithmetic, shapes): (_, &[_]) = match (types, narrow) {
        ([Type::S32, Type::S32], Some(narrow)) if is_sparse && !narrow.contains(&"b1") => {
            (narrow_integers(narrow, saturates), &[[16, 8, 64], [16, 8, 128]])
        }
        ([d, a, b, c], None) if is_sparse => sparse_of_types(*d, [*a, *b], *c, shape, saturates)?,
        _ if is_sparse => return Err(no_such_types(op)),
        ([Type::S32, Type::S32], Some(["b1", "b1"])) => {
            (Arithmetic::Bits(take_bit_product(op)?), &[[8, 8, 128], [16, 8, 128], [16, 8, 256]])
        }
        ([Type::S32, Type::S32], Some(narrow)) if !narrow.contains(&"b1") => {
            (narrow_integers(narrow, saturates), &[[8, 8, 32], [16, 8, 32], [16, 8, 64]])
        }
        ([d, a, b, c], None) => of_types(*d, [*a, *b], *c, shape, by_columns, saturates)?,
        _ => return Err(no_such_types(op)),
    };
    if saturates && !matches!(arithmetic, Arithmetic::Integer { .. }) {
        return Err(Unsupported::new(".satfinite is known for integers of 4 and 8 bits only"));
    }
    expect_shape(shape, shapes)?;
    Ok(arithmetic)
}

pub(super) fn no_such_types(op: &Opcode<'_>) -> Unsupported {
    let types: String = op.types().iter().map(ToString::to_string).collect();
    Unsupported::new(format!("the combination of types {types} is not known"))
}

pub(super) fn expect_shape(shape: MmaShape, shapes: &[[usize; 3]]) -> Result<(), Unsupported> {
    if shapes.contains(&[shape.m, shape.n, shape.k]) {
        return Ok(());
    }
    let known: Vec<String> = shapes.iter().map(|[m, n, k]| format!("m{m}n{n}k{k}")).collect();
    Err(Unsupported::new(format!("the shapes of these types are {}", known.join(", "))))
}

/// As [`of_types`], with a sparse A.
fn sparse_of_types(d: Type, ab: [Type; 2], c: Type, shape: MmaShape, saturates: bool) -> Result<OfTypes, Unsupported> {
    let unknown = || Unsupported::new(format!("the combination of types {d}{}{}{c} is not known", ab[0], ab[1]));
    let accumulator = accumulator(c).filter(|_| c == d);
    let fused = |format| {
        let of = accumulator.filter(|of| format == Format::F16 || *of == Accumulator::F32).ok_or_else(unknown)?;
        Ok(Arithmetic::Fused { formats: [format; 2], depth: shape.k / 2, c: of, d: of })
    };
    Ok(match ab {
        [Type::F16, Type::F16] => (fused(Format::F16)?, &[[16, 8, 16], [16, 8, 32]]),
        [Type::Bf16, Type::Bf16] => (fused(Format::Bf16)?, &[[16, 8, 16], [16, 8, 32]]),
        [Type::Tf32, Type::Tf32] => (fused(Format::Tf32)?, &[[16, 8, 8], [16, 8, 16]]),
        _ => match (ab.map(float8), ab.map(integer8)) {
            ([Some(a), Some(b)], _) if accumulator == Some(Accumulator::F32) => {
                (Arithmetic::Float8 { a, b, accumulator: Accumulator::F32 }, &[[16, 8, 64]])
            }
            (_, [Some(a), Some(b)]) if [c, d] == [Type::S32; 2] => {
                (Arithmetic::Integer { a, b, saturates }, &[[16, 8, 32], [16, 8, 64]])
            }
            _ => return Err(unknown()),
        },
    })
}

type OfTypes = (Arithmetic, &'static [[usize; 3]]);

fn of_types(
    d: Type,
    ab: [Type; 2],
    c: Type,
    shape: MmaShape,
    [a_by_columns, b_by_columns]: [bool; 2],
    saturates: bool,
) -> Result<OfTypes, Unsupported> {
    let depth = shape.k;
    let unknown = || Unsupported::new(format!("the combination of types {d}{}{}{c} is not known", ab[0], ab[1]));
    let floats = || Some((accumulator(c)?, accumulator(d)?));
    if let (Some(a), Some(b)) = (float8(ab[0]), float8(ab[1])) {
        let (_, accumulator) = floats().filter(|(c, d)| c == d).ok_or_else(unknown)?;
        return Ok((Arithmetic::Float8 { a, b, accumulator }, &[[16, 8, 16], [16, 8, 32]]));
    }
    Ok(match (ab, floats()) {
        ([Type::F16, Type::F16], Some((c, d))) if [shape.m, shape.n, shape.k] == [8, 8, 4] => {
            (Arithmetic::Quads { a_by_columns, b_by_rows: !b_by_columns, c, d }, &[[8, 8, 4]])
        }
        ([Type::F16, Type::F16], Some((c, d))) if c == d => {
            (Arithmetic::Fused { formats: [Format::F16; 2], depth, c, d }, &[[16, 8, 8], [16, 8, 16]])
        }
        ([Type::Bf16, Type::Bf16], Some((c @ Accumulator::F32, d @ Accumulator::F32))) => {
            (Arithmetic::Fused { formats: [Format::Bf16; 2], depth, c, d }, &[[16, 8, 8], [16, 8, 16]])
        }
        ([Type::Tf32, Type::Tf32], Some((c @ Accumulator::F32, d @ Accumulator::F32))) => {
            (Arithmetic::Fused { formats: [Format::Tf32; 2], depth, c, d }, &[[16, 8, 4], [16, 8, 8]])
        }
        ([Type::F64, Type::F64], None) if [c, d] == [Type::F64; 2] => {
            (Arithmetic::Double(Round::NearestTiesToEven), &[[8, 8, 4], [16, 8, 4], [16, 8, 8], [16, 8, 16]])
        }
        _ => match (integer8(ab[0]), integer8(ab[1])) {
            (Some(a), Some(b)) if [c, d] == [Type::S32; 2] => {
                (Arithmetic::Integer { a, b, saturates }, &[[8, 8, 16], [16, 8, 16], [16, 8, 32]])
            }
            _ => return Err(unknown()),
        },
    })
}

/// The floating-point type of C or D.
pub(super) fn accumulator(ty: Type) -> Option<Accumulator> {
    match ty {
        Type::F16 => Some(Accumulator::F16),
        Type::F32 => Some(Accumulator::F32),
        _ => None,
    }
}

pub(super) fn float8(ty: Type) -> Option<Float8> {
    match ty {
        Type::E4m3 => Some(Float8::E4m3),
        Type::E5m2 => Some(Float8::E5m2),
        _ => None,
    }
}

pub(super) fn integer8(ty: Type) -> Option<IntegerFormat> {
    matches!(ty, Type::U8 | Type::S8).then_some(IntegerFormat { bits: 8, is_signed: ty == Type::S8 })
}

/// The type of a register of C or D, and their number for so many elements of a lane.
pub(super) fn accumulators(arithmetic: Arithmetic, elements: usize, of_d: bool) -> (Type, usize) {
    let of = match arithmetic {
        Arithmetic::Fused { c, d, .. } | Arithmetic::Quads { c, d, .. } => Some(if of_d { d } else { c }),
        Arithmetic::Float8 { accumulator, .. } => Some(accumulator),
        _ => None,
    };
    match (of, arithmetic) {
        (Some(Accumulator::F16), _) => (Type::B32, elements / 2),
        (Some(Accumulator::F32), _) => (Type::F32, elements),
        (None, Arithmetic::Double(_)) => (Type::F64, elements),
        (None, _) => (Type::B32, elements),
    }
}

/// The registers of a fragment that is read.
pub(super) fn sources(o: &Operands<'_>, index: usize, count: usize, ty: Type) -> Result<Box<[Slot]>, Unsupported> {
    operands(o, index, count)?.iter().map(|operand| o.src_of(operand, ty)).collect()
}

/// The registers of a fragment that is written.
pub(super) fn results(o: &Operands<'_>, index: usize, count: usize, ty: Type) -> Result<Box<[Slot]>, Unsupported> {
    operands(o, index, count)?.iter().map(|operand| o.dst_of(operand, ty)).collect()
}

fn operands<'a>(o: &Operands<'a>, index: usize, count: usize) -> Result<&'a [Operand], Unsupported> {
    let operands = match o.get(index)? {
        Operand::Vector(operands) => operands.as_slice(),
        operand => std::slice::from_ref(operand),
    };
    if operands.len() == count {
        return Ok(operands);
    }
    Err(Unsupported::new(format!("{count} registers are expected, {} are there", operands.len())))
}
