//! `mma.sp` against the product of the dense matrix that A stands for. The places of the metadata are those of the PTX ISA's figures
//! ("Sparse MMA metadata layout"), which agree with CUTLASS's `reorder_meta`.

use super::number::{bits, decode};
use super::tables::TABLES;
use super::{Random, fragment, matrix, product, ptx, run};

/// A sparse A: its elements, those of the dense one, and the metadata of each lane.
struct Sparse {
    elements: Vec<Vec<i64>>,
    dense: Vec<Vec<i64>>,
    metadata: [u32; 32],
}

const PAIRS: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];

fn sparse(ty: &str, k: usize, selector: usize, random: &mut Random) -> Sparse {
    let elements = matrix(ty, 16, k / 2, random);
    let mut sparse = Sparse { elements, dense: vec![vec![0; k]; 16], metadata: [0; 32] };
    let group_size = match bits(ty) {
        4 => 8,
        32 => 2,
        _ => 4,
    };
    for row in 0..16 {
        for group in 0..k / group_size {
            let pair = match bits(ty) {
                32 => [[0, 1], [2, 3]][random.next() as usize % 2],
                _ => PAIRS[random.next() as usize % 6],
            };
            let kept = group_size / 2;
            for index in 0..kept {
                let place = match bits(ty) {
                    32 => pair[0] / 2,
                    4 => 2 * pair[index / 2] + index % 2,
                    _ => pair[index],
                };
                sparse.dense[row][group * group_size + place] = sparse.elements[row][group * kept + index];
            }
            let (lane, bit) = if bits(ty) < 16 {
                // A word of a row in each lane: rows 8 apart, then the groups behind.
                (2 * selector + row / 8 + 2 * (group / 8), 4 * (group % 8))
            } else {
                // Four groups of a row and of the row 8 below in each lane.
                let first = selector * k / group_size / 4;
                (first + group / 4, 4 * (group % 4) + 16 * (row / 8))
            };
            sparse.metadata[4 * (row % 8) + lane] |= ((pair[0] | pair[1] << 2) as u32) << bit;
        }
    }
    sparse
}

/// The kernel with metadata, which follow the fragments of B.
fn sparse_ptx(name: &str, c_type: &str, counts: [usize; 4], selector: usize) -> String {
    let text = ptx(name, c_type, false, counts);
    let start = text.find(name).unwrap();
    let end = start + text[start..].find(';').unwrap();
    let load = format!(
        ".reg .b32 %metadata;\nld.param.u64 %at, [b];\nmad.wide.u32 %at, %lane, 4, %at;\nld.global.b32 %metadata, \
         [%at+{}];\n",
        128 * counts[2]
    );
    format!("{}{load}{}, %metadata, {selector}{}", &text[..start], &text[start..end], &text[end..])
}

fn check(opcode: &str, k: usize, [a_type, b_type]: [&str; 2], c_type: &str, after: &str, selector: usize) {
    let random = &mut Random(k as u32 + selector as u32);
    let a = sparse(a_type, k, selector, random);
    let (b, c) = (matrix(b_type, k, 8, random), matrix(if c_type == "s32" { "s8" } else { c_type }, 16, 8, random));
    let expected = product(&a.dense, &b, &c);
    // The fragments of A are those of a dense matrix with half of the elements.
    let is_same = |table: &&super::Table| table.shape == [16, 8, k / 2] && bits(table.types[0]) == bits(a_type);
    let table = TABLES.iter().find(is_same).unwrap();
    let per_word = 32 / bits(b_type);
    let of_a = fragment(a_type, 16 * k / 64, |element, lane| {
        let (row, column) = (table.a)(element, lane / 4, lane % 4);
        a.elements[row][column]
    });
    let mut of_b = fragment(b_type, 8 * k / 32, |element, lane| {
        b[(4 * (element / per_word) + lane % 4) * per_word + element % per_word][lane / 4]
    });
    let counts = [of_a.len() / 128, of_b.len() / 128];
    of_b.extend(a.metadata.iter().flat_map(|word| word.to_le_bytes()));
    let of_c = fragment(c_type, 4, |element, lane| {
        let (row, column) = (table.c)(element, lane / 4, lane % 4);
        c[row][column]
    });
    let registers = of_c.len() / 128;
    let name = format!("{opcode}.sync.aligned.m16n8k{k}.row.col{after}.{c_type}.{a_type}.{b_type}.{c_type}");
    let text = sparse_ptx(&name, c_type, [registers, counts[0], counts[1], registers], selector);
    let (d, fmas) = run(&text, of_c.len(), [of_a, of_b, of_c]);
    assert_eq!(fmas.total(), (16 * 8 * k / 2) as u64, "{name}");
    for (index, bytes) in d.chunks(bits(c_type) / 8).enumerate() {
        let (row, column) = (table.c)(index % 4, index / 4 / 4, index / 4 % 4);
        let got = decode(c_type, bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)));
        assert_eq!(got, expected[row][column] as f64, "{name} by selector {selector}: row {row}, column {column}");
    }
}

#[test]
fn a_sparse_matrix_multiplies_as_the_dense_one_that_it_stands_for() {
    let floats: &[(&[&str], &[&str], [usize; 2])] = &[
        (&["f16"], &["f32", "f16"], [16, 32]),
        (&["bf16"], &["f32"], [16, 32]),
        (&["tf32"], &["f32"], [8, 16]),
        (&["s8", "u8"], &["s32"], [32, 64]),
        (&["s4", "u4"], &["s32"], [64, 128]),
        (&["e4m3", "e5m2"], &["f32"], [64, 64]),
    ];
    for opcode in ["mma.sp", "mma.sp::ordered_metadata"] {
        for (types, c_types, shapes) in floats {
            for (a, b) in types.iter().flat_map(|a| types.iter().map(move |b| (*a, *b))) {
                for (c, k) in c_types.iter().flat_map(|c| shapes.iter().map(move |k| (*c, *k))) {
                    // Each row has 16, 32 or 64 bits of metadata, which are in one lane of four, in two or in all.
                    let group_size = if bits(a) == 4 {
                        8
                    } else if bits(a) == 32 {
                        2
                    } else {
                        4
                    };
                    for selector in 0..16 * group_size / k {
                        check(opcode, k, [a, b], c, "", selector);
                        if c == "s32" {
                            check(opcode, k, [a, b], c, ".satfinite", selector);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn metadata_and_selectors_that_are_not_defined() {
    let name = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32";
    let text = sparse_ptx(name, "f32", [4, 4, 4, 4], 2);
    let module = ptx_emu::Module::parse(&text).unwrap();
    let error = module.kernel("k").err().unwrap().to_string();
    assert!(error.contains("a sparsity selector of 2; of this shape it is at most 1"), "{error}");
}
