//! What the kernels of f32 guarantee for each element today, in the emulator, and where they are beyond the guarantee that the class fp32
//! is to give.

use std::collections::BTreeSet;
use std::fmt::Write;

use gpu_kernels::find;
use sgemm::AccuracyClass;
use sgemm::emulator::Emulator;
use tests::grading::{Case, Graded, Kind, bound, grade, multiply, slope};

/// Where the guarantee is known not to be met: a line each of a kernel or class, a kind of inputs, and k.
const KNOWN: &str = include_str!("../../data/grading.txt");

const SIZES: [usize; 2] = [24, 20];
const LENGTHS: [usize; 6] = [1, 2, 8, 32, 65, 256];
const SEED: u64 = 11;

fn graded() -> [Graded; 4] {
    let kernel = |slug| Graded::Kernel(find(slug).expect("it is registered"));
    [Graded::Class(AccuracyClass::Fp32Strict), Graded::Class(AccuracyClass::Fp32), kernel("fp16x3"), kernel("tf32x3")]
}

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

/// The lines of what is beyond the guarantee, and of all ratios to it.
fn table(graded: impl IntoIterator<Item = Graded>) -> (BTreeSet<String>, String) {
    let (emulator, mut beyond, mut all) = (emulator(), BTreeSet::new(), String::new());
    for graded in graded {
        for kind in Kind::all() {
            write!(all, "{:12} {:16}", graded.name(), kind.name()).unwrap();
            for k in LENGTHS {
                let [c, bound] = needed(&emulator, graded, &case(kind, k));
                write!(all, " {:7.3}", c / bound).unwrap();
                if c > bound {
                    beyond.insert(format!("{} {} {k}", graded.name(), kind.name()));
                }
            }
            all.push('\n');
        }
    }
    (beyond, all)
}

#[test]
fn every_violation_of_the_guarantee_is_known() {
    let (beyond, all) = table(graded());
    println!("c / c(k) at k = {LENGTHS:?}\n{all}");
    let known: BTreeSet<String> = KNOWN.lines().map(str::to_owned).collect();
    let list = |lines: &BTreeSet<String>| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    assert_eq!(list(&beyond), list(&known), "tests/data/grading.txt has other lines than were found");
}
