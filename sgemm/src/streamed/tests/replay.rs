//! What the tasks of a part do, followed step by step without numbers.

use std::collections::HashMap;
use std::ops::Range;

use gpu_kernels::Operand;
use proptest::prelude::*;

use super::ordering::{Access, Step};
use crate::Problem;
use crate::plan::{Buffer, Plan as Gemm};
use crate::problem::Order;
use crate::streamed::part::Part;
use crate::streamed::task::{Product, Transfer, Work};

/// The tasks that are done with these factors, with the memory that each touches: 0 is the GPU's, others are the host's.
pub fn steps(part: &Part, factors: [f32; 2]) -> Vec<Step> {
    let is_done = |index: &usize| part.tasks()[*index].is_needed(factors);
    let done: Vec<usize> = (0..part.tasks().len()).filter(is_done).collect();
    let number: HashMap<usize, usize> = done.iter().enumerate().map(|(number, index)| (*index, number)).collect();
    let step = |index: &usize| {
        let task = &part.tasks()[*index];
        let after = task.after.iter().filter_map(|before| number.get(before).copied()).collect();
        Step { queue: task.queue as usize, after, accesses: accesses(part, &task.work) }
    };
    done.iter().map(step).collect()
}

fn accesses(part: &Part, work: &Work) -> Vec<Access> {
    let span = |start: u64, bytes: u64, is_write| Access { memory: 0, bytes: start..start + bytes, is_write };
    let matrix = |gemm: &Gemm, which: usize, start: u64, is_write| {
        let view = gemm.problem().views()[which];
        span(start, view.extent(1).unwrap() as u64 * u64::from(view.element.bytes()), is_write)
    };
    let operand = |gemm: &Gemm, operand| usize::from(gemm.preparation_of(operand).unwrap().source == Buffer::B);
    match *work {
        Work::Upload(transfer) | Work::Download(transfer) => {
            let is_upload = matches!(work, Work::Upload(_));
            let lines = (0..transfer.lines).flat_map(|line| {
                let host = transfer.host + line * transfer.host_pitch;
                let memory = transfer.matrix as usize + 1;
                let host = Access { memory, bytes: host..host + transfer.bytes, is_write: !is_upload };
                [span(transfer.device + line * transfer.device_pitch, transfer.bytes, is_upload), host]
            });
            lines.collect()
        }
        Work::Prepare { gemm, operand: of, source, target } => {
            let gemm = &part.gemms()[gemm];
            let bytes = gemm.preparation_of(of).unwrap().bytes().total_bytes();
            vec![matrix(gemm, operand(gemm, of), source, false), span(target, bytes, true)]
        }
        Work::Product(product) => {
            let gemm = &part.gemms()[product.gemm];
            let own = gemm.part_bytes_with(product.are_prepared()).total_bytes();
            let mut all = vec![
                span(0, own, true),
                matrix(gemm, 0, product.a, false),
                matrix(gemm, 1, product.b, false),
                matrix(gemm, 2, product.c, true),
            ];
            for (operand, place) in prepared(&product) {
                let bytes = gemm.preparation_of(operand).unwrap().bytes().total_bytes();
                all.push(span(place, bytes, false));
            }
            all
        }
    }
}

fn prepared(product: &Product) -> impl Iterator<Item = (Operand, u64)> {
    let both = [(Operand::A, product.prepared.a), (Operand::B, product.prepared.b)];
    both.into_iter().filter_map(|(operand, place)| Some((operand, place?)))
}

/// A block of a matrix.
type Block = [Range<usize>; 2];

/// Checks that products read the blocks that were brought, and were prepared, for them; that each tile is the sum over all of k, in
/// its order; and that each element of the part comes back once.
pub fn check(problem: &Problem, part: &Part) -> Result<(), TestCaseError> {
    let mut there: HashMap<u64, Block> = HashMap::new();
    let mut made: HashMap<u64, (Block, crate::plan::Preparation)> = HashMap::new();
    // By where the tile is: what is in it, and up to where in k it was computed.
    let mut tiles: HashMap<u64, (Block, usize)> = HashMap::new();
    let mut elements = vec![0; problem.m * problem.n];
    for task in part.tasks() {
        match task.work {
            Work::Upload(transfer) => {
                there.insert(transfer.device, block(problem, &transfer));
            }
            Work::Prepare { gemm, operand, source, target } => {
                let preparation = part.gemms()[gemm].preparation_of(operand).unwrap().clone();
                made.insert(target, (there[&source].clone(), preparation));
            }
            Work::Product(product) => {
                let gemm = &part.gemms()[product.gemm];
                let [m, n, k] = gemm.problem().sizes();
                let [rows, columns] = there[&product.c].clone();
                let before = if product.is_first { 0 } else { tiles[&product.c].1 };
                prop_assert_eq!([rows.len(), columns.len()], [m, n]);
                if k > 0 {
                    let range = before..before + k;
                    prop_assert_eq!(&there[&product.a], &[rows.clone(), range.clone()]);
                    prop_assert_eq!(&there[&product.b], &[range, columns.clone()]);
                }
                for (operand, place) in prepared(&product) {
                    let preparation = gemm.preparation_of(operand).unwrap();
                    let source = if preparation.source == Buffer::A { product.a } else { product.b };
                    prop_assert_eq!(&made[&place], &(there[&source].clone(), preparation.clone()));
                }
                tiles.insert(product.c, ([rows, columns], before + k));
            }
            Work::Download(transfer) => {
                let (tile, to) = tiles.remove(&transfer.device).unwrap();
                prop_assert_eq!(to, problem.k);
                prop_assert_eq!(&tile, &block(problem, &transfer));
                let [rows, columns] = tile;
                rows.flat_map(|row| columns.clone().map(move |column| row * problem.n + column))
                    .for_each(|element| elements[element] += 1);
            }
        }
    }
    let is_own = |element: usize| {
        part.rows().contains(&(element / problem.n)) && part.columns().contains(&(element % problem.n))
    };
    let computed = elements.iter().enumerate().all(|(element, count)| *count == usize::from(is_own(element)));
    prop_assert!(computed, "elements of {:?} x {:?} are not computed once", part.rows(), part.columns());
    Ok(())
}

/// The block that a transfer brings.
fn block(problem: &Problem, transfer: &Transfer) -> Block {
    let view = problem.views()[transfer.matrix as usize];
    let (order, ld) = view.layout.order(view.name, view.rows, view.columns).unwrap();
    let element = u64::from(view.element.bytes());
    assert_eq!(transfer.host_pitch, ld as u64 * element);
    let index = (transfer.host / element) as usize;
    let (line, within) = (index / ld, index % ld);
    let lines = line..line + transfer.lines as usize;
    let length = within..within + (transfer.bytes / element) as usize;
    if order == Order::RowMajor { [lines, length] } else { [length, lines] }
}
