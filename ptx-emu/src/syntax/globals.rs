//! Names of the module.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::SyntaxError;
use super::cursor::{Cursor, Result, quoted};
use super::lexer::Kind;

/// A module-level name, by index.
#[derive(Debug, Clone, Copy)]
pub(super) enum Global {
    Variable(usize),
    Function(usize),
}

pub(super) struct Globals<'a> {
    names: HashMap<&'a str, Global>,
    /// What is wrong with declarations of variables, by each name in them.
    failed: HashMap<&'a str, SyntaxError>,
    /// Functions that stand for another one. LLVM writes `.alias` at the end, behind the calls.
    aliases: HashMap<&'a str, &'a str>,
}

impl<'a> Globals<'a> {
    /// No names yet, but all the aliases of the text.
    pub fn new(cursor: &Cursor<'a>) -> Self {
        let mut aliases = HashMap::new();
        for tokens in cursor.rest().windows(4) {
            if let [word, alias, comma, function] = tokens
                && (word.kind, comma.kind) == (Kind::Word, Kind::Comma)
                && cursor.text_of(*word) == ".alias"
            {
                aliases.insert(cursor.text_of(*alias), cursor.text_of(*function));
            }
        }
        Self { names: HashMap::new(), failed: HashMap::new(), aliases }
    }

    pub fn get(&self, name: &str) -> Option<Global> {
        self.names.get(name).copied()
    }

    pub fn entry(&mut self, name: &'a str) -> Entry<'_, &'a str, Global> {
        self.names.entry(name)
    }

    /// A declaration of that name cannot be read: nor can what uses it.
    pub fn fail(&mut self, name: &'a str, error: &SyntaxError) {
        self.failed.entry(name).or_insert_with(|| error.clone());
    }

    /// The name at hand, which is one of the module, or that for which it stands.
    pub fn symbol(&self, cursor: &Cursor<'a>) -> Result<String> {
        let name = cursor.text();
        if !self.names.contains_key(name) {
            if let Some(error) = self.failed.get(name) {
                return Err(error.clone());
            }
            return Err(cursor.error(format!("unknown name {}", quoted(name))));
        }
        Ok(self.aliases.get(name).copied().unwrap_or(name).to_owned())
    }
}
