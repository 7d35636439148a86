//! Video instructions, of whole registers: without selectors of bytes and halves. PTX ISA, "Video Instructions".

use super::{Compute, Opcode, Operands, Unsupported, d_ab, d_abc};
use crate::lanes::{binary_slow, ternary_slow};
use crate::types::Type;

/// The operation on one part, whose operands are extended.
type Part = fn(i64, i64) -> i64;

/// `vadd.s32.u32.s32.sat`, `vadd2`, `vadd4` and their like.
pub(super) fn lower(op: &Opcode<'_>, o: &Operands<'_>) -> Result<Compute, Unsupported> {
    let name = op.name();
    let (name, bits) = match name.as_bytes().last() {
        Some(b'2') => (&name[..name.len() - 1], 16),
        Some(b'4') => (&name[..name.len() - 1], 8),
        _ => (name, 32),
    };
    let part: Part = match name {
        "vadd" => |a, b| a + b,
        "vsub" => |a, b| a - b,
        "vabsdiff" => |a, b| (a - b).abs(),
        "vmin" => |a, b| a.min(b),
        "vmax" => |a, b| a.max(b),
        "vshl" if op.take("clamp") => |a, b| a << b.clamp(0, 32),
        "vshl" if op.take("wrap") => |a, b| a << (b & 31),
        "vshr" if op.take("clamp") => |a, b| a >> b.clamp(0, 32),
        "vshr" if op.take("wrap") => |a, b| a >> (b & 31),
        _ => return Err(Unsupported::new(format!("{name} is not known"))),
    };
    let &[d, a, b] = op.types() else { return Err(Unsupported::new("three types are expected")) };
    let word = |ty: Type| matches!(ty, Type::U32 | Type::S32);
    if ![d, a, b].into_iter().all(word) {
        return Err(Unsupported::new("only .u32 and .s32 are known"));
    }
    let video = Video { part, bits, signed: [d, a, b].map(Type::is_signed), saturates: op.take("sat") };
    let second = op.take_first(&["add", "min", "max"]);
    if bits == 32 && second.is_none() {
        let (d, ab) = d_ab(o, d, [a, b])?;
        return Ok(binary_slow(d, ab, move |a: u32, b: u32| video.parts(a, b)[0] as u32));
    }
    let is_signed = d.is_signed();
    let (d, abc) = d_abc(o, d, [a, b, d])?;
    Ok(match second {
        // With all parts in the result, there is nothing of `c` in it.
        None => ternary_slow(d, abc, move |a: u32, b: u32, _: u32| video.packed(a, b)),
        Some("add") => ternary_slow(d, abc, move |a: u32, b: u32, c: u32| {
            video.parts(a, b).into_iter().fold(c, |sum, part| sum.wrapping_add(part as u32))
        }),
        Some(_) if bits < 32 => return Err(Unsupported::new("only .add of the parts is known")),
        Some(second) => {
            let is_min = second == "min";
            ternary_slow(d, abc, move |a: u32, b: u32, c: u32| {
                let (own, c) = (video.parts(a, b)[0] as u32, c);
                let is_less = if is_signed { own.cast_signed() < c.cast_signed() } else { own < c };
                if is_less == is_min { own } else { c }
            })
        }
    })
}

/// An operation on the parts of a word.
#[derive(Clone, Copy)]
struct Video {
    part: Part,
    /// Bits of a part.
    bits: u32,
    /// Whether the result and the operands are signed.
    signed: [bool; 3],
    saturates: bool,
}

impl Video {
    /// The results of the parts, the lowest first; 0 for those that are not there.
    fn parts(&self, a: u32, b: u32) -> [i64; 4] {
        let [signed, of_a, of_b] = self.signed;
        let (least, most) =
            if signed { (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1) } else { (0, (1 << self.bits) - 1) };
        std::array::from_fn(|index| {
            let shift = index as u32 * self.bits;
            if shift >= u32::BITS {
                return 0;
            }
            let extended = |word: u32, signed| extend(i64::from(word >> shift), self.bits, signed);
            let result = (self.part)(extended(a, of_a), extended(b, of_b));
            if self.saturates { result.clamp(least, most) } else { extend(result, self.bits, signed) }
        })
    }

    fn packed(&self, a: u32, b: u32) -> u32 {
        let parts = self.parts(a, b).into_iter().take((u32::BITS / self.bits) as usize).enumerate();
        let mask = u32::MAX >> (u32::BITS - self.bits);
        parts.fold(0, |word, (index, part)| word | (part as u32 & mask) << (index as u32 * self.bits))
    }
}

/// The lowest bits of a number, with their sign if they have one.
fn extend(value: i64, bits: u32, signed: bool) -> i64 {
    let shift = i64::BITS - bits;
    if signed { value << shift >> shift } else { ((value << shift) as u64 >> shift) as i64 }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refusal, value};

    #[test]
    fn parts_of_words() {
        let of = |instruction: &str, a: u32, b: u32, c: u32| {
            let sources = [("%r1", a.into()), ("%r2", b.into()), ("%r3", c.into())];
            value(instruction, "%r0", &sources[..instruction.matches('%').count() - 1])
        };
        let three = "%r0, %r1, %r2;";
        let four = "%r0, %r1, %r2, %r3;";
        assert_eq!(of(&format!("vadd4.u32.u32.u32 {four}"), 0x01ff_7f80, 0x0101_0180, 9), 0x0200_8000);
        assert_eq!(of(&format!("vadd4.u32.u32.u32.sat {four}"), 0x01ff_7f80, 0x0101_0180, 9), 0x02ff_80ff);
        assert_eq!(of(&format!("vsub2.s32.s32.s32.sat {four}"), 0x8000_0005, 0x0001_0007, 9), 0x8000_fffe);
        assert_eq!(of(&format!("vabsdiff4.u32.u32.u32 {four}"), 0x0005_ff00, 0x0700_01ff, 0), 0x0705_feff);
        assert_eq!(
            of(&format!("vabsdiff4.u32.u32.u32.add {four}"), 0x0005_ff00, 0x0700_01ff, 1),
            1 + 7 + 5 + 254 + 255
        );
        assert_eq!(of(&format!("vmin2.s32.s32.s32 {four}"), 0xffff_0001, 0x0001_fffe, 0), 0xffff_fffe);
        assert_eq!(of(&format!("vadd.s32.u32.s32.sat {three}"), u32::MAX, 5, 0), i32::MAX as u64);
        assert_eq!(of(&format!("vsub.u32.u32.u32.sat {three}"), 3, 5, 0), 0);
        assert_eq!(of(&format!("vabsdiff.u32.s32.s32.max {four}"), 0x8000_0000, 1, 7), 0x8000_0001);
        assert_eq!(of(&format!("vmax.s32.s32.s32.min {four}"), u32::MAX, 1, u32::MAX - 1), 0xffff_fffe);
        assert_eq!(of(&format!("vshl.u32.u32.u32.clamp {three}"), 3, 99, 0), 0);
        assert_eq!(of(&format!("vshr.s32.s32.u32.wrap {three}"), 0x8000_0000, 33, 0), 0xc000_0000);
        assert!(refusal("vavrg4.u32.u32.u32 %r0, %r1, %r2, %r3;").contains("vavrg is not known"));
    }
}
