//! Random changes of a text.

use proptest::prelude::*;
use proptest::sample::{Index, select};

/// What mutations insert: tokens that open, close, declare or number something.
pub const TOKENS: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    ":",
    "::",
    ".",
    "@",
    "!",
    "|",
    "<",
    ">",
    "=",
    "+",
    "-",
    "~",
    "/",
    "%",
    "_",
    "/*",
    "*/",
    "//",
    "\"",
    "0f",
    "0x",
    "0",
    "-1",
    "1.5",
    "18446744073709551615",
    "99999999999999999999",
    "%r1",
    "%r",
    "%tid.x",
    "WARP_SZ",
    "generic(",
    "L:",
    "$L__BB0_1",
    ".reg",
    ".b32",
    ".pred",
    ".v4",
    ".align",
    ".param",
    ".shared",
    ".global",
    ".extern",
    ".func",
    ".entry",
    ".branchtargets",
    ".callprototype",
    ".loc",
    ".section",
    ".alias",
    ".ptr",
    ".maxntid",
    "call",
    "ret",
    "é",
    "\0",
    "\n",
];

/// A change of a text of bytes.
#[derive(Debug, Clone)]
pub enum Mutation {
    Delete(Index, usize),
    Duplicate(Index, usize),
    Truncate(Index),
    Insert(Index, &'static str),
    Replace(Index, u8),
    Swap(Index, Index, usize),
}

impl Mutation {
    fn apply(&self, text: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        let range = |at: &Index, length: usize| {
            let start = at.index(text.len());
            start..(start + length).min(text.len())
        };
        match self {
            Self::Delete(at, length) => drop(text.drain(range(at, *length))),
            Self::Duplicate(at, length) => {
                let range = range(at, *length);
                let copy = text[range.clone()].to_vec();
                text.splice(range.end..range.end, copy);
            }
            Self::Truncate(at) => text.truncate(at.index(text.len())),
            Self::Insert(at, token) => drop(text.splice(range(at, 0), token.bytes())),
            Self::Replace(at, byte) => {
                let at = at.index(text.len());
                text[at] = *byte;
            }
            Self::Swap(from, to, length) => {
                let moved: Vec<u8> = text.drain(range(from, *length)).collect();
                let to = if text.is_empty() { 0 } else { to.index(text.len()) };
                text.splice(to..to, moved);
            }
        }
    }
}

pub fn mutation() -> impl Strategy<Value = Mutation> {
    let length = || prop_oneof![1..4_usize, 1..200_usize];
    prop_oneof![
        4 => (any::<Index>(), length()).prop_map(|(at, length)| Mutation::Delete(at, length)),
        4 => (any::<Index>(), length()).prop_map(|(at, length)| Mutation::Duplicate(at, length)),
        1 => any::<Index>().prop_map(Mutation::Truncate),
        8 => (any::<Index>(), select(TOKENS)).prop_map(|(at, token)| Mutation::Insert(at, token)),
        4 => (any::<Index>(), 0..128_u8).prop_map(|(at, byte)| Mutation::Replace(at, byte)),
        2 => (any::<Index>(), any::<Index>(), length()).prop_map(|(from, to, length)| Mutation::Swap(from, to, length)),
    ]
}

pub fn mutated(text: &str, mutations: &[Mutation]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    mutations.iter().for_each(|mutation| mutation.apply(&mut bytes));
    bytes
}
