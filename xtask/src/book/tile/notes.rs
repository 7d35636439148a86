//! What is to be said about a tile, beside it and in its caption.

use gpu_kernels::{Operand, Precision, Step};

use super::accesses::{columns, rows, sector_count};
use super::placement::{Place, SWIZZLED, Share, VEC, computing, elements, first_words, is_swizzled, transposes_itself};
use super::stages;
use super::svg::{LINE, Svg};

/// The thread whose copies are shown, in the first warp.
pub const COPIER: u32 = 6;

/// The column of A and row of B that one load is of, where no slice is kept.
pub const TOUCHED: u32 = 10;

/// Columns of A and rows of B that are drawn there: two sectors of a row of A.
const DRAWN: u32 = 16;

/// Threads of a warp, and of what the tensor cores compute for.
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
        let size = if step.precision == Precision::Fp32 { WARP } else { WARPGROUP };
        let groups = (threads.end - threads.start) / size;
        let first = threads.start + groups * 5 / 8 * size;
        let number = first + size / 2 - 3;
        let group = (first..first + size).flat_map(|thread| elements(step, thread)).collect();
        Self { number, thread: elements(step, number), group }
    }
}

/// Columns of A and rows of B that are drawn.
pub fn depth(step: &Step) -> u32 {
    match (step.tile.bk, step.splits()) {
        (1, _) => DRAWN,
        (bk, false) => bk,
        (bk, true) => 2 * bk,
    }
}

/// The rectangles that warps have of C; where those of warps are in pieces, the ones of warpgroups.
pub fn warps(step: &Step) -> Vec<[u32; 4]> {
    let results = WARP * step.tile.tm * step.tile.tn;
    let warps = around(step, WARP);
    let are_whole = warps.iter().all(|[_, _, height, width]| height * width == results);
    if are_whole { warps } else { around(step, WARPGROUP) }
}

/// The rectangles around what so many neighbouring threads have of C.
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

/// Rows and columns of what the copy engine brings at once of A's and of B's slices, as they are drawn.
pub fn boxes(step: &Step) -> Option<[[u32; 2]; 2]> {
    let [a, b] = step.maps?;
    let is_transposed = step
        .prepasses
        .iter()
        .any(|prepass| prepass.operand == Operand::A && prepass.transposes && prepass.split.is_none());
    let of_a = if is_transposed { [a.columns, a.rows] } else { [a.rows, a.columns] };
    // B's parts are rows of its transpose.
    let of_b = if step.splits() { [b.columns, b.rows] } else { [b.rows, b.columns] };
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
        Note::new(&["c3"], format!("A warp computes {} of C, one for each thread.", elements(group.len()))),
        Note::new(
            &["a3", "a2"],
            format!(
                "For each product it loads {} of A, in {} of 32 bytes.",
                elements(rows.len()),
                sectors(sectors_of_a)
            ),
        ),
        Note::new(
            &["b3", "b2"],
            format!("Beside these it loads {} of B, in {}.", elements(columns.len()), sectors(sectors_of_b)),
        ),
        Note::new(&["c2"], format!("It stores to {} of C.", sectors(sector_count(group)))),
    ]
}

/// Who computes what out of registers.
fn registers(step: &Step) -> Vec<Note> {
    let Example { number, thread, group } = Example::of(step);
    let [tm, tn] = [step.tile.tm, step.tile.tn];
    let (rows_of, columns_of) = (rows(&group).len(), columns(&group).len());
    let what = if thread.len() == 1 {
        "one element of C".into()
    } else {
        format!("TM\u{a0}x\u{a0}TN\u{a0}=\u{a0}{} of C", by([tm, tn]))
    };
    vec![
        Note::new(&["c3"], format!("Thread {number} computes {what}.")),
        Note::new(
            &["a3", "b3"],
            format!("Of each column of A's slice and row of B's it needs {tm} + {tn} values, for {}.", fmas(tm * tn)),
        ),
        Note::new(
            &["c2", "a2", "b2"],
            format!("Its warp has {}: {rows_of} + {columns_of} values, for {} FMAs.", extent(&group), group.len()),
        ),
    ]
}

/// Who computes what on the tensor cores.
fn tensor_cores(step: &Step) -> Vec<Note> {
    let Example { number, thread, group } = Example::of(step);
    let (rows_of, columns_of) = (rows(&group).len(), columns(&group).len());
    let [own_rows, own_columns] = [rows(&thread).len(), columns(&thread).len()];
    let mut notes = vec![
        Note::new(&["c3"], format!("Thread {number} keeps {own_rows} x {own_columns} of the sums.")),
        Note::new(
            &["c2", "a2", "b2"],
            format!(
                "Its warpgroup has {rows_of} x {columns_of}: the tensor cores multiply {rows_of} rows of A by {columns_of} columns of B."
            ),
        ),
    ];
    if step.precision == Precision::Tf32 {
        notes.push(Note::new(
            &["b3"],
            format!("Threads read B into registers, which transposes it: thread {number} these columns. A stays in shared memory."),
        ));
    }
    if step.splits() {
        notes.push(Note::new(&[], "A row of A and a column of B hold BK high parts, then their low parts.".into()));
    }
    notes
}

/// Who copies the slices.
fn copies(step: &Step) -> Option<Note> {
    let [a, b] = [Share::of(step, Operand::A)?, Share::of(step, Operand::B)?];
    let share = |name: &str, share: Share| {
        let count = share.accesses(step);
        let times = if count == 1 { String::new() } else { format!("{count} x ") };
        format!("{times}{} bits of {name}", 32 * share.width)
    };
    let how = match step.dynamic_smem_bytes {
        0 => "copies",
        _ => "copies in the background, by cp.async,",
    };
    let what = format!("Thread {COPIER} {how} {} and {}; grey: its warp.", share("A", a), share("B", b));
    Some(Note::new(&["copy3", "copy2"], what))
}

/// What the values are taken apart into, where they are.
pub fn parts(step: &Step) -> &'static str {
    if step.precision == Precision::Tf32x3 { "TF32" } else { "f16" }
}

/// What has happened to the operands before, wherever they lie.
fn before(step: &Step) -> Option<Note> {
    let always: Vec<_> = step.prepasses.iter().filter(|prepass| !prepass.only_unaligned).collect();
    let operands: Vec<_> = always.iter().map(|prepass| if prepass.operand == Operand::A { "A" } else { "B" }).collect();
    let operands = operands.join(" and ");
    let words = match always.first()?.split {
        Some(_) => format!("Before, kernels take {operands} apart into {} parts.", parts(step)),
        None => format!("Before, a kernel transposes {operands}."),
    };
    Some(Note::new(&[], words))
}

/// How slices lie in shared memory, where it is not as in the matrices.
fn order(step: &Step) -> Option<Note> {
    let tile = step.tile;
    first_words(step, 0).filter(|_| step.maps.is_none())?;
    let turned = step.prepasses.iter().any(|prepass| prepass.transposes);
    let row = (step.smem_bytes + step.dynamic_smem_bytes) / 4 / (stages::count(step) * tile.bk) - tile.bn;
    let padding = match row - tile.bm {
        0 => String::new(),
        padding => format!(", in rows of {} + {padding}", tile.bm),
    };
    let of_a = if turned { String::new() } else { format!("A is transposed on its way to shared memory{padding}.") };
    let of_b = match is_swizzled(step) {
        true => format!(" In every other {SWIZZLED} columns of B, neighbouring pieces of {VEC} change places."),
        false => String::new(),
    };
    let words = format!("{of_a}{of_b}");
    (!words.is_empty()).then(|| Note::new(&[], words.trim().to_owned()))
}

/// What the copy engine brings.
fn engine(step: &Step) -> Vec<Note> {
    let Some([a, b]) = boxes(step) else { return vec![] };
    let mut notes = vec![Note::new(
        &["dash"],
        format!("The copy engine brings boxes of {} of A and {} of B; one thread asks for them.", by(a), by(b)),
    )];
    if step.cluster[0] > 1 {
        let blocks = step.cluster[0];
        notes.push(Note::new(
            &["ghost"],
            format!("Each of the cluster's {blocks} blocks asks for one of A's boxes, and all get it: multicast."),
        ));
    }
    if transposes_itself(step) {
        notes.push(Note::new(&[], "A lands as it lies, and the warps transpose it.".into()));
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
pub fn draw(svg: &mut Svg, notes: &[Note], [x, mut y]: [f64; 2], width: f64) -> f64 {
    for note in notes {
        for (index, class) in note.swatches.iter().enumerate() {
            svg.rect(class, [x + 16.0 * index as f64, y - 11.0, 13.0, 13.0]);
        }
        let indent = 16.0 * note.swatches.len() as f64 + if note.swatches.is_empty() { 0.0 } else { 4.0 };
        // The first line stands beside the swatches, the others under them.
        y = svg.hanging([x, y], indent, width, &note.text) + LINE / 2.0;
    }
    y
}
