//! The plans of local products, each made once, with their times.

use std::collections::HashMap;

use gpu_kernels::{Ab, Operand};

use crate::distributed::Link;
use crate::plan::{Buffer, Plan as Gemm};
use crate::select::{self, Table};
use crate::{Device, Error, Problem};

/// The time of a product, of whose operands some were prepared, in microseconds.
pub type ProductTime<'a> = &'a dyn Fn(&Gemm, Ab<bool>) -> Result<f64, Error>;

/// The kernels for local products on a device.
pub(super) struct Kernels<'a> {
    device: &'a Device,
    memory: Link,
    time: ProductTime<'a>,
    by_problem: HashMap<(Problem, u64), Result<usize, Error>>,
    plans: Vec<(Gemm, f64)>,
}

impl<'a> Kernels<'a> {
    pub fn new(device: &'a Device, memory: Link, time: ProductTime<'a>) -> Self {
        Self { device, memory, time, by_problem: HashMap::new(), plans: Vec::new() }
    }

    /// The number of the plan for a problem, with no more than `limit` bytes of workspace.
    pub fn number(&mut self, problem: &Problem, limit: u64) -> Result<usize, Error> {
        if let Some(number) = self.by_problem.get(&(*problem, limit)) {
            return number.clone();
        }
        let number = self.plan(problem, limit);
        self.by_problem.insert((*problem, limit), number.clone());
        number
    }

    fn plan(&mut self, problem: &Problem, limit: u64) -> Result<usize, Error> {
        let plan = select::plan(Table::of(self.device), self.device, problem, limit)?;
        let time_us = (self.time)(&plan, are_prepared(&plan))?;
        self.plans.push((plan, time_us));
        Ok(self.plans.len() - 1)
    }

    pub fn gemm(&self, number: usize) -> &Gemm {
        &self.plans[number].0
    }

    /// The time of a product without what prepares its operands, in microseconds.
    pub fn time_us(&self, number: usize) -> f64 {
        self.plans[number].1
    }

    /// The time of the pre-passes of a kernel's operand: that of reading and writing memory.
    pub fn prepare_us(&self, number: usize, operand: Operand) -> f64 {
        let preparation = self.gemm(number).preparation_of(operand);
        let bytes = preparation.map_or(0, |preparation| preparation.bytes().total_bytes());
        self.memory.time_us(2.0 * bytes as f64)
    }
}

/// Bytes of what a plan makes of the caller's A or B before its kernel reads it.
pub(super) fn prepared_bytes(gemm: &Gemm, buffer: Buffer) -> u64 {
    gemm.preparation(buffer).map_or(0, |preparation| preparation.bytes().total_bytes())
}

/// Which of the kernel's operands are prepared by tasks of their own: those of which pre-passes make something.
pub(super) fn are_prepared(gemm: &Gemm) -> Ab<bool> {
    let mut prepared = Ab::both(false);
    for buffer in [Buffer::A, Buffer::B] {
        let Some(preparation) = gemm.preparation(buffer).filter(|_| prepared_bytes(gemm, buffer) > 0) else { continue };
        match preparation.operand {
            Operand::A => prepared.a = true,
            Operand::B => prepared.b = true,
        }
    }
    prepared
}
