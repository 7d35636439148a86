//! Which tasks of a plan may run at the same time, and what memory each of them touches.

use std::ops::Range;

use proptest::prelude::*;
use sgemm::distributed::{Buffer, Copy, Place, Plan, Work};
use sgemm::gpu_kernels::Operand;
use sgemm::{Layout, Problem};

/// Bytes of a buffer, and whether they are written.
#[derive(Debug, Clone)]
struct Access {
    buffer: Buffer,
    bytes: Range<u64>,
    is_write: bool,
}

/// Checks that any two tasks that touch the same bytes, at least one of them writing, are ordered.
pub fn check(plan: &Plan) -> Result<(), TestCaseError> {
    let tasks = plan.tasks();
    let before = ancestors(plan);
    let accesses: Vec<_> = tasks.iter().map(|task| accesses(plan, &task.work)).collect();
    for (of, task) in accesses.iter().zip(tasks) {
        for access in of.iter().filter(|access| Buffer::PARTS.contains(&access.buffer)) {
            prop_assert!(access.bytes.end <= plan.part_bytes(access.buffer), "{task}: {access:?}");
        }
    }
    for (later, task) in tasks.iter().enumerate() {
        for earlier in (0..later).filter(|earlier| !before[later][*earlier]) {
            let clash = accesses[later].iter().find(|one| accesses[earlier].iter().any(|other| clashes(one, other)));
            prop_assert!(clash.is_none(), "{task} and {}: {clash:?}", tasks[earlier]);
        }
    }
    Ok(())
}

/// Of each task, which others have ended when it begins.
fn ancestors(plan: &Plan) -> Vec<Vec<bool>> {
    let tasks = plan.tasks();
    let mut before: Vec<Vec<bool>> = Vec::new();
    for (index, task) in tasks.iter().enumerate() {
        let in_queue = (0..index).rev().find(|earlier| tasks[*earlier].queue == task.queue);
        let mut all = vec![false; tasks.len()];
        for direct in task.after.iter().copied().chain(in_queue) {
            assert!(direct < index, "a task waits for a later one");
            all[direct] = true;
            all.iter_mut().zip(&before[direct]).for_each(|(all, its)| *all |= its);
        }
        before.push(all);
    }
    before
}

fn clashes(one: &Access, other: &Access) -> bool {
    let overlap = one.bytes.start < other.bytes.end && other.bytes.start < one.bytes.end;
    one.buffer == other.buffer && overlap && (one.is_write || other.is_write)
}

fn span(place: Place, bytes: u64, is_write: bool) -> Access {
    Access { buffer: place.buffer, bytes: place.offset..place.offset + bytes, is_write }
}

fn accesses(plan: &Plan, work: &Work) -> Vec<Access> {
    let along = |axis| plan.scheme().grid.along(axis) as u64;
    match work {
        Work::Copy(copy) => of_copy(copy),
        Work::AllGather { axis, send, receive, bytes } => {
            vec![span(*send, *bytes, false), span(*receive, bytes * along(*axis), true)]
        }
        Work::ReduceScatter { axis, send, receive, elements } => {
            vec![span(*send, elements * 4 * along(*axis), false), span(*receive, elements * 4, true)]
        }
        Work::Prepare { gemm, operand, source, target } => {
            let gemm = &plan.gemms()[*gemm];
            let preparation = gemm.preparation_of(*operand).unwrap();
            let is_b = preparation.source == sgemm::plan::Buffer::B;
            let mut all = of_matrix(gemm.problem(), usize::from(is_b), *source, false);
            all.push(span(*target, preparation.bytes().total_bytes(), true));
            all
        }
        Work::Product(product) => {
            let gemm = &plan.gemms()[product.gemm];
            let mut all = vec![span(Place::new(Buffer::Scratch, 0), gemm.workspace_bytes(), true)];
            let mut read = vec![(0, product.a), (1, product.b)];
            for (operand, at) in [(Operand::A, product.prepared.a), (Operand::B, product.prepared.b)] {
                let (Some(at), Some(preparation)) = (at, gemm.preparation_of(operand)) else { continue };
                all.push(span(at, preparation.bytes().total_bytes(), false));
                read.retain(|(which, _)| (*which == 1) != (preparation.source == sgemm::plan::Buffer::B));
            }
            all.extend(read.into_iter().flat_map(|(which, place)| of_matrix(gemm.problem(), which, place, false)));
            all.extend(of_matrix(gemm.problem(), 2, product.c, true));
            all
        }
    }
}

fn of_copy(copy: &Copy) -> Vec<Access> {
    copy.pieces().flat_map(|(from, to)| [span(from, copy.bytes, false), span(to, copy.bytes, true)]).collect()
}

/// The lines of A, B or C of a local product.
fn of_matrix(problem: &Problem, which: usize, place: Place, is_write: bool) -> Vec<Access> {
    let [m, n, k] = problem.sizes();
    let (layouts, [input, output]) = (problem.layouts(), problem.elements());
    let Layout { row_stride, column_stride } = layouts[which];
    let [rows, columns] = [[m, k], [k, n], [m, n]][which];
    let element = u64::from(if which == 2 { output } else { input }.bytes());
    let (lines, line, stride) =
        if column_stride == 1 { (rows, columns, row_stride) } else { (columns, rows, column_stride) };
    let start = |index: usize| place.plus((index * stride) as u64 * element);
    (0..lines).filter(|_| line > 0).map(|index| span(start(index), line as u64 * element, is_write)).collect()
}
