//! Tokens of PTX text.

use logos::{FilterResult, Lexer, Logos};

use super::SyntaxError;

/// What a token is. `Word` has its dot and any `::` parts, so that `.2d` and `.shared::cta` are one token each.
#[derive(Logos, Debug, Clone, Copy, PartialEq, Eq)]
#[logos(skip r"[ \t\r\n\x0b\x0c]+")]
pub(super) enum Kind {
    #[regex(r"//[^\n]*", logos::skip, allow_greedy = true)]
    #[token("/*", block_comment)]
    Comment,
    #[regex(r"[a-zA-Z][a-zA-Z0-9_$]*|[_$%][a-zA-Z0-9_$]+")]
    Name,
    #[regex(r"\.[a-zA-Z0-9_$]+(::[a-zA-Z0-9_$]+)*")]
    Word,
    #[regex(r"[0-9][a-zA-Z0-9_$]*")]
    Number,
    #[regex(r"[0-9]+\.[0-9]*([eE][+-]?[0-9]+)?|[0-9]+[eE][+-][0-9]+")]
    Decimal,
    #[regex(r#""([^"\\\n]|\\[^\n])*""#)]
    Text,
    #[token("_")]
    Sink,
    #[token(";")]
    Semicolon,
    #[token(",")]
    Comma,
    #[token(":")]
    Colon,
    #[token("@")]
    At,
    #[token("=")]
    Equals,
    #[token("(")]
    LeftParen,
    #[token(")")]
    RightParen,
    #[token("[")]
    LeftBracket,
    #[token("]")]
    RightBracket,
    #[token("{")]
    LeftBrace,
    #[token("}")]
    RightBrace,
    #[token("<")]
    Less,
    #[token(">")]
    Greater,
    #[token("<<")]
    ShiftLeft,
    #[token(">>")]
    ShiftRight,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    #[token("&")]
    And,
    #[token("|")]
    Or,
    #[token("^")]
    Xor,
    #[token("!")]
    Not,
    #[token("~")]
    Complement,
    /// Stands behind the last token.
    End,
}

/// A token: where it stands, and what it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub kind: Kind,
    pub start: u32,
    pub end: u32,
    pub line: u32,
}

fn block_comment(lexer: &mut Lexer<Kind>) -> FilterResult<(), ()> {
    match lexer.remainder().find("*/") {
        Some(end) => {
            lexer.bump(end + "*/".len());
            FilterResult::Skip
        }
        None => FilterResult::Error(()),
    }
}

/// Tokens of a text at most: 1 GiB.
const MAX_TOKENS: usize = 1 << 26;

/// The tokens of a text, with [`Kind::End`] behind the last.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, SyntaxError> {
    let Ok(end) = u32::try_from(text.len()) else {
        return Err(SyntaxError::new(1, "a text of more than 4 GiB cannot be read"));
    };
    let (mut line, mut counted) = (1, 0);
    let mut line_at = |offset: usize| {
        line += text.as_bytes()[counted..offset].iter().filter(|byte| **byte == b'\n').count() as u32;
        counted = offset;
        line
    };
    let mut tokens = Vec::new();
    for (kind, span) in Kind::lexer(text).spanned() {
        let line = line_at(span.start);
        let kind = kind.map_err(|()| SyntaxError::new(line, unreadable(&text[span.start..])))?;
        if tokens.len() == MAX_TOKENS {
            return Err(SyntaxError::new(line, format!("the text has over {MAX_TOKENS} words and marks")));
        }
        tokens.push(Token { kind, start: span.start as u32, end: span.end as u32, line });
    }
    tokens.push(Token { kind: Kind::End, start: end, end, line: line_at(text.len()) });
    Ok(tokens)
}

fn unreadable(rest: &str) -> String {
    match rest.chars().next() {
        Some('/') => "a comment that begins with `/*` does not end".into(),
        Some('"') => "a string does not end on its line".into(),
        Some('.') => "a `.` without a name behind it".into(),
        first => format!("unexpected character `{}`", first.map_or(String::new(), |c| c.escape_debug().to_string())),
    }
}
