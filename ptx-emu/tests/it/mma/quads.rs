//! `mma.m8n8k4` of f16: each quarter of a warp has four small matrices of its own. PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16
//! floating point type".

use super::number::{bits, decode};
use super::{Random, fragment, matrix, product, ptx, run};

const QUARTERS: usize = 4;

/// The first lane of the quarter, and whether the lane is in its high group.
fn quarter(lane: usize) -> (usize, usize) {
    (lane % 16 / 4, if lane < 16 { 0 } else { 4 })
}

/// Row (or column) and element of k.
fn line(along_k: bool, i: usize, lane: usize) -> (usize, usize) {
    let high = quarter(lane).1;
    if along_k { (lane % 4 + high, i) } else { (i + high, lane % 4) }
}

fn accumulator(ty: &str, i: usize, lane: usize) -> (usize, usize) {
    let high = quarter(lane).1;
    if ty == "f16" { (lane % 4 + high, i) } else { ((lane & 1) + (i & 2) + high, (i & 4) + (lane & 2) + (i & 1)) }
}

#[test]
fn quarters_of_a_warp_multiply_matrices_of_their_own() {
    let random = &mut Random(4);
    let mut matrices =
        |rows, columns| -> Vec<_> { (0..QUARTERS).map(|_| matrix("f16", rows, columns, random)).collect() };
    let (a, b, c) = (matrices(8, 4), matrices(4, 8), matrices(8, 8));
    let expected: Vec<_> = (0..QUARTERS).map(|quad| product(&a[quad], &b[quad], &c[quad])).collect();
    for (c_type, d_type) in [("f16", "f16"), ("f16", "f32"), ("f32", "f32")] {
        for (a_layout, b_layout) in [("row", "row"), ("row", "col"), ("col", "row"), ("col", "col")] {
            let fragments = [
                fragment("f16", 4, |i, lane| {
                    let (row, k) = line(a_layout == "row", i, lane);
                    a[quarter(lane).0][row][k]
                }),
                fragment("f16", 4, |i, lane| {
                    let (column, k) = line(b_layout == "col", i, lane);
                    b[quarter(lane).0][k][column]
                }),
                fragment(c_type, 8, |i, lane| {
                    let (row, column) = accumulator(c_type, i, lane);
                    c[quarter(lane).0][row][column]
                }),
            ];
            let name = format!("mma.sync.aligned.m8n8k4.{a_layout}.{b_layout}.{d_type}.f16.f16.{c_type}");
            let registers = |ty| bits(ty) / 4;
            let text = ptx(&name, c_type, false, [registers(d_type), 2, 2, registers(c_type)]);
            let (d, _) = run(&text, 32 * bits(d_type), fragments);
            for (index, bytes) in d.chunks(bits(d_type) / 8).enumerate() {
                let (lane, i) = (index / 8, index % 8);
                let (row, column) = accumulator(d_type, i, lane);
                let got = decode(d_type, bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)));
                assert_eq!(got, expected[quarter(lane).0][row][column] as f64, "{name}: lane {lane}, element {i}");
            }
        }
    }
}
