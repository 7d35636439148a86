//! Minimum, maximum, sign and classification. PTX ISA, "Floating Point Instructions".

use super::logic::pred_result;
use super::{Compute, Opcode, Operands, Unsupported, d_a, d_ab, d_abc, no_such_type, single_type};
use crate::lanes::{Lane, Slot, binary, binary_slow, lanes_where, ternary_slow, unary};
use crate::ops::extreme::Extreme;
use crate::ops::float::{self, Modes, flush, input, output, output64};
use crate::types::Type;

pub(super) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let ty = single_type(op)?;
    match (op.name(), ty) {
        ("min" | "max", Type::F32) => min_max(op, o),
        ("min", Type::F64) => {
            let (d, ab) = d_ab(o, ty, [ty; 2])?;
            Ok(binary(d, ab, |a, b| float::min_max64(a, b, true)))
        }
        ("max", Type::F64) => {
            let (d, ab) = d_ab(o, ty, [ty; 2])?;
            Ok(binary(d, ab, |a, b| float::min_max64(a, b, false)))
        }
        ("neg" | "abs", Type::F32 | Type::F64) => neg_abs(op, o, ty),
        ("copysign", Type::F32) => {
            let (d, ab) = d_ab(o, ty, [ty; 2])?;
            Ok(binary(d, ab, |a: u32, b: u32| a & 0x8000_0000 | b & 0x7fff_ffff))
        }
        ("copysign", Type::F64) => {
            let (d, ab) = d_ab(o, ty, [ty; 2])?;
            Ok(binary(d, ab, |a: u64, b: u64| a & 1 << 63 | b & (u64::MAX >> 1)))
        }
        ("testp", Type::F32) => testp::<f32>(op, o, ty),
        ("testp", Type::F64) => testp::<f64>(op, o, ty),
        _ => Err(no_such_type(op, ty)),
    }
}

/// `.NaN` and `.xorsign.abs` of `min` and `max`.
pub(super) fn modifiers(op: &Opcode<'_>) -> Result<Extreme, Unsupported> {
    let (nan, xorsign) = (op.take("NaN"), op.take("xorsign"));
    if xorsign && !op.take("abs") {
        return Err(Unsupported::new(".xorsign comes with .abs"));
    }
    Ok(Extreme { is_min: op.name() == "min", nan, abs: xorsign, xorsign })
}

fn min_max(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let ty = Type::F32;
    let ftz = op.take("ftz");
    let extreme = modifiers(op)?;
    let modes = Modes { round: rustc_apfloat::Round::NearestTiesToEven, ftz, sat: false };
    let number = move |x: f32| f64::from(modes.input(x));
    if o.count() == 4 {
        if extreme.xorsign {
            return Err(Unsupported::new(format!("{} of three has no .xorsign", op.name())));
        }
        let extreme = Extreme { abs: op.take("abs"), ..extreme };
        let (d, abc) = d_abc(o, ty, [ty; 3])?;
        return Ok(ternary_slow(d, abc, move |a, b, c| {
            modes.output(extreme.of_three(number(a), number(b), number(c)) as f32)
        }));
    }
    let (d, ab) = d_ab(o, ty, [ty; 2])?;
    if extreme.nan || extreme.xorsign {
        return Ok(binary_slow(d, ab, move |a, b| modes.output(extreme.of(number(a), number(b)) as f32)));
    }
    Ok(match (extreme.is_min, ftz) {
        (true, false) => common::<true, false>(d, ab),
        (true, true) => common::<true, true>(d, ab),
        (false, false) => common::<false, false>(d, ab),
        (false, true) => common::<false, true>(d, ab),
    })
}

fn common<const MIN: bool, const FTZ: bool>(d: Slot, ab: (Slot, Slot)) -> Compute {
    binary(d, ab, |a, b| float::min_max(input::<FTZ>(a), input::<FTZ>(b), MIN))
}

fn neg_abs(op: &Opcode<'_>, o: &Operands<'_>, ty: Type) -> Result<Compute, Unsupported> {
    let (d, a) = d_a(o, ty, ty)?;
    Ok(match (op.name(), ty) {
        // NaN keeps its sign.
        ("neg", Type::F64) => unary(d, a, |a: f64| output64(if a.is_nan() { a } else { -a }, [a])),
        (_, Type::F64) => unary(d, a, |a: f64| output64(a.abs(), [a])),
        ("neg", _) if op.take("ftz") => unary(d, a, |a: f32| output::<false, false>(-flush(a))),
        ("neg", _) => unary(d, a, |a: f32| output::<false, false>(-a)),
        (_, _) if op.take("ftz") => unary(d, a, |a: f32| output::<false, false>(flush(a).abs())),
        (_, _) => unary(d, a, |a: f32| output::<false, false>(a.abs())),
    })
}

/// The kind of a number.
trait Kind: Lane {
    fn kind(self) -> std::num::FpCategory;
}

impl Kind for f32 {
    fn kind(self) -> std::num::FpCategory {
        self.classify()
    }
}

impl Kind for f64 {
    fn kind(self) -> std::num::FpCategory {
        self.classify()
    }
}

fn testp<T: Kind>(op: &Opcode<'_>, o: &Operands<'_>, ty: Type) -> Result<Compute, Unsupported> {
    use std::num::FpCategory::{Infinite, Nan, Normal, Subnormal, Zero};
    let kinds = ["finite", "infinite", "number", "notanumber", "normal", "subnormal"];
    let f: fn(std::num::FpCategory) -> bool = match op.take_first(&kinds) {
        Some("finite") => |kind| !matches!(kind, Infinite | Nan),
        Some("infinite") => |kind| kind == Infinite,
        Some("number") => |kind| kind != Nan,
        Some("notanumber") => |kind| kind == Nan,
        // Zeros count as normal.
        Some("normal") => |kind| matches!(kind, Normal | Zero),
        Some(_) => |kind| kind == Subnormal,
        None => return Err(Unsupported::new("testp needs the kind, such as .finite")),
    };
    o.expect(2)?;
    let (p, a) = (pred_result(o)?, o.src(1, ty)?);
    Ok(Box::new(move |registers, mask| {
        let a = registers.read::<T>(a);
        let holds = lanes_where(|lane| f(a[lane].kind()));
        registers.set_predicate(p, holds, mask);
    }))
}
