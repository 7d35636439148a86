//! The guarantee of the classes fp32 and fp32-strict for each element, kernels chosen by name included, in the emulator.

use std::fmt::Write;

use gpu_kernels::find;
use host::measure::accuracy::Inputs;
use sgemm::emulator::Emulator;
use tests::grading::{Case, Graded, Kind, bound, grade, multiply, slope};

const SIZES: [usize; 2] = [24, 20];
const LENGTHS: [usize; 6] = [1, 2, 8, 32, 65, 256];
const SEED: u64 = 11;

fn emulator() -> Emulator {
    Emulator::of("h200").expect("it is known")
}

fn case(kind: Kind, k: usize) -> Case {
    let [m, n] = SIZES;
    kind.case([m, n, k], SEED).unwrap()
}

/// The c that a case needs, and c(k) of the plan.
fn needed(emulator: &Emulator, graded: Graded, case: &Case) -> [f64; 2] {
    let plan = graded.plan(emulator, case.sizes).unwrap();
    let computed = multiply(emulator, &plan, case).unwrap();
    [grade(case, &computed), bound(case.sizes[2], plan.step().has_split_operands())]
}

#[test]
fn every_element_meets_the_guarantee() {
    let (emulator, mut all, mut beyond) = (emulator(), String::new(), Vec::new());
    for graded in Graded::all() {
        for kind in Kind::all() {
            write!(all, "{:12} {:16}", graded.name(), kind.name()).unwrap();
            for k in LENGTHS {
                let [c, bound] = needed(&emulator, graded, &case(kind, k));
                write!(all, " {:7.3}", c / bound).unwrap();
                if c > bound {
                    beyond.push(format!("{} {} k = {k}: {c}", graded.name(), kind.name()));
                }
            }
            all.push('\n');
        }
    }
    println!("c / c(k) at k = {LENGTHS:?}\n{all}");
    assert_eq!(beyond, [""; 0]);
}

/// 10^4 small problems whose rows and columns are of different kinds, as the tiles of one product and with k from 1 to 100.
#[test]
fn rows_and_columns_of_mixed_kinds_meet_the_guarantee() {
    /// Rows and columns of a product: each pair is a problem.
    const SIDE: usize = 20;
    let (emulator, mut problems) = (emulator(), 0);
    for (seed, k) in [1, 7, 31, 32, 33, 50, 64, 65, 100, 32, 33, 64, 100].into_iter().enumerate() {
        let case = Kind::mixed([SIDE, SIDE, k], seed as u64).unwrap();
        for graded in Graded::split() {
            let [c, bound] = needed(&emulator, graded, &case);
            assert!(c <= bound, "{}, seed {seed}, k = {k}: {c} of {bound}", graded.name());
            problems += SIDE * SIDE;
        }
    }
    assert!(problems >= 10_000, "{problems}");
}

/// Demmel's tests 4 and 6 accept 10 k u of an element; his test 2 accepts 0 alone, and a kernel that fails it has a `c` of infinity.
#[test]
fn all_kernels_pass_demmels_tests() {
    let emulator = emulator();
    for graded in Graded::all() {
        for k in [2, 16, 64] {
            for kind in Kind::all() {
                let most = match kind {
                    Kind::Demmel2 => f64::MAX,
                    Kind::Demmel4(_) | Kind::Demmel6(_) => 10.0 * k as f64,
                    _ => continue,
                };
                let [c, _] = needed(&emulator, graded, &case(kind, k));
                assert!(c <= most, "{} {} k = {k}: {c}", graded.name(), kind.name());
            }
        }
    }
}

/// Grade A: the largest error grows no faster than k, where nothing cancels.
#[test]
fn errors_grow_no_faster_than_k() {
    let emulator = emulator();
    for graded in Graded::all() {
        let error = |k| (k, needed(&emulator, graded, &case(Kind::Measured(Inputs::Positive), k))[0]);
        let slope = slope(&[16, 32, 64, 128, 256, 512].map(error));
        println!("{}: {slope:.3}", graded.name());
        assert!(slope <= 1.0, "{}: {slope}", graded.name());
    }
}

/// Tiles and clusters do not change the arithmetic: what is known of a split kernel holds for its variants.
#[test]
fn variants_have_the_bits_of_their_kernel() {
    let emulator = emulator();
    for step in ["fp16x3", "tf32x3"].map(|slug| find(slug).unwrap()) {
        for inputs in [Inputs::Normal, Inputs::OpposedGrades] {
            let case = case(Kind::Measured(inputs), 130);
            let bits = |step| {
                let plan = Graded::Kernel(step).plan(&emulator, case.sizes).unwrap();
                multiply(&emulator, &plan, &case).unwrap().into_iter().map(f32::to_bits).collect::<Vec<_>>()
            };
            step.variants.iter().for_each(|variant| assert_eq!(bits(variant), bits(step), "{}", variant.slug));
        }
    }
}
