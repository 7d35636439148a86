//! The module: its header, variables and functions.

use super::body::{BodyParser, MAX_STATEMENTS, Signature};
use super::cursor::{Cursor, Result, quoted};
use super::globals::{Global, Globals};
use super::lexer::Kind;
use super::scope::duplicate;
use super::source::{Location, Position};
use super::{Function, FunctionKind, Module, SourceMap, SyntaxError, Variable};
use crate::types::Space;

struct Parser<'a> {
    cursor: Cursor<'a>,
    globals: Globals<'a>,
    module: Module,
    /// Statements of all bodies so far.
    statements: usize,
    /// The first error of a body or a variable, without which the rest can be read.
    error: Option<SyntaxError>,
}

pub(super) fn parse(text: &str) -> Result<Module> {
    let mut cursor = Cursor::new(text)?;
    let module = cursor.header()?;
    let globals = Globals::new(&cursor);
    let mut parser = Parser { cursor, globals, module, statements: 0, error: None };
    while parser.cursor.kind() != Kind::End {
        if let Err(error) = parser.directive() {
            return Err(parser.error.unwrap_or(error));
        }
    }
    let Parser { cursor, module, error, .. } = parser;
    let mut kernels = module.functions.iter().filter(|function| function.kind == FunctionKind::Entry);
    match error {
        // It refuses what uses it; with no other kernel, all.
        Some(error) if kernels.all(|kernel| kernel.error.is_some()) => Err(error),
        _ => Ok(Module { source: cursor.source, ..module }),
    }
}

impl Cursor<'_> {
    /// `.version 8.0 .target sm_90a .address_size 64`
    fn header(&mut self) -> Result<Module> {
        self.header_word("version")?;
        let version = self.version()?;
        self.header_word("target")?;
        let target = self.name("a target, such as `sm_80`")?.into();
        while self.accept(Kind::Comma) {
            self.name("an option of `.target`")?;
        }
        let mut address_size = 32;
        if self.accept_word("address_size") {
            address_size = self.small("the size of an address")?;
            if !matches!(address_size, 32 | 64) {
                return Err(self.error_behind(format!("`.address_size` is {address_size}, which is neither 32 nor 64")));
            }
        }
        let (variables, functions, source) = (Vec::new(), Vec::new(), SourceMap::default());
        Ok(Module { version, target, address_size, variables, functions, source })
    }

    fn header_word(&mut self, word: &str) -> Result<()> {
        if self.accept_word(word) { Ok(()) } else { Err(self.expected(&format!("`.{word}`"))) }
    }

    fn version(&mut self) -> Result<(u32, u32)> {
        let parts = self.text().split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        let version = parts.ok_or_else(|| self.expected("a version, such as `8.0`"))?;
        self.advance();
        Ok(version)
    }

    /// `.pragma "nounroll";`
    pub fn pragma(&mut self) -> Result<()> {
        self.advance();
        loop {
            self.expect(Kind::Text, "a string after `.pragma`")?;
            if !self.accept(Kind::Comma) {
                return self.semicolon("`.pragma`");
            }
        }
    }

    /// `.loc 1 20 3, function_name $L__info_string0 + 4, inlined_at 1 4 9`
    pub fn loc(&mut self) -> Result<()> {
        let from = self.line();
        self.advance();
        let position = Some(self.source_position()?);
        let (mut name, mut call) = (None, None);
        while self.accept(Kind::Comma) {
            match self.name("`function_name` or `inlined_at`")? {
                "function_name" => {
                    let label = self.name("a label after `function_name`")?.to_owned();
                    name = Some((label, usize::try_from(self.offset()?).unwrap_or_default()));
                }
                "inlined_at" => call = Some(self.source_position()?),
                other => return Err(self.error_behind(format!("unknown attribute {} of `.loc`", quoted(other)))),
            }
        }
        self.source.add(Location { from, position, inlined: call.map(|call| (call, name)) });
        Ok(())
    }

    /// File, line and column.
    fn source_position(&mut self) -> Result<Position> {
        let mut number = || Ok(self.expect(Kind::Number, "file, line and column")?.parse().unwrap_or_default());
        Ok(Position { file: number()?, line: number()?, column: number()? })
    }

    /// `.file 1 "kernel.cu", 1600000000, 1234`
    fn file(&mut self) -> Result<()> {
        self.advance();
        let number = self.expect(Kind::Number, "the number of a file")?.parse().unwrap_or_default();
        let mut name = self.expect(Kind::Text, "the name of a file")?.trim_matches('"').to_owned();
        // LLVM may write the folder and the name apart.
        if self.kind() == Kind::Text {
            name = format!("{name}/{}", self.advance().trim_matches('"'));
        }
        while self.accept(Kind::Comma) {
            self.expect(Kind::Number, "a number")?;
        }
        self.source.add_file(number, name);
        Ok(())
    }

    /// `.section .debug_info { ... }`
    fn section(&mut self) -> Result<()> {
        self.advance();
        if !matches!(self.kind(), Kind::Word | Kind::Name) {
            return Err(self.expected("the name of a section"));
        }
        let has_strings = self.advance() == ".debug_str";
        let first = self.position();
        self.skip_group(Kind::LeftBrace, Kind::RightBrace, "`{` of a section")?;
        if has_strings {
            self.strings(first);
        }
        Ok(())
    }

    /// `$L__info_string0: .b8 95, 90, 52, 0`, from that token up to the one at hand.
    fn strings(&mut self, first: usize) {
        for index in first..self.position() {
            let (token, next) = (self.token(index), self.token(index + 1));
            match token.kind {
                Kind::Number => self.source.add_byte(self.text_of(token).parse().unwrap_or(b'?')),
                Kind::Name if next.kind == Kind::Colon => self.source.add_label(self.text_of(token)),
                _ => {}
            }
        }
    }

    /// Passes all up to the next `;`, and that. Neither scopes nor labels can stand before it.
    pub fn skip_to_semicolon(&mut self, what: &str) -> Result<()> {
        const STOPS: [Kind; 5] = [Kind::Semicolon, Kind::LeftBrace, Kind::RightBrace, Kind::Colon, Kind::End];
        while !STOPS.contains(&self.kind()) {
            self.advance();
        }
        self.semicolon(what)
    }
}

impl<'a> Parser<'a> {
    fn directive(&mut self) -> Result<()> {
        match self.cursor.word() {
            Some("file") => self.cursor.file(),
            Some("section") => self.cursor.section(),
            Some("loc") => self.cursor.loc(),
            Some("pragma") => self.cursor.pragma(),
            Some("alias") => self.alias(),
            Some(_) => self.declaration(),
            None if self.cursor.accept(Kind::Semicolon) => Ok(()),
            None => Err(self.cursor.expected("a directive")),
        }
    }

    fn declaration(&mut self) -> Result<()> {
        let mut is_extern = false;
        loop {
            match self.cursor.word() {
                Some("extern") => is_extern = true,
                Some("visible" | "weak" | "common") => {}
                _ => break,
            }
            self.cursor.advance();
        }
        match self.cursor.word() {
            Some("entry") => self.function(FunctionKind::Entry),
            Some("func") => self.function(FunctionKind::Device),
            Some("global") => self.variables(Space::Global, is_extern),
            Some("const") => self.variables(Space::Const, is_extern),
            Some("shared") => self.variables(Space::Shared, is_extern),
            Some(word @ ("tex" | "texref" | "samplerref" | "surfref")) => {
                Err(self.cursor.error(format!("textures and surfaces (`.{word}`) are not supported")))
            }
            Some(word) => Err(self.cursor.error(format!("`.{word}` cannot stand here, outside of functions"))),
            None => Err(self.cursor.expected("`.entry`, `.func` or a state space")),
        }
    }

    fn variables(&mut self, space: Space, is_extern: bool) -> Result<()> {
        self.cursor.advance();
        let may_begin = !is_extern && space != Space::Shared;
        let start = self.cursor.position();
        match self.cursor.variables(space, is_extern, may_begin.then_some(&self.globals)) {
            Ok(variables) => variables.into_iter().try_for_each(|(name, variable)| self.add_variable(name, variable)),
            Err(error) => self.skip_variables(start, error),
        }
    }

    /// Passes a declaration that cannot be read.
    fn skip_variables(&mut self, start: usize, error: SyntaxError) -> Result<()> {
        self.cursor.go_back(start);
        while !matches!(self.cursor.kind(), Kind::Semicolon | Kind::End) {
            if self.cursor.kind() == Kind::Name && self.globals.get(self.cursor.text()).is_none() {
                self.globals.fail(self.cursor.text(), &error);
            }
            self.cursor.advance();
        }
        self.error.get_or_insert(error);
        Ok(())
    }

    /// A definition replaces an `.extern` declaration.
    fn add_variable(&mut self, name: &'a str, variable: Variable) -> Result<()> {
        let next = Global::Variable(self.module.variables.len());
        match *self.globals.entry(name).or_insert(next) {
            Global::Variable(index) => match self.module.variables.get_mut(index) {
                None => self.module.variables.push(variable),
                Some(known) if known.is_extern => *known = variable,
                Some(_) if variable.is_extern => {}
                Some(_) => return Err(duplicate(variable.line, name)),
            },
            Global::Function(_) => return Err(duplicate(variable.line, name)),
        }
        Ok(())
    }

    fn function(&mut self, kind: FunctionKind) -> Result<()> {
        let (name, mut function, names) = self.cursor.function_heading(kind)?;
        let index = self.declare(name, &function)?;
        if self.cursor.accept(Kind::Semicolon) {
            clear_registers(&mut function);
        } else {
            self.body(&names, &mut function)?;
        }
        match self.module.functions.get_mut(index) {
            Some(known) if known.body.is_some() && function.body.is_some() => {
                return Err(duplicate(function.line, name));
            }
            Some(_) if function.body.is_none() && function.error.is_none() => {}
            Some(known) => *known = function,
            None => self.module.functions.push(function),
        }
        Ok(())
    }

    /// The index of a function, known before its body is parsed.
    fn declare(&mut self, name: &'a str, function: &Function) -> Result<usize> {
        match *self.globals.entry(name).or_insert(Global::Function(self.module.functions.len())) {
            Global::Function(index) => Ok(index),
            Global::Variable(_) => Err(duplicate(function.line, name)),
        }
    }

    fn body(&mut self, names: &Signature<'a>, function: &mut Function) -> Result<()> {
        if self.cursor.kind() != Kind::LeftBrace {
            return Err(self.cursor.expected(&format!("the body of {}, or `;`", quoted(&function.name))));
        }
        let (most, start) = (MAX_STATEMENTS - self.statements, self.cursor.position());
        match BodyParser::new(&mut self.cursor, &self.globals, most).parse(names, function) {
            Ok(body) => {
                self.statements += body.statements.len();
                function.body = Some(body);
            }
            Err(error) => {
                self.cursor.go_back(start);
                if self.cursor.skip_group(Kind::LeftBrace, Kind::RightBrace, "a body").is_err() {
                    return Err(error);
                }
                clear_registers(function);
                self.error.get_or_insert_with(|| error.clone());
                function.error = Some(error);
            }
        }
        Ok(())
    }

    /// `.alias name, function;`: [`Globals`] knows it already.
    fn alias(&mut self) -> Result<()> {
        self.cursor.advance();
        self.function_name()?;
        self.cursor.expect(Kind::Comma, "`,` after the alias")?;
        self.function_name()?;
        self.cursor.semicolon("`.alias`")
    }

    fn function_name(&mut self) -> Result<()> {
        let name = self.cursor.name("a function")?;
        match self.globals.get(name) {
            Some(Global::Function(_)) => Ok(()),
            _ => Err(self.cursor.error_behind(format!("`.alias` needs functions, and {} is none", quoted(name)))),
        }
    }
}

/// A function without a body has no registers.
fn clear_registers(function: &mut Function) {
    for param in function.returns.iter_mut().chain(&mut function.params) {
        param.register = None;
    }
}
