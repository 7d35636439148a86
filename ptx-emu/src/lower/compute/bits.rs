//! Counting, finding, extracting and permuting bits, and small dot products. PTX ISA, "Integer Arithmetic Instructions"
//! and "Logic and Shift Instructions".

use super::{Compute, Opcode, Operands, Unsupported, d_a, d_ab, d_abc, no_such_type, single_type, two_types};
use crate::lanes::{binary, binary_slow, lanes_where, quaternary_slow, ternary, ternary_slow, unary_slow};
use crate::ops::bits;
use crate::syntax::Operand;
use crate::types::Type;

pub(super) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    match op.name() {
        "popc" | "clz" | "brev" | "bfind" => count(op, o),
        "bfe" | "bfi" => field(op, o),
        "bmsk" | "szext" => mask(op, o),
        "fns" => {
            only(op, Type::B32)?;
            let (d, abc) = d_abc(o, Type::B32, [Type::B32, Type::B32, Type::S32])?;
            Ok(ternary_slow(d, abc, bits::fns))
        }
        "prmt" => prmt(op, o),
        "lop3" => lop3(op, o),
        "shf" => shf(op, o),
        "dp4a" | "dp2a" => dot(op, o),
        _ => mul24(op, o),
    }
}

/// Fails unless the opcode's one type is this one.
fn only(op: &Opcode<'_>, ty: Type) -> Result<(), Unsupported> {
    let given = single_type(op)?;
    if given == ty { Ok(()) } else { Err(no_such_type(op, given)) }
}

fn count(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let ty = single_type(op)?;
    let result = if op.name() == "brev" { ty } else { Type::U32 };
    let (d, a) = d_a(o, result, ty)?;
    Ok(match (op.name(), ty) {
        ("popc", Type::B32) => unary_slow(d, a, u32::count_ones),
        ("popc", Type::B64) => unary_slow(d, a, u64::count_ones),
        ("clz", Type::B32) => unary_slow(d, a, u32::leading_zeros),
        ("clz", Type::B64) => unary_slow(d, a, u64::leading_zeros),
        ("brev", Type::B32) => unary_slow(d, a, u32::reverse_bits),
        ("brev", Type::B64) => unary_slow(d, a, u64::reverse_bits),
        ("bfind", Type::U32 | Type::S32 | Type::U64 | Type::S64) => {
            let (shift_amount, signed) = (op.take("shiftamt"), ty.is_signed());
            match ty.bits() {
                32 => unary_slow(d, a, move |a: u32| bits::bfind(a.into(), 32, signed, shift_amount)),
                _ => unary_slow(d, a, move |a: u64| bits::bfind(a, 64, signed, shift_amount)),
            }
        }
        _ => return Err(no_such_type(op, ty)),
    })
}

fn field(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let ty = single_type(op)?;
    let signed = ty.is_signed();
    Ok(match (op.name(), ty) {
        ("bfe", Type::U32 | Type::S32) => {
            let (d, abc) = d_abc(o, ty, [ty, Type::U32, Type::U32])?;
            ternary_slow(d, abc, move |a: u32, b, c| bits::bfe(a.into(), b, c, 32, signed) as u32)
        }
        ("bfe", Type::U64 | Type::S64) => {
            let (d, abc) = d_abc(o, ty, [ty, Type::U32, Type::U32])?;
            ternary_slow(d, abc, move |a: u64, b, c| bits::bfe(a, b, c, 64, signed))
        }
        ("bfi", Type::B32 | Type::B64) => {
            o.expect(5)?;
            let (f, a, b) = (o.dst(0, ty)?, o.src(1, ty)?, o.src(2, ty)?);
            let abcd = (a, b, o.src(3, Type::U32)?, o.src(4, Type::U32)?);
            match ty.bits() {
                32 => quaternary_slow(f, abcd, |a: u32, b: u32, c, d| bits::bfi(a.into(), b.into(), c, d, 32) as u32),
                _ => quaternary_slow(f, abcd, |a: u64, b: u64, c, d| bits::bfi(a, b, c, d, 64)),
            }
        }
        _ => return Err(no_such_type(op, ty)),
    })
}

/// `.clamp` or `.wrap`, one of which must be there.
fn clamps(op: &Opcode<'_>) -> Result<bool, Unsupported> {
    match op.take_first(&["clamp", "wrap"]) {
        Some(mode) => Ok(mode == "clamp"),
        None => Err(Unsupported::new(format!("{} needs .clamp or .wrap", op.name()))),
    }
}

fn mask(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let ty = single_type(op)?;
    let clamp = clamps(op)?;
    let (d, ab) = d_ab(o, ty, [ty, Type::U32])?;
    Ok(match (op.name(), ty) {
        ("bmsk", Type::B32) => binary_slow(d, ab, move |a, b| bits::bmsk(a, b, clamp)),
        ("szext", Type::U32) => binary_slow(d, ab, move |a, b| bits::szext(a, b, clamp, false)),
        ("szext", Type::S32) => binary_slow(d, ab, move |a, b| bits::szext(a, b, clamp, true)),
        _ => return Err(no_such_type(op, ty)),
    })
}

fn prmt(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    only(op, Type::B32)?;
    let (d, abc) = d_abc(o, Type::B32, [Type::B32; 3])?;
    let mode = op.take_if(|mode| bits::prmt_mode(mode).is_some()).and_then(bits::prmt_mode);
    Ok(match mode {
        Some(selectors) => ternary_slow(d, abc, move |a, b, c: u32| bits::prmt(a, b, selectors[(c & 3) as usize])),
        None => ternary_slow(d, abc, bits::prmt),
    })
}

fn lop3(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    only(op, Type::B32)?;
    let boolean = op.take_first(&["and", "or"]);
    o.expect(if boolean.is_some() { 6 } else { 5 })?;
    let (d, p) = match o.get(0)? {
        Operand::Pair(d, p) if boolean.is_some() => (o.dst_of(d, Type::B32)?, o.pred_dst_of(p)?),
        _ if boolean.is_some() => return Err(Unsupported::new("the result must be d|p")),
        _ => (o.dst(0, Type::B32)?, None),
    };
    let abc = (o.src(1, Type::B32)?, o.src(2, Type::B32)?, o.src(3, Type::B32)?);
    let table = bits::lop3_table(o.integer(4)?);
    let Some(boolean) = boolean else {
        return Ok(ternary(d, abc, move |a, b, c| bits::lop3(a, b, c, &table)));
    };
    let (q, or) = (o.pred(5)?, boolean == "or");
    Ok(Box::new(move |registers, mask| {
        let (a, b, c) = (registers.read::<u32>(abc.0), registers.read::<u32>(abc.1), registers.read::<u32>(abc.2));
        let result = std::array::from_fn(|lane| bits::lop3(a[lane], b[lane], c[lane], &table));
        registers.write(d, &result, mask);
        let (some, q) = (lanes_where(|lane| result[lane] != 0), registers.test(q));
        if let Some(p) = p {
            registers.set_predicate(p, if or { some | q } else { some & q }, mask);
        }
    }))
}

fn shf(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    only(op, Type::B32)?;
    let left = match op.take_first(&["l", "r"]) {
        Some(direction) => direction == "l",
        None => return Err(Unsupported::new("shf needs .l or .r")),
    };
    let clamp = clamps(op)?;
    let (d, abc) = d_abc(o, Type::B32, [Type::B32, Type::B32, Type::U32])?;
    let both = |a: u32, b: u32| u64::from(b) << 32 | u64::from(a);
    Ok(match (left, clamp) {
        (true, true) => ternary(d, abc, move |a, b, c: u32| (both(a, b) << c.min(32) >> 32) as u32),
        (true, false) => ternary(d, abc, move |a, b, c: u32| (both(a, b) << (c & 31) >> 32) as u32),
        (false, true) => ternary(d, abc, move |a, b, c: u32| (both(a, b) >> c.min(32)) as u32),
        (false, false) => ternary(d, abc, move |a, b, c: u32| (both(a, b) >> (c & 31)) as u32),
    })
}

fn dot(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let (a, b) = two_types(op)?;
    if !matches!((a, b), (Type::U32 | Type::S32, Type::U32 | Type::S32)) {
        return Err(Unsupported::new(format!("{} is not known for {a}{b}", op.name())));
    }
    let signed = [a.is_signed(), b.is_signed()];
    let (d, abc) = d_abc(o, Type::B32, [Type::B32; 3])?;
    if op.name() == "dp4a" {
        return Ok(ternary_slow(d, abc, move |a, b, c| bits::dp4a(a, b, c, signed)));
    }
    match op.take_first(&["lo", "hi"]) {
        Some(half) => {
            let high = half == "hi";
            Ok(ternary_slow(d, abc, move |a, b, c| bits::dp2a(a, b, c, signed, high)))
        }
        None => Err(Unsupported::new("dp2a needs .lo or .hi")),
    }
}

fn mul24(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let ty = single_type(op)?;
    if !matches!(ty, Type::U32 | Type::S32) {
        return Err(no_such_type(op, ty));
    }
    let signed = ty.is_signed();
    let high = match op.take_first(&["lo", "hi"]) {
        Some(half) => half == "hi",
        None => return Err(Unsupported::new("which half of the product is missing: .lo or .hi")),
    };
    if op.name() == "mul24" {
        let (d, ab) = d_ab(o, ty, [ty; 2])?;
        return Ok(binary(d, ab, move |a, b| bits::mul24(a, b, signed, high)));
    }
    let (d, abc) = d_abc(o, ty, [ty; 3])?;
    if high && signed && op.take("sat") {
        return Ok(ternary_slow(d, abc, |a, b, c: i32| (bits::mul24(a, b, true, true) as i32).saturating_add(c)));
    }
    Ok(ternary_slow(d, abc, move |a, b, c: u32| bits::mul24(a, b, signed, high).wrapping_add(c)))
}
