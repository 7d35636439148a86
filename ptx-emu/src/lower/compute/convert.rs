//! Conversions between types. PTX ISA, "cvt".

use rustc_apfloat::Round;

use super::{Compute, Opcode, Operands, Unsupported, d_a, d_ab, d_abc, two_types};
use crate::lanes::{Slot, binary, binary_slow, ternary_slow, unary, unary_slow};
use crate::lower::layout::rows;
use crate::ops::convert::{Conversion, format};
use crate::ops::half_fast::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};
use crate::types::Type;

pub(super) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    if op.take("pack") {
        return pack(op, o);
    }
    let (to, from) = two_types(op)?;
    match (to, from) {
        (Type::F16x2 | Type::Bf16x2 | Type::E4m3x2 | Type::E5m2x2, Type::F32) => pair_of_singles(op, o, to),
        (Type::E4m3x2 | Type::E5m2x2, Type::F16x2) | (Type::F16x2, Type::E4m3x2 | Type::E5m2x2) => {
            pair(op, o, to, from)
        }
        _ => scalar(op, o, to, from),
    }
}

/// Two f32 to a packed pair, the first in the upper half.
fn pair_of_singles(op: &Opcode<'_>, o: &Operands<'_>, to: Type) -> Result<Compute, Unsupported> {
    let conversion = pair_conversion(op, to, Type::F32)?;
    let (d, ab) = d_ab(o, to, [Type::F32; 2])?;
    let half = to.bits() / 2;
    if conversion.round == Round::NearestTiesToEven && !conversion.relu && !conversion.satfinite {
        let both = |high: u16, low: u16| u32::from(high) << 16 | u32::from(low);
        return Ok(match to {
            Type::F16x2 => binary(d, ab, move |a, b| both(f32_to_f16(a), f32_to_f16(b))),
            _ => binary(d, ab, move |a, b| both(f32_to_bf16(a), f32_to_bf16(b))),
        });
    }
    Ok(binary_slow(d, ab, move |a: u32, b: u32| {
        (conversion.apply(a.into()) << half | conversion.apply(b.into())) as u32
    }))
}

/// A packed pair to a packed pair of another type.
fn pair(op: &Opcode<'_>, o: &Operands<'_>, to: Type, from: Type) -> Result<Compute, Unsupported> {
    let conversion = pair_conversion(op, to, from)?;
    let (d, a) = d_a(o, to, from)?;
    let (to, from) = (to.bits() / 2, from.bits() / 2);
    Ok(unary_slow(d, a, move |a: u32| (conversion.apply((a >> from).into()) << to | conversion.apply(a.into())) as u32))
}

/// The conversion of one element of a pair.
fn pair_conversion(op: &Opcode<'_>, to: Type, from: Type) -> Result<Conversion, Unsupported> {
    let round = match op.take_first(&["rn", "rz"]) {
        Some("rn") => Round::NearestTiesToEven,
        Some(_) if matches!(to, Type::F16x2 | Type::Bf16x2) && from == Type::F32 => Round::TowardZero,
        _ => return Err(Unsupported::new(format!("cvt{to}{from} needs .rn"))),
    };
    let bytes = matches!(to, Type::E4m3x2 | Type::E5m2x2);
    let satfinite = from != Type::E4m3x2 && from != Type::E5m2x2 && op.take("satfinite");
    if bytes && !satfinite {
        return Err(Unsupported::new(format!("cvt{to} needs .satfinite")));
    }
    let element = |ty| match ty {
        Type::F16x2 => Type::F16,
        Type::Bf16x2 => Type::Bf16,
        Type::E4m3x2 => Type::E4m3,
        Type::E5m2x2 => Type::E5m2,
        ty => ty,
    };
    let relu = op.take("relu");
    Ok(Conversion { relu, satfinite, round, ..Conversion::plain(element(to), element(from)) })
}

/// `cvt.pack`: two integers, saturated and packed; narrow ones below the lower half of a third.
fn pack(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    if !op.take("sat") {
        return Err(Unsupported::new("cvt.pack needs .sat"));
    }
    let (to, wide) = match op.types() {
        [to @ (Type::U16 | Type::S16), Type::S32] => (*to, true),
        [to @ (Type::U8 | Type::S8), Type::S32, Type::B32] => (*to, false),
        _ => return Err(Unsupported::new("cvt.pack is not known for these types")),
    };
    let conversion = Conversion { sat: true, ..Conversion::plain(to, Type::S32) };
    let half = to.bits();
    let both = move |a: u32, b: u32| {
        let cut = u32::MAX >> (32 - half);
        let narrow = |x: u32| conversion.apply(x.into()) as u32 & cut;
        narrow(a) << half | narrow(b)
    };
    if wide {
        let (d, ab) = d_ab(o, Type::B32, [Type::S32; 2])?;
        return Ok(binary_slow(d, ab, both));
    }
    let (d, abc) = d_abc(o, Type::B32, [Type::S32, Type::S32, Type::B32])?;
    Ok(ternary_slow(d, abc, move |a, b, c: u32| c << 16 | both(a, b)))
}

/// A type that `cvt` converts from and to, one number at a time.
fn is_scalar(ty: Type) -> bool {
    (ty.is_integer() || format(ty).is_some())
        && !matches!(ty, Type::U16x2 | Type::S16x2 | Type::F16x2 | Type::Bf16x2 | Type::F32x2)
        && !matches!(ty, Type::E4m3 | Type::E5m2 | Type::E4m3x2 | Type::E5m2x2)
}

/// The modifiers, of which each pair of types allows only some.
fn conversion(op: &Opcode<'_>, to: Type, from: Type) -> Result<Conversion, Unsupported> {
    let integral = match op.take_first(&["rni", "rzi", "rmi", "rpi"]) {
        Some("rni") => Some(Round::NearestTiesToEven),
        Some("rzi") => Some(Round::TowardZero),
        Some("rmi") => Some(Round::TowardNegative),
        Some(_) => Some(Round::TowardPositive),
        None => None,
    };
    let round = match op.take_first(&["rn", "rz", "rm", "rp", "rna"]) {
        Some("rn") => Some(Round::NearestTiesToEven),
        Some("rz") => Some(Round::TowardZero),
        Some("rm") => Some(Round::TowardNegative),
        Some("rp") => Some(Round::TowardPositive),
        Some(_) => Some(Round::NearestTiesToAway),
        None => None,
    };
    let narrows = to.is_float() && (from.is_integer() || to != from && to.bits() <= from.bits());
    // The PTX ISA lets conversions from bf16 that lose nothing name a rounding mode.
    let may_round = from == Type::Bf16 && to.is_float() && to != from;
    if narrows && round.is_none() || round.is_some() && !narrows && !may_round {
        let needed = if narrows { "needs" } else { "has no" };
        return Err(Unsupported::new(format!("cvt{to}{from} {needed} rounding such as .rn")));
    }
    let to_integer = to.is_integer() && from.is_float();
    if to_integer && integral.is_none() || integral.is_some() && !to_integer && (to != from || !to.is_float()) {
        let needed = if to_integer { "needs" } else { "has no" };
        return Err(Unsupported::new(format!("cvt{to}{from} {needed} rounding to an integer such as .rzi")));
    }
    if (round == Some(Round::NearestTiesToAway)) && to != Type::Tf32 {
        return Err(Unsupported::new(".rna is for .tf32"));
    }
    let single = to == Type::F32 || from == Type::F32;
    let small = matches!(to, Type::F16 | Type::Bf16 | Type::Tf32) && from == Type::F32;
    Ok(Conversion {
        from,
        to,
        integral,
        round: round.unwrap_or(Round::NearestTiesToEven),
        ftz: single && op.take("ftz"),
        relu: small && narrows && op.take("relu"),
        satfinite: small && narrows && op.take("satfinite"),
        sat: !matches!(to, Type::Tf32 | Type::Bf16) && op.take("sat"),
    })
}

fn scalar(op: &Opcode<'_>, o: &Operands<'_>, to: Type, from: Type) -> Result<Compute, Unsupported> {
    if !is_scalar(to) || !is_scalar(from) || from == Type::Tf32 || to == Type::Tf32 && from != Type::F32 {
        return Err(Unsupported::new(format!("cvt does not convert from {from} to {to}")));
    }
    o.expect(2)?;
    let conversion = conversion(op, to, from)?;
    let (d, d_bits) = sized(o, 0, to)?;
    let (a, a_bits) = sized(o, 1, from)?;
    let plain = !conversion.ftz && !conversion.sat && !conversion.relu && !conversion.satfinite;
    if plain
        && a_bits == from.bits()
        && d_bits == to.bits()
        && let Some(compute) = common(&conversion, d, a)
    {
        return Ok(compute);
    }
    let kept = u64::MAX >> (64 - d_bits);
    if plain && to.is_integer() && from.is_integer() {
        return Ok(integers(&conversion, (d, d_bits), (a, a_bits), kept));
    }
    Ok(match (rows(d_bits), rows(a_bits)) {
        (1, 1) => unary_slow(d, a, move |a: u32| (conversion.apply(a.into()) & kept) as u32),
        (1, _) => unary_slow(d, a, move |a: u64| (conversion.apply(a) & kept) as u32),
        (_, 1) => unary_slow(d, a, move |a: u32| conversion.apply(a.into())),
        _ => unary_slow(d, a, move |a: u64| conversion.apply(a)),
    })
}

/// The operand's slot and width, which may exceed the type's.
fn sized(o: &Operands<'_>, index: usize, ty: Type) -> Result<(Slot, u32), Unsupported> {
    let operand = o.get(index)?;
    let bits = o.register_bits(operand).unwrap_or(ty.bits());
    if bits < ty.bits() || bits > 64 {
        return Err(Unsupported::new(format!("a register of {bits} bits stands for {ty}")));
    }
    let wide = if rows(bits) == 2 { Type::B64 } else { ty };
    let slot = if index == 0 { o.dst_of(operand, wide)? } else { o.src_of(operand, wide)? };
    Ok((slot, bits))
}

/// The nearest f32; NaN keeps its sign and the upper part of its payload.
#[inline(always)]
fn narrow(a: f64) -> f32 {
    let bits = a.to_bits();
    let nan = (bits >> 32) as u32 & 0x8000_0000 | 0x7fc0_0000 | (bits >> 29) as u32 & 0x003f_ffff;
    if a.is_nan() { f32::from_bits(nan) } else { a as f32 }
}

/// The most frequent conversions, vectorised.
fn common(conversion: &Conversion, d: Slot, a: Slot) -> Option<Compute> {
    let zero = conversion.integral == Some(Round::TowardZero);
    let nearest = conversion.round == Round::NearestTiesToEven;
    Some(match (conversion.to, conversion.from) {
        (Type::U64 | Type::S64, Type::U32) => unary(d, a, |a: u32| u64::from(a)),
        (Type::U64 | Type::S64, Type::S32) => unary(d, a, |a: i32| i64::from(a)),
        (Type::U32 | Type::S32, Type::U64 | Type::S64) => unary(d, a, |a: u64| a as u32),
        (Type::F32, Type::S32) if nearest => unary(d, a, |a: i32| a as f32),
        (Type::F32, Type::U32) if nearest => unary(d, a, |a: u32| a as f32),
        (Type::F32, Type::F16) => unary(d, a, f16_to_f32),
        (Type::F32, Type::Bf16) => unary(d, a, bf16_to_f32),
        (Type::F16, Type::F32) if nearest => unary(d, a, f32_to_f16),
        (Type::Bf16, Type::F32) if nearest => unary(d, a, f32_to_bf16),
        // These casts round towards zero, saturate, and make 0 of NaN.
        (Type::S32, Type::F32) if zero => unary(d, a, |a: f32| a as i32),
        (Type::U32, Type::F32) if zero => unary(d, a, |a: f32| a as u32),
        (Type::F32, Type::F64) if nearest => unary(d, a, narrow),
        _ => return None,
    })
}

/// Between integers: sign or zero extension, or truncation.
fn integers(conversion: &Conversion, (d, d_bits): (Slot, u32), (a, a_bits): (Slot, u32), kept: u64) -> Compute {
    let (from_signed, to_signed) = (conversion.from.is_signed(), conversion.to.is_signed());
    let (from, to) = (64 - conversion.from.bits(), 64 - conversion.to.bits());
    let extend = |x: u64, above: u32, signed: bool| {
        if signed { ((x << above) as i64 >> above) as u64 } else { x << above >> above }
    };
    let f = move |a: u64| extend(extend(a, from, from_signed), to, to_signed) & kept;
    match (rows(d_bits), rows(a_bits)) {
        (1, 1) => unary(d, a, move |a: u32| f(a.into()) as u32),
        (1, _) => unary(d, a, move |a: u64| f(a) as u32),
        (_, 1) => unary(d, a, move |a: u32| f(a.into())),
        _ => unary(d, a, f),
    }
}
