//! When tasks begin and end, from how long each takes: without running any.

use std::collections::HashMap;

use super::grid::Axis;
use super::plan::Plan;
use super::schedule::{Queue, Work};
use crate::Error;

/// A task of a rank in time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// The rank.
    pub rank: usize,
    /// The task, by its index in [`Plan::tasks`].
    pub task: usize,
    /// When it begins, in microseconds from the start.
    pub start_us: f64,
    /// When it ends.
    pub end_us: f64,
    /// The number of the collective that it is part of: the same on all ranks that take part.
    pub collective: Option<usize>,
}

/// The spans of all tasks of these ranks, in the order of their ends. Each queue of a rank runs its tasks one after the other; a
/// collective begins when all of its ranks are ready for it, and ends for all of them at once. Ranks of the grid without a plan here are
/// taken to be ready at any time, so that one rank stands for all where they are alike.
///
/// `duration_us` gives the time of a rank's task, by its index. One that is infinite never begins: so a rank dies.
///
/// # Errors
/// [`Error::Collective`] where ranks wait for others, which never come, or meet with other bytes than theirs.
pub fn simulate(plans: &[Plan], duration_us: impl FnMut(&Plan, usize) -> f64) -> Result<Vec<Span>, Error> {
    let mut simulation = Simulation::new(plans, duration_us);
    while simulation.step()? {}
    simulation.check_end()?;
    let mut spans = simulation.spans;
    spans.sort_by(|one, other| one.end_us.total_cmp(&other.end_us));
    Ok(spans)
}

struct Simulation<'a> {
    plans: &'a [Plan],
    /// The index of a rank's plan.
    by_rank: HashMap<usize, usize>,
    durations_us: Vec<Vec<f64>>,
    /// When each task of each plan ended.
    ended: Vec<Vec<Option<f64>>>,
    /// Of each plan and queue: its tasks, and how many of them are done.
    queues: Vec<[(Vec<usize>, usize); 3]>,
    collectives: usize,
    spans: Vec<Span>,
}

impl<'a> Simulation<'a> {
    fn new(plans: &'a [Plan], mut duration_us: impl FnMut(&Plan, usize) -> f64) -> Self {
        let of_queue = |plan: &Plan, queue| {
            let tasks = plan.tasks().iter().enumerate().filter(|(_, task)| task.queue == queue);
            (tasks.map(|(index, _)| index).collect(), 0)
        };
        Self {
            plans,
            by_rank: plans.iter().enumerate().map(|(index, plan)| (plan.rank(), index)).collect(),
            durations_us: plans
                .iter()
                .map(|plan| (0..plan.tasks().len()).map(|task| duration_us(plan, task)).collect())
                .collect(),
            ended: plans.iter().map(|plan| vec![None; plan.tasks().len()]).collect(),
            queues: plans.iter().map(|plan| Queue::ALL.map(|queue| of_queue(plan, queue))).collect(),
            collectives: 0,
            spans: Vec::new(),
        }
    }

    /// Runs what can run; says whether anything could.
    fn step(&mut self) -> Result<bool, Error> {
        let mut has_run = false;
        for plan in 0..self.plans.len() {
            for queue in 0..Queue::ALL.len() {
                while let Some((task, ready)) = self.ready(plan, queue) {
                    let is_done = match self.plans[plan].tasks()[task].collective() {
                        Some(axis) => self.meet(plan, queue, axis)?,
                        None => {
                            self.run([plan, queue, task], [ready, ready + self.durations_us[plan][task]], None);
                            true
                        }
                    };
                    if !is_done {
                        break;
                    }
                    has_run = true;
                }
            }
        }
        Ok(has_run)
    }

    /// The next task of a queue, and when it can begin; `None` where something before it has not ended.
    fn ready(&self, plan: usize, queue: usize) -> Option<(usize, f64)> {
        let (tasks, done) = &self.queues[plan][queue];
        let task = *tasks.get(*done)?;
        let before = done.checked_sub(1).map(|last| tasks[last]);
        let mut waits_for = self.plans[plan].tasks()[task].after.iter().copied().chain(before);
        let ready = waits_for.try_fold(0.0, |latest: f64, before| Some(latest.max(self.ended[plan][before]?)))?;
        self.durations_us[plan][task].is_finite().then_some((task, ready))
    }

    fn run(&mut self, [plan, queue, task]: [usize; 3], [start_us, end_us]: [f64; 2], collective: Option<usize>) {
        self.ended[plan][task] = Some(end_us);
        self.queues[plan][queue].1 += 1;
        self.spans.push(Span { rank: self.plans[plan].rank(), task, start_us, end_us, collective });
    }

    /// Runs a collective where all of its ranks have come to it.
    fn meet(&mut self, plan: usize, queue: usize, axis: Axis) -> Result<bool, Error> {
        let group = self.plans[plan].scheme().grid.group(self.plans[plan].rank(), axis);
        let members: Vec<_> = group.iter().filter_map(|rank| self.by_rank.get(rank).copied()).collect();
        let mut there = Vec::new();
        for member in members {
            let Some((task, ready)) = self.ready(member, queue) else { return Ok(false) };
            if self.plans[member].tasks()[task].collective() != Some(axis) {
                return Ok(false);
            }
            there.push((member, task, ready));
        }
        let bytes = |&(member, task, _): &(usize, usize, f64)| size(&self.plans[member].tasks()[task].work);
        if let Some(other) = there.iter().find(|other| bytes(other) != bytes(&there[0])) {
            let reason = format!("{} bytes, not {} as rank {} has", bytes(other), bytes(&there[0]), group[0]);
            return Err(self.stopped(other.0, other.1, reason));
        }
        let start_us = there.iter().fold(0.0, |latest: f64, (_, _, ready)| latest.max(*ready));
        let longest = there.iter().fold(0.0, |all: f64, (member, task, _)| all.max(self.durations_us[*member][*task]));
        self.collectives += 1;
        for (member, task, _) in there {
            self.run([member, queue, task], [start_us, start_us + longest], Some(self.collectives));
        }
        Ok(true)
    }

    /// Fails where a rank waits for ever: names one that is in a collective with one that died, where there is such a one.
    fn check_end(&self) -> Result<(), Error> {
        let mut waiting = None;
        for plan in 0..self.plans.len() {
            for queue in 0..Queue::ALL.len() {
                let Some((task, _)) = self.ready(plan, queue) else { continue };
                let Some(axis) = self.plans[plan].tasks()[task].collective() else { continue };
                let group = self.plans[plan].scheme().grid.group(self.plans[plan].rank(), axis);
                let members = group.iter().filter_map(|rank| Some((*rank, *self.by_rank.get(rank)?)));
                let mut missing = members.filter(|(_, member)| self.ready(*member, queue).is_none());
                let Some((mut rank, mut member)) = missing.next() else { continue };
                if let Some(dead) = missing.find(|(_, other)| !self.is_dead(member) && self.is_dead(*other)) {
                    (rank, member) = dead;
                }
                let stopped = || self.stopped(plan, task, format!("rank {rank} did not come"));
                if self.is_dead(member) {
                    return Err(stopped());
                }
                waiting = waiting.or_else(|| Some(stopped()));
            }
        }
        let unfinished = || {
            (0..self.plans.len()).find_map(|plan| {
                let task = self.ended[plan].iter().position(Option::is_none)?;
                Some(self.stopped(plan, task, "it did not end".into()))
            })
        };
        waiting.or_else(unfinished).map_or(Ok(()), Err)
    }

    /// Whether a rank has come to a task that never begins.
    fn is_dead(&self, plan: usize) -> bool {
        self.queues[plan]
            .iter()
            .any(|(tasks, done)| tasks.get(*done).is_some_and(|task| self.durations_us[plan][*task].is_infinite()))
    }

    fn stopped(&self, plan: usize, task: usize, reason: String) -> Error {
        let plan = &self.plans[plan];
        Error::Collective { rank: plan.rank(), what: plan.tasks()[task].to_string(), reason }
    }
}

/// Bytes of each rank in a collective.
fn size(work: &Work) -> u64 {
    match work {
        Work::AllGather { bytes, .. } => *bytes,
        Work::ReduceScatter { elements, .. } => elements * size_of::<f32>() as u64,
        Work::Copy(_) | Work::Prepare { .. } | Work::Product(_) => 0,
    }
}
