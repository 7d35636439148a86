//! The table of cases: what is run on the hardware and in the emulator. One file per family.

mod approximate;
mod asynchronous;
mod atomics;
mod bits;
mod compare;
mod control;
mod convert;
mod float;
mod half;
mod integer;
mod memory;
mod metadata;
mod mma_types;
mod moves;
mod tensor_core;
mod warp;
mod wgmma_types;
mod wmma;

use super::kind::Kind;
use super::{Case, Family};

/// Every family of cases. Each has a file of its own.
#[must_use]
pub fn families() -> Vec<Family> {
    let family = |name, fill: fn(&mut Table)| {
        let mut table = Table::default();
        fill(&mut table);
        Family { name, cases: table.cases }
    };
    vec![
        family("integer", integer::fill),
        family("bits", bits::fill),
        family("float", float::fill),
        family("double", float::fill_double),
        family("half", half::fill),
        family("approximate", approximate::fill),
        family("compare", compare::fill),
        family("convert_float", convert::fill_float),
        family("convert_integer", convert::fill_integer),
        family("convert_small", convert::fill_small),
        family("moves", moves::fill),
        family("warp", warp::fill),
        family("memory", memory::fill),
        family("atomics", atomics::fill),
        family("control", control::fill),
        family("asynchronous", asynchronous::fill),
        family("tensor_core", tensor_core::fill),
        family("warp_mma", tensor_core::fill_warp),
        family("mma_types", mma_types::fill),
        family("mma_float8", mma_types::fill_float8),
        family("wmma", wmma::fill),
        family("mma_sparse", mma_types::fill_sparse),
        family("wgmma_float8", wgmma_types::fill_float8),
        family("wgmma_integers", wgmma_types::fill_integers),
        family("wgmma_f16", wgmma_types::fill_f16),
        family("wgmma_tiny", wgmma_types::fill_tiny),
        family("wgmma_sparse", wgmma_types::fill_sparse),
    ]
}

/// The families that nobody has recorded on a GPU yet: their cases run in the emulator, but what it makes of them is held by other
/// tests only. Recording one (`device --record`) takes it off this list.
pub const UNRECORDED: &[&str] = &[];

/// Cases, while they are listed.
#[derive(Default)]
struct Table {
    cases: Vec<Case>,
}

impl Table {
    /// `opcode %d, %a, %b, %c;` with as many operands as there are kinds; its name is the opcode.
    fn op(&mut self, opcode: &str, result: u32, args: &[Kind]) {
        let operands: String = ["a", "b", "c"].iter().take(args.len()).map(|name| format!(", %{name}")).collect();
        self.code(opcode, &[result], args, &format!("{opcode} %d{operands};"));
    }

    /// Any code, which sets `%d`, `%e`, `%f` and `%g`, as many as there are results, from `%a`, `%b` and `%c`.
    fn code(&mut self, name: &str, results: &[u32], args: &[Kind], code: &str) {
        let case =
            Case { name: name.to_owned(), args: args.to_vec(), results: results.to_vec(), code: code.to_owned() };
        self.cases.push(case);
    }
}

/// The types of integers with a sign or without.
const INTEGERS: [(&str, Kind); 6] = [
    ("u16", Kind::Int16),
    ("s16", Kind::Int16),
    ("u32", Kind::Int32),
    ("s32", Kind::Int32),
    ("u64", Kind::Int64),
    ("s64", Kind::Int64),
];

/// Bits of no type.
const BITS: [(&str, Kind); 3] = [("b16", Kind::Int16), ("b32", Kind::Int32), ("b64", Kind::Int64)];

/// The rounding modes of arithmetic.
const ROUNDING: [&str; 4] = [".rn", ".rz", ".rm", ".rp"];
