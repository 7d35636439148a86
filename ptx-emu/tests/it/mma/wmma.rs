//! `wmma`: loaded, multiplied and stored, in every shape, type and layout, from global and from shared memory.

use std::fmt::Write;

use super::number::{bits, decode, encode};
use super::{Random, matrix, product};
use ptx_emu::{Checks, FindingKind, GlobalMemory, Launch, Module, Report};

/// Elements behind each row or column.
const GAP: usize = 16;

/// A product of matrices in memory.
#[derive(Clone, Copy)]
struct Product {
    shape: [usize; 3],
    ab: &'static str,
    c: &'static str,
    d: &'static str,
    /// Layouts of A, B, C and D: by rows.
    by_rows: [bool; 4],
    is_shared: bool,
}

impl Product {
    /// Rows and columns of A, B, C and D, and their types.
    fn matrices(&self) -> [(usize, usize, &'static str); 4] {
        let [m, n, k] = self.shape;
        [(m, k, self.ab), (k, n, self.ab), (m, n, self.c), (m, n, self.d)]
    }

    /// Elements from a row, or column, to the next.
    fn stride(&self, index: usize) -> usize {
        let (rows, columns, ty) = self.matrices()[index];
        // Of narrow types, a whole number of words.
        (if self.by_rows[index] { columns } else { rows }) + GAP * (32 / bits(ty)).max(1)
    }

    fn bytes(&self, index: usize) -> usize {
        let (rows, columns, ty) = self.matrices()[index];
        self.stride(index) * if self.by_rows[index] { rows } else { columns } * bits(ty) / 8
    }

    /// The element's place, in elements.
    fn at(&self, index: usize, row: usize, column: usize) -> usize {
        let (outer, inner) = if self.by_rows[index] { (row, column) } else { (column, row) };
        outer * self.stride(index) + inner
    }

    fn memory(&self, index: usize, matrix: &[Vec<i64>]) -> Vec<u8> {
        let ty = self.matrices()[index].2;
        // All that is not an element has all bits set: NaN.
        let mut bytes = vec![0xff; self.bytes(index)];
        for (row, values) in matrix.iter().enumerate() {
            for (column, value) in values.iter().enumerate() {
                let (width, element) = (bits(ty), encode(ty, *value));
                let at = self.at(index, row, column) * width;
                if width < 8 {
                    let mask = (1u8 << width) - 1;
                    let byte = &mut bytes[at / 8];
                    *byte = *byte & !(mask << (at % 8)) | (element as u8) << (at % 8);
                } else {
                    bytes[at / 8..][..width / 8].copy_from_slice(&element.to_le_bytes()[..width / 8]);
                }
            }
        }
        bytes
    }

    fn registers(&self, index: usize) -> usize {
        let (rows, columns, ty) = self.matrices()[index];
        match (index, ty) {
            (0 | 1, "f16") => 8,
            (_, "f64") => rows * columns / 32,
            _ => rows * columns * bits(ty) / 32 / 32,
        }
    }

    fn ptx(&self) -> String {
        let [m, n, k] = self.shape;
        let shape = format!("m{m}n{n}k{k}");
        let space = if self.is_shared { "shared" } else { "global" };
        let layout = |index: usize| if self.by_rows[index] { "row" } else { "col" };
        let ty = if self.ab == "f64" { "f64" } else { "b32" };
        let mut text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, \
                        .param .u64 d)\n{\n.reg .b32 %s<8>, %i, %at;\n.reg .b8 %byte;\n.reg .b64 %from;\n.reg .pred %p;\n"
            .replace(".reg .b8 %byte;\n", ".reg .b16 %byte;\n");
        let vector = |name: &str, index: usize| {
            let names: Vec<String> = (0..self.registers(index)).map(|number| format!("%{name}{number}")).collect();
            format!("{{{}}}", names.join(", "))
        };
        for (index, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
            let bytes = self.bytes(index);
            _ = writeln!(
                text,
                ".reg .{ty} %{name}<{}>;\n.reg .b64 %p{name};\nld.param.u64 %p{name}, [{name}];",
                self.registers(index)
            );
            _ = writeln!(text, "mov.u32 %s{index}, {};", self.stride(index));
            if self.is_shared {
                // Lane after lane copies a byte to shared memory; D comes back the same way.
                _ = writeln!(text, ".shared .align 32 .b8 tile_{name}[{bytes}];\nmov.u32 %i, %laneid;\n$fill_{name}:");
                _ = writeln!(
                    text,
                    "cvt.u64.u32 %from, %i;\nadd.u64 %from, %p{name}, %from;\nld.global.u8 %byte, [%from];"
                );
                _ = writeln!(text, "mov.u32 %at, tile_{name};\nadd.u32 %at, %at, %i;\nst.shared.u8 [%at], %byte;");
                _ = writeln!(text, "add.u32 %i, %i, 32;\nsetp.lt.u32 %p, %i, {bytes};\n@%p bra $fill_{name};");
            }
        }
        text.push_str("bar.warp.sync 0xffffffff;\n");
        let pointer = |name: &str| if self.is_shared { format!("tile_{name}") } else { format!("%p{name}") };
        for (index, name) in ["a", "b", "c"].into_iter().enumerate() {
            let of = self.matrices()[index].2;
            _ = writeln!(
                text,
                "wmma.load.{name}.sync.aligned.{}.{shape}.{space}.{of} {}, [{}], %s{index};",
                layout(index),
                vector(name, index),
                pointer(name)
            );
        }
        let types = match self.ab {
            "f16" => format!("{}.{}", self.d, self.c),
            ab => format!("{}.{ab}.{ab}.{}", self.d, self.c),
        };
        let name = if self.ab == "b1" { "wmma.mma.xor.popc" } else { "wmma.mma" };
        let operands: Vec<String> =
            [("d", 3), ("a", 0), ("b", 1), ("c", 2)].map(|(name, index)| vector(name, index)).into();
        _ = writeln!(text, "{name}.sync.aligned.{}.{}.{shape}.{types} {};", layout(0), layout(1), operands.join(", "));
        let d = vector("d", 3);
        _ = writeln!(
            text,
            "wmma.store.d.sync.aligned.{}.{shape}.{space}.{} [{}], {d}, %s3;",
            layout(3),
            self.d,
            pointer("d")
        );
        if self.is_shared {
            _ = writeln!(
                text,
                "bar.warp.sync 0xffffffff;\nmov.u32 %i, %laneid;\n$back:\nmov.u32 %at, tile_d;\nadd.u32 %at, %at, %i;"
            );
            _ = writeln!(text, "ld.shared.u8 %byte, [%at];\ncvt.u64.u32 %from, %i;\nadd.u64 %from, %pd, %from;");
            let bytes = self.bytes(3);
            _ = writeln!(
                text,
                "st.global.u8 [%from], %byte;\nadd.u32 %i, %i, 32;\nsetp.lt.u32 %p, %i, {bytes};\n@%p bra $back;"
            );
        }
        text + "ret;\n}\n"
    }

    fn check(&self) {
        let random = &mut Random(7);
        let [(m, k, ab), (_, n, _), (.., c_type), (.., d_type)] = self.matrices();
        let narrow = if c_type == "s32" { "s8" } else { c_type };
        let (a, b, c) = (matrix(ab, m, k, random), matrix(ab, k, n, random), matrix(narrow, m, n, random));
        let expected = match ab {
            "b1" => super::product_of_bits(&a, &b, &c, |a, b| a ^ b),
            _ => product(&a, &b, &c),
        };
        let ptx = self.ptx();
        let module = Module::parse(&ptx).unwrap_or_else(|error| panic!("{error}\n{ptx}"));
        let kernel = module.kernel("k").unwrap_or_else(|error| panic!("{error}\n{ptx}"));
        let mut memory = GlobalMemory::default();
        let inputs = [self.memory(0, &a), self.memory(1, &b), self.memory(2, &c), vec![0xff; self.bytes(3)]];
        let pointers = inputs.map(|bytes| memory.allocate_bytes(&bytes));
        let mut launch = Launch::new([1; 3], [32, 1, 1]);
        launch.arguments = pointers.iter().map(|pointer| pointer.to_le_bytes().to_vec()).collect();
        let report = kernel.launch(&mut memory, &launch).unwrap_or_else(|error| panic!("{error}"));
        assert!(report.is_clean(), "{:?} {:?}\n{ptx}", report.fault, report.findings);
        assert_eq!(report.counters.tensor_core_fmas.total(), (m * n * k) as u64);
        let mut d = memory.read(pointers[3]).unwrap();
        for (row, values) in expected.iter().enumerate() {
            for (column, value) in values.iter().enumerate() {
                let bytes = &mut d[self.at(3, row, column) * bits(d_type) / 8..][..bits(d_type) / 8];
                let got = bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
                assert_eq!(decode(d_type, got), *value as f64, "row {row}, column {column}\n{ptx}");
                bytes.fill(0xff);
            }
        }
        assert!(d.iter().all(|byte| *byte == 0xff), "what is not an element of D has changed\n{ptx}");
    }
}

/// Shapes and types: of A and B, C, and D.
fn types() -> Vec<([usize; 3], &'static str, &'static str, &'static str)> {
    let mut types = Vec::new();
    for shape in [[16, 16, 16], [32, 8, 16], [8, 32, 16]] {
        for (c, d) in [("f16", "f16"), ("f16", "f32"), ("f32", "f16"), ("f32", "f32")] {
            types.push((shape, "f16", c, d));
        }
        types.extend([(shape, "bf16", "f32", "f32"), (shape, "s8", "s32", "s32"), (shape, "u8", "s32", "s32")]);
    }
    types.extend([([16, 16, 8], "tf32", "f32", "f32"), ([8, 8, 4], "f64", "f64", "f64")]);
    types.extend([
        ([8, 8, 32], "s4", "s32", "s32"),
        ([8, 8, 32], "u4", "s32", "s32"),
        ([8, 8, 128], "b1", "s32", "s32"),
    ]);
    types
}

#[test]
fn matrices_of_every_layout_are_loaded_multiplied_and_stored() {
    for (shape, ab, c, d) in types() {
        for layouts in 0..16 {
            let by_rows = std::array::from_fn(|index| layouts >> index & 1 != 0);
            if bits(ab) < 8 && (!by_rows[0] || by_rows[1]) {
                continue;
            }
            for is_shared in [false, true] {
                Product { shape, ab, c, d, by_rows, is_shared }.check();
            }
        }
    }
}

/// A kernel of one warp on 512 bytes of shared memory, of which it writes the first.
fn in_shared_memory(written: usize, body: &str) -> Report {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n.reg .b32 %r<12>, %t, %at;\n.reg .pred %p;\n\
         .shared .align 32 .b8 tile[1024];\nmov.u32 %t, %tid.x;\nmov.u32 %at, tile;\nmad.lo.u32 %at, %t, 4, %at;\n\
         setp.lt.u32 %p, %t, {};\n@%p st.shared.b32 [%at], 0;\n{body}\nret;\n}}",
        written / 4
    );
    let module = Module::parse(&text).unwrap_or_else(|error| panic!("{error}"));
    let launch = Launch { checks: Checks::ALL, ..Launch::new([1; 3], [256, 1, 1]) };
    module.kernel("k").unwrap().launch(&mut GlobalMemory::default(), &launch).unwrap()
}

const LOAD: &str = "wmma.load.a.sync.aligned.row.m16n16k16.shared.bf16 {%r0, %r1, %r2, %r3}, [tile], 16;";

#[test]
fn the_checkers_see_the_fragments_of_wmma() {
    let kinds = |report: &Report| {
        let mut kinds: Vec<FindingKind> =
            report.fault.iter().chain(&report.findings).map(|finding| finding.kind).collect();
        kinds.dedup();
        kinds
    };
    assert_eq!(kinds(&in_shared_memory(512, &format!("bar.sync 0;\n{LOAD}"))), []);
    // The first warp loads before the others have written.
    assert_eq!(kinds(&in_shared_memory(512, LOAD)), [FindingKind::Uninitialized, FindingKind::Race]);
    assert_eq!(kinds(&in_shared_memory(508, &format!("bar.sync 0;\n{LOAD}"))), [FindingKind::Uninitialized]);
    let far = LOAD.replace("[tile], 16", "[tile+768], 16");
    assert_eq!(kinds(&in_shared_memory(512, &far)), [FindingKind::OutOfBounds, FindingKind::Uninitialized]);
    let odd = LOAD.replace("[tile], 16", "[tile+2], 16");
    assert_eq!(kinds(&in_shared_memory(1024, &format!("bar.sync 0;\n{odd}"))), [FindingKind::Misaligned]);
}
