//! What the tasks of parts do, followed step by step without numbers.

use std::collections::HashMap;
use std::ops::Range;

use gpu_kernels::Operand;
use proptest::prelude::*;

use super::ordering::{Access, Step};
use crate::Problem;
use crate::distributed::next_random;
use crate::plan::{Buffer, Plan as Gemm};
use crate::problem::Order;
use crate::streamed::part::Part;
use crate::streamed::task::{PeerTask, Product, Queue, Transfer, Work};

/// All tasks, as GPU and index, in an order in which the GPUs' threads may queue them: each those of its part as they are listed, and
/// each one after those of other GPUs that it waits for. Fails where none can go on: then none can in any other order, since a task that
/// may be queued stays so.
pub fn order(parts: &[Part], seed: u64) -> Result<Vec<PeerTask>, TestCaseError> {
    let mut next = vec![0; parts.len()];
    let mut random = seed;
    let mut order = Vec::new();
    loop {
        let is_free = |gpu: &usize| {
            let task = parts[*gpu].tasks().get(next[*gpu]);
            task.is_some_and(|task| task.after_peers.iter().all(|before| before.task < next[before.gpu]))
        };
        let free: Vec<usize> = (0..parts.len()).filter(is_free).collect();
        if free.is_empty() {
            break;
        }
        let gpu = free[(next_random(&mut random) * free.len() as f64) as usize % free.len()];
        order.push(PeerTask { gpu, task: next[gpu] });
        next[gpu] += 1;
    }
    let are_done = parts.iter().zip(&next).all(|(part, next)| part.tasks().len() == *next);
    prop_assert!(are_done, "GPUs wait for each other after {next:?} tasks");
    Ok(order)
}

/// The tasks that are done with these factors, with the memory that each touches: those of GPUs come first, then the host's.
pub fn steps(parts: &[Part], order: &[PeerTask], factors: [f32; 2]) -> Vec<Step> {
    let task = |of: &PeerTask| &parts[of.gpu].tasks()[of.task];
    let done: Vec<PeerTask> = order.iter().copied().filter(|of| task(of).is_needed(factors)).collect();
    let number: HashMap<_, _> = done.iter().enumerate().map(|(number, of)| ((of.gpu, of.task), number)).collect();
    let step = |of: &PeerTask| {
        let own = task(of).after.iter().map(|before| (of.gpu, *before));
        let all = own.chain(task(of).after_peers.iter().map(|before| (before.gpu, before.task)));
        Step {
            queue: of.gpu * Queue::ALL.len() + task(of).queue as usize,
            after: all.filter_map(|before| number.get(&before).copied()).collect(),
            accesses: accesses(parts, of.gpu, &task(of).work),
        }
    };
    done.iter().map(step).collect()
}

fn accesses(parts: &[Part], gpu: usize, work: &Work) -> Vec<Access> {
    let part = &parts[gpu];
    let span = |start: u64, bytes: u64, is_write| Access { memory: gpu, bytes: start..start + bytes, is_write };
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
                let memory = parts.len() + transfer.matrix as usize;
                let host = Access { memory, bytes: host..host + transfer.bytes, is_write: !is_upload };
                [span(transfer.device + line * transfer.device_pitch, transfer.bytes, is_upload), host]
            });
            lines.collect()
        }
        Work::Receive(copy) => {
            let bytes = copy.source..copy.source + copy.span_bytes();
            vec![Access { memory: copy.gpu, bytes, is_write: false }, span(copy.target, copy.span_bytes(), true)]
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

/// What is in a GPU's memory.
#[derive(Default)]
struct Memory {
    /// Lines of matrices, by where they begin: the matrix, and where on the host and how long they are there.
    lines: HashMap<u64, (Buffer, u64, u64)>,
    /// What was prepared, and from which block.
    made: HashMap<u64, (Block, crate::plan::Preparation)>,
    /// Of each tile: what is in it, and up to where in k it was computed.
    tiles: HashMap<u64, (Block, usize)>,
}

impl Memory {
    /// The block that is there as an operand of a local product: A, B or C by its number.
    fn block(&self, problem: &Problem, gemm: &Gemm, which: usize, place: u64) -> Option<Block> {
        let view = gemm.problem().views()[which];
        let (order, ld) = view.layout.order(view.name, view.rows, view.columns).unwrap();
        let pitch = ld as u64 * u64::from(view.element.bytes());
        let lines = if order == Order::RowMajor { view.rows } else { view.columns } as u64;
        let host_pitch = host_pitch(problem, which);
        let (matrix, host, bytes) = *self.lines.get(&place)?;
        let is_there = |line| {
            let expected = (matrix, host + line * host_pitch, bytes);
            self.lines.get(&(place + line * pitch)) == Some(&expected)
        };
        let transfer = Transfer { matrix, host, host_pitch, device: place, device_pitch: pitch, bytes, lines };
        (matrix as usize == which && (0..lines).all(is_there)).then(|| block(problem, &transfer))
    }
}

/// Checks that products read the blocks that were brought, and were prepared, for them; that each tile is the sum over all of k, in
/// its order; and that each element of the parts comes back once.
pub fn check(problem: &Problem, parts: &[Part], order: &[PeerTask]) -> Result<(), TestCaseError> {
    let mut memories: Vec<Memory> = parts.iter().map(|_| Memory::default()).collect();
    let mut elements = vec![0; problem.m * problem.n];
    for of in order {
        let part = &parts[of.gpu];
        let memory = &mut memories[of.gpu];
        match part.tasks()[of.task].work {
            Work::Upload(transfer) => {
                for line in 0..transfer.lines {
                    let host = transfer.host + line * transfer.host_pitch;
                    let what = (transfer.matrix, host, transfer.bytes);
                    memory.lines.insert(transfer.device + line * transfer.device_pitch, what);
                }
            }
            Work::Receive(copy) => {
                for line in 0..copy.lines {
                    let [source, target] = [copy.source, copy.target].map(|first| first + line * copy.pitch);
                    let what = memories[copy.gpu].lines.get(&source).copied();
                    prop_assert!(what.is_some_and(|(matrix, _, bytes)| (matrix, bytes) == (copy.matrix, copy.bytes)));
                    memories[of.gpu].lines.extend(what.map(|what| (target, what)));
                }
            }
            Work::Prepare { gemm, operand, source, target } => {
                let gemm = &part.gemms()[gemm];
                let preparation = gemm.preparation_of(operand).unwrap().clone();
                // Nothing is brought where there is no k.
                if problem.k == 0 {
                    continue;
                }
                let which = usize::from(preparation.source == Buffer::B);
                let block = memory.block(problem, gemm, which, source).unwrap();
                memory.made.insert(target, (block, preparation));
            }
            Work::Product(product) => {
                let gemm = &part.gemms()[product.gemm];
                let [m, n, k] = gemm.problem().sizes();
                let [rows, columns] = memory.block(problem, gemm, 2, product.c).unwrap();
                let before = if product.is_first { 0 } else { memory.tiles[&product.c].1 };
                prop_assert_eq!([rows.len(), columns.len()], [m, n]);
                if k > 0 {
                    let range = before..before + k;
                    let blocks = [(0, product.a), (1, product.b)];
                    let [a, b] = blocks.map(|(which, place)| memory.block(problem, gemm, which, place));
                    prop_assert_eq!(a, Some([rows.clone(), range.clone()]));
                    prop_assert_eq!(b, Some([range, columns.clone()]));
                }
                for (operand, place) in prepared(&product).filter(|_| k > 0) {
                    let preparation = gemm.preparation_of(operand).unwrap();
                    let is_a = preparation.source == Buffer::A;
                    let (which, source) = if is_a { (0, product.a) } else { (1, product.b) };
                    let block = memory.block(problem, gemm, which, source).unwrap();
                    prop_assert_eq!(&memory.made[&place], &(block, preparation.clone()));
                }
                memory.tiles.insert(product.c, ([rows, columns], before + k));
            }
            Work::Download(transfer) => {
                let (tile, to) = memory.tiles.remove(&transfer.device).unwrap();
                prop_assert_eq!(to, problem.k);
                prop_assert_eq!(&tile, &block(problem, &transfer));
                let [rows, columns] = tile;
                rows.flat_map(|row| columns.clone().map(move |column| row * problem.n + column))
                    .for_each(|element| elements[element] += 1);
            }
        }
    }
    let is_of = |part: &Part, element: usize| {
        part.rows().contains(&(element / problem.n)) && part.columns().contains(&(element % problem.n))
    };
    let count = |element: usize| parts.iter().filter(|part| is_of(part, element)).count();
    let computed = elements.iter().enumerate().all(|(element, times)| *times == count(element));
    prop_assert!(computed, "elements are not computed once");
    Ok(())
}

/// Bytes from a line of a matrix to the next on the host.
fn host_pitch(problem: &Problem, which: usize) -> u64 {
    let view = problem.views()[which];
    let (_, ld) = view.layout.order(view.name, view.rows, view.columns).unwrap();
    ld as u64 * u64::from(view.element.bytes())
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
