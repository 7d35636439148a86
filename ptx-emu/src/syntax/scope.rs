//! Scopes and names of a function.

use std::collections::HashMap;

use super::cursor::{Cursor, Result, quoted};
use super::lexer::Kind;
use super::{LabelId, Register, RegisterId, SyntaxError, VariableId};
use crate::types::Type;

#[derive(Debug, Clone, Copy)]
pub(super) enum Name {
    Register(RegisterId),
    Variable(VariableId),
    Label(LabelId),
    Param(usize),
    Return(usize),
}

enum Entry {
    /// A register that no instruction has named yet, and so has no number.
    Unnamed(Type),
    Known(Name),
}

/// `%r<1000>`
struct Range {
    count: u64,
    ty: Type,
}

#[derive(Default)]
struct Scope<'a> {
    names: HashMap<&'a str, Entry>,
    /// By what stands before the `<`.
    ranges: HashMap<&'a str, Range>,
}

impl<'a> Scope<'a> {
    fn resolve(&mut self, name: &'a str, registers: &mut Vec<Register>) -> Option<Name> {
        let ty = match self.names.get(name) {
            Some(Entry::Known(known)) => return Some(*known),
            Some(Entry::Unnamed(ty)) => *ty,
            None => self.in_range(name)?,
        };
        let register = Name::Register(RegisterId(registers.len() as u32));
        registers.push(Register { name: name.into(), ty });
        self.names.insert(name, Entry::Known(register));
        Some(register)
    }

    /// The type of the range that has the name: `%r12` is in `%r<20>`, or in `%r1<3>`.
    fn in_range(&self, name: &str) -> Option<Type> {
        const LONGEST: usize = 10;
        if self.ranges.is_empty() {
            return None;
        }
        let digits = name.bytes().rev().take(LONGEST).take_while(u8::is_ascii_digit).count();
        (name.len() - digits..name.len()).find_map(|split| {
            let (prefix, number) = name.split_at(split);
            let canonical = number == "0" || !number.starts_with('0');
            let index = canonical.then(|| number.parse::<u64>().ok())??;
            self.ranges.get(prefix).filter(|range| index < range.count).map(|range| range.ty)
        })
    }

    /// False where the scope has the name already.
    fn declare(&mut self, name: &'a str, entry: Entry) -> bool {
        let new = !self.names.contains_key(name) && self.in_range(name).is_none();
        if new {
            self.names.insert(name, entry);
        }
        new
    }
}

/// The scopes that are open, the innermost last, and the registers that were named so far.
#[derive(Default)]
pub(super) struct Scopes<'a> {
    open: Vec<Scope<'a>>,
    pub registers: Vec<Register>,
}

impl<'a> Scopes<'a> {
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    pub fn enter(&mut self) {
        self.open.push(Scope::default());
    }

    pub fn leave(&mut self) {
        self.open.pop();
    }

    pub fn resolve(&mut self, name: &'a str) -> Option<Name> {
        let Self { open, registers } = self;
        open.iter_mut().rev().find_map(|scope| scope.resolve(name, registers))
    }

    /// False where the innermost scope has the name already.
    pub fn declare(&mut self, name: &'a str, known: Name) -> bool {
        self.declare_entry(name, Entry::Known(known))
    }

    pub fn declare_register(&mut self, name: &'a str, ty: Type) -> bool {
        self.declare_entry(name, Entry::Unnamed(ty))
    }

    pub fn declare_range(&mut self, prefix: &'a str, count: u64, ty: Type) -> bool {
        self.open.last_mut().is_some_and(|scope| scope.ranges.insert(prefix, Range { count, ty }).is_none())
    }

    fn declare_entry(&mut self, name: &'a str, entry: Entry) -> bool {
        self.open.last_mut().is_some_and(|scope| scope.declare(name, entry))
    }
}

/// The labels of a body, which may be named before they stand there.
#[derive(Default)]
pub(super) struct Labels<'a> {
    /// Each with its line.
    all: Vec<(&'a str, u32)>,
    /// By the position of the brace that opens the scope.
    by_scope: HashMap<usize, Vec<LabelId>>,
}

impl<'a> Labels<'a> {
    /// Looks through the body whose brace is at hand. A name before a colon is a label wherever it stands, and no other
    /// braces than those of a scope have any inside.
    pub fn find(cursor: &Cursor<'a>) -> Self {
        let mut labels = Self::default();
        let mut open = Vec::new();
        for (offset, pair) in cursor.rest().windows(2).enumerate() {
            match (pair[0].kind, pair[1].kind) {
                (Kind::LeftBrace, _) => open.push(cursor.position() + offset),
                (Kind::RightBrace, _) => drop(open.pop()),
                (Kind::Name, Kind::Colon) => labels.add(open.last(), cursor.text_of(pair[0]), pair[0].line),
                _ => {}
            }
            if open.is_empty() {
                break;
            }
        }
        labels
    }

    pub fn names(&self) -> Vec<String> {
        self.all.iter().map(|(name, _)| (*name).into()).collect()
    }

    fn add(&mut self, scope: Option<&usize>, name: &'a str, line: u32) {
        let id = LabelId(self.all.len() as u32);
        self.all.push((name, line));
        self.by_scope.entry(scope.copied().unwrap_or_default()).or_default().push(id);
    }

    /// Declares the labels of the scope whose brace is at that position.
    pub fn declare(&self, brace: usize, scopes: &mut Scopes<'a>) -> Result<()> {
        for id in self.by_scope.get(&brace).into_iter().flatten() {
            let (name, line) = self.all[id.0 as usize];
            if !scopes.declare(name, Name::Label(*id)) {
                return Err(duplicate(line, name));
            }
        }
        Ok(())
    }
}

pub(super) fn duplicate(line: u32, name: &str) -> SyntaxError {
    SyntaxError::new(line, format!("{} is declared twice", quoted(name)))
}
