//! The fragments of `mma`, as the tables of the PTX ISA have them ("Matrix Fragments for mma.m16n8k8" and so on), one entry for each
//! section and type: row and column of element i of the thread `t` of group `g`.

pub type Place = fn(usize, usize, usize) -> (usize, usize);

/// A shape with its types, and the places of A, B, and C or D.
#[derive(Clone, Copy)]
pub struct Table {
    pub shape: [usize; 3],
    pub types: &'static [&'static str],
    pub a: Place,
    pub b: Place,
    pub c: Place,
}

/// C and D of m8n8.
const C8: Place = |i, g, t| (g, 2 * t + i);

/// C and D of m16n8.
const C16: Place = |i, g, t| (if i < 2 { g } else { g + 8 }, 2 * t + (i & 1));

const HALVES: &[&str] = &["f16", "bf16"];
const BYTES: &[&str] = &["s8", "u8"];
const NIBBLES: &[&str] = &["s4", "u4"];

pub const TABLES: &[Table] = &[
    Table { shape: [8, 8, 4], types: &["f64"], a: |_, g, t| (g, t), b: |_, g, t| (t, g), c: C8 },
    Table { shape: [8, 8, 16], types: BYTES, a: |i, g, t| (g, 4 * t + i), b: |i, g, t| (4 * t + i, g), c: C8 },
    Table { shape: [8, 8, 32], types: NIBBLES, a: |i, g, t| (g, 8 * t + i), b: |i, g, t| (8 * t + i, g), c: C8 },
    Table { shape: [8, 8, 128], types: &["b1"], a: |i, g, t| (g, 32 * t + i), b: |i, g, t| (32 * t + i, g), c: C8 },
    Table {
        shape: [16, 8, 4],
        types: &["tf32", "f64"],
        a: |i, g, t| (if i == 0 { g } else { g + 8 }, t),
        b: |_, g, t| (t, g),
        c: C16,
    },
    Table {
        shape: [16, 8, 8],
        types: HALVES,
        a: |i, g, t| (if i < 2 { g } else { g + 8 }, 2 * t + (i & 1)),
        b: |i, g, t| (2 * t + i, g),
        c: C16,
    },
    Table {
        shape: [16, 8, 8],
        types: &["tf32", "f64"],
        a: |i, g, t| (if i == 0 || i == 2 { g } else { g + 8 }, if i < 2 { t } else { t + 4 }),
        b: |i, g, t| (if i == 0 { t } else { t + 4 }, g),
        c: C16,
    },
    Table {
        shape: [16, 8, 16],
        types: HALVES,
        a: |i, g, t| {
            let row = if i < 2 || (4..6).contains(&i) { g } else { g + 8 };
            (row, 2 * t + (i & 1) + if i < 4 { 0 } else { 8 })
        },
        b: |i, g, t| (2 * t + (i & 1) + if i < 2 { 0 } else { 8 }, g),
        c: C16,
    },
    Table {
        shape: [16, 8, 16],
        types: &["f64"],
        a: |i, g, t| if i % 2 == 0 { (g, 2 * i + t) } else { (g + 8, 2 * i - 2 + t) },
        b: |i, g, t| (t + 4 * i, g),
        c: C16,
    },
    Table {
        shape: [16, 8, 16],
        types: &["s8", "u8", "e4m3", "e5m2"],
        a: |i, g, t| (if i < 4 { g } else { g + 8 }, 4 * t + (i & 3)),
        b: |i, g, t| (4 * t + i, g),
        c: C16,
    },
    Table {
        shape: [16, 8, 32],
        types: NIBBLES,
        a: |i, g, t| (if i < 8 { g } else { g + 8 }, 8 * t + (i & 7)),
        b: |i, g, t| (8 * t + i, g),
        c: C16,
    },
    Table {
        shape: [16, 8, 32],
        types: &["s8", "u8", "e4m3", "e5m2"],
        a: |i, g, t| {
            let row = if i < 4 || (8..12).contains(&i) { g } else { g + 8 };
            (row, 4 * t + (i & 3) + if i < 8 { 0 } else { 16 })
        },
        b: |i, g, t| (4 * t + (i & 3) + if i < 4 { 0 } else { 16 }, g),
        c: C16,
    },
    Table {
        shape: [16, 8, 64],
        types: NIBBLES,
        a: |i, g, t| {
            let row = if i < 8 || (16..24).contains(&i) { g } else { g + 8 };
            (row, 8 * t + (i & 7) + if i < 16 { 0 } else { 32 })
        },
        b: |i, g, t| (8 * t + (i & 7) + if i < 8 { 0 } else { 32 }, g),
        c: C16,
    },
    Table {
        shape: [16, 8, 128],
        types: &["b1"],
        a: |i, g, t| (if i < 32 { g } else { g + 8 }, 32 * t + (i & 31)),
        b: |i, g, t| (32 * t + i, g),
        c: C16,
    },
    Table {
        shape: [16, 8, 256],
        types: &["b1"],
        a: |i, g, t| {
            let row = if i < 32 || (64..96).contains(&i) { g } else { g + 8 };
            (row, 32 * t + (i & 31) + if i < 64 { 0 } else { 128 })
        },
        b: |i, g, t| (32 * t + (i & 31) + if i < 32 { 0 } else { 128 }, g),
        c: C16,
    },
];
