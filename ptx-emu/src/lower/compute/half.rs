//! Arithmetic in half precision. PTX ISA, "Half Precision Floating Point Instructions".

use super::extreme::modifiers;
use super::{Compute, Opcode, Operands, Unsupported, d_a, d_ab, d_abc, no_such_type, single_type};
use crate::lanes::{self, binary_slow, ternary, ternary_slow, unary_slow};
use crate::ops::half::{Half, both, both2, both3};
use crate::ops::half_fast::fma16;
use crate::ops::round::{BF16, F16};
use crate::types::Type;

pub(super) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let ty = single_type(op)?;
    let brain = matches!(ty, Type::Bf16 | Type::Bf16x2);
    let name = op.name();
    if !matches!(name, "add" | "sub" | "mul" | "fma" | "min" | "max" | "neg" | "abs") {
        return Err(no_such_type(op, ty));
    }
    let arithmetic = matches!(name, "add" | "sub" | "mul" | "fma");
    if arithmetic && !op.take("rn") && name == "fma" {
        return Err(Unsupported::new(format!("fma{ty} needs .rn")));
    }
    let half = Half {
        format: if brain { &BF16 } else { &F16 },
        ftz: !brain && op.take("ftz"),
        sat: arithmetic && !brain && op.take("sat"),
        relu: name == "fma" && op.take("relu"),
    };
    if half.sat && half.relu {
        return Err(Unsupported::new(".sat and .relu exclude each other"));
    }
    if arithmetic && !brain && !half.ftz && !half.sat && !half.relu {
        return plain(op, o, ty);
    }
    match name {
        "fma" => fma(o, ty, half),
        "neg" | "abs" => {
            let negate = name == "neg";
            unary(o, ty, move |a| {
                let a = half.input(a);
                half.output(if negate { -a } else { a.abs() })
            })
        }
        "min" | "max" => {
            let extreme = modifiers(op)?;
            binary(o, ty, move |a, b| half.output(extreme.of(half.input(a), half.input(b))))
        }
        "add" => binary(o, ty, move |a, b| half.add(a, b)),
        "sub" => binary(o, ty, move |a, b| half.sub(a, b)),
        _ => binary(o, ty, move |a, b| half.mul(a, b)),
    }
}

/// f16 without modifiers: every operation is an FMA, exact in one of its steps.
fn plain(op: &Opcode<'_>, o: &Operands<'_>, ty: Type) -> Result<Compute, Unsupported> {
    const ONE: u16 = 0x3c00;
    const MINUS_ZERO: u16 = 0x8000;
    if op.name() == "fma" {
        let (d, abc) = d_abc(o, ty, [ty; 3])?;
        return Ok(match ty.bits() {
            16 => ternary(d, abc, fma16),
            _ => ternary(
                d,
                abc,
                #[inline(always)]
                |a, b, c| both3(fma16, a, b, c),
            ),
        });
    }
    let (d, ab) = d_ab(o, ty, [ty; 2])?;
    let (add, sub, mul) = (
        #[inline(always)]
        |a: u16, b: u16| fma16(a, ONE, b),
        #[inline(always)]
        |a: u16, b: u16| fma16(a, ONE, b ^ 0x8000),
        #[inline(always)]
        |a: u16, b: u16| fma16(a, b, MINUS_ZERO),
    );
    Ok(match (op.name(), ty.bits()) {
        ("add", 16) => lanes::binary(d, ab, add),
        ("sub", 16) => lanes::binary(d, ab, sub),
        (_, 16) => lanes::binary(d, ab, mul),
        ("add", _) => lanes::binary(
            d,
            ab,
            #[inline(always)]
            move |a, b| both2(add, a, b),
        ),
        ("sub", _) => lanes::binary(
            d,
            ab,
            #[inline(always)]
            move |a, b| both2(sub, a, b),
        ),
        (_, _) => lanes::binary(
            d,
            ab,
            #[inline(always)]
            move |a, b| both2(mul, a, b),
        ),
    })
}

fn fma(o: &Operands<'_>, ty: Type, half: Half) -> Result<Compute, Unsupported> {
    let (d, abc) = d_abc(o, ty, [ty; 3])?;
    Ok(match ty.bits() {
        16 => ternary_slow(d, abc, move |a, b, c| half.fma(a, b, c)),
        _ => ternary_slow(d, abc, move |a, b, c| both3(|a, b, c| half.fma(a, b, c), a, b, c)),
    })
}

fn unary(
    o: &Operands<'_>,
    ty: Type,
    f: impl Fn(u16) -> u16 + Copy + Send + Sync + 'static,
) -> Result<Compute, Unsupported> {
    let (d, a) = d_a(o, ty, ty)?;
    Ok(match ty.bits() {
        16 => unary_slow(d, a, f),
        _ => unary_slow(d, a, move |a| both(f, a)),
    })
}

fn binary(
    o: &Operands<'_>,
    ty: Type,
    f: impl Fn(u16, u16) -> u16 + Copy + Send + Sync + 'static,
) -> Result<Compute, Unsupported> {
    let (d, ab) = d_ab(o, ty, [ty; 2])?;
    Ok(match ty.bits() {
        16 => binary_slow(d, ab, f),
        _ => binary_slow(d, ab, move |a, b| both2(f, a, b)),
    })
}
