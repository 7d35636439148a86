//! `wgmma` in the types of 8 bits and of one, with accumulators of f16, and with a sparse A. PTX ISA, "Asynchronous Warpgroup Level
//! Matrix Instructions".

use super::Table;
use super::metadata::Metadata;
use super::tensor_core::{Operands, WarpgroupMma};
use crate::conformance::kind::Kind::{self, Bf16x2, F16x2, F32, Int32};

/// Types of 8 bits.
const FLOATS: [[&str; 2]; 4] = [["e4m3", "e4m3"], ["e4m3", "e5m2"], ["e5m2", "e4m3"], ["e5m2", "e5m2"]];
const INTEGERS: [[&str; 2]; 4] = [["s8", "s8"], ["s8", "u8"], ["u8", "s8"], ["u8", "u8"]];

/// The bits without which an 8-bit float, or one of 16 or 32 bits, is small.
const SMALL8: u32 = !0x4040_4040;
const SMALL16: u32 = !0x4000_4000;
const SMALL32: u32 = !0x4000_0000;

pub(super) fn fill_float8(table: &mut Table) {
    for [a, b] in FLOATS {
        for (d, kind) in [("f32", F32), ("f16", F16x2)] {
            let types = format!("m64n8k32.{d}.{a}.{b}");
            let of = |operands| Multiply { types: &types, kinds: [Int32, kind], operands, sparse: None };
            let any = [("any values", Operands::Kept(u32::MAX)), ("small values", Operands::Kept(SMALL8))];
            for (values, operands) in any {
                of(operands).add(table, values);
            }
            for (values, kept) in [("values that cancel", u32::MAX), ("small values that cancel", SMALL8)] {
                of(Operands::Cancelling(kept)).add(table, values);
            }
        }
    }
}

pub(super) fn fill_integers(table: &mut Table) {
    for [a, b] in INTEGERS {
        for satfinite in ["", ".satfinite"] {
            let types = format!("m64n8k32{satfinite}.s32.{a}.{b}");
            let operands = Operands::Kept(u32::MAX);
            let of = Multiply { types: &types, kinds: [Int32; 2], operands, sparse: None };
            of.add(table, "any values");
        }
    }
    let operands = Operands::Kept(u32::MAX);
    let bits = Multiply { types: "m64n8k256.s32.b1.b1.and.popc", kinds: [Int32; 2], operands, sparse: None };
    bits.add(table, "any values");
}

/// Accumulators of f16.
pub(super) fn fill_f16(table: &mut Table) {
    for (values, kept) in [("any values", u32::MAX), ("small values", SMALL16)] {
        let operands = Operands::Kept(kept);
        let of = Multiply { types: "m64n8k16.f16.f16.f16", kinds: [F16x2; 2], operands, sparse: None };
        of.add(table, values);
    }
}

/// Sums about the smallest normal f32: with accumulators that are subnormal, zero or not there.
pub(super) fn fill_tiny(table: &mut Table) {
    for (types, kind, ab) in [
        ("m64n8k16.f32.bf16.bf16", Bf16x2, [0x83ff_83ff, 0x1c00_1c00]),
        ("m64n8k8.f32.tf32.tf32", F32, [0x83ff_ffff, 0x1c00_0000]),
    ] {
        for (values, c) in [("accumulators of 0", 0), ("subnormal accumulators", 0x807f_ffff)] {
            let operands = Operands::Tiny { ab, c };
            let of = Multiply { types, kinds: [kind, F32], operands, sparse: None };
            of.add(table, &format!("tiny values and {values}"));
        }
    }
}

/// A sparse A.
pub(super) fn fill_sparse(table: &mut Table) {
    let two_of_four = Metadata::TwoOfFour;
    for (shape, ty, kind, small, metadata, selectors) in [
        ("m64n8k32", "f16", F16x2, SMALL16, two_of_four, &[0, 1][..]),
        ("m64n8k32", "bf16", Bf16x2, SMALL16, two_of_four, &[0, 1]),
        ("m64n8k16", "tf32", F32, SMALL32, Metadata::OneOfTwo, &[0, 1]),
        ("m64n8k64", "e4m3", Int32, SMALL8, two_of_four, &[0]),
        ("m64n8k64", "e5m2", Int32, SMALL8, two_of_four, &[0]),
    ] {
        for (d, d_kind) in [("f32", F32), ("f16", F16x2)] {
            if d == "f16" && ["bf16", "tf32"].contains(&ty) {
                continue;
            }
            let types = format!("{shape}.{d}.{ty}.{ty}");
            for selector in selectors {
                for (values, kept) in [("any values", u32::MAX), ("small values", small)] {
                    let (operands, sparse) = (Operands::Kept(kept), Some((metadata, *selector)));
                    let of = Multiply { types: &types, kinds: [kind, d_kind], operands, sparse };
                    of.add(table, &format!("{values} by selector {selector}"));
                }
            }
        }
    }
    for [a, b] in [["s8", "u8"], ["u8", "s8"]] {
        let types = format!("m64n8k64.s32.{a}.{b}");
        let (operands, sparse) = (Operands::Kept(u32::MAX), Some((two_of_four, 0)));
        Multiply { types: &types, kinds: [Int32; 2], operands, sparse }.add(table, "any values");
    }
}

/// A shape with its types, and what is multiplied.
struct Multiply<'a> {
    types: &'a str,
    /// Of A and B, and of D.
    kinds: [Kind; 2],
    operands: Operands,
    sparse: Option<(Metadata, u32)>,
}

impl Multiply<'_> {
    /// A from shared memory and from registers, or from these alone where values are to cancel; alone and added to what is there.
    fn add(&self, table: &mut Table, values: &str) {
        let Self { types, kinds: [kind, d_kind], operands, sparse } = *self;
        let name = format!("wgmma.mma_async{}.sync.aligned.{types}", if sparse.is_some() { ".sp" } else { "" });
        let d = if d_kind == F16x2 { 2 } else { 4 };
        let cancels = matches!(operands, Operands::Cancelling(_));
        for from_registers in [false, true].into_iter().filter(|from_registers| *from_registers || !cancels) {
            for accumulate in [false, true] {
                let sides = if [F16x2, Bf16x2].contains(&kind) { 2 - usize::from(from_registers) } else { 0 };
                let scales = if types.contains(".s32.") { "" } else { ", 1, 1" };
                let behind = format!("{scales}{}", ", 0".repeat(sides));
                let mma =
                    WarpgroupMma { name: &name, sparse, operands, from_registers, accumulate, d, behind: &behind };
                let from = if from_registers { "registers" } else { "shared memory" };
                let adding = if accumulate { "added to what is there" } else { "alone" };
                let name = format!("{name} of {values} from {from}, {adding}");
                table.code(&name, &vec![32; d], &[kind, kind, d_kind], &mma.code());
            }
        }
    }
}
