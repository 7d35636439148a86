//! The inputs on which a split kernel errs most, as a search found them (`cargo run -p tests --example adversary`).

use gpu_kernels::find;
use sgemm::emulator::Emulator;
use tests::adversary::{Arithmetic, Guard, Record, WINDOWS, proven, search};
use tests::grading::{Case, Graded, bound, grade, multiply};

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
        assert!(c <= proven(arithmetic, k), "{what}: {c}");
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

/// A short search finds nothing beyond what is proven.
#[test]
fn a_search_stays_within_what_is_proven() {
    for arithmetic in [Arithmetic::Fp16x3, Arithmetic::Tf32x3] {
        for k in [8, 32, 40] {
            let (found, proven) = (search(arithmetic, k, Some(28), 60, 5).c, proven(arithmetic, k));
            assert!(found <= proven, "{} k = {k}: {found}", arithmetic.slug());
            assert!(k != 32 || found > 1.0, "{} {found}: the search finds nothing", arithmetic.slug());
        }
    }
}

/// A row and a column of 64 elements on which that guard sees less than there is: what the row's small elements meet is all that there is.
fn deceiving(guard: Guard) -> Case {
    const K: usize = 64;
    let bit = |p: usize| 1.0 + p as f32 * (2f32.powi(-11) + 2f32.powi(-17) + 2f32.powi(-22));
    let (large, small, meets) = match guard {
        // The row spans 36 binades.
        Guard::Sound | Guard::LargestAlone => (1.0, 2f32.powi(-36), 1.0),
        // As above, and its elements but zeros are few.
        Guard::ZerosAsOthers => (1.0, 2f32.powi(-36), 1.0),
        // It spans 50, of which 28 are stored.
        Guard::SubnormalsAsStored => (2f32.powi(-99), f32::from_bits(3), 2f32.powi(40)),
        // It spans 175: scaled, three bf16 have 10 bits of its small element.
        Guard::AnySpan | Guard::AnySum => (2f32.powi(50), 2f32.powi(-125), 1.0),
    };
    let (mut row, mut column) = (vec![0.0; K], vec![0.0; K]);
    for p in 0..K {
        match p {
            0..8 => row[p] = large * bit(p),
            8 => (row[p], column[p]) = (small * bit(p), meets * bit(p)),
            _ if guard == Guard::ZerosAsOthers => column[p] = meets * bit(p),
            _ => row[p] = large,
        }
    }
    Case::product([1, 1, K], row, column)
}

/// Guards that are not sound are caught, each by inputs that the kernels' own guard sees through.
#[test]
fn unsound_guards_violate_the_guarantee() {
    let emulator = Emulator::of("h200").unwrap();
    let plan = Graded::Kernel(find("fp16x3").unwrap()).plan(&emulator, [1, 1, 64]).unwrap();
    let guards = [Guard::LargestAlone, Guard::ZerosAsOthers, Guard::SubnormalsAsStored, Guard::AnySpan, Guard::AnySum];
    for guard in guards {
        let case = deceiving(guard);
        let [rows, columns] = [&case.a, &case.b].map(|vector| std::array::from_fn(|_| vector.clone()));
        let c = |guard| grade(&case, &[Arithmetic::Fp16x3.multiply_guarded(guard, &rows, &columns)[0][0]]);
        assert!(c(guard) > bound(64, true), "{guard:?}: {}", c(guard));
        assert!(c(Guard::Sound) <= bound(64, true));
        assert!(grade(&case, &multiply(&emulator, &plan, &case).unwrap()) <= bound(64, true), "{guard:?}");
    }
}
