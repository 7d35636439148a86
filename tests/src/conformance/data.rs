//! The data files: the inputs of a family's cases, and what the hardware made of them.
//!
//! A file is little-endian. It begins with [`MAGIC`]; then comes the number of sets of inputs, and each set: the number of
//! columns, the number of rows, and the columns, each as the bytes of a value and the values. Then comes the number of
//! cases, and each case: its name, its code, its set, the number of results, and the results as columns. Numbers are
//! `u32`, texts are their length and their bytes.

use std::path::PathBuf;

use super::inputs::Inputs;
use super::{Case, Columns, Family, Kind};

/// How a file begins: what it is, and the format's version.
pub const MAGIC: &[u8; 8] = b"PTXCONF1";

/// What was recorded of a family.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recording {
    /// The columns of each set of inputs.
    pub inputs: Vec<Columns>,
    /// By case, in the table's order.
    pub cases: Vec<Recorded>,
}

/// What was recorded of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The case's name.
    pub name: String,
    /// The case's code.
    pub code: String,
    /// Which set its inputs are.
    pub set: usize,
    /// Its results.
    pub results: Columns,
}

/// The sets of inputs that the cases need, each once, and the set of each case.
#[must_use]
pub fn sets(cases: &[Case]) -> (Vec<Inputs>, Vec<usize>) {
    let mut sets: Vec<Inputs> = Vec::new();
    let mut set_of = |kinds: &[Kind]| match sets.iter().position(|set| set.kinds == kinds) {
        Some(set) => set,
        None => {
            sets.push(Inputs::new(kinds));
            sets.len() - 1
        }
    };
    let of_cases = cases.iter().map(|case| set_of(&case.args)).collect();
    (sets, of_cases)
}

impl Recording {
    /// The file's bytes.
    #[must_use]
    pub fn encode(&self, family: &Family) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        put(&mut bytes, self.inputs.len());
        let (sets, _) = sets(&family.cases);
        for (columns, set) in self.inputs.iter().zip(&sets) {
            put(&mut bytes, columns.len());
            put(&mut bytes, set.rows());
            for (column, kind) in columns.iter().zip(&set.kinds) {
                put_column(&mut bytes, column, kind.bytes());
            }
        }
        put(&mut bytes, self.cases.len());
        for (recorded, case) in self.cases.iter().zip(&family.cases) {
            for text in [&recorded.name, &recorded.code] {
                put(&mut bytes, text.len());
                bytes.extend(text.as_bytes());
            }
            put(&mut bytes, recorded.set);
            put(&mut bytes, recorded.results.len());
            for (column, bits) in recorded.results.iter().zip(&case.results) {
                put_column(&mut bytes, column, bits.div_ceil(8) as usize);
            }
        }
        bytes
    }

    /// Reads a file; `None` where it is truncated or is no such file.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let mut recording = Self::default();
        let mut rows_of = Vec::new();
        for _ in 0..get(&mut rest)? {
            let (columns, rows) = (get(&mut rest)?, get(&mut rest)?);
            recording.inputs.push((0..columns).map(|_| get_column(&mut rest, rows)).collect::<Option<_>>()?);
            rows_of.push(rows);
        }
        for _ in 0..get(&mut rest)? {
            let [name, code] = [get_text(&mut rest)?, get_text(&mut rest)?];
            let (set, columns) = (get(&mut rest)?, get(&mut rest)?);
            let rows = *rows_of.get(set)?;
            let results = (0..columns).map(|_| get_column(&mut rest, rows)).collect::<Option<_>>()?;
            recording.cases.push(Recorded { name, code, set, results });
        }
        rest.is_empty().then_some(recording)
    }

    /// Whether a family has a file: one that is new has none until somebody with a GPU records it.
    #[must_use]
    pub fn exists(family: &Family) -> bool {
        path(family).exists()
    }

    /// Reads a family's file.
    ///
    /// # Errors
    /// Where it is missing, is no such file, or holds other cases than the table: then it must be recorded anew.
    pub fn read(family: &Family) -> Result<Self, String> {
        let path = path(family);
        let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let recording = Self::decode(&bytes).ok_or_else(|| format!("{}: no recording", path.display()))?;
        let recorded = recording.cases.iter().map(|case| (&case.name, &case.code));
        let table = family.cases.iter().map(|case| (&case.name, &case.code));
        if recorded.clone().eq(table.clone()) {
            return Ok(recording);
        }
        let differs = recorded.zip(table).find(|(recorded, case)| recorded != case);
        let first = differs.map_or("their number differs".to_owned(), |(_, (name, _))| format!("first at {name}"));
        Err(format!("{}: recorded from another table of cases ({first}): record again", path.display()))
    }
}

fn path(family: &Family) -> PathBuf {
    super::folder().join(format!("{}.bin", family.name))
}

fn put(bytes: &mut Vec<u8>, number: usize) {
    bytes.extend((number as u32).to_le_bytes());
}

fn put_column(bytes: &mut Vec<u8>, column: &[u64], width: usize) {
    put(bytes, width);
    bytes.extend(column.iter().flat_map(|value| value.to_le_bytes().into_iter().take(width)));
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(count)?;
    *rest = left;
    Some(taken)
}

fn get(rest: &mut &[u8]) -> Option<usize> {
    Some(u32::from_le_bytes(take(rest, 4)?.try_into().ok()?) as usize)
}

fn get_text(rest: &mut &[u8]) -> Option<String> {
    let count = get(rest)?;
    String::from_utf8(take(rest, count)?.to_vec()).ok()
}

fn get_column(rest: &mut &[u8], rows: usize) -> Option<Vec<u64>> {
    let width = get(rest).filter(|width| (1..=8).contains(width))?;
    let values = take(rest, rows.checked_mul(width)?)?.chunks(width);
    Some(values.map(|bytes| bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))).collect())
}
