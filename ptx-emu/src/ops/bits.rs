//! Bit fields, byte permutations and small dot products of one lane. PTX ISA, "Integer Arithmetic Instructions" and
//! "Logic and Shift Instructions".

/// The index of the highest bit that differs from the sign, or all ones.
pub(crate) fn bfind(bits: u64, width: u32, signed: bool, shift_amount: bool) -> u32 {
    let negative = signed && bits >> (width - 1) & 1 != 0;
    let bits = if negative { !bits & (u64::MAX >> (64 - width)) } else { bits };
    match bits.checked_ilog2() {
        Some(position) if shift_amount => width - 1 - position,
        Some(position) => position,
        None => u32::MAX,
    }
}

/// The index of the n-th set bit from `base` on, upwards or downwards, or all ones.
pub(crate) fn fns(bits: u32, base: u32, offset: i32) -> u32 {
    let set = |position: i64| (0..32).contains(&position) && bits >> position & 1 != 0;
    let mut position = i64::from(base);
    if offset == i32::MIN {
        // Its magnitude overflows; an H200 returns this.
        return 0;
    }
    if offset == 0 {
        return if set(position) { base } else { u32::MAX };
    }
    let mut skipped = 0;
    while (0..32).contains(&position) {
        if set(position) {
            skipped += 1;
            if skipped == offset.unsigned_abs() {
                return position as u32;
            }
        }
        position += i64::from(offset.signum());
    }
    u32::MAX
}

/// Position and length of a field. The PTX ISA allows 0 to 255; of larger ones, an H200 takes the lowest byte for
/// 32-bit fields, and clamps for 64-bit ones.
fn field(pos: u32, len: u32, width: u32) -> (u32, u32) {
    if width == 32 { (pos & 0xff, len & 0xff) } else { (pos.min(0xff), len.min(0xff)) }
}

/// `len` bits from `pos` on, extended to the width.
pub(crate) fn bfe(a: u64, pos: u32, len: u32, width: u32, signed: bool) -> u64 {
    let (pos, len) = field(pos, len, width);
    if len == 0 {
        return 0;
    }
    let a = a & (u64::MAX >> (64 - width));
    let sign = signed && a >> (pos + len - 1).min(width - 1) & 1 != 0;
    let field = if pos < width { a >> pos } else { 0 };
    let there = len.min(width.saturating_sub(pos));
    let low = if there >= 64 { u64::MAX } else { (1 << there) - 1 };
    let result = if sign { field & low | !low } else { field & low };
    result & (u64::MAX >> (64 - width))
}

/// b with `len` bits from `pos` on taken from the lower bits of a.
pub(crate) fn bfi(a: u64, b: u64, pos: u32, len: u32, width: u32) -> u64 {
    let (pos, len) = field(pos, len, width);
    if pos >= width {
        return b;
    }
    let low = if len >= 64 { u64::MAX } else { (1 << len) - 1 };
    let field = (low << pos) & (u64::MAX >> (64 - width));
    b & !field | a << pos & field
}

/// Ones from bit a on, b of them.
pub(crate) fn bmsk(a: u32, b: u32, clamp: bool) -> u32 {
    let outside = clamp && a >= 32;
    let (from, len) = (a & 31, b & 31);
    let above = if outside || from + len >= 32 || clamp && b >= 32 { 0 } else { u32::MAX << (from + len) };
    if outside { 0 } else { u32::MAX << from & !above }
}

/// The lower b bits of a, extended by zeros or by their sign.
pub(crate) fn szext(a: u32, b: u32, clamp: bool, signed: bool) -> u32 {
    if clamp && b >= 32 {
        return a;
    }
    let len = b & 31;
    let sign = signed && len != 0 && a >> (len - 1) & 1 != 0;
    let above = u32::MAX << len;
    if sign { a | above } else { a & !above }
}

/// Four bytes of the eight of a and b.
pub(crate) fn prmt(a: u32, b: u32, selectors: u32) -> u32 {
    let bytes = u64::from(b) << 32 | u64::from(a);
    (0..4).fold(0, |result, position| {
        let selector = selectors >> (4 * position) & 15;
        let byte = (bytes >> (8 * (selector & 7))) as u8;
        let byte = if selector & 8 != 0 { (byte as i8 >> 7) as u8 } else { byte };
        result | u32::from(byte) << (8 * position)
    })
}

/// The selectors that a mode of `prmt` stands for, by the lower two bits of c; the lowest byte's are lowest.
pub(crate) fn prmt_mode(mode: &str) -> Option<[u32; 4]> {
    Some(match mode {
        "f4e" => [0x3210, 0x4321, 0x5432, 0x6543],
        "b4e" => [0x5670, 0x6701, 0x7012, 0x0123],
        "rc8" => [0x0000, 0x1111, 0x2222, 0x3333],
        "ecl" => [0x3210, 0x3211, 0x3222, 0x3333],
        "ecr" => [0x0000, 0x1110, 0x2210, 0x3210],
        "rc16" => [0x1010, 0x3232, 0x1010, 0x3232],
        _ => return None,
    })
}

/// Any bitwise function of three values; `table` has a mask for each of the eight cases.
#[inline(always)]
pub(crate) fn lop3(a: u32, b: u32, c: u32, table: &[u32; 8]) -> u32 {
    let pick = |c: u32, zero: u32, one: u32| zero & !c | one & c;
    let inner = |i: usize| pick(c, table[i], table[i + 1]);
    pick(a, pick(b, inner(0), inner(2)), pick(b, inner(4), inner(6)))
}

/// The table of `lop3`.
pub(crate) fn lop3_table(lut: u64) -> [u32; 8] {
    std::array::from_fn(|case| if lut >> case & 1 != 0 { u32::MAX } else { 0 })
}

/// A byte, extended by zeros or its sign.
fn byte(x: u32, position: u32, signed: bool) -> i32 {
    let byte = (x >> (8 * position)) as u8;
    if signed { i32::from(byte as i8) } else { i32::from(byte) }
}

/// `dp4a`: c plus the products of four bytes each.
pub(crate) fn dp4a(a: u32, b: u32, c: u32, signed: [bool; 2]) -> u32 {
    (0..4).fold(c, |sum, i| sum.wrapping_add((byte(a, i, signed[0]) * byte(b, i, signed[1])) as u32))
}

/// `dp2a`: c plus the products of two halves of a with the lower or upper two bytes of b.
pub(crate) fn dp2a(a: u32, b: u32, c: u32, signed: [bool; 2], high: bool) -> u32 {
    (0..2).fold(c, |sum, i| {
        let half = (a >> (16 * i)) as u16;
        let half = if signed[0] { i32::from(half as i16) } else { i32::from(half) };
        sum.wrapping_add(half.wrapping_mul(byte(b, i + if high { 2 } else { 0 }, signed[1])) as u32)
    })
}

/// 32 or the upper 32 of the 48 bits of a product of two 24-bit numbers.
pub(crate) fn mul24(a: u32, b: u32, signed: bool, high: bool) -> u32 {
    let low = |x: u32| if signed { i64::from((x << 8) as i32 >> 8) } else { i64::from(x & 0xff_ffff) };
    let product = low(a) * low(b);
    (if high { product >> 16 } else { product }) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The PTX ISA's loop over bits.
    fn bfe_by_bits(a: u64, pos: u32, len: u32, width: u32, signed: bool) -> u64 {
        let (pos, len, msb) = (pos & 0xff, len & 0xff, width - 1);
        let bit = |i: u32| a >> i & 1;
        let sign = if !signed || len == 0 { 0 } else { bit((pos + len - 1).min(msb)) };
        (0..width).fold(0, |d, i| d | if i < len && pos + i <= msb { bit(pos + i) } else { sign } << i)
    }

    fn bfi_by_bits(a: u64, b: u64, pos: u32, len: u32, width: u32) -> u64 {
        let mut f = b;
        for i in 0..len {
            if pos + i < width {
                f = f & !(1 << (pos + i)) | (a >> i & 1) << (pos + i);
            }
        }
        f
    }

    #[test]
    fn bit_fields_are_as_the_loops_of_the_isa() {
        let (a, b) = (0x9e37_79b9_7f4a_7c15u64, 0xc2b2_ae3d_27d4_eb4fu64);
        for width in [32, 64] {
            let cut = u64::MAX >> (64 - width);
            for pos in 0..70 {
                for len in 0..70 {
                    for signed in [false, true] {
                        let expected = bfe_by_bits(a & cut, pos, len, width, signed);
                        assert_eq!(bfe(a & cut, pos, len, width, signed), expected, "{pos} {len} {width} {signed}");
                    }
                    let expected = bfi_by_bits(a & cut, b & cut, pos, len, width);
                    assert_eq!(bfi(a & cut, b & cut, pos, len, width), expected, "{pos} {len} {width}");
                }
            }
        }
    }

    /// The PTX ISA's definition.
    fn bmsk_by_masks(a: u32, b: u32, clamp: bool) -> u32 {
        let (a1, b1) = (a & 31, b & 31);
        let sum = a1 + b1;
        let mask0 = if clamp && a >= 32 { 0 } else { u32::MAX << a1 };
        let overflow = sum >= 32 || clamp && (a >= 32 || b >= 32);
        let mask1 = if overflow {
            0
        } else if b1 == 0 {
            u32::MAX
        } else {
            u32::MAX << sum
        };
        mask0 & !mask1
    }

    #[test]
    fn masks_and_extensions() {
        for a in 0..70 {
            for b in 0..70 {
                for clamp in [false, true] {
                    assert_eq!(bmsk(a, b, clamp), bmsk_by_masks(a, b, clamp), "{a} {b} {clamp}");
                }
            }
        }
        assert_eq!(szext(0x180, 8, true, true), 0xffff_ff80);
        assert_eq!(szext(0x180, 8, true, false), 0x80);
        assert_eq!(szext(0x8000_0180, 32, true, true), 0x8000_0180);
        assert_eq!(szext(0x180, 32, false, true), 0);
    }

    #[test]
    fn searches() {
        assert_eq!(bfind(0, 32, false, false), u32::MAX);
        assert_eq!(bfind(0xffff_fff0, 32, true, false), 3);
        assert_eq!(bfind(1, 64, false, true), 63);
        assert_eq!(fns(0b1011_0000, 4, 0), 4);
        assert_eq!(fns(0b1011_0000, 4, 3), 7);
        assert_eq!(fns(0b1011_0000, 7, -2), 5);
        assert_eq!(fns(0b1011_0000, 7, 2), u32::MAX);
        assert_eq!(fns(1, 40, 0), u32::MAX);
        assert_eq!(fns(1, 0, i32::MIN + 1), u32::MAX);
        assert_eq!(fns(1, 0, i32::MIN), 0);
    }

    #[test]
    fn permutations_and_tables() {
        assert_eq!(prmt(0x3322_1100, 0x7766_5544, 0x7410), 0x7744_1100);
        assert_eq!(prmt(0x0000_8000, 0, 0x9999), 0xffff_ffff);
        // The example of the PTX ISA: a table is made by putting these three through the function.
        let (a, b, c) = (0xf0u64, 0xccu64, 0xaau64);
        let table = lop3_table(a & (b ^ !c & 0xff));
        let (x, y, z) = (0x1234_5678, 0x9abc_def0, 0x0f0f_3c3c);
        assert_eq!(lop3(x, y, z, &table), x & (y ^ !z));
    }

    #[test]
    fn products() {
        assert_eq!(dp4a(0xff02_0304, 0x0101_0101, 1, [true, false]), 9);
        assert_eq!(dp4a(0xff02_0304, 0x0101_0101, 1, [false, false]), 265);
        assert_eq!(dp2a(0xffff_0002, 0x0403_0201, 10, [true, false], false), 10 + 2 - 2);
        assert_eq!(dp2a(0xffff_0002, 0x0403_0201, 10, [true, false], true), 10 + 6 - 4);
        assert_eq!(mul24(0xffff_ffff, 2, true, false), -2i32 as u32);
        assert_eq!(mul24(0xffff_ffff, 0xffff_ffff, false, true), 0xffff_fe00);
    }
}
