//! Arithmetic in single and double precision. PTX ISA, "Floating Point Instructions".

use rustc_apfloat::Round;

use super::{Compute, Opcode, Operands, Unsupported, d_a, d_ab, d_abc, no_such_type, single_type};
use crate::Type;
use crate::lanes::{binary, binary_slow, ternary, ternary_slow, unary};
use crate::ops::float::{self, Modes, flush, input, output, output64};

pub(super) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let ty = single_type(op)?;
    match (op.name(), ty) {
        ("add" | "sub" | "mul" | "fma" | "mad", Type::F32) => arithmetic(op, o),
        ("add" | "sub" | "mul" | "fma" | "mad", Type::F64) => arithmetic64(op, o),
        ("min" | "max", _) => min_max(op, o, ty),
        ("neg" | "abs", _) => neg_abs(op, o, ty),
        _ => Err(no_such_type(op, ty)),
    }
}

/// The rounding mode; to nearest where none is given.
pub(super) fn rounding(op: &Opcode<'_>) -> Round {
    match op.take_first(&["rn", "rz", "rm", "rp"]) {
        Some("rz") => Round::TowardZero,
        Some("rm") => Round::TowardNegative,
        Some("rp") => Round::TowardPositive,
        _ => Round::NearestTiesToEven,
    }
}

fn arithmetic(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let modes = Modes { round: rounding(op), ftz: op.take("ftz"), sat: op.take("sat") };
    match (modes.round, modes.ftz, modes.sat) {
        (Round::NearestTiesToEven, false, false) => to_nearest::<false, false>(op, o),
        (Round::NearestTiesToEven, false, true) => to_nearest::<false, true>(op, o),
        (Round::NearestTiesToEven, true, false) => to_nearest::<true, false>(op, o),
        (Round::NearestTiesToEven, true, true) => to_nearest::<true, true>(op, o),
        _ => rounded(op, o, modes),
    }
}

fn to_nearest<const FTZ: bool, const SAT: bool>(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    if matches!(op.name(), "fma" | "mad") {
        let (d, abc) = d_abc(o, Type::F32, [Type::F32; 3])?;
        return Ok(ternary(d, abc, |a: f32, b: f32, c: f32| {
            output::<FTZ, SAT>(input::<FTZ>(a).mul_add(input::<FTZ>(b), input::<FTZ>(c)))
        }));
    }
    let (d, ab) = d_ab(o, Type::F32, [Type::F32; 2])?;
    Ok(match op.name() {
        "add" => binary(d, ab, |a: f32, b: f32| output::<FTZ, SAT>(input::<FTZ>(a) + input::<FTZ>(b))),
        "sub" => binary(d, ab, |a: f32, b: f32| output::<FTZ, SAT>(input::<FTZ>(a) - input::<FTZ>(b))),
        _ => binary(d, ab, |a: f32, b: f32| output::<FTZ, SAT>(input::<FTZ>(a) * input::<FTZ>(b))),
    })
}

fn rounded(op: &Opcode<'_>, o: &Operands<'_>, modes: Modes) -> Result<Compute, Unsupported> {
    if matches!(op.name(), "fma" | "mad") {
        let (d, abc) = d_abc(o, Type::F32, [Type::F32; 3])?;
        return Ok(ternary_slow(d, abc, move |a, b, c| modes.fma(a, b, c)));
    }
    let (d, ab) = d_ab(o, Type::F32, [Type::F32; 2])?;
    Ok(match op.name() {
        "add" => binary_slow(d, ab, move |a, b| modes.add(a, b)),
        "sub" => binary_slow(d, ab, move |a, b| modes.sub(a, b)),
        _ => binary_slow(d, ab, move |a, b| modes.mul(a, b)),
    })
}

fn arithmetic64(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let round = rounding(op);
    let nearest = round == Round::NearestTiesToEven;
    if matches!(op.name(), "fma" | "mad") {
        let (d, abc) = d_abc(o, Type::F64, [Type::F64; 3])?;
        return Ok(if nearest {
            ternary(d, abc, |a: f64, b: f64, c: f64| output64(a.mul_add(b, c), [a, b, c]))
        } else {
            ternary_slow(d, abc, move |a, b, c| float::fma64(round, a, b, c))
        });
    }
    let (d, ab) = d_ab(o, Type::F64, [Type::F64; 2])?;
    Ok(match op.name() {
        "add" if nearest => binary(d, ab, |a: f64, b: f64| output64(a + b, [a, b])),
        "sub" if nearest => binary(d, ab, |a: f64, b: f64| output64(a - b, [a, b])),
        "mul" if nearest => binary(d, ab, |a: f64, b: f64| output64(a * b, [a, b])),
        "add" => binary_slow(d, ab, move |a, b| float::add64(round, a, b)),
        "sub" => binary_slow(d, ab, move |a, b| float::sub64(round, a, b)),
        _ => binary_slow(d, ab, move |a, b| float::mul64(round, a, b)),
    })
}

fn min_max(op: &Opcode<'_>, o: &Operands<'_>, ty: Type) -> Result<Compute, Unsupported> {
    let (d, ab) = d_ab(o, ty, [ty; 2])?;
    Ok(match (op.name(), ty) {
        ("min", Type::F64) => binary(d, ab, |a, b| float::min_max64(a, b, true)),
        (_, Type::F64) => binary(d, ab, |a, b| float::min_max64(a, b, false)),
        ("min", _) => binary(d, ab, |a, b| float::min_max(a, b, true, false)),
        (_, _) => binary(d, ab, |a, b| float::min_max(a, b, false, false)),
    })
}

fn neg_abs(op: &Opcode<'_>, o: &Operands<'_>, ty: Type) -> Result<Compute, Unsupported> {
    let (d, a) = d_a(o, ty, ty)?;
    Ok(match (op.name(), ty) {
        ("neg", Type::F64) => unary(d, a, |a: f64| -a),
        (_, Type::F64) => unary(d, a, f64::abs),
        ("neg", _) if op.take("ftz") => unary(d, a, |a: f32| output::<false, false>(-flush(a))),
        ("neg", _) => unary(d, a, |a: f32| output::<false, false>(-a)),
        (_, _) if op.take("ftz") => unary(d, a, |a: f32| output::<false, false>(flush(a).abs())),
        (_, _) => unary(d, a, |a: f32| output::<false, false>(a.abs())),
    })
}
