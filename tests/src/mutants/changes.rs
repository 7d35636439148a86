//! What a mutant changes of an instruction, by kind.

use rand::seq::IndexedRandom;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use super::statements::Statement;

/// How far back a register is looked for that takes another one's place.
const NEAR: usize = 12;

/// A kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Another register of the same class, or two operands exchanged.
    Register,
    /// Another number, or another offset.
    Immediate,
    /// Another comparison.
    Comparison,
    /// A predicate or a choice that is negated.
    Predicate,
    /// An instruction that no longer depends on its predicate, or a branch that is gone.
    Guard,
    /// A barrier, or an arrival at one, that is gone.
    Barrier,
    /// A wait for copies, MMAs or a barrier of shared memory that is gone, or waits for less.
    Wait,
    /// A fence, or the end of a group of copies, that is gone.
    Fence,
    /// A store or a copy that is gone.
    Store,
    /// A product that is forgotten.
    Product,
    /// Another rounding.
    Rounding,
    /// Another operation on integers.
    Operation,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 12] = [
        Self::Register,
        Self::Immediate,
        Self::Comparison,
        Self::Predicate,
        Self::Guard,
        Self::Barrier,
        Self::Wait,
        Self::Fence,
        Self::Store,
        Self::Product,
        Self::Rounding,
        Self::Operation,
    ];

    /// Whether it is about an order, which may be kept by chance: the same bits are no proof.
    #[must_use]
    pub const fn is_about_order(self) -> bool {
        matches!(self, Self::Barrier | Self::Wait | Self::Fence)
    }

    /// The changed text of the instruction of that number, empty where it is gone; `None` where this kind does not apply.
    #[must_use]
    pub fn change(self, statements: &[Statement], number: usize, rng: &mut impl Rng) -> Option<String> {
        let statement = &statements[number];
        let dropped = |is_one: bool| is_one.then(String::new);
        let opcode = statement.opcode.as_str();
        let first = opcode.split('.').next().unwrap_or_default();
        match self {
            Self::Register => register(statements, number, rng),
            Self::Immediate => immediate(statement, rng),
            Self::Comparison => {
                let applies = |from: &str| first == "setp" && statement.has(from);
                let pairs = [
                    ("lt", "le"),
                    ("le", "lt"),
                    ("gt", "ge"),
                    ("ge", "gt"),
                    ("eq", "ne"),
                    ("ne", "eq"),
                    ("neu", "equ"),
                ];
                let (from, to) = pairs.into_iter().find(|(from, _)| applies(from))?;
                Some(statement.with(&replace_part(opcode, from, to), &statement.operands))
            }
            Self::Predicate => predicate(statement, first),
            Self::Guard => match first {
                _ if statement.guard.is_empty() => None,
                "bra" if rng.random() => Some(String::new()),
                _ => Some(Statement { guard: String::new(), ..statement.clone() }.text()),
            },
            Self::Barrier => dropped(matches!(first, "bar" | "barrier") || opcode.starts_with("mbarrier.arrive")),
            Self::Wait => wait(statement, rng),
            Self::Fence => {
                dropped(first == "fence" || opcode.starts_with("wgmma.fence") || statement.has("commit_group"))
            }
            Self::Store => {
                let is_copy = opcode.starts_with("cp.async") && !opcode.contains("_group");
                dropped(matches!(first, "st" | "stmatrix" | "red") || is_copy)
            }
            Self::Product => product(statement, first),
            Self::Rounding => {
                let is_rounded = matches!(first, "fma" | "add" | "sub" | "mul" | "cvt") && statement.has("rn");
                is_rounded.then(|| statement.with(&replace_part(opcode, "rn", "rz"), &statement.operands))
            }
            Self::Operation => {
                let pairs =
                    [("add", "sub"), ("sub", "add"), ("min", "max"), ("max", "min"), ("and", "or"), ("or", "and")];
                let pairs = pairs.into_iter().chain([("xor", "or"), ("shl", "shr"), ("shr", "shl"), ("div", "mul.lo")]);
                let (from, to) = pairs.into_iter().find(|(from, _)| *from == first && !statement.has("rn"))?;
                // A shift to the right is one of numbers with or without a sign.
                let opcode = replace_part(opcode, from, to);
                let opcode = if to == "shr" { opcode.replace(".b", ".u") } else { opcode };
                let opcode = if to == "shl" { opcode.replace(".u", ".b").replace(".s", ".b") } else { opcode };
                Some(statement.with(&opcode, &statement.operands))
            }
        }
    }
}

/// The opcode with its first part that is `from` replaced.
fn replace_part(opcode: &str, from: &str, to: &str) -> String {
    let mut is_done = false;
    let parts = opcode.split('.').map(|part| {
        let is_it = part == from && !is_done;
        is_done |= is_it;
        if is_it { to } else { part }
    });
    parts.collect::<Vec<_>>().join(".")
}

/// Letters of a numbered register such as `%rd12`: its class.
fn class(operand: &str) -> Option<&str> {
    let name = operand.strip_prefix('%')?;
    let class = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (!class.is_empty() && class.len() < name.len() && !class.contains(['.', '+'])).then_some(class)
}

/// The registers in an operand: itself, or those in brackets.
fn registers(operand: &str) -> impl Iterator<Item = &str> {
    let words = operand.split(|c: char| !(c.is_ascii_alphanumeric() || c == '%' || c == '_'));
    words.filter(|word| class(word).is_some())
}

fn register(statements: &[Statement], number: usize, rng: &mut impl Rng) -> Option<String> {
    let statement = &statements[number];
    // What it reads: all operands but the first, and of a store or a copy that too.
    let reads_first = ["st", "red", "cp", "mbarrier"].iter().any(|name| statement.opcode.starts_with(name));
    let first_read = usize::from(!reads_first);
    let places: Vec<_> = (first_read..statement.operands.len())
        .flat_map(|place| registers(&statement.operands[place]).map(move |register| (place, register)))
        .collect();
    let &(place, register) = places.choose(rng)?;
    let near = &statements[number.saturating_sub(NEAR)..number];
    let others =
        near.iter().chain([statement]).flat_map(|other| other.operands.iter().flat_map(|operand| registers(operand)));
    let alike: Vec<_> = others.filter(|other| *other != register && class(other) == class(register)).collect();
    let other = alike.choose(rng)?;
    let mut operands = statement.operands.clone();
    operands[place] = replace_word(&operands[place], register, other);
    // Exchanged where the other one is an operand too.
    if let Some(place) = (first_read..operands.len()).find(|at| *at != place && operands[*at] == **other) {
        operands[place] = register.to_owned();
    }
    (statement.with(&statement.opcode, &operands) != statement.text() && !is_commuted(statement, &operands))
        .then(|| statement.with(&statement.opcode, &operands))
}

/// Whether two factors or summands alone were exchanged.
fn is_commuted(statement: &Statement, operands: &[String]) -> bool {
    let commutes = ["add", "mul", "fma", "mad", "min", "max", "and", "or", "xor"].iter();
    let mut exchanged = operands.to_vec();
    if exchanged.len() > 2 {
        exchanged.swap(1, 2);
    }
    commutes.into_iter().any(|name| statement.opcode.starts_with(name)) && exchanged == statement.operands
}

fn replace_word(text: &str, word: &str, other: &str) -> String {
    let Some(at) = text
        .match_indices(word)
        .map(|(at, _)| at)
        .find(|at| text[at + word.len()..].chars().next().is_none_or(|next| !next.is_ascii_alphanumeric()))
    else {
        return text.to_owned();
    };
    format!("{}{other}{}", &text[..at], &text[at + word.len()..])
}

fn immediate(statement: &Statement, rng: &mut impl Rng) -> Option<String> {
    let number = |operand: &str| {
        let digits = match operand.strip_prefix('[') {
            Some(address) => address.strip_suffix(']')?.rsplit_once('+')?.1,
            None => operand,
        };
        let is_float = digits.len() == 10 && digits.starts_with("0f");
        (is_float || digits.parse::<i64>().is_ok()).then(|| digits.to_owned())
    };
    let places: Vec<_> =
        statement.operands.iter().enumerate().filter_map(|(at, text)| Some((at, number(text)?))).collect();
    let (place, digits) = places.choose(rng)?;
    let other = match digits.parse::<i64>() {
        Ok(value) => {
            let others: Vec<_> = [value.wrapping_add(1), value.wrapping_sub(1), value.wrapping_mul(2), 0]
                .into_iter()
                .filter(|other| *other != value)
                .collect();
            others.choose(rng)?.to_string()
        }
        Err(_) if digits == "0f00000000" => "0f3F800000".to_owned(),
        Err(_) => "0f00000000".to_owned(),
    };
    let mut operands = statement.operands.clone();
    let start = operands[*place].rfind(digits.as_str())?;
    operands[*place].replace_range(start..start + digits.len(), &other);
    Some(statement.with(&statement.opcode, &operands))
}

fn predicate(statement: &Statement, first: &str) -> Option<String> {
    let Statement { guard, opcode, operands, .. } = statement;
    if let Some(name) = guard.strip_prefix('@') {
        let guard = name.strip_prefix('!').map_or_else(|| format!("@!{name}"), |name| format!("@{name}"));
        return Some(Statement { guard, ..statement.clone() }.text());
    }
    match (first, &operands[..]) {
        ("selp", [to, one, other, by]) => Some(statement.with(opcode, &[to, other, one, by].map(String::clone))),
        ("and" | "or", _) if statement.has("pred") => {
            let other = if first == "and" { "or.pred" } else { "and.pred" };
            Some(statement.with(other, operands))
        }
        ("not", _) if statement.has("pred") => Some(statement.with("mov.pred", operands)),
        _ => None,
    }
}

fn wait(statement: &Statement, rng: &mut impl Rng) -> Option<String> {
    let Statement { opcode, operands, .. } = statement;
    match &operands[..] {
        [ended, ..] if opcode.starts_with("mbarrier.try_wait") => {
            Some(statement.with("setp.eq.b32", &[ended.clone(), "0".into(), "0".into()]))
        }
        [groups] if opcode.contains("wait_group") && rng.random() => {
            let groups = groups.parse::<u32>().ok()? + 1;
            Some(statement.with(opcode, &[groups.to_string()]))
        }
        _ if opcode.contains("wait_group") || opcode == "griddepcontrol.wait" => Some(String::new()),
        [..] if opcode.starts_with("ld.acquire") => {
            Some(statement.with(&opcode.replace("acquire.gpu", "relaxed.gpu"), operands))
        }
        [..] if opcode.starts_with("st.release") => {
            Some(statement.with(&opcode.replace("release.gpu", "relaxed.gpu"), operands))
        }
        _ => None,
    }
}

fn product(statement: &Statement, first: &str) -> Option<String> {
    let Statement { opcode, operands, .. } = statement;
    let moved = |to: &String, from: &String| Some(statement.with("mov.b32", &[to.clone(), from.clone()]));
    match (first, &operands[..]) {
        ("fma", [to, _, _, sum]) if statement.has("f32") => moved(to, sum),
        ("mul", [to, one, _]) if statement.has("f32") => moved(to, one),
        ("mad", [to, _, _, sum]) if statement.has("s32") => moved(to, sum),
        _ if opcode.starts_with("wgmma.mma_async") || opcode.starts_with("mma.") => Some(String::new()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand::{SeedableRng, rngs::SmallRng};

    use super::super::statements::statements;
    use super::*;

    /// All changes of a kind of the last of these instructions.
    fn changes(kind: Kind, body: &str) -> BTreeSet<String> {
        let statements = statements(&format!("{{\n{body}\n}}\n"));
        let mut rng = SmallRng::seed_from_u64(1);
        (0..100).filter_map(|_| kind.change(&statements, statements.len() - 1, &mut rng)).collect()
    }

    #[test]
    fn each_kind_changes_what_it_says() {
        let expected: [(Kind, &str, &[&str]); 17] = [
            (Kind::Register, "mov.b32 %r9, 1;\nsub.s32 %r1, %r2, 4;", &["sub.s32 %r1, %r1, 4", "sub.s32 %r1, %r9, 4"]),
            (
                Kind::Register,
                "sub.s32 %r1, %r2, %r3;",
                &["sub.s32 %r1, %r1, %r3", "sub.s32 %r1, %r2, %r1", "sub.s32 %r1, %r3, %r2"],
            ),
            (Kind::Register, "st.global.b32 [%rd1+4], %r3;", &[]),
            (
                Kind::Immediate,
                "ld.b32 %r1, [%rd1+4];",
                &["ld.b32 %r1, [%rd1+0]", "ld.b32 %r1, [%rd1+3]", "ld.b32 %r1, [%rd1+5]", "ld.b32 %r1, [%rd1+8]"],
            ),
            (Kind::Immediate, "mov.b32 %r1, 0f00000000;", &["mov.b32 %r1, 0f3F800000"]),
            (Kind::Comparison, "setp.ge.u32 %p1, %r1, %r2;", &["setp.gt.u32 %p1, %r1, %r2"]),
            (Kind::Predicate, "@%p1 bra $L;", &["@!%p1 bra $L"]),
            (Kind::Predicate, "selp.b32 %r1, %r2, 0, %p1;", &["selp.b32 %r1, 0, %r2, %p1"]),
            (Kind::Guard, "@%p1 bra $L;", &["", "bra $L"]),
            (Kind::Barrier, "bar.sync 0;", &[""]),
            (Kind::Wait, "cp.async.wait_group 1;", &["", "cp.async.wait_group 2"]),
            (Kind::Wait, "mbarrier.try_wait.b64 e, [%r1], %r2;", &["setp.eq.b32 e, 0, 0"]),
            (Kind::Fence, "wgmma.commit_group.sync.aligned;", &[""]),
            (Kind::Store, "@%p1 st.global.b32 [%rd1], %r1;", &[""]),
            (Kind::Product, "fma.rn.f32 %r1, %r2, %r3, %r4;", &["mov.b32 %r1, %r4"]),
            (Kind::Rounding, "fma.rn.f32 %r1, %r2, %r3, %r4;", &["fma.rz.f32 %r1, %r2, %r3, %r4"]),
            (Kind::Operation, "shr.u32 %r1, %r2, 3;", &["shl.b32 %r1, %r2, 3"]),
        ];
        for (kind, body, expected) in expected {
            assert_eq!(changes(kind, body), expected.iter().map(|text| text.to_string()).collect(), "{kind:?}: {body}");
        }
        for kind in Kind::ALL {
            assert!(changes(kind, "ret;").is_empty(), "{kind:?}");
        }
        assert!(
            changes(Kind::Register, "add.s32 %r1, %r2, %r2;")
                .iter()
                .all(|text| text.contains("%r1, %r1") || text.ends_with("%r1"))
        );
    }
}
