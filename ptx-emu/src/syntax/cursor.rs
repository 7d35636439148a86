//! A position in the token stream.

use super::lexer::{self, Kind, Token};
use super::{SourceMap, SyntaxError};

pub(super) type Result<T> = std::result::Result<T, SyntaxError>;

/// Nesting limit of scopes, parentheses and braces.
pub(super) const MAX_DEPTH: usize = 64;

pub(super) struct Cursor<'a> {
    text: &'a str,
    /// Ends with [`Kind::End`], which [`Self::advance`] does not pass.
    tokens: Vec<Token>,
    next: usize,
    /// What the directives so far say of the source.
    pub source: SourceMap,
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str) -> Result<Self> {
        Ok(Self { text, tokens: lexer::tokens(text)?, next: 0, source: SourceMap::default() })
    }

    /// How many tokens lie behind.
    pub fn position(&self) -> usize {
        self.next
    }

    /// The tokens from here on, [`Kind::End`] included.
    pub fn rest(&self) -> &[Token] {
        &self.tokens[self.next..]
    }

    /// Any of them, by its position; the last one where there is none.
    pub fn token(&self, position: usize) -> Token {
        self.tokens[position.min(self.tokens.len() - 1)]
    }

    pub fn kind(&self) -> Kind {
        self.tokens[self.next].kind
    }

    /// What follows the token at hand.
    pub fn following(&self) -> Kind {
        self.tokens.get(self.next + 1).map_or(Kind::End, |token| token.kind)
    }

    pub fn line(&self) -> u32 {
        self.tokens[self.next].line
    }

    pub fn text_of(&self, token: Token) -> &'a str {
        &self.text[token.start as usize..token.end as usize]
    }

    pub fn text(&self) -> &'a str {
        self.text_of(self.tokens[self.next])
    }

    /// Goes back to a token, by its position.
    pub fn go_back(&mut self, position: usize) {
        self.next = position;
    }

    /// Goes on by a token, and returns the text of that which was at hand.
    pub fn advance(&mut self) -> &'a str {
        let text = self.text();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        text
    }

    pub fn accept(&mut self, kind: Kind) -> bool {
        let found = self.kind() == kind;
        if found {
            self.advance();
        }
        found
    }

    /// Takes a token of that kind; `what` describes it.
    pub fn expect(&mut self, kind: Kind, what: &str) -> Result<&'a str> {
        if self.kind() == kind { Ok(self.advance()) } else { Err(self.expected(what)) }
    }

    /// The dotted word at hand, without its dot.
    pub fn word(&self) -> Option<&'a str> {
        (self.kind() == Kind::Word).then(|| &self.text()[1..])
    }

    pub fn accept_word(&mut self, word: &str) -> bool {
        let found = self.word() == Some(word);
        if found {
            self.advance();
        }
        found
    }

    pub fn name(&mut self, what: &str) -> Result<&'a str> {
        self.expect(Kind::Name, what)
    }

    pub fn semicolon(&mut self, after: &str) -> Result<()> {
        if self.accept(Kind::Semicolon) { Ok(()) } else { Err(self.expected(&format!("`;` after {after}"))) }
    }

    /// Passes all up to the bracket that closes the one at hand.
    pub fn skip_group(&mut self, open: Kind, close: Kind, what: &str) -> Result<()> {
        let line = self.line();
        self.expect(open, what)?;
        let mut depth = 1_usize;
        while depth > 0 {
            match self.kind() {
                Kind::End => return Err(SyntaxError::new(line, format!("{what} is never closed"))),
                kind if kind == open => depth += 1,
                kind if kind == close => depth -= 1,
                _ => {}
            }
            self.advance();
        }
        Ok(())
    }

    /// An error at the token before that at hand: a value that is read but does not fit.
    pub fn error_behind(&self, message: impl Into<String>) -> SyntaxError {
        SyntaxError::new(self.tokens[self.next.saturating_sub(1)].line, message)
    }

    /// An error at the token at hand.
    pub fn error(&self, message: impl Into<String>) -> SyntaxError {
        SyntaxError::new(self.line(), message)
    }

    pub fn expected(&self, what: &str) -> SyntaxError {
        self.error(format!("expected {what}, found {}", self.found()))
    }

    fn found(&self) -> String {
        if self.kind() == Kind::End { "the end of the text".into() } else { quoted(self.text()) }
    }
}

/// A text in backquotes, short enough for a message of one line.
pub(super) fn quoted(text: &str) -> String {
    const LONGEST: usize = 80;
    let mut shown = String::new();
    for character in text.chars().take(LONGEST) {
        // A terminal must not obey what a file says.
        if character.is_control() { shown.extend(character.escape_default()) } else { shown.push(character) }
    }
    if text.chars().nth(LONGEST).is_some() {
        shown.push_str("...");
    }
    format!("`{shown}`")
}
