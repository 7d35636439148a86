//! The notes on a tile, beside it and in its caption.

use gpu_kernels::{Ab, Operand, Precision, Schedule, Step, Transposed};

use super::accesses::{columns, rows, sector_count};
use super::placement::{
    Place, SWIZZLED, Share, VEC, computing, elements, first_words, has_warp_mmas, is_swizzled, shares_k,
    transposes_itself,
};
use super::sheet::{LINE, Sheet};
use super::stages;

/// The thread whose copies are shown, in the first warp.
pub const COPIER: u32 = 6;

/// The column of A and row of B of one load, where there is no shared memory.
pub const TOUCHED: u32 = 10;

/// Columns of A and rows of B that are drawn there: two sectors of a row of A.
const DRAWN: u32 = 16;

/// Threads of a warp, and of a warpgroup, which issues an MMA.
const WARP: u32 = 32;
const WARPGROUP: u32 = 128;

/// A sentence, and the classes of what it is about.
pub struct Note {
    /// Colours of the drawing.
    pub swatches: Vec<&'static str>,
    /// The sentence.
    pub text: String,
}

impl Note {
    fn new(swatches: &[&'static str], text: String) -> Self {
        Self { swatches: swatches.to_vec(), text }
    }
}

/// A thread that is shown, and the threads that it works with.
pub struct Example {
    /// Its number.
    pub number: u32,
    /// Its elements of C.
    pub thread: Vec<Place>,
    /// Those of its warp, or of its warpgroup on the tensor cores.
    pub group: Vec<Place>,
}

impl Example {
    /// One from the middle of the block.
    pub fn of(step: &Step) -> Self {
        let threads = computing(step);
        let all = threads.end - threads.start;
        let is_of_warps = step.precision == Precision::Fp32 || has_warp_mmas(step);
        let size = if is_of_warps { WARP.min(all) } else { WARPGROUP };
        let groups = all / size;
        let first = threads.start + groups * 5 / 8 * size;
        let number = first + size / 2 - 3;
        let group = (first..first + size).flat_map(|thread| elements(step, thread)).collect();
        Self { number, thread: elements(step, number), group }
    }
}

/// Columns of A and rows of B that are drawn.
pub fn depth(step: &Step) -> u32 {
    match (step.tile.bk, step.has_split_operands()) {
        (1, _) => DRAWN,
        (bk, false) => bk,
        (bk, true) => 2 * bk,
    }
}

/// The warp tiles of C; where these are in pieces, the warpgroups' tiles.
pub fn warps(step: &Step) -> Vec<[u32; 4]> {
    let results = WARP * step.tile.tm * step.tile.tn;
    let warps = around(step, WARP);
    let are_whole = warps.iter().all(|[_, _, height, width]| height * width == results);
    if are_whole { warps } else { around(step, WARPGROUP) }
}

/// The rectangles around the elements of C of so many consecutive threads.
fn around(step: &Step, threads: u32) -> Vec<[u32; 4]> {
    let starts = computing(step).step_by(threads as usize);
    let around = starts.map(|first| {
        let places: Vec<_> = (first..first + threads).flat_map(|thread| elements(step, thread)).collect();
        let (rows, columns) = (rows(&places), columns(&places));
        let span = |all: &std::collections::BTreeSet<u32>| {
            all.first().zip(all.last()).map_or([0, 0], |(a, b)| [*a, b - a + 1])
        };
        let ([row, height], [column, width]) = (span(&rows), span(&columns));
        [row, column, height, width]
    });
    around.collect()
}

/// Rows and columns of the TMA boxes of A's and of B's k-tiles, as they are drawn.
pub fn boxes(step: &Step) -> Option<[[u32; 2]; 2]> {
    let Ab { a, b } = step.maps?.map(|copied| copied.extent);
    let is_transposed = step
        .prepasses
        .iter()
        .any(|prepass| prepass.operand == Operand::A && prepass.transposes && prepass.split.is_none());
    let of_a = if is_transposed { [a.cols, a.rows] } else { [a.rows, a.cols] };
    // B's hi and lo values are rows of its transpose.
    let of_b = if step.has_split_operands() { [b.cols, b.rows] } else { [b.rows, b.cols] };
    Some([of_a, of_b])
}

/// The notes of a step.
pub fn of(step: &Step) -> Vec<Note> {
    let mut notes = if step.tile.bk == 1 {
        accesses(step)
    } else if step.precision == Precision::Fp32 {
        registers(step)
    } else {
        tensor_cores(step)
    };
    notes.extend(before(step));
    notes.extend(copies(step));
    notes.extend(order(step));
    notes.extend(engine(step));
    notes
}

/// What one load of a warp touches.
fn accesses(step: &Step) -> Vec<Note> {
    let Example { group, .. } = Example::of(step);
    let (rows, columns) = (rows(&group), columns(&group));
    let sectors_of_a = sector_count(rows.iter().map(|row| [*row, TOUCHED]));
    let sectors_of_b = sector_count(columns.iter().map(|column| [TOUCHED, *column]));
    let elements = |count: usize| if count == 1 { "one element".into() } else { format!("{count} elements") };
    let sectors = |count: usize| if count == 1 { "one sector".into() } else { format!("{count} sectors") };
    vec![
        Note::new(&["c3"], format!("A warp computes {} of C, one per thread.", elements(group.len()))),
        Note::new(
            &["a3", "a2"],
            format!("For each FMA it loads {} of A, in {} of 32 bytes.", elements(rows.len()), sectors(sectors_of_a)),
        ),
        Note::new(
            &["b3", "b2"],
            format!("It also loads {} of B, in {}.", elements(columns.len()), sectors(sectors_of_b)),
        ),
        Note::new(&["c2"], format!("It stores to {} of C.", sectors(sector_count(group)))),
    ]
}

/// Which thread computes what, from fragments in registers.
fn registers(step: &Step) -> Vec<Note> {
    let Example { number, thread, group } = Example::of(step);
    let [tm, tn] = [step.tile.tm, step.tile.tn];
    let (rows_of, columns_of) = (rows(&group).len(), columns(&group).len());
    let of_group = if shares_k(step) {
        let threads = step.threads() / computing(step).len() as u32;
        format!(
            "{threads} threads compute the same elements, each from {} of the {} k.",
            step.tile.bk / threads,
            step.tile.bk
        )
    } else {
        format!("The warp tile is {}: {rows_of} + {columns_of} values, for {} FMAs.", extent(&group), group.len())
    };
    let what = if thread.len() == 1 {
        "one element of C".into()
    } else {
        format!("TM\u{a0}x\u{a0}TN\u{a0}=\u{a0}{} of C", by([tm, tn]))
    };
    vec![
        Note::new(&["c3"], format!("Thread {number} computes {what}.")),
        Note::new(
            &["a3", "b3"],
            format!("Its fragments of each k are {tm} + {tn} values of A and B, for {}.", fmas(tm * tn)),
        ),
        Note::new(&["c2", "a2", "b2"], of_group),
    ]
}

/// Which warpgroup computes what on the tensor cores.
fn tensor_cores(step: &Step) -> Vec<Note> {
    let Example { number, thread, group } = Example::of(step);
    let (rows_of, columns_of) = (rows(&group).len(), columns(&group).len());
    let [own_rows, own_columns] = [rows(&thread).len(), columns(&thread).len()];
    let group = if has_warp_mmas(step) { "warp" } else { "warpgroup" };
    let mut notes = vec![
        Note::new(&["c3"], format!("Thread {number} holds {own_rows} x {own_columns} of the accumulators.")),
        Note::new(
            &["c2", "a2", "b2"],
            format!(
                "Its {group} computes {rows_of} x {columns_of}: its MMAs take {rows_of} rows of A and {columns_of} columns of B."
            ),
        ),
    ];
    if has_warp_mmas(step) {
        notes.push(Note::new(&["a3", "b3"], "Threads load fragments of both into registers.".into()));
    } else if step.precision == Precision::Tf32 {
        notes.push(Note::new(
            &["b3"],
            format!("Threads load B into registers, which transposes it: thread {number} these columns. The MMA reads A from shared memory."),
        ));
    }
    if step.has_split_operands() {
        notes.push(Note::new(
            &[],
            "A row of A and a column of B hold the BK hi values of the split, then the lo values.".into(),
        ));
    }
    notes
}

/// Which thread copies which elements of the k-tiles.
fn copies(step: &Step) -> Option<Note> {
    let [a, b] = [Share::of(step, Operand::A)?, Share::of(step, Operand::B)?];
    let share = |name: &str, share: Share| {
        let count = share.accesses(step);
        let times = if count == 1 { String::new() } else { format!("{count} x ") };
        format!("{times}{} bits of {name}", 8 * step.precision.input().bytes() * share.width)
    };
    let how = match step.dynamic_smem_bytes {
        0 => "copies",
        _ => "copies asynchronously (cp.async)",
    };
    let what = format!("Thread {COPIER} {how} {} and {}; grey: its warp.", share("A", a), share("B", b));
    Some(Note::new(&["copy3", "copy2"], what))
}

/// What the hi/lo split makes of the values.
pub fn split_format(step: &Step) -> &'static str {
    if step.precision == Precision::Tf32x3 { "TF32" } else { "f16" }
}

/// What the pre-passes do to the operands.
fn before(step: &Step) -> Option<Note> {
    let always: Vec<_> = step.prepasses.iter().filter(|prepass| !prepass.only_unaligned).collect();
    let operands: Vec<_> = always.iter().map(|prepass| if prepass.operand == Operand::A { "A" } else { "B" }).collect();
    let operands = operands.join(" and ");
    let words = match always.first()?.split {
        Some(_) => format!("A pre-pass splits {operands} into hi and lo values of {}.", split_format(step)),
        None => format!("A pre-pass transposes {operands}."),
    };
    Some(Note::new(&[], words))
}

/// The layout of k-tiles in shared memory, where it is not that of the matrices.
fn order(step: &Step) -> Option<Note> {
    let tile = step.tile;
    first_words(step, 0).filter(|_| step.maps.is_none())?;
    let turned = step.prepasses.iter().any(|prepass| prepass.transposes);
    let rows = (step.smem_bytes + step.dynamic_smem_bytes) / 4 / (stages::count(step) * tile.bk);
    let padding = rows - tile.bn - tile.bm;
    let of_a = match (step.transposed, padding) {
        (Transposed::Read, padding) => format!(
            "A and B as m x k and k x n: A is transposed on its way to shared memory. Rows of both have {} more there.",
            padding / 2
        ),
        _ if turned => String::new(),
        (_, 0) => "A is transposed on its way to shared memory.".into(),
        _ => format!("A is transposed on its way to shared memory, in rows of {} + {padding}.", tile.bm),
    };
    let of_b = match is_swizzled(step) {
        true => format!(" B is swizzled: in every other {SWIZZLED} columns, adjacent vectors of {VEC} are swapped."),
        false => String::new(),
    };
    let words = format!("{of_a}{of_b}");
    (!words.is_empty()).then(|| Note::new(&[], words.trim().to_owned()))
}

/// Blocks of a cluster that have the same rows of A. Those of persistent blocks may have the same columns of B instead.
pub fn blocks_beside(step: &Step) -> u32 {
    if let Schedule::Persistent { group } = step.schedule { group.columns } else { step.cluster[0] }
}

/// What TMA loads.
fn engine(step: &Step) -> Vec<Note> {
    let Some([a, b]) = boxes(step) else { return vec![] };
    let mut notes = vec![Note::new(
        &["dash"],
        format!("One thread issues the TMA loads: boxes of {} of A and {} of B.", by(a), by(b)),
    )];
    match (step.cluster[0], blocks_beside(step)) {
        (1, _) => {}
        (blocks, 1) => notes.push(Note::new(
            &[],
            format!(
                "Multicast: each of the cluster's {blocks} blocks, below each other, loads 1/{blocks} of B's boxes into the \
                 shared memory of all."
            ),
        )),
        (blocks, _) => notes.push(Note::new(
            &["ghost"],
            format!(
                "Multicast: each of the cluster's {blocks} blocks loads one of A's boxes into the shared memory of all."
            ),
        )),
    }
    if transposes_itself(step) {
        notes.push(Note::new(&[], "TMA loads A raw into a staging buffer, and the warps transpose it.".into()));
    }
    notes
}

fn fmas(count: u32) -> String {
    if count == 1 { "one FMA".into() } else { format!("{count} FMAs") }
}

/// Two sizes, which stay on one line.
pub fn by([rows, columns]: [u32; 2]) -> String {
    format!("{rows} x {columns}").replace(' ', "\u{a0}")
}

/// The sizes of what some elements cover.
fn extent(places: &[Place]) -> String {
    by([rows(places).len() as u32, columns(places).len() as u32])
}

/// Draws notes under each other; gives where the next would be.
pub fn draw(sheet: &mut Sheet, notes: &[Note], [x, mut y]: [f64; 2], width: f64) -> f64 {
    for note in notes {
        for (index, class) in note.swatches.iter().enumerate() {
            sheet.rect(class, [x + 16.0 * index as f64, y - 11.0, 13.0, 13.0]);
        }
        let indent = 16.0 * note.swatches.len() as f64 + if note.swatches.is_empty() { 0.0 } else { 4.0 };
        // The first line stands beside the swatches, the others under them.
        y = sheet.hanging([x, y], indent, width, &note.text) + LINE / 2.0;
    }
    y
}
