//! Ranks that are emulated in one process: their plans run in [`ptx_emu`], and what goes from rank to rank is copied.

use std::collections::HashSet;

use super::plan::Plan;
use super::schedule::{Buffer, Copy, Place, Work};
use super::simulate::{Span, simulate};
use crate::emulator::{DeviceMemory, Emulator};
use crate::plan::Address;
use crate::scalar::{bytes, bytes_mut};
use crate::{Error, Scalar};

/// Ranks on emulated devices. Queues run beside each other in an order that the seed gives; and what can go wrong with ranks can be had.
///
/// ```
/// use sgemm::Problem;
/// use sgemm::distributed::{Cluster, Plan, Scheme};
/// use sgemm::emulator::Emulator;
///
/// let emulator = Emulator::of("h200").expect("it is known");
/// let problem = Problem::new(4, 3, 2);
/// // Two ranks, each with two rows of A, one of B and two of C.
/// let scheme = Scheme::row_panels(problem.sizes(), 2);
/// let plans = [0, 1].map(|rank| Plan::new(&problem, &scheme, rank, emulator.device()));
/// let [first, second] = plans;
/// let (a, b) = ([vec![1.0_f32; 4], vec![2.0; 4]], [vec![1.0_f32; 3], vec![10.0; 3]]);
/// let mut c = [vec![0.0_f32; 6], vec![0.0; 6]];
/// Cluster::new(&emulator, 1).run(&[first?, second?], 1.0, &a, &b, 0.0, &mut c)?;
/// assert_eq!(c, [vec![11.0; 6], vec![22.0; 6]]);
/// # Ok::<(), sgemm::Error>(())
/// ```
pub struct Cluster<'a> {
    emulator: &'a Emulator,
    seed: u64,
    faults: Vec<Fault>,
}

/// What goes wrong with a rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    /// Its tasks take so many times as long.
    Slow {
        /// The rank.
        rank: usize,
        /// How much longer.
        factor: f64,
    },
    /// It ends before the task of that index.
    Dies {
        /// The rank.
        rank: usize,
        /// The task.
        task: usize,
    },
}

impl<'a> Cluster<'a> {
    /// Ranks whose tasks take times that the seed gives.
    #[must_use]
    pub const fn new(emulator: &'a Emulator, seed: u64) -> Self {
        Self { emulator, seed, faults: Vec::new() }
    }

    /// The same, where that goes wrong.
    #[must_use]
    pub fn with_fault(mut self, fault: Fault) -> Self {
        self.faults.push(fault);
        self
    }

    /// Runs the plans of all ranks, in their order, on the matrices of each. It gives when each task ran, in an arbitrary unit of time.
    ///
    /// # Errors
    /// [`Error::Ranks`] where plans or matrices are of other ranks than all; [`Error::Disagreement`] where ranks were given other
    /// arguments; [`Error::Elements`] and [`Error::ShortBuffer`], before anything runs; [`Error::Collective`] where a rank
    /// does not come; [`Error::OutOfMemory`]; [`Error::Emulated`] where a kernel does what it must not.
    pub fn run<I: Scalar, O: Scalar>(
        &self,
        plans: &[Plan],
        alpha: f32,
        a: &[impl AsRef<[I]>],
        b: &[impl AsRef<[I]>],
        beta: f32,
        c: &mut [impl AsRef<[O]> + AsMut<[O]>],
    ) -> Result<Vec<Span>, Error> {
        check_ranks(plans, [a.len(), b.len(), c.len()])?;
        let mut ranks = Vec::new();
        for (index, plan) in plans.iter().enumerate() {
            plan.check_agreement(&plans[0])?;
            ranks.push(Rank::new(plan, a[index].as_ref(), b[index].as_ref(), c[index].as_ref(), [alpha, beta])?);
        }
        let mut random = self.seed;
        let spans = simulate(plans, |plan, task| self.duration(plan.rank(), task, &mut random))?;
        let mut collected = HashSet::new();
        for span in &spans {
            match span.collective {
                // For all of its ranks at once: they have the same end.
                Some(number) if collected.insert(number) => {
                    let members = spans.iter().filter(|other| other.collective == Some(number));
                    collect(&mut ranks, &members.copied().collect::<Vec<_>>())?;
                }
                Some(_) => {}
                None => ranks[span.rank].run(self.emulator, span.task)?,
            }
        }
        for (rank, c) in ranks.iter().zip(c) {
            rank.memory.read(rank.bases[Buffer::C.index()], bytes_mut(c.as_mut()))?;
        }
        Ok(spans)
    }

    /// A time from 1 to 2, or more where the rank is slow.
    fn duration(&self, of: usize, index: usize, random: &mut u64) -> f64 {
        let mut time = 1.0 + next_random(random);
        for fault in &self.faults {
            match *fault {
                Fault::Slow { rank, factor } if rank == of => time *= factor,
                Fault::Dies { rank, task } if rank == of && index >= task => time = f64::INFINITY,
                Fault::Slow { .. } | Fault::Dies { .. } => {}
            }
        }
        time
    }
}

/// A number from 0 to 1: splitmix64.
pub(crate) fn next_random(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) as f64 / u64::MAX as f64
}

fn check_ranks(plans: &[Plan], given: [usize; 3]) -> Result<(), Error> {
    let ranks = plans.first().map_or(1, |plan| plan.scheme().grid.ranks());
    let in_order = plans.iter().enumerate().all(|(index, plan)| plan.rank() == index);
    match [[plans.len()].as_slice(), &given].concat().into_iter().find(|given| *given != ranks || !in_order) {
        Some(given) => Err(Error::Ranks { ranks, given }),
        None => Ok(()),
    }
}

/// A rank: its plan, and the memory of its device.
struct Rank<'a> {
    plan: &'a Plan,
    memory: DeviceMemory,
    bases: [Address; Buffer::COUNT],
    factors: [f32; 2],
}

impl<'a> Rank<'a> {
    fn new<I: Scalar, O: Scalar>(plan: &'a Plan, a: &[I], b: &[I], c: &[O], factors: [f32; 2]) -> Result<Self, Error> {
        plan.check_given([I::ELEMENT, O::ELEMENT], [a.len(), b.len(), c.len()])?;
        let mut memory = DeviceMemory::default();
        let mut bases = [0; Buffer::COUNT];
        for (buffer, elements) in [(Buffer::A, bytes(a)), (Buffer::B, bytes(b)), (Buffer::C, bytes(c))] {
            bases[buffer.index()] = memory.allocate(elements.len() as u64)?;
            memory.write(bases[buffer.index()], elements)?;
        }
        for part in Buffer::PARTS {
            bases[part.index()] = memory.allocate(plan.part_bytes(part))?;
        }
        Ok(Self { plan, memory, bases, factors })
    }

    fn address(&self, place: Place) -> Address {
        place.address(|buffer| self.bases[buffer.index()])
    }

    fn read(&self, place: Place, bytes: u64) -> Result<Vec<u8>, Error> {
        let mut read = vec![0; bytes as usize];
        self.memory.read(self.address(place), &mut read)?;
        Ok(read)
    }

    fn write(&mut self, place: Place, bytes: &[u8]) -> Result<(), Error> {
        self.memory.write(self.address(place), bytes)
    }

    fn run(&mut self, emulator: &Emulator, task: usize) -> Result<(), Error> {
        match &self.plan.tasks()[task].work {
            Work::Copy(copy) => self.copy(copy),
            Work::Prepare { gemm, operand, source, target } => {
                let places = [*source, *target];
                let base = |buffer: Buffer| self.bases[buffer.index()];
                let bindings = self.plan.bindings_of_prepass(*gemm, *operand, places, base);
                emulator.prepare_raw(&self.plan.gemms()[*gemm], *operand, &bindings, &mut self.memory)
            }
            Work::Product(product) => {
                let bindings = self.plan.bindings_of(product, self.factors, |buffer| self.bases[buffer.index()]);
                emulator.run_raw(&self.plan.gemms()[product.gemm], &bindings, &mut self.memory)
            }
            // Of all ranks at once.
            Work::AllGather { .. } | Work::ReduceScatter { .. } => Ok(()),
        }
    }

    fn copy(&mut self, copy: &Copy) -> Result<(), Error> {
        for (from, to) in copy.pieces() {
            let piece = self.read(from, copy.bytes)?;
            self.write(to, &piece)?;
        }
        Ok(())
    }
}

/// A collective of these ranks, in the order of their places.
fn collect(ranks: &mut [Rank<'_>], members: &[Span]) -> Result<(), Error> {
    let mut members = members.to_vec();
    members.sort_by_key(|member| member.rank);
    let work = |ranks: &[Rank<'_>], member: &Span| ranks[member.rank].plan.tasks()[member.task].work.clone();
    let mut sent = Vec::new();
    for member in &members {
        let (place, bytes) = match work(ranks, member) {
            Work::AllGather { send, bytes, .. } => (send, bytes),
            Work::ReduceScatter { send, elements, .. } => (send, elements * 4 * members.len() as u64),
            Work::Copy(_) | Work::Prepare { .. } | Work::Product(_) => continue,
        };
        sent.push(ranks[member.rank].read(place, bytes)?);
    }
    for (place, member) in members.iter().enumerate() {
        match work(ranks, member) {
            Work::AllGather { receive, .. } => ranks[member.rank].write(receive, &sent.concat())?,
            Work::ReduceScatter { receive, elements, .. } => {
                let part = place * elements as usize * 4..(place + 1) * elements as usize * 4;
                let parts: Vec<_> = sent.iter().map(|all| all[part.clone()].as_chunks::<4>().0).collect();
                let sum = |index: usize| parts.iter().map(|part| f32::from_le_bytes(part[index])).sum::<f32>();
                let sums: Vec<_> = (0..elements as usize).flat_map(|index| sum(index).to_le_bytes()).collect();
                ranks[member.rank].write(receive, &sums)?;
            }
            Work::Copy(_) | Work::Prepare { .. } | Work::Product(_) => {}
        }
    }
    Ok(())
}
