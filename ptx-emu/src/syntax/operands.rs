//! Operands of instructions.

use super::body::BodyParser;
use super::constants::Constant;
use super::cursor::{Result, quoted};
use super::lexer::Kind;
use super::scope::Name;
use super::{Address, AddressBase, LabelId, Operand, RegisterId, Symbol, SyntaxError};

/// What a name in the text is.
enum Named {
    Register(RegisterId),
    Label(LabelId),
    Symbol(Symbol),
}

impl<'a> BodyParser<'_, 'a> {
    /// The operands up to the `;`, which are none or separated by commas. Those of a call may be lists.
    pub fn operands(&mut self, is_call: bool) -> Result<Vec<Operand>> {
        let mut operands = Vec::new();
        if self.cursor.kind() == Kind::Semicolon {
            return Ok(operands);
        }
        loop {
            operands.push(match self.cursor.kind() {
                Kind::LeftParen if is_call => Operand::List(self.group(Kind::RightParen, "`,` or `)` in a list")?),
                Kind::LeftBrace => Operand::Vector(self.group(Kind::RightBrace, "`,` or `}` in a vector")?),
                Kind::LeftBracket => Operand::Address(self.address()?),
                _ => self.operand()?,
            });
            if !self.cursor.accept(Kind::Comma) {
                return Ok(operands);
            }
        }
    }

    /// Operands between the parenthesis or brace at hand and its end.
    fn group(&mut self, close: Kind, what: &str) -> Result<Vec<Operand>> {
        self.cursor.advance();
        let mut operands = Vec::new();
        if self.cursor.accept(close) {
            return Ok(operands);
        }
        loop {
            operands.push(self.operand()?);
            if !self.cursor.accept(Kind::Comma) {
                self.cursor.expect(close, what)?;
                return Ok(operands);
            }
        }
    }

    /// An operand that is not in brackets, or a pair of them.
    fn operand(&mut self) -> Result<Operand> {
        let first = self.single()?;
        let can_pair = matches!(first, Operand::Register(_) | Operand::Sink | Operand::Not(_));
        if can_pair && self.cursor.accept(Kind::Or) {
            return Ok(Operand::Pair(Box::new(first), Box::new(self.single()?)));
        }
        Ok(first)
    }

    fn single(&mut self) -> Result<Operand> {
        match self.cursor.kind() {
            Kind::Sink => {
                self.cursor.advance();
                Ok(Operand::Sink)
            }
            Kind::Not if self.cursor.following() == Kind::Name => {
                self.cursor.advance();
                Ok(Operand::Not(self.register()?))
            }
            _ if self.cursor.at_constant() => self.constant(),
            Kind::Name => self.named_operand(),
            _ => Err(self.cursor.expected("an operand")),
        }
    }

    fn constant(&mut self) -> Result<Operand> {
        Ok(match self.cursor.constant()? {
            Constant::Integer { bits, .. } => Operand::Integer(bits),
            Constant::Single(bits) => Operand::Single(bits),
            Constant::Double(bits) => Operand::Double(bits),
        })
    }

    fn named_operand(&mut self) -> Result<Operand> {
        let name = self.cursor.text();
        if name.starts_with('%') && self.scopes.resolve(name).is_none() {
            return Ok(Operand::Special(self.special()));
        }
        Ok(match self.named()? {
            Named::Register(register) => Operand::Register(register),
            Named::Label(label) => Operand::Label(label),
            Named::Symbol(symbol) => Operand::Symbol { symbol, offset: self.cursor.offset()? },
        })
    }

    /// `%tid.x`
    fn special(&mut self) -> String {
        let name = &self.cursor.advance()[1..];
        let component = if self.cursor.kind() == Kind::Word { self.cursor.advance() } else { "" };
        format!("{name}{component}")
    }

    /// A register that is declared.
    pub fn register(&mut self) -> Result<RegisterId> {
        let line = self.cursor.line();
        let name = self.cursor.text();
        if self.cursor.kind() == Kind::Name
            && let Named::Register(register) = self.named()?
        {
            return Ok(register);
        }
        Err(SyntaxError::new(line, format!("expected a register, found {}", quoted(name))))
    }

    /// What the name at hand stands for, the innermost scope first.
    fn named(&mut self) -> Result<Named> {
        let name = self.cursor.text();
        let named = match self.scopes.resolve(name) {
            Some(Name::Register(register)) => Named::Register(register),
            Some(Name::Label(label)) => Named::Label(label),
            Some(Name::Variable(variable)) => Named::Symbol(Symbol::Local(variable)),
            Some(Name::Param(index)) => Named::Symbol(Symbol::Param(index)),
            Some(Name::Return(index)) => Named::Symbol(Symbol::Return(index)),
            None => Named::Symbol(Symbol::Module(self.globals.symbol(self.cursor)?)),
        };
        self.cursor.advance();
        match self.cursor.word() {
            Some(component) => {
                let selected = quoted(&format!("{name}.{component}"));
                Err(self.cursor.error(format!("{selected}: components of variables and registers are not supported")))
            }
            None => Ok(named),
        }
    }

    /// `[base + offset, {coordinates}]`
    fn address(&mut self) -> Result<Address> {
        self.cursor.advance();
        let (base, offset) = self.base()?;
        let mut coordinates = Vec::new();
        if self.cursor.accept(Kind::Comma) {
            if self.cursor.kind() != Kind::LeftBrace {
                return Err(self.cursor.expected("`{` of coordinates"));
            }
            coordinates = self.group(Kind::RightBrace, "`,` or `}` in coordinates")?;
        }
        self.cursor.expect(Kind::RightBracket, "`]` of an address")?;
        Ok(Address { base, offset, coordinates })
    }

    fn base(&mut self) -> Result<(AddressBase, i64)> {
        if self.cursor.at_constant() || self.cursor.kind() != Kind::Name {
            return Ok((AddressBase::Immediate, self.cursor.integer("an address")?.cast_signed()));
        }
        let name = self.cursor.text();
        let base = match self.named()? {
            Named::Register(register) => AddressBase::Register(register),
            Named::Symbol(symbol) => AddressBase::Symbol(symbol),
            Named::Label(_) => {
                return Err(self.cursor.error_behind(format!("the label {} has no address", quoted(name))));
            }
        };
        Ok((base, self.cursor.offset()?))
    }
}
