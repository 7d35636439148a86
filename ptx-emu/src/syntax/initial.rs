//! Initial values of variables.

use super::Initial;
use super::constants::Constant;
use super::cursor::{Cursor, Result, quoted};
use super::declarations::Head;
use super::globals::Globals;
use super::lexer::Kind;
use crate::types::Type;

struct Initialiser<'p, 'a> {
    cursor: &'p mut Cursor<'a>,
    ty: Type,
    globals: &'p Globals<'a>,
    /// At which element, from the start of the variable.
    element: u64,
    parts: Vec<Initial>,
}

impl<'a> Cursor<'a> {
    /// The value after the `=`. An unsized first dimension gets its size.
    pub fn initialiser(
        &mut self,
        head: Head,
        dimensions: &mut [Option<u64>],
        globals: &Globals<'a>,
    ) -> Result<Vec<Initial>> {
        if head.bytes_of(dimensions).is_none() {
            return Err(self.error("the variable is too large"));
        }
        let mut sizes: Vec<u64> = dimensions.iter().map(|size| size.unwrap_or(u64::MAX)).collect();
        if head.lanes > 1 {
            sizes.push(head.lanes.into());
        }
        let mut initialiser = Initialiser { cursor: self, ty: head.ty, globals, element: 0, parts: Vec::new() };
        match sizes.as_slice() {
            [] => initialiser.value()?,
            sizes => initialiser.braces(sizes)?,
        }
        let Initialiser { element, parts, .. } = initialiser;
        if let Some(first @ None) = dimensions.first_mut() {
            *first = Some(element.div_ceil(stride(&sizes)));
        }
        Ok(parts)
    }
}

/// Elements in one step of the first dimension.
fn stride(sizes: &[u64]) -> u64 {
    sizes[1..].iter().fold(1, |all, size| all.saturating_mul(*size))
}

impl Initialiser<'_, '_> {
    /// `{...}` of the dimensions `sizes`: either values in order, or braces for each step of the first dimension.
    fn braces(&mut self, sizes: &[u64]) -> Result<()> {
        let (start, stride) = (self.element, stride(sizes));
        let end = start.saturating_add(stride.saturating_mul(sizes[0]));
        self.cursor.expect(Kind::LeftBrace, "`{` of an initial value")?;
        if self.cursor.accept(Kind::RightBrace) {
            return Ok(());
        }
        loop {
            if self.element >= end {
                return Err(self.cursor.error("an initial value has more parts than its variable"));
            }
            if self.cursor.kind() == Kind::LeftBrace {
                if sizes.len() == 1 || !(self.element - start).is_multiple_of(stride) {
                    return Err(self.cursor.error("the braces of an initial value do not fit the dimensions"));
                }
                let row = self.element;
                self.braces(&sizes[1..])?;
                self.element = row.saturating_add(stride);
            } else {
                self.value()?;
            }
            if !self.cursor.accept(Kind::Comma) {
                break;
            }
        }
        self.cursor.expect(Kind::RightBrace, "`,` or `}` in an initial value").map(drop)
    }

    fn value(&mut self) -> Result<()> {
        if self.cursor.kind() == Kind::Name && !self.cursor.at_constant() {
            return self.address();
        }
        let text = self.cursor.text();
        let constant = self.cursor.constant()?;
        if self.cursor.kind() == Kind::LeftParen {
            return Err(self.cursor.error_behind(format!("{} as a mask of an address is not supported", quoted(text))));
        }
        let Some(bits) = bits(constant, self.ty) else {
            let message = format!("the initial value {} does not fit a `{}`", shown(constant), self.ty);
            return Err(self.cursor.error_behind(message));
        };
        self.bytes(&bits.to_le_bytes()[..self.ty.bytes() as usize]);
        Ok(())
    }

    fn bytes(&mut self, new: &[u8]) {
        let at = self.offset();
        self.element += 1;
        match self.parts.last_mut() {
            Some(Initial::Bytes { offset, bytes }) if *offset + bytes.len() as u64 == at => bytes.extend(new),
            _ => self.parts.push(Initial::Bytes { offset: at, bytes: new.into() }),
        }
    }

    /// `symbol + 4` or `generic(symbol) + 4`
    fn address(&mut self) -> Result<()> {
        let generic = self.cursor.text() == "generic" && self.cursor.following() == Kind::LeftParen;
        if generic {
            self.cursor.advance();
            self.cursor.advance();
        }
        if self.cursor.kind() != Kind::Name {
            return Err(self.cursor.expected("a variable or function"));
        }
        let symbol = self.globals.symbol(self.cursor)?;
        self.cursor.advance();
        let mut addend = self.cursor.offset()?;
        if generic {
            self.cursor.expect(Kind::RightParen, "`)`")?;
            addend = addend.wrapping_add(self.cursor.offset()?);
        }
        let width = self.ty.bytes();
        if !matches!(width, 4 | 8) {
            return Err(self.cursor.error_behind(format!(
                "the address of {} does not fit a `{}`",
                quoted(&symbol),
                self.ty
            )));
        }
        self.parts.push(Initial::Address { offset: self.offset(), width, symbol, addend, generic });
        self.element += 1;
        Ok(())
    }

    fn offset(&self) -> u64 {
        self.element.saturating_mul(self.ty.bytes().into())
    }
}

/// The bits of a constant as a type; `None` where that does not hold it.
fn bits(constant: Constant, ty: Type) -> Option<u64> {
    match (constant, ty) {
        (Constant::Integer { bits, unsigned }, Type::F32) => {
            Some(number(bits, unsigned) as f32).map(|x| x.to_bits().into())
        }
        (Constant::Integer { bits, unsigned }, Type::F64) => Some((number(bits, unsigned) as f64).to_bits()),
        (Constant::Integer { bits, unsigned }, ty) if ty.is_integer() || ty.is_bits() => {
            let width = ty.bits();
            let value = number(bits, unsigned);
            (width <= 64 && (-(1_i128 << (width - 1))..1_i128 << width).contains(&value)).then_some(bits)
        }
        (Constant::Single(bits), Type::F32 | Type::B32) => Some(bits.into()),
        (Constant::Single(bits), Type::F64) => Some(f64::from(f32::from_bits(bits)).to_bits()),
        (Constant::Double(bits), Type::F64 | Type::B64) => Some(bits),
        (Constant::Double(bits), Type::F32) => Some((f64::from_bits(bits) as f32).to_bits().into()),
        _ => None,
    }
}

fn number(bits: u64, unsigned: bool) -> i128 {
    if unsigned { bits.into() } else { bits.cast_signed().into() }
}

fn shown(constant: Constant) -> String {
    match constant {
        Constant::Integer { bits, unsigned } => number(bits, unsigned).to_string(),
        Constant::Single(bits) => format!("0f{bits:08x}"),
        Constant::Double(bits) => format!("{:?}", f64::from_bits(bits)),
    }
}
