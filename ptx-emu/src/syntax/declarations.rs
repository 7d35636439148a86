//! What declarations of variables, parameters and registers share: alignment, type, name and dimensions.

use super::cursor::{Cursor, MAX_DEPTH, Result, quoted};
use super::globals::Globals;
use super::lexer::Kind;
use super::{Initial, Variable};
use crate::types::{Space, Type};

/// `.align 8 .v2 .f32`
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub ty: Type,
    /// 1, or the components of a vector.
    pub lanes: u32,
    align: Option<u32>,
}

impl Head {
    /// What `.align` says, or the size of what is declared.
    pub fn align(&self) -> u32 {
        self.align.unwrap_or(self.bytes())
    }

    fn bytes(&self) -> u32 {
        self.ty.bytes() * self.lanes
    }

    /// Bytes of an array in all; `None` if they are too many for any memory. An unsized dimension counts as 0.
    pub fn bytes_of(&self, dimensions: &[Option<u64>]) -> Option<u64> {
        dimensions.iter().try_fold(u64::from(self.bytes()), |bytes, size| bytes.checked_mul(size.unwrap_or(0)))
    }
}

impl<'a> Cursor<'a> {
    /// All of a declaration between its state space and its name.
    pub fn declaration_head(&mut self) -> Result<Head> {
        let (mut align, mut lanes) = (None, 1);
        loop {
            let Some(word) = self.word() else { return Err(self.expected("a type")) };
            match word {
                "align" => align = Some(self.alignment()?),
                "v2" | "v4" | "v8" => {
                    lanes = word[1..].parse().unwrap_or(1);
                    self.advance();
                }
                "attribute" => {
                    self.advance();
                    self.skip_group(Kind::LeftParen, Kind::RightParen, "`(` after `.attribute`")?;
                }
                _ => return Ok(Head { ty: self.fundamental_type(word)?, lanes, align }),
            }
        }
    }

    /// `.align 16`
    pub fn alignment(&mut self) -> Result<u32> {
        self.advance();
        let align = self.small("an alignment")?;
        if align.is_power_of_two() {
            Ok(align)
        } else {
            Err(self.error_behind(format!("alignment {align} is no power of two")))
        }
    }

    /// A type that a declaration may have: the alternate formats are for instructions alone.
    fn fundamental_type(&mut self, word: &str) -> Result<Type> {
        let unsupported = match word {
            "texref" | "samplerref" | "surfref" => Some("textures and surfaces"),
            "v3" => Some("vectors of 3 components"),
            _ => None,
        };
        if let Some(unsupported) = unsupported {
            return Err(self.error(format!("{unsupported} (`.{word}`) are not supported")));
        }
        match Type::from_name(word) {
            Some(ty) if is_fundamental(ty) => {
                self.advance();
                Ok(ty)
            }
            Some(_) => Err(self.error(format!("nothing can be declared as `.{word}`"))),
            None => Err(self.expected("a type")),
        }
    }

    /// `[4][2]`, or nothing; the first may be empty.
    pub fn dimensions(&mut self) -> Result<Vec<Option<u64>>> {
        let mut dimensions = Vec::new();
        while self.accept(Kind::LeftBracket) {
            if dimensions.len() == MAX_DEPTH {
                return Err(self.error("an array has too many dimensions"));
            }
            if dimensions.is_empty() && self.accept(Kind::RightBracket) {
                dimensions.push(None);
                continue;
            }
            let size = self.integer("the size of an array")?;
            if size == 0 || size > i64::MAX as u64 {
                return Err(self.error_behind(format!("{} is no size of an array", size.cast_signed())));
            }
            self.expect(Kind::RightBracket, "`]`")?;
            dimensions.push(Some(size));
        }
        Ok(dimensions)
    }

    /// The variables of a declaration after its state space, up to the `;`. An initial value may name
    /// `globals`; without them, there is none.
    pub fn variables(
        &mut self,
        space: Space,
        is_extern: bool,
        globals: Option<&Globals<'a>>,
    ) -> Result<Vec<(&'a str, Variable)>> {
        let head = self.declaration_head()?;
        if head.ty == Type::Pred {
            return Err(self.error_behind("a variable in memory cannot be a `.pred`"));
        }
        let mut variables = Vec::new();
        loop {
            variables.push(self.variable(head, space, is_extern, globals)?);
            if !self.accept(Kind::Comma) {
                break;
            }
        }
        self.semicolon("the declaration of a variable")?;
        Ok(variables)
    }

    fn variable(
        &mut self,
        head: Head,
        space: Space,
        is_extern: bool,
        globals: Option<&Globals<'a>>,
    ) -> Result<(&'a str, Variable)> {
        let line = self.line();
        let name = self.name("the name of a variable")?;
        let mut dimensions = self.dimensions()?;
        let initial = self.initial(name, head, &mut dimensions, globals)?;
        if dimensions.first() == Some(&None) && !is_extern {
            return Err(self.error_behind(format!("the array {} has no size", quoted(name))));
        }
        let Some(bytes) = head.bytes_of(&dimensions) else {
            return Err(self.error_behind(format!("{} is too large", quoted(name))));
        };
        Ok((name, Variable { name: name.into(), space, bytes, align: head.align(), initial, is_extern, line }))
    }

    fn initial(
        &mut self,
        name: &str,
        head: Head,
        dimensions: &mut [Option<u64>],
        globals: Option<&Globals<'a>>,
    ) -> Result<Vec<Initial>> {
        if self.kind() != Kind::Equals {
            return Ok(Vec::new());
        }
        let Some(globals) = globals else {
            return Err(self.error(format!("{} cannot have an initial value", quoted(name))));
        };
        self.advance();
        self.initialiser(head, dimensions, globals)
    }
}

fn is_fundamental(ty: Type) -> bool {
    use Type::{B8, B16, B32, B64, B128, F16, F16x2, F32, F64, Pred, S8, S16, S32, S64, U8, U16, U32, U64};
    matches!(
        ty,
        Pred | B8 | B16 | B32 | B64 | B128 | U8 | U16 | U32 | U64 | S8 | S16 | S32 | S64 | F16 | F16x2 | F32 | F64
    )
}
