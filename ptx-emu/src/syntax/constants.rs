//! Numbers and constant expressions. PTX ISA, "Constants" and "Constant Expressions".

use std::num::IntErrorKind;

use super::SyntaxError;
use super::cursor::{Cursor, MAX_DEPTH, Result, quoted};
use super::lexer::Kind;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Constant {
    /// An integer of 64 bits; `unsigned` where it has a `U` or is too large for `.s64`.
    Integer { bits: u64, unsigned: bool },
    /// The bits of an f32.
    Single(u32),
    /// The bits of an f64.
    Double(u64),
}

/// How tightly `*`, `/` and `%` bind: the terms of a sum.
const PRODUCT: u8 = 6;

fn precedence(operator: Kind) -> Option<u8> {
    Some(match operator {
        Kind::Or => 1,
        Kind::Xor => 2,
        Kind::And => 3,
        Kind::ShiftLeft | Kind::ShiftRight => 4,
        Kind::Plus | Kind::Minus => 5,
        Kind::Star | Kind::Slash | Kind::Percent => PRODUCT,
        _ => return None,
    })
}

impl Cursor<'_> {
    pub fn constant(&mut self) -> Result<Constant> {
        self.expression(0, 0)
    }

    /// An integer; `what` describes it.
    pub fn integer(&mut self, what: &str) -> Result<u64> {
        self.integer_of(0, what)
    }

    /// An integer that fits into 32 bits without a sign; `what` describes it.
    pub fn small(&mut self, what: &str) -> Result<u32> {
        let line = self.line();
        let value = self.integer(what)?;
        u32::try_from(value).map_err(|_| {
            SyntaxError::new(line, format!("{what} is {}, which does not fit into 32 bits", value.cast_signed()))
        })
    }

    /// `+ 4 - 8`, which may be absent: what is added to an address.
    pub fn offset(&mut self) -> Result<i64> {
        let mut offset = 0_i64;
        loop {
            let negate = match self.kind() {
                Kind::Plus => false,
                Kind::Minus => true,
                _ => return Ok(offset),
            };
            self.advance();
            let term = self.integer_of(PRODUCT, "an integer as the offset")?.cast_signed();
            offset = if negate { offset.wrapping_sub(term) } else { offset.wrapping_add(term) };
        }
    }

    fn integer_of(&mut self, least: u8, what: &str) -> Result<u64> {
        let line = self.line();
        if !self.at_constant() {
            return Err(self.expected(what));
        }
        match self.expression(least, 0)? {
            Constant::Integer { bits, .. } => Ok(bits),
            _ => Err(SyntaxError::new(line, format!("{what} is no integer"))),
        }
    }

    /// Whether the token at hand can begin a constant expression.
    pub fn at_constant(&self) -> bool {
        match self.kind() {
            Kind::Name => self.text() == "WARP_SZ",
            Kind::Number | Kind::Decimal | Kind::LeftParen => true,
            Kind::Plus | Kind::Minus | Kind::Not | Kind::Complement => true,
            _ => false,
        }
    }

    fn expression(&mut self, least: u8, depth: usize) -> Result<Constant> {
        let mut left = self.unary(depth)?;
        while let Some(tightness) = precedence(self.kind()).filter(|tightness| *tightness >= least) {
            let operator = self.kind();
            let text = self.advance();
            let right = self.expression(tightness + 1, depth + 1)?;
            left = binary(operator, left, right).ok_or_else(|| {
                let divisor = if matches!(text, "/" | "%") { ", and a divisor that is not 0" } else { "" };
                self.error_behind(format!("`{text}` needs integers{divisor}"))
            })?;
        }
        Ok(left)
    }

    fn unary(&mut self, depth: usize) -> Result<Constant> {
        if depth > MAX_DEPTH {
            return Err(self.error("a constant expression nests too deeply"));
        }
        match self.kind() {
            Kind::Number => self.number(),
            Kind::Decimal => {
                let value = decimal(self.text()).ok_or_else(|| self.malformed())?;
                self.advance();
                Ok(value)
            }
            Kind::Name if self.text() == "WARP_SZ" => {
                self.advance();
                Ok(Constant::Integer { bits: 32, unsigned: false })
            }
            Kind::LeftParen => {
                self.advance();
                let value = self.expression(0, depth + 1)?;
                self.expect(Kind::RightParen, "`)`")?;
                Ok(value)
            }
            operator @ (Kind::Plus | Kind::Minus | Kind::Not | Kind::Complement) => {
                let text = self.advance();
                let value = self.unary(depth + 1)?;
                unary(operator, value).ok_or_else(|| self.error_behind(format!("`{text}` needs an integer")))
            }
            _ => Err(self.expected("a constant")),
        }
    }

    fn number(&mut self) -> Result<Constant> {
        let text = self.text();
        let (digits, radix) = match text.as_bytes() {
            [b'0', b'f' | b'F', ..] => return self.float(8, |bits| Constant::Single(bits as u32)),
            [b'0', b'd' | b'D', ..] => return self.float(16, Constant::Double),
            [b'0', b'x' | b'X', ..] => (&text[2..], 16),
            [b'0', b'b' | b'B', ..] => (&text[2..], 2),
            [b'0', b'0'..=b'9', ..] => (&text[1..], 8),
            _ => (text, 10),
        };
        let (digits, unsigned) = digits.strip_suffix('U').map_or((digits, false), |digits| (digits, true));
        let value = match u64::from_str_radix(digits, radix) {
            Ok(bits) => Constant::Integer { bits, unsigned: unsigned || bits.cast_signed() < 0 },
            Err(error) if *error.kind() == IntErrorKind::PosOverflow => {
                return Err(self.error(format!("{} does not fit into 64 bits", quoted(text))));
            }
            // `1e5`; without an exponent it would have been an integer.
            Err(_) if text.contains(['e', 'E']) => decimal(text).ok_or_else(|| self.malformed())?,
            Err(_) => return Err(self.malformed()),
        };
        self.advance();
        Ok(value)
    }

    /// `0f` or `0d`, and so many hexadecimal digits.
    fn float(&mut self, digits: usize, value: impl Fn(u64) -> Constant) -> Result<Constant> {
        let hex = &self.text()[2..];
        match u64::from_str_radix(hex, 16) {
            Ok(bits) if hex.len() == digits => {
                self.advance();
                Ok(value(bits))
            }
            _ => Err(self.error(format!("{} needs {digits} hexadecimal digits", quoted(self.text())))),
        }
    }

    fn malformed(&self) -> SyntaxError {
        self.error(format!("{} is no number", quoted(self.text())))
    }
}

/// `1.5`, `1e5`: digits throughout but for the point and the exponent, so that neither `inf` nor `nan` passes.
fn decimal(text: &str) -> Option<Constant> {
    text.parse::<f64>().ok().map(|value| Constant::Double(value.to_bits()))
}

fn unary(operator: Kind, value: Constant) -> Option<Constant> {
    Some(match (operator, value) {
        (Kind::Plus, value) => value,
        (Kind::Minus, Constant::Integer { bits, unsigned }) => {
            Constant::Integer { bits: bits.wrapping_neg(), unsigned }
        }
        (Kind::Minus, Constant::Single(bits)) => Constant::Single(bits ^ 1 << 31),
        (Kind::Minus, Constant::Double(bits)) => Constant::Double(bits ^ 1 << 63),
        (Kind::Not, Constant::Integer { bits, .. }) => {
            Constant::Integer { bits: u64::from(bits == 0), unsigned: false }
        }
        (Kind::Complement, Constant::Integer { bits, unsigned }) => Constant::Integer { bits: !bits, unsigned },
        _ => return None,
    })
}

/// `None` for a division by zero, and for operands that are no integers.
fn binary(operator: Kind, left: Constant, right: Constant) -> Option<Constant> {
    let (Constant::Integer { bits: a, unsigned: a_unsigned }, Constant::Integer { bits: b, unsigned: b_unsigned }) =
        (left, right)
    else {
        return None;
    };
    let unsigned = a_unsigned || b_unsigned;
    let signed = |value: i64| value.cast_unsigned();
    let shift = u32::try_from(b).unwrap_or(u32::MAX);
    let bits = match operator {
        Kind::Or => a | b,
        Kind::Xor => a ^ b,
        Kind::And => a & b,
        Kind::ShiftLeft => a.checked_shl(shift).unwrap_or(0),
        Kind::ShiftRight if a_unsigned => a.checked_shr(shift).unwrap_or(0),
        Kind::ShiftRight => signed(a.cast_signed() >> shift.min(63)),
        Kind::Plus => a.wrapping_add(b),
        Kind::Minus => a.wrapping_sub(b),
        Kind::Star => a.wrapping_mul(b),
        _ if b == 0 => return None,
        Kind::Slash if unsigned => a / b,
        Kind::Slash => signed(a.cast_signed().wrapping_div(b.cast_signed())),
        Kind::Percent if unsigned => a % b,
        Kind::Percent => signed(a.cast_signed().wrapping_rem(b.cast_signed())),
        _ => return None,
    };
    Some(Constant::Integer { bits, unsigned })
}
