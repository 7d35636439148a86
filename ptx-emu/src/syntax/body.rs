//! Bodies of functions: scopes, declarations, labels and instructions.

use super::cursor::{Cursor, MAX_DEPTH, Result, quoted};
use super::globals::Globals;
use super::lexer::Kind;
use super::scope::{Labels, Name, Scopes, duplicate};
use super::{Body, Function, Guard, Instruction, LabelId, Param, RegisterId, Statement, SyntaxError, VariableId};
use crate::types::{Space, Type};

/// Statements of a module at most: a bound for the memory that the tree takes.
pub(super) const MAX_STATEMENTS: usize = 1 << 22;

pub(super) struct BodyParser<'p, 'a> {
    pub cursor: &'p mut Cursor<'a>,
    pub globals: &'p Globals<'a>,
    pub scopes: Scopes<'a>,
    labels: Labels<'a>,
    body: Body,
    /// Statements that the body may have.
    most: usize,
}

/// The names of a function's parameters and results, which its body sees.
pub(super) struct Signature<'a> {
    pub params: Vec<&'a str>,
    pub returns: Vec<&'a str>,
}

impl<'p, 'a> BodyParser<'p, 'a> {
    pub fn new(cursor: &'p mut Cursor<'a>, globals: &'p Globals<'a>, most: usize) -> Self {
        let labels = Labels::find(cursor);
        Self { cursor, globals, scopes: Scopes::default(), labels, body: Body::default(), most }
    }

    /// From the `{` to the `}`. Parameters that are registers get their numbers in `function`.
    pub fn parse(mut self, names: &Signature<'a>, function: &mut Function) -> Result<Body> {
        self.scopes.enter();
        self.parameters(&names.returns, &mut function.returns, Name::Return)?;
        self.parameters(&names.params, &mut function.params, Name::Param)?;
        let line = self.cursor.line();
        self.enter()?;
        while self.scopes.depth() > 1 {
            if self.cursor.kind() == Kind::End {
                let message = format!("the body of {} is never closed", quoted(&function.name));
                return Err(SyntaxError::new(line, message));
            }
            if self.body.statements.len() >= self.most {
                return Err(self.cursor.error(format!("the text has over {MAX_STATEMENTS} statements")));
            }
            self.statement()?;
        }
        Ok(Body { registers: self.scopes.registers, labels: self.labels.names(), ..self.body })
    }

    fn parameters(&mut self, names: &[&'a str], params: &mut [Param], name: fn(usize) -> Name) -> Result<()> {
        for (index, (text, param)) in names.iter().zip(params).enumerate() {
            // A declaration named `_` cannot be referenced.
            if *text == "_" {
                continue;
            }
            let declared = if param.register.is_some() {
                let id = RegisterId(self.scopes.registers.len() as u32);
                self.scopes.registers.push(super::Register { name: (*text).into(), ty: param.ty });
                param.register = Some(id);
                self.scopes.declare(text, Name::Register(id))
            } else {
                self.scopes.declare(text, name(index))
            };
            if !declared {
                return Err(duplicate(self.cursor.line(), text));
            }
        }
        Ok(())
    }

    fn enter(&mut self) -> Result<()> {
        if self.scopes.depth() > MAX_DEPTH {
            return Err(self.cursor.error("scopes nest too deeply"));
        }
        let brace = self.cursor.position();
        self.cursor.expect(Kind::LeftBrace, "`{`")?;
        self.scopes.enter();
        self.labels.declare(brace, &mut self.scopes)
    }

    fn statement(&mut self) -> Result<()> {
        match self.cursor.kind() {
            Kind::LeftBrace => self.enter()?,
            Kind::RightBrace => {
                self.cursor.advance();
                self.scopes.leave();
            }
            Kind::Semicolon => drop(self.cursor.advance()),
            Kind::Word => self.directive()?,
            Kind::Name if self.cursor.following() == Kind::Colon => self.label()?,
            Kind::Name | Kind::At => {
                let instruction = self.instruction()?;
                self.body.statements.push(Statement::Instruction(instruction));
            }
            _ => return Err(self.cursor.expected("an instruction")),
        }
        Ok(())
    }

    fn directive(&mut self) -> Result<()> {
        match self.cursor.word().unwrap_or_default() {
            "reg" => self.registers(),
            "shared" => self.variables(Space::Shared),
            "local" => self.variables(Space::Local),
            "param" => self.variables(Space::Param),
            "loc" => self.cursor.loc(),
            "pragma" => self.cursor.pragma(),
            word => Err(self.cursor.error(format!("`.{word}` cannot stand in the body of a function"))),
        }
    }

    /// `.reg .b32 %r<10>, %x;`
    fn registers(&mut self) -> Result<()> {
        self.cursor.advance();
        let head = self.cursor.declaration_head()?;
        if head.lanes > 1 {
            return Err(self.cursor.error_behind("vector registers are not supported"));
        }
        loop {
            self.register_names(head.ty)?;
            if !self.cursor.accept(Kind::Comma) {
                return self.cursor.semicolon("the declaration of registers");
            }
        }
    }

    fn register_names(&mut self, ty: Type) -> Result<()> {
        let line = self.cursor.line();
        let name = self.cursor.name("the name of a register")?;
        let new = if self.cursor.accept(Kind::Less) {
            let count = self.cursor.integer("the number of registers")?;
            self.cursor.expect(Kind::Greater, "`>`")?;
            self.scopes.declare_range(name, count, ty)
        } else {
            self.scopes.declare_register(name, ty)
        };
        if new { Ok(()) } else { Err(duplicate(line, name)) }
    }

    fn variables(&mut self, space: Space) -> Result<()> {
        self.cursor.advance();
        for (name, variable) in self.cursor.variables(space, false, None)? {
            let id = VariableId(self.body.variables.len() as u32);
            if !self.scopes.declare(name, Name::Variable(id)) {
                return Err(duplicate(variable.line, name));
            }
            self.body.variables.push(variable);
        }
        Ok(())
    }

    /// `name:`, or the name of a list of targets or of a prototype.
    fn label(&mut self) -> Result<()> {
        let name = self.label_name()?;
        self.cursor.advance();
        let statement = match self.cursor.word() {
            Some("branchtargets") => Statement::BranchTargets { name, targets: self.targets()? },
            // What an indirect call may reach: calls through pointers are refused where they stand.
            Some("callprototype" | "calltargets") => {
                self.cursor.skip_to_semicolon("a prototype")?;
                Statement::Label(name)
            }
            _ => Statement::Label(name),
        };
        self.body.statements.push(statement);
        Ok(())
    }

    fn targets(&mut self) -> Result<Vec<LabelId>> {
        self.cursor.advance();
        let mut targets = Vec::new();
        loop {
            targets.push(self.label_name()?);
            if !self.cursor.accept(Kind::Comma) {
                self.cursor.semicolon("the targets of a branch")?;
                return Ok(targets);
            }
        }
    }

    fn label_name(&mut self) -> Result<LabelId> {
        let line = self.cursor.line();
        let name = self.cursor.name("a label")?;
        match self.scopes.resolve(name) {
            Some(Name::Label(label)) => Ok(label),
            _ => Err(SyntaxError::new(line, format!("unknown label {}", quoted(name)))),
        }
    }

    /// `@p opcode operands;`
    fn instruction(&mut self) -> Result<Instruction> {
        let line = self.cursor.line();
        let guard = if self.cursor.accept(Kind::At) {
            let negate = self.cursor.accept(Kind::Not);
            Some(Guard { register: self.register()?, negate })
        } else {
            None
        };
        let mut opcode = vec![self.cursor.name("an instruction")?.to_owned()];
        while let Some(part) = self.cursor.word() {
            opcode.push(part.to_owned());
            self.cursor.advance();
        }
        let operands = self.operands(opcode[0] == "call")?;
        if self.cursor.kind() != Kind::Semicolon {
            let after = format!("`;` after the operands of {}", quoted(&opcode.join(".")));
            return Err(self.cursor.expected(&after));
        }
        self.cursor.advance();
        Ok(Instruction { guard, opcode, operands, line })
    }
}
