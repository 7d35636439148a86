//! Ranks in the emulator, all in this process.

use gpu_kernels::Element;
use half::{bf16, f16};
use sgemm::distributed::{Cluster, Machine, Plan, Scheme, Span, timeline};
use sgemm::emulator::Emulator;
use sgemm::{Problem, Scalar};

use super::{Model, model};
use crate::backend::{Conditions, Device, Ranks};
use crate::verify::distributed::Combine;
use crate::verify::matrix::GUARD;
use crate::{Error, Matrix, Operands};

/// Emulated devices, as many as there are ranks. Products run in the emulator; times are those that the library's model predicts.
pub struct EmulatedRanks {
    emulator: Emulator,
    device: Device,
    count: usize,
    /// What the order of tasks is drawn from.
    seed: u64,
    plans: Vec<Plan>,
    spans: Vec<Span>,
    operands: Vec<Operands>,
}

impl EmulatedRanks {
    /// So many ranks, each with a device of that model.
    #[must_use]
    pub fn new(model: &'static Model, count: usize, seed: u64) -> Self {
        Self {
            emulator: Emulator::new(*model),
            device: model::describe(model),
            count,
            seed,
            plans: Vec::new(),
            spans: Vec::new(),
            operands: Vec::new(),
        }
    }

    /// Multiplies matrices of elements `T`.
    fn multiply<T: Scalar>(
        &mut self,
        factors: [f32; 2],
        number: fn(f32) -> T,
        value: fn(T) -> f32,
    ) -> Result<(), Error> {
        let all = |of: fn(&Operands) -> &Matrix| -> Vec<Vec<T>> {
            let numbers = |operands: &Operands| interior(of(operands)).iter().map(|x| number(*x)).collect();
            self.operands.iter().map(numbers).collect()
        };
        let (a, b, mut c) = (all(|operands| &operands.a), all(|operands| &operands.b), all(|operands| &operands.c));
        let [alpha, beta] = factors;
        Cluster::new(&self.emulator, self.seed).run(&self.plans, alpha, &a, &b, beta, &mut c)?;
        for (operands, c) in self.operands.iter_mut().zip(c) {
            let (length, all) = (c.len(), operands.c.as_mut_slice());
            all[GUARD..GUARD + length].iter_mut().zip(c).for_each(|(old, new)| *old = value(new));
        }
        Ok(())
    }
}

/// The rows of a matrix, without its guard bands.
fn interior(matrix: &Matrix) -> &[f32] {
    &matrix.as_slice()[GUARD..][..matrix.rows() * matrix.ld()]
}

impl Ranks for EmulatedRanks {
    fn name(&self) -> &'static str {
        "emulator"
    }

    fn device(&self) -> &Device {
        &self.device
    }

    fn is_modelled(&self) -> bool {
        true
    }

    fn conditions(&self) -> Option<Conditions> {
        None
    }

    fn count(&self) -> usize {
        self.count
    }

    fn has_first(&self) -> bool {
        true
    }

    fn workspace_limit(&mut self, matrices: u64) -> Result<u64, Error> {
        Ok(self.device.memory_bytes.saturating_sub(matrices))
    }

    fn combine(&mut self, _: Combine, _: &mut [f64]) -> Result<(), Error> {
        Ok(())
    }

    fn place(&mut self, problem: &Problem, scheme: &Scheme) -> Result<&[Plan], Error> {
        let plan = |rank| Plan::new(problem, scheme, rank, self.emulator.device());
        self.plans = (0..scheme.grid.ranks()).map(plan).collect::<Result<_, _>>()?;
        self.spans = timeline(&self.plans, self.emulator.device(), &Machine::h200())?;
        Ok(&self.plans)
    }

    fn upload(&mut self, operands: &[Operands]) -> Result<(), Error> {
        self.operands = operands.to_vec();
        Ok(())
    }

    fn upload_c(&mut self, c: &[&Matrix]) -> Result<(), Error> {
        self.operands.iter_mut().zip(c).for_each(|(operands, c)| operands.c = (*c).clone());
        Ok(())
    }

    fn run(&mut self, alpha: f32, beta: f32) -> Result<f64, Error> {
        let element = self.plans.first().map(|plan| plan.problem().elements()[0]);
        match element.unwrap_or(Element::F32) {
            Element::F32 => self.multiply([alpha, beta], |x| x, |x: f32| x),
            Element::F16 => self.multiply([alpha, beta], f16::from_f32, f16::to_f32),
            Element::Bf16 => self.multiply([alpha, beta], bf16::from_f32, bf16::to_f32),
        }?;
        Ok(self.spans.iter().fold(0.0, |end: f64, span| end.max(span.end_us)) / 1e3)
    }

    fn spans(&mut self) -> Result<Vec<Span>, Error> {
        Ok(self.spans.clone())
    }

    fn download(&mut self) -> Result<Vec<Operands>, Error> {
        Ok(std::mem::take(&mut self.operands))
    }

    fn clear(&mut self) {
        self.plans.clear();
        self.spans.clear();
    }
}
