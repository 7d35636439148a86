//! Arithmetic in single and double precision. PTX ISA, "Floating Point Instructions".

use rustc_apfloat::Round;

use super::{Compute, Opcode, Operands, Unsupported, d_ab, d_abc, no_such_type, single_type};
use crate::lanes::{binary, binary_slow, ternary, ternary_slow};
use crate::ops::float::{self, Modes, flush_product, flush_sum, input, output, output64};
use crate::types::Type;

pub(super) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let ty = single_type(op)?;
    match (op.name(), ty) {
        ("add" | "sub" | "mul" | "fma" | "mad", Type::F32) => arithmetic(op, o),
        ("add" | "sub" | "mul" | "fma" | "mad", Type::F64) => arithmetic64(op, o),
        ("add" | "sub" | "mul" | "fma", Type::F32x2) => pairs(op, o),
        _ => Err(no_such_type(op, ty)),
    }
}

/// The rounding mode, which must be there.
pub(crate) fn required_rounding(op: &Opcode<'_>) -> Result<Round, Unsupported> {
    match op.take_first(&["rn", "rz", "rm", "rp"]) {
        Some("rn") => Ok(Round::NearestTiesToEven),
        Some("rz") => Ok(Round::TowardZero),
        Some("rm") => Ok(Round::TowardNegative),
        Some(_) => Ok(Round::TowardPositive),
        None => Err(Unsupported::new(format!("{} needs a rounding mode such as .rn", op.name()))),
    }
}

/// The rounding mode; to nearest where none is given and none is needed.
fn rounding(op: &Opcode<'_>) -> Result<Round, Unsupported> {
    match required_rounding(op) {
        Err(_) if matches!(op.name(), "add" | "sub" | "mul") => Ok(Round::NearestTiesToEven),
        round => round,
    }
}

fn arithmetic(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let modes = Modes { round: rounding(op)?, ftz: op.take("ftz"), sat: op.take("sat") };
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
            let (a, b, c) = (input::<FTZ>(a), input::<FTZ>(b), input::<FTZ>(c));
            let sum = a.mul_add(b, c);
            output::<false, SAT>(if FTZ { flush_sum(sum, a, b, c) } else { sum })
        }));
    }
    let (d, ab) = d_ab(o, Type::F32, [Type::F32; 2])?;
    Ok(match op.name() {
        "add" => binary(d, ab, |a: f32, b: f32| output::<FTZ, SAT>(input::<FTZ>(a) + input::<FTZ>(b))),
        "sub" => binary(d, ab, |a: f32, b: f32| output::<FTZ, SAT>(input::<FTZ>(a) - input::<FTZ>(b))),
        _ => binary(d, ab, |a: f32, b: f32| {
            let (a, b) = (input::<FTZ>(a), input::<FTZ>(b));
            output::<false, SAT>(if FTZ { flush_product(a * b, f64::from(a) * f64::from(b)) } else { a * b })
        }),
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
    let round = rounding(op)?;
    let nearest = round == Round::NearestTiesToEven;
    if matches!(op.name(), "fma" | "mad") {
        let (d, abc) = d_abc(o, Type::F64, [Type::F64; 3])?;
        return Ok(if nearest {
            ternary(d, abc, |a: f64, b: f64, c: f64| output64(a.mul_add(b, c), [a, c, b]))
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

/// Packed pairs of f32.
fn pairs(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let m = Modes { round: rounding(op)?, ftz: op.take("ftz"), sat: false };
    let ty = Type::F32x2;
    if op.name() == "fma" {
        let (d, abc) = d_abc(o, ty, [ty; 3])?;
        if m.round == Round::NearestTiesToEven && !m.ftz {
            let fma = |a: f32, b: f32, c: f32| output::<false, false>(a.mul_add(b, c));
            return Ok(ternary(d, abc, move |a: [f32; 2], b: [f32; 2], c: [f32; 2]| {
                [fma(a[0], b[0], c[0]), fma(a[1], b[1], c[1])]
            }));
        }
        return Ok(ternary_slow(d, abc, move |a: [f32; 2], b: [f32; 2], c: [f32; 2]| {
            std::array::from_fn::<_, 2, _>(|i| m.fma(a[i], b[i], c[i]))
        }));
    }
    let (d, ab) = d_ab(o, ty, [ty; 2])?;
    let f: fn(Modes, f32, f32) -> f32 = match op.name() {
        "add" => Modes::add,
        "sub" => Modes::sub,
        _ => Modes::mul,
    };
    Ok(binary_slow(d, ab, move |a: [f32; 2], b: [f32; 2]| [f(m, a[0], b[0]), f(m, a[1], b[1])]))
}
