//! `wmma.load`, `wmma.store` and `wmma.mma`. PTX ISA, "Warp-level Matrix Multiply-Accumulate Instructions: wmma".
//!
//! `m8n32k16` becomes `m32n8k16` of the transposed matrices, as on Hopper. The fragments of a matrix do not depend on its layout in
//! memory, so `wmma.mma` need not know it.

use rustc_apfloat::Round;

use super::Unsupported;
use super::access::take_space;
use super::compute::required_rounding;
use super::mma::{
    accumulator, accumulators, expect_shape, integer8, narrow_integers, no_such_types, results, sources,
    take_bit_product, take_layouts, take_narrow, take_shape,
};
use super::opcode::Opcode;
use super::operands::Operands;
use super::pieces::{Matrix, pieces};
use crate::lanes::LANES;
use crate::ops::tensor_core::Format;
use crate::program::fragment::Lines;
use crate::program::{Accumulator, Action, Arithmetic, FragmentAccess, Fragments, MmaShape, Stride, WarpMma};
use crate::syntax::Operand;
use crate::types::{Space, Type};

/// The shapes of types of 8 and 16 bits.
const SHAPES: &[[usize; 3]] = &[[16, 16, 16], [32, 8, 16], [8, 32, 16]];

/// Registers of a fragment of A or B of f16: more than it needs, since GPUs of compute capability 7.0 hold each element twice.
const F16_REGISTERS: usize = 8;

pub(super) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Option<Action>, Unsupported> {
    if op.name() != "wmma" {
        return Ok(None);
    }
    let name = op.take_first(&["load", "store", "mma"]).ok_or_else(|| Unsupported::new("load, store or mma?"))?;
    if name == "mma" {
        return Ok(Some(Action::WarpMma(Box::new(multiply(op, o)?))));
    }
    Ok(Some(Action::Fragments(Box::new(Fragments::Access(access(op, o, name == "store")?)))))
}

fn take_sync(op: &Opcode<'_>) -> Result<(), Unsupported> {
    if op.take("sync") && op.take("aligned") { Ok(()) } else { Err(Unsupported::new(".sync.aligned is missing")) }
}

/// The shape that is computed, and whether it is that of the transposed matrices.
fn take_transposed(op: &Opcode<'_>) -> Result<(MmaShape, MmaShape, bool), Unsupported> {
    let named = take_shape(op)?;
    let MmaShape { m, n, k } = named;
    let transposed = n > 16;
    Ok((named, if transposed { MmaShape { m: n, n: m, k } } else { named }, transposed))
}

/// `wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {d}, {a}, {b}, {c}`
fn multiply(op: &Opcode<'_>, o: &Operands<'_>) -> Result<WarpMma, Unsupported> {
    let narrow = take_narrow(op);
    let bits = if narrow == Some(["b1"; 2]) { Some(take_bit_product(op)?) } else { None };
    take_sync(op)?;
    take_layouts(op)?;
    let (named, shape, transposed) = take_transposed(op)?;
    let saturates = op.take("satfinite");
    let fused = |format, depth, c, d| Arithmetic::Fused { formats: [format; 2], depth, c, d };
    let (arithmetic, shapes): (_, &[_]) = match (op.types(), narrow, bits) {
        ([Type::S32, Type::S32], _, Some(product)) => (Arithmetic::Bits(product), &[[8, 8, 128]]),
        ([Type::S32, Type::S32], Some(narrow), None) => (narrow_integers(narrow, saturates), &[[8, 8, 32]]),
        ([d, c], None, None) => match (accumulator(*d), accumulator(*c)) {
            (Some(d), Some(c)) => (fused(Format::F16, 16, c, d), SHAPES),
            _ => return Err(no_such_types(op)),
        },
        ([Type::F32, Type::Bf16, Type::Bf16, Type::F32], None, None) => {
            (fused(Format::Bf16, 16, Accumulator::F32, Accumulator::F32), SHAPES)
        }
        // Two steps of four elements.
        ([Type::F32, Type::Tf32, Type::Tf32, Type::F32], None, None) => {
            (fused(Format::Tf32, 4, Accumulator::F32, Accumulator::F32), &[[16, 16, 8]])
        }
        ([Type::F64, Type::F64, Type::F64, Type::F64], None, None) => {
            let round = required_rounding(op).unwrap_or(Round::NearestTiesToEven);
            (Arithmetic::Double(round), &[[8, 8, 4]])
        }
        ([Type::S32, a, b, Type::S32], None, None) => match (integer8(*a), integer8(*b)) {
            (Some(a), Some(b)) if a == b => (Arithmetic::Integer { a, b, saturates }, SHAPES),
            _ => return Err(no_such_types(op)),
        },
        _ => return Err(no_such_types(op)),
    };
    if saturates && !matches!(arithmetic, Arithmetic::Integer { .. }) {
        return Err(Unsupported::new(
            ".satfinite is known for integers only; GPUs since compute capability 8.0 lack the others",
        ));
    }
    expect_shape(named, shapes)?;
    o.expect(4)?;
    let MmaShape { m, n, .. } = named;
    let ty = if matches!(arithmetic, Arithmetic::Double(_)) { Type::F64 } else { Type::B32 };
    let is_f16 = matches!(arithmetic, Arithmetic::Fused { formats: [Format::F16, _], .. });
    let words = word_count(shape.k, arithmetic.element_bits());
    let count = |lines| if is_f16 { F16_REGISTERS } else { lines * words / LANES };
    let ((c_ty, c), (d_ty, d)) =
        (accumulators(arithmetic, m * n / LANES, false), accumulators(arithmetic, m * n / LANES, true));
    let (d, c) = (results(o, 0, d, d_ty)?, sources(o, 3, c, c_ty)?);
    let (a, b) = (sources(o, 1, count(m), ty)?, sources(o, 2, count(n), ty)?);
    let (a, b) = if transposed { (b, a) } else { (a, b) };
    Ok(WarpMma { arithmetic, sparse: None, shape, d, a, b, c })
}

/// Words of 32 bits, or f64, of a row of A.
const fn word_count(k: usize, bits: usize) -> usize {
    if bits == 64 { k } else { k * bits / 32 }
}

/// `wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {a}, [address], stride`
fn access(op: &Opcode<'_>, o: &Operands<'_>, is_store: bool) -> Result<FragmentAccess, Unsupported> {
    let which = op.take_first(if is_store { &["d"] } else { &["a", "b", "c"] });
    let which = which.ok_or_else(|| Unsupported::new("which matrix?"))?;
    take_sync(op)?;
    let by_columns = op.take_first(&["row", "col"]).ok_or_else(|| Unsupported::new("row or col?"))? == "col";
    let (named, shape, transposed) = take_transposed(op)?;
    let space = take_space(op);
    if !matches!(space, Space::Global | Space::Shared | Space::Generic) {
        return Err(Unsupported::new("matrices are in global or shared memory"));
    }
    let is_ab = matches!(which, "a" | "b");
    let narrow = op.take_first(&["s4", "u4", "b1"]);
    let ty = if narrow.is_some() { Type::B32 } else { op.ty(0)? };
    let bits = match narrow {
        Some("b1") => 1,
        Some(_) => 4,
        None => ty.bits(),
    };
    let shapes: &[_] = match (ty, bits, is_ab) {
        (Type::B32, 1, true) => &[[8, 8, 128]],
        (Type::B32, 4, true) => &[[8, 8, 32]],
        (Type::F16, ..) | (Type::Bf16 | Type::U8 | Type::S8, _, true) => SHAPES,
        (Type::Tf32, _, true) => &[[16, 16, 8]],
        (Type::F64, ..) => &[[8, 8, 4]],
        (Type::F32, _, false) => &[[16, 16, 16], [32, 8, 16], [8, 32, 16], [16, 16, 8]],
        (Type::S32, _, false) => &[[16, 16, 16], [32, 8, 16], [8, 32, 16], [8, 8, 32], [8, 8, 128]],
        _ => return Err(Unsupported::new(format!("matrix {which} of the type {ty} is not known"))),
    };
    expect_shape(named, shapes)?;
    if bits < 8 && by_columns != (which == "b") {
        return Err(Unsupported::new("elements narrower than a byte are in A by rows, and in B by columns"));
    }
    // Whether it is the operand whose lines are rows, after the transposition.
    let is_first = (which == "a") != transposed;
    let matrix = if is_ab {
        let lines = if is_first { shape.m } else { shape.n };
        let words = word_count(shape.k, bits as usize);
        // Lines are contiguous where A is by rows, or B by columns.
        Matrix::Operand { lines: Lines { lines, words, is_first }, contiguous: by_columns == (which == "b") }
    } else {
        Matrix::Accumulators { m: shape.m, n: shape.n, by_columns: by_columns != transposed }
    };
    let count = match matrix {
        Matrix::Operand { .. } if ty == Type::F16 => F16_REGISTERS,
        Matrix::Operand { lines, .. } => lines.registers(),
        Matrix::Accumulators { m, n, .. } => m * n / LANES / if ty == Type::F16 { 2 } else { 1 },
    };
    let register_ty = if bits == 64 { Type::F64 } else { Type::B32 };
    let (vector, at) = if is_store { (1, 0) } else { (0, 1) };
    let slots =
        if is_store { sources(o, vector, count, register_ty)? } else { results(o, vector, count, register_ty)? };
    let (address, of_variable) = o.address(at)?;
    let space = of_variable.filter(|_| space == Space::Generic).unwrap_or(space);
    let stride = match o.count() {
        2 => Stride::Constant(consecutive(which, named, by_columns)),
        _ => {
            o.expect(3)?;
            match o.get(2)? {
                Operand::Integer(stride) => Stride::Constant(u32::try_from(*stride).unwrap_or(u32::MAX)),
                _ => Stride::Register(o.src(2, Type::B32)?),
            }
        }
    };
    let (pieces, copies) = pieces(o, matrix, space, bits, &slots, is_store);
    Ok(FragmentAccess { is_store, space, address, stride, bits, pieces, copies })
}

/// The stride of a matrix without gaps: the length of its rows, or of its columns.
fn consecutive(which: &str, MmaShape { m, n, k }: MmaShape, by_columns: bool) -> u32 {
    let (rows, columns) = match which {
        "a" => (m, k),
        "b" => (k, n),
        _ => (m, n),
    };
    (if by_columns { rows } else { columns }) as u32
}
