//! The inputs on which a split kernel errs most, as a search found them (`cargo run -p tests --example adversary`).

use gpu_kernels::find;
use sgemm::emulator::Emulator;
use tests::adversary::{Arithmetic, Record, WINDOWS, proven, search};
use tests::grading::{Graded, grade, multiply};

const FOUND: &str = include_str!("../../data/adversary.txt");

fn records() -> Vec<Record> {
    FOUND.lines().map(|line| Record::parse(line).expect("it is one")).collect()
}

/// Their errors are those that were found, in the model and, to the bit, in the emulator; and no larger than what is proven.
#[test]
fn the_worst_inputs_err_as_much_as_they_did() {
    let emulator = Emulator::of("h200").unwrap();
    for Record { arithmetic, window, found } in records() {
        let (case, k) = (found.case(), found.row.len());
        let what = format!("{} k = {k} {window:?}", arithmetic.slug());
        let plan = Graded::Kernel(find(arithmetic.slug()).unwrap()).plan(&emulator, case.sizes).unwrap();
        let computed = multiply(&emulator, &plan, &case).unwrap();
        let rows = std::array::from_fn(|_| found.row.clone());
        let columns = std::array::from_fn(|_| found.column.clone());
        let modelled = arithmetic.multiply(&rows, &columns)[3][5];
        assert_eq!(modelled.to_bits(), computed[0].to_bits(), "{what}");
        let c = grade(&case, &computed);
        assert!((c - found.c).abs() <= 1e-5 * c, "{what}: {c}, not {}", found.c);
        assert!(proven(arithmetic, k, window).is_none_or(|proven| c <= proven), "{what}: {c}");
    }
}

#[test]
fn each_kernel_and_window_has_records_and_lines_are_read_as_written() {
    let records = records();
    for arithmetic in [Arithmetic::Fp16x3, Arithmetic::Tf32x3] {
        for window in WINDOWS {
            assert!(records.iter().any(|record| (record.arithmetic, record.window) == (arithmetic, window)));
        }
    }
    let lines: Vec<String> = records.iter().map(Record::to_string).collect();
    assert_eq!(lines, FOUND.lines().collect::<Vec<_>>());
}

/// A short search finds nothing beyond what is proven, and nearly all of it where k is 1.
#[test]
fn a_search_stays_within_what_is_proven() {
    for arithmetic in [Arithmetic::Fp16x3, Arithmetic::Tf32x3] {
        for k in [1, 16, 40] {
            let (found, proven) = (search(arithmetic, k, Some(17), 100, 5).c, proven(arithmetic, k, Some(17)).unwrap());
            assert!(found <= proven, "{} k = {k}: {found}", arithmetic.slug());
            assert!(k > 1 || found > 0.7 * proven, "{} {found}", arithmetic.slug());
        }
    }
}
