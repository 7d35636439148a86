//! Steps of one family ([`Step::k_splits`]) add in one order, and so give the same bits, whatever their tiles and grids are.

use gpu_kernels::{Element, Precision, Step};
use half::{bf16, f16};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sgemm::Problem;
use sgemm::plan::Plan;

use crate::layouts::{Executor, Number, Operands};

/// Steps whose results have the same bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Family {
    precision: Precision,
    output: Element,
    k_splits: u32,
    /// Two at least.
    pub steps: Vec<&'static Step>,
}

/// Every family with more than one step that `runs`.
#[must_use]
pub fn families(runs: impl Fn(&Step) -> bool) -> Vec<Family> {
    let mut families: Vec<Family> = Vec::new();
    for step in gpu_kernels::runnable().filter(|step| runs(step)) {
        let Some(k_splits) = step.k_splits() else { continue };
        let key = (step.precision, step.output, k_splits);
        match families.iter_mut().find(|family| (family.precision, family.output, family.k_splits) == key) {
            Some(family) => family.steps.push(step),
            None => {
                let (precision, output, k_splits) = key;
                families.push(Family { precision, output, k_splits, steps: vec![step] });
            }
        }
    }
    families.retain(|family| family.steps.len() > 1);
    families
}

impl Family {
    /// Such as `fp32 in 7 splits`.
    #[must_use]
    pub fn name(&self) -> String {
        let splits = if self.k_splits == 1 { String::new() } else { format!(" in {} splits", self.k_splits) };
        let output = if self.output == self.precision.input() { "" } else { " to f32" };
        format!("{}{output}{splits}", self.precision.name())
    }

    /// Runs all of them on the same random matrices and compares with the first.
    ///
    /// # Errors
    /// The step whose bits are others, or what went wrong.
    pub fn check<E: Executor>(&self, executor: impl Fn(&Step) -> Result<E, String>) -> Result<(), String> {
        // A few k-tiles for each split; fewer than splits; and what leaves none of them whole.
        for [m, n, k] in [[70, 150, 7 * 48 + 5], [33, 40, 37], [130, 66, 128]] {
            let seed = rand::random();
            let bits = |step: &'static Step| {
                let executor = executor(step)?;
                let bits = match (self.precision, self.output) {
                    (Precision::F16, Element::F32) => bits::<f16, f32>(step, [m, n, k], seed, &executor),
                    (Precision::F16, _) => bits::<f16, f16>(step, [m, n, k], seed, &executor),
                    (Precision::Bf16, Element::F32) => bits::<bf16, f32>(step, [m, n, k], seed, &executor),
                    (Precision::Bf16, _) => bits::<bf16, bf16>(step, [m, n, k], seed, &executor),
                    _ => bits::<f32, f32>(step, [m, n, k], seed, &executor),
                };
                bits.map_err(|error| format!("{}: {error}", step.slug))
            };
            let first = bits(self.steps[0])?;
            for step in &self.steps[1..] {
                let other = bits(step)?;
                if let Some(at) = first.iter().zip(&other).position(|(one, other)| one != other) {
                    let slugs = [step.slug, self.steps[0].slug];
                    return Err(format!("{m}x{n}x{k}, seed {seed}: element {at} of {slugs:?} differs"));
                }
            }
        }
        Ok(())
    }
}

/// An element type with bits to compare.
pub trait Bits: Number {
    /// What it is stored as.
    fn bits(self) -> u32;
}

impl Bits for f32 {
    fn bits(self) -> u32 {
        self.to_bits()
    }
}

impl Bits for f16 {
    fn bits(self) -> u32 {
        self.to_bits().into()
    }
}

impl Bits for bf16 {
    fn bits(self) -> u32 {
        self.to_bits().into()
    }
}

fn bits<I: Bits, O: Bits>(
    step: &'static Step,
    [m, n, k]: [usize; 3],
    seed: u64,
    executor: &impl Executor,
) -> Result<Vec<u32>, String> {
    let rng = &mut StdRng::seed_from_u64(seed);
    let mut draw = |len| (0..len).map(|_| rng.random_range(-1.0_f32..1.0)).collect::<Vec<_>>();
    let (a, b, c) = (draw(m * k), draw(k * n), draw(m * n));
    let (a, b): (Vec<I>, Vec<I>) = (a.into_iter().map(I::new).collect(), b.into_iter().map(I::new).collect());
    let mut c: Vec<O> = c.into_iter().map(O::new).collect();
    let problem = Problem::new(m, n, k).with_elements(I::ELEMENT, O::ELEMENT);
    let plan = Plan::new(step, &problem, executor.sm_count()).map_err(|error| error.to_string())?;
    let operands = Operands {
        a: &a,
        b: &b,
        c: None,
        result: &mut c,
        bias: None,
        scalars: [0.75, -1.25],
        are_scalars_on_device: false,
    };
    executor.run(plan, operands)?;
    Ok(c.into_iter().map(O::bits).collect())
}
