//! What a split into hi and lo leaves of each row of A and column of B: its certificates, and the exponent of its scaling. A word that is
//! wrong need not make a wrong result: where a certificate is missing, fp32 takes over, and takes its time.

use gpu_kernels::{CERTIFICATE_BITS, Magnitudes, Operand, Precision, Step};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sgemm::emulator::DeviceMemory;
use sgemm::plan::{Bindings, Buffer, Plan};
use sgemm::{Layout, Problem};

use super::{Emulated, Executor};

/// Sums within one block's share, with warps that have nothing of it; of several; and beyond what a cluster holds at once.
const DEPTHS: [usize; 3] = [70, 1000, 2 * 4096 + 40];

/// What becomes of the numbers of a row or a column, one after the other.
const KINDS: [fn(usize, f32) -> f32; 8] = [
    |_, x| x,
    |p, x| if p % 3 == 0 { 0.0 } else { -x.abs() },
    |_, _| 0.0,
    |p, x| if p % 7 == 0 { x * 2f32.powi(-30) } else { x },
    |p, x| if p % 5 == 0 { x * 2f32.powi(-60) } else { x * 2f32.powi(20) },
    |p, x| if p == 41 { -64.0 } else { x },
    |p, x| if p % 9 == 0 { x * 2f32.powi(-140) } else { x * 2f32.powi(30) },
    |p, x| if p == 41 { 2f32.powi(70) } else { x },
];

/// Checks the words of a step of either split, by rows and by columns; others have none.
///
/// # Errors
/// The first word that is another.
pub fn run(step: &'static Step, emulated: &Emulated) -> Result<(), String> {
    if !matches!(step.precision, Precision::Fp16x3 | Precision::Tf32x3) {
        return Ok(());
    }
    for k in DEPTHS {
        for is_by_columns in [false, true] {
            check(step, [19, 43, k], is_by_columns, emulated)
                .map_err(|error| format!("k = {k}, by columns: {is_by_columns}: {error}"))?;
        }
    }
    Ok(())
}

fn check(step: &'static Step, [m, n, k]: [usize; 3], is_by_columns: bool, emulated: &Emulated) -> Result<(), String> {
    let rng = &mut StdRng::seed_from_u64(emulated.seed());
    let mut vectors = |count: usize| -> Vec<Vec<f32>> {
        let mut of_kind = |index: usize| {
            let x = (0..k).map(|p| (p, rng.random_range(-1.0..1.0)));
            x.map(|(p, x)| KINDS[index % KINDS.len()](p, x)).collect()
        };
        (0..count).map(&mut of_kind).collect()
    };
    let (rows, columns) = (vectors(m), vectors(n));
    let layout = |rows, columns| if is_by_columns { Layout::column_major(rows) } else { Layout::row_major(columns) };
    let problem = Problem::new(m, n, k).with_layouts(layout(m, k), layout(k, n), Layout::row_major(n));
    let plan = Plan::new(step, &problem, emulated.sm_count).map_err(|error| error.to_string())?;

    let transposed = |of: &[Vec<f32>]| (0..k).flat_map(|p| of.iter().map(move |vector| vector[p])).collect::<Vec<_>>();
    let [a, b] = match is_by_columns {
        false => [rows.concat(), transposed(&columns)],
        true => [transposed(&rows), columns.concat()],
    };
    let words = launch(&plan, [&a, &b], m * n, emulated).map_err(|error| error.to_string())?;
    for (of_b, (words, vectors)) in words.into_iter().zip([rows, columns]).enumerate() {
        let expected = vectors.iter().map(|vector| word(step.precision, vector, of_b == 1));
        if let Some((at, (word, expected))) =
            words.into_iter().zip(expected).enumerate().find(|(_, (one, other))| one != other)
        {
            let of = ["row of A", "column of B"][of_b];
            return Err(format!("the word of {of} {at} is {word:#x}, not {expected:#x}"));
        }
    }
    Ok(())
}

/// Runs the plan, and returns the words of A and of B.
fn launch(plan: &Plan, [a, b]: [&[f32]; 2], c_len: usize, emulated: &Emulated) -> Result<[Vec<i32>; 2], sgemm::Error> {
    let mut memory = DeviceMemory::default();
    let mut place = |of: &[f32]| memory.allocate_words(of.iter().map(|x| x.to_bits()));
    let [a, b, c] = [place(a), place(b), place(&vec![f32::NAN; c_len])];
    let addresses = memory.allocate_parts(plan)?.with(Buffer::A, a).with(Buffer::B, b).with(Buffer::C, c);
    let bindings = Bindings::new(addresses, 1.0, 0.0);
    emulated.emulator.run_raw(plan, &bindings, &mut memory)?;
    let read = |operand| {
        let Some((place, count)) = plan.certificates(operand) else { return Ok(vec![]) };
        let mut content = vec![0; 4 * count as usize];
        memory.read(bindings.addresses[place.buffer] + place.offset, &mut content)?;
        Ok(content.as_chunks().0.iter().map(|bytes| i32::from_le_bytes(*bytes)).collect())
    };
    Ok([read(Operand::A)?, read(Operand::B)?])
}

/// The word of a row or column.
fn word(precision: Precision, values: &[f32], of_b: bool) -> i32 {
    let bits = || values.iter().map(|x| x.abs().to_bits()).filter(|bits| *bits > 0);
    let of = Magnitudes {
        largest: bits().max().unwrap_or(0),
        smallest: bits().min().unwrap_or(u32::MAX),
        count: bits().count() as f32,
        exponents: bits().map(|bits| (bits >> 23) as f32).sum(),
    };
    let k = values.len() as u32;
    let (certificates, exponent) = match precision {
        Precision::Tf32x3 => (of.certificates_of_tf32(k), 0),
        // The largest is not subnormal: 2^14 of its own power of two. A zero's is half the smallest one's.
        _ => {
            let exponent = 14 + if of.largest > 0 { 127 - (of.largest >> 23) as i32 } else { 150 };
            (of.certificates_of_f16(k, of_b) | of.certificates_of_bf16(k), exponent)
        }
    };
    exponent << CERTIFICATE_BITS | certificates as i32
}
