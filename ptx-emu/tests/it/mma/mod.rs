//! `mma` and `wmma` against products of integers, which every type computes exactly: a reference that shares no code with the emulator.
//! Fragments of `mma` are by the tables of the PTX ISA; those of `wmma` are loaded and stored.

pub mod number;
mod quads;
mod sparse;
mod tables;
mod wmma;

use std::fmt::Write;

use number::{bits, decode, encode, small};
use ptx_emu::{GlobalMemory, Launch, Module, TensorCoreFmas};
use tables::{TABLES, Table};

/// A sequence of numbers that look random.
pub struct Random(u32);

impl Random {
    pub fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0 >> 8
    }
}

/// A matrix of small integers of the type.
pub fn matrix(ty: &str, rows: usize, columns: usize, random: &mut Random) -> Vec<Vec<i64>> {
    (0..rows).map(|_| (0..columns).map(|_| small(ty, random.next())).collect()).collect()
}

/// A B + C.
pub fn product(a: &[Vec<i64>], b: &[Vec<i64>], c: &[Vec<i64>]) -> Vec<Vec<i64>> {
    let sum = |row: usize, column: usize| -> i64 { (0..b.len()).map(|k| a[row][k] * b[k][column]).sum() };
    let row = |(row, c): (usize, &Vec<i64>)| c.iter().enumerate().map(|(column, c)| sum(row, column) + c).collect();
    c.iter().enumerate().map(row).collect()
}

/// What stands for the product of bits: 1 where they differ, as an integer product would need.
fn product_of_bits(a: &[Vec<i64>], b: &[Vec<i64>], c: &[Vec<i64>], of: fn(i64, i64) -> i64) -> Vec<Vec<i64>> {
    let sum = |row: usize, column: usize| -> i64 { (0..b.len()).map(|k| of(a[row][k], b[k][column])).sum() };
    let row = |(row, c): (usize, &Vec<i64>)| c.iter().enumerate().map(|(column, c)| sum(row, column) + c).collect();
    c.iter().enumerate().map(row).collect()
}

/// The registers of each lane: the elements of a fragment in words of 32 bits, or as f64.
fn fragment(ty: &str, elements: usize, value: impl Fn(usize, usize) -> i64) -> Vec<u8> {
    let (width, mut bytes) = (bits(ty), Vec::new());
    for lane in 0..32 {
        let mut words = vec![0u64; (elements * width).div_ceil(64)];
        for element in 0..elements {
            let at = element * width;
            words[at / 64] |= encode(ty, value(element, lane)) << (at % 64);
        }
        let lane: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend(&lane[..(elements * width / 8).max(4)]);
    }
    bytes
}

/// The kernel of one warp that reads fragments of A, B and C, and writes that of D.
fn ptx(instruction: &str, c_type: &str, is_f64: bool, counts: [usize; 4]) -> String {
    let mut text = ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 d, .param .u64 a, .param .u64 b, \
                    .param .u64 c)\n{\n.reg .b32 %lane;\n.reg .b64 %at;\nmov.u32 %lane, %laneid;\n"
        .to_owned();
    let wide = |name: char| is_f64 || c_type == "f64" && "cd".contains(name);
    let class = |name: char| if wide(name) { "f64" } else { "b32" };
    let mut vectors = Vec::new();
    for (name, count) in "dabc".chars().zip(counts) {
        let bytes = count * if wide(name) { 8 } else { 4 };
        let ty = class(name);
        let names: Vec<String> = (0..count).map(|index| format!("%{name}{index}")).collect();
        vectors.push(format!("{{{}}}", names.join(", ")));
        _ = writeln!(text, ".reg .{ty} %{name}<{count}>;\n.reg .b64 %p{name};\nld.param.u64 %p{name}, [{name}];");
        _ = writeln!(text, "mul.wide.u32 %at, %lane, {bytes};\nadd.u64 %p{name}, %p{name}, %at;");
        let loads = names.iter().enumerate().filter(|_| name != 'd');
        loads.for_each(|(index, register)| {
            _ = writeln!(text, "ld.global.{ty} {register}, [%p{name}+{}];", bytes / count * index)
        });
    }
    _ = writeln!(text, "{instruction} {};", vectors.join(", "));
    let (ty, bytes) = (class('d'), if wide('d') { 8 } else { 4 });
    (0..counts[0]).for_each(|index| _ = writeln!(text, "st.global.{ty} [%pd+{}], %d{index};", bytes * index));
    text + "ret;\n}\n"
}

/// Runs the kernel; the bytes of D's fragments, and the multiply-adds that were counted.
fn run(ptx: &str, d_bytes: usize, fragments: [Vec<u8>; 3]) -> (Vec<u8>, TensorCoreFmas) {
    let module = Module::parse(ptx).unwrap_or_else(|error| panic!("{error}\n{ptx}"));
    let kernel = module.kernel("k").unwrap_or_else(|error| panic!("{error}\n{ptx}"));
    let mut memory = GlobalMemory::default();
    let d = memory.allocate(d_bytes as u64);
    let mut launch = Launch::new([1; 3], [32, 1, 1]).argument(d.to_le_bytes());
    for fragment in fragments {
        launch = launch.argument(memory.allocate_bytes(&fragment).to_le_bytes());
    }
    let report = kernel.launch(&mut memory, &launch).unwrap_or_else(|error| panic!("{error}"));
    assert!(report.is_clean(), "{:?} {:?}\n{ptx}", report.fault, report.findings);
    (memory.read(d).unwrap(), report.counters.tensor_core_fmas)
}

/// One instruction: types of A and B, of C and D, and what follows them in the opcode.
fn check(table: &Table, [a_type, b_type]: [&str; 2], c_type: &str, before: &str, after: &str) {
    let [m, n, k] = table.shape;
    let random = &mut Random(k as u32);
    let (a, b) = (matrix(a_type, m, k, random), matrix(b_type, k, n, random));
    let c = matrix(if c_type == "s32" { "s8" } else { c_type }, m, n, random);
    let expected = match after {
        ".xor.popc" => product_of_bits(&a, &b, &c, |a, b| a ^ b),
        ".and.popc" => product_of_bits(&a, &b, &c, |a, b| a & b),
        _ => product(&a, &b, &c),
    };
    let place = |of: tables::Place, element: usize, lane: usize| of(element, lane / 4, lane % 4);
    let at = |of: tables::Place, matrix: &[Vec<i64>], element, lane| {
        let (row, column) = place(of, element, lane);
        matrix[row][column]
    };
    let elements = [m * k / 32, k * n / 32, m * n / 32];
    let fragments = [
        fragment(a_type, elements[0], |element, lane| at(table.a, &a, element, lane)),
        fragment(b_type, elements[1], |element, lane| at(table.b, &b, element, lane)),
        fragment(c_type, elements[2], |element, lane| at(table.c, &c, element, lane)),
    ];
    let types = format!(".{c_type}.{a_type}.{b_type}.{c_type}");
    let name = format!("mma.sync.aligned.m{m}n{n}k{k}.row.col{before}{types}{after}");
    let registers = |bytes: usize, ty| bytes / 32 / if bits(ty) == 64 { 8 } else { 4 };
    let [a, b, c] = [0, 1, 2].map(|index| registers(fragments[index].len(), [a_type, b_type, c_type][index]));
    let d_bytes = fragments[2].len();
    let (d, fmas) = run(&ptx(&name, c_type, a_type == "f64", [c, a, b, c]), d_bytes, fragments);
    assert_eq!(fmas.total(), (m * n * k) as u64, "{name}");
    let width = bits(c_type) / 8;
    for (index, bytes) in d.chunks(width).enumerate() {
        let (lane, element) = (index / elements[2], index % elements[2]);
        let (row, column) = place(table.c, element, lane);
        let got = decode(c_type, bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)));
        assert_eq!(got, expected[row][column] as f64, "{name}: row {row}, column {column}");
    }
}

#[test]
fn every_shape_and_type_multiplies_integers_exactly() {
    let mut count = 0;
    for table in TABLES {
        for &a in table.types {
            for &b in table.types {
                let pairs: Vec<(&str, &str)> = match (a, b) {
                    ("b1", "b1") => vec![("s32", ".xor.popc"), ("s32", ".and.popc")],
                    ("s8" | "u8", "s8" | "u8") | ("s4" | "u4", "s4" | "u4") => vec![("s32", "")],
                    ("e4m3" | "e5m2", "e4m3" | "e5m2") | ("f16", "f16") => vec![("f16", ""), ("f32", "")],
                    ("f64", "f64") => vec![("f64", "")],
                    ("bf16", "bf16") | ("tf32", "tf32") => vec![("f32", "")],
                    _ => continue,
                };
                for (c, after) in pairs {
                    check(table, [a, b], c, "", after);
                    count += 1;
                    if c == "s32" && a != "b1" {
                        check(table, [a, b], c, ".satfinite", after);
                        count += 1;
                    }
                }
            }
        }
    }
    assert_eq!(count, 2 * 4 * 6 + 6 + 4 + 2 * (2 + 1) + 2 + 8 * 2);
}

#[test]
fn what_is_not_known_is_refused_in_a_line() {
    for (opcode, reason) in [
        ("mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", "the shapes of these types are m16n8k8, m16n8k16"),
        ("mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32", "only A by rows and B by columns"),
        ("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f32", "the combination of types .f16.f16.f16.f32 is not known"),
        ("mma.sync.aligned.m16n8k16.row.col.satfinite.f32.f16.f16.f32", ".satfinite is known for integers"),
        ("mma.sp.sync.aligned.m16n8k64.row.col.f32.f16.f16.f32", "the shapes of these types are m16n8k16, m16n8k32"),
        ("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", "6 operands are expected, 4 are there"),
    ] {
        let text = ptx(opcode, "f32", false, [4, 4, 2, 4])
            + &ptx("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "f32", false, [4, 4, 2, 4])
                .split_once("64\n")
                .unwrap()
                .1
                .replace("entry k(", "entry other(");
        let module = Module::parse(&text).unwrap_or_else(|error| panic!("{error}"));
        let error = module.kernel("k").err().unwrap_or_else(|| panic!("{opcode} is known")).to_string();
        assert!(error.contains(reason), "{error}");
        // The other kernel of the file is not refused.
        module.kernel("other").unwrap_or_else(|error| panic!("{error}"));
    }
}
