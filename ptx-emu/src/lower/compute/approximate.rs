//! Division, roots and transcendental functions. PTX ISA, "Floating Point Instructions".

use rustc_apfloat::Round;

use super::float::required_rounding;
use super::{Compute, Opcode, Operands, Unsupported, d_a, d_ab, no_such_type, single_type};
use crate::lanes::{binary, binary_slow, unary_slow};
use crate::ops::approx;
use crate::ops::float::{self, Modes, output};
use crate::ops::half::{Half, both};
use crate::ops::round::{BF16, F16};
use crate::types::Type;

pub(super) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let ty = single_type(op)?;
    match (op.name(), ty) {
        ("div", Type::F32) => div(op, o),
        ("rcp" | "sqrt", Type::F32) if !op.take("approx") => exact(op, o),
        ("rcp" | "sqrt" | "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh", Type::F32) => single(op, o),
        ("div" | "rcp" | "sqrt" | "rsqrt", Type::F64) => double(op, o),
        ("ex2" | "tanh", Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2) => half(op, o, ty),
        _ => Err(no_such_type(op, ty)),
    }
}

fn div(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let (d, ab) = d_ab(o, Type::F32, [Type::F32; 2])?;
    let approximation: Option<fn(f32, f32, bool) -> f32> = match op.take_first(&["approx", "full"]) {
        Some("approx") => Some(approx::div),
        Some(_) => Some(approx::div_full),
        None => None,
    };
    if let Some(f) = approximation {
        let modes = Modes { round: Round::NearestTiesToEven, ftz: op.take("ftz"), sat: false };
        return Ok(binary_slow(d, ab, move |a, b| modes.output(f(modes.input(a), modes.input(b), modes.ftz))));
    }
    let modes = Modes { round: required_rounding(op)?, ftz: op.take("ftz"), sat: false };
    if modes.round == Round::NearestTiesToEven && !modes.ftz {
        return Ok(binary(d, ab, |a: f32, b: f32| output::<false, false>(a / b)));
    }
    Ok(binary_slow(d, ab, move |a, b| modes.div(a, b)))
}

/// `rcp` and `sqrt` with a rounding mode.
fn exact(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let modes = Modes { round: required_rounding(op)?, ftz: op.take("ftz"), sat: false };
    let (d, a) = d_a(o, Type::F32, Type::F32)?;
    Ok(match op.name() {
        "rcp" => unary_slow(d, a, move |a| modes.div(1.0, a)),
        _ => unary_slow(d, a, move |a| modes.sqrt(a)),
    })
}

/// Approximations, whose `.approx` is taken where there is a choice.
fn single(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let f: fn(f32, bool) -> f32 = match op.name() {
        "rcp" => approx::rcp,
        "sqrt" => approx::sqrt,
        name => {
            needs_approx(op)?;
            match name {
                "rsqrt" => approx::rsqrt,
                "ex2" => approx::ex2,
                "lg2" => approx::lg2,
                "sin" => approx::sin,
                "cos" => approx::cos,
                _ => approx::tanh,
            }
        }
    };
    let ftz = op.name() != "tanh" && op.take("ftz");
    let modes = Modes { round: Round::NearestTiesToEven, ftz, sat: false };
    let (d, a) = d_a(o, Type::F32, Type::F32)?;
    Ok(unary_slow(d, a, move |a| modes.output(f(modes.input(a), ftz))))
}

fn needs_approx(op: &Opcode<'_>) -> Result<(), Unsupported> {
    if op.take("approx") { Ok(()) } else { Err(Unsupported::new(format!("{} needs .approx", op.name()))) }
}

fn double(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let ty = Type::F64;
    if op.name() == "div" {
        let round = required_rounding(op)?;
        let (d, ab) = d_ab(o, ty, [ty; 2])?;
        return Ok(binary_slow(d, ab, move |a, b| float::div64(round, a, b)));
    }
    let (d, a) = d_a(o, ty, ty)?;
    match op.name() {
        "rcp" if op.take("approx") => {
            if op.take("ftz") {
                return Ok(unary_slow(d, a, approx::rcp64));
            }
            Err(Unsupported::new("rcp.approx.f64 needs .ftz"))
        }
        "rcp" => {
            let round = required_rounding(op)?;
            Ok(unary_slow(d, a, move |a| float::rcp64(round, a)))
        }
        "sqrt" => {
            let round = required_rounding(op)?;
            Ok(unary_slow(d, a, move |a| float::sqrt64(round, a)))
        }
        _ => {
            needs_approx(op)?;
            if op.take("ftz") {
                return Ok(unary_slow(d, a, approx::rsqrt64_ftz));
            }
            Ok(unary_slow(d, a, |a| float::output64(approx::rsqrt64(a), [a])))
        }
    }
}

fn half(op: &Opcode<'_>, o: &Operands<'_>, ty: Type) -> Result<Compute, Unsupported> {
    needs_approx(op)?;
    let brain = matches!(ty, Type::Bf16 | Type::Bf16x2);
    let ftz = brain && op.name() == "ex2";
    if ftz && !op.take("ftz") {
        return Err(Unsupported::new(format!("ex2.approx{ty} needs .ftz")));
    }
    let half = Half { format: if brain { &BF16 } else { &F16 }, ftz, sat: false, relu: false };
    let f: fn(f32, bool) -> f32 = if op.name() == "ex2" { approx::ex2 } else { approx::tanh };
    let (d, a) = d_a(o, ty, ty)?;
    let one = move |a: u16| approx::half(f, half, a);
    Ok(match ty.bits() {
        16 => unary_slow(d, a, one),
        _ => unary_slow(d, a, move |a| both(one, a)),
    })
}
