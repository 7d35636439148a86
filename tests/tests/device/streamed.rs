//! Matrices in the host's memory: the same bits as in a device's, from pageable and from page-locked memory, on one GPU and on all, or as on
//! two.

use libtest_mimic::Failed;
use sgemm::cuda::{Handle, open};
use sgemm::streamed::{Plan, Rates, Registered, StreamedGemm};
use sgemm::{AccuracyClass, Determinism, Layout, Problem};

use super::library::{Device, random};

/// Of all layouts and classes; the last one has tiles that are larger than the buffers that pageable memory goes through.
fn problems() -> Vec<(Problem, u64)> {
    let columns = Layout::column_major;
    let rows = Layout::row_major;
    let small = Problem::new(700, 900, 1100);
    let turned = small.with_layouts(columns(701), rows(903), columns(700));
    [
        (small, 3 << 20),
        (turned.with_accuracy(AccuracyClass::Fp32), 8 << 20),
        (small.with_layouts(rows(1100), columns(1101), rows(901)).with_accuracy(AccuracyClass::Tf32), 6 << 20),
        (Problem::new(5, 3, 1000), 1 << 20),
        (Problem::new(100, 200, 0), 1 << 20),
        (Problem::new(9000, 8000, 3000), 700 << 20),
    ]
    .map(|(problem, limit)| (problem.with_determinism(Determinism::PerElement), limit))
    .into()
}

/// Plans for one GPU, and for all: those too that hand on whatever two GPUs need, since the host is taken to be slow.
fn plans(handles: &[Handle], problem: &Problem, limit: u64) -> Result<Vec<(usize, Plan)>, sgemm::Error> {
    let (device, all, factors) = (handles[0].device(), handles.len(), [1.0, 0.0]);
    let rates = Rates::h200(all);
    let mut slow = rates;
    slow.up.gbps = 1.0;
    let plan = |gpus: usize, rates| Plan::with_rates(problem, device, &vec![limit; gpus], factors, rates);
    Ok(vec![(1, plan(1, rates)?), (all, plan(all, rates.without_peers())?), (all, plan(all, slow)?)])
}

/// More than four take longer, and show no more.
const MOST_GPUS: usize = 4;

/// Each problem, with any factors, gives what one product in a device's memory gives.
pub fn same_bits() -> Result<(), Failed> {
    let Device { handle, .. } = Device::new()?;
    let mut handles = vec![handle.clone()];
    while let Some(context) = (handles.len() < MOST_GPUS).then(|| open(handles.len())).and_then(Result::ok) {
        handles.push(Handle::new(&context)?);
    }
    // One GPU is two.
    handles.resize(handles.len().max(2), handle.clone());
    for (problem, limit) in problems() {
        let [a, b, c, ..] = problem.extents()?;
        let (mut a, mut b, before) = (random(a), random(b), random(c));
        for (gpus, plan) in plans(&handles, &problem, limit)? {
            let mut streamed = StreamedGemm::with_plan(&handles[..gpus], plan)?;
            for [alpha, beta] in [[1.0, 0.0], [1.5, -0.5], [0.0, 2.0]] {
                let case = format!("{:?} on {gpus}, {alpha} and {beta}", problem.sizes());
                let mut expected = before.clone();
                handle.gemm_host(&problem, alpha, &a, &b, beta, &mut expected)?;
                let mut pageable = before.clone();
                streamed.run(alpha, &a, &b, beta, &mut pageable)?;
                check(&case, "pageable", &expected, &pageable)?;
                let mut locked = before.clone();
                {
                    let context = handle.context();
                    let (a, b) = (Registered::new(context, &mut a)?, Registered::new(context, &mut b)?);
                    let mut locked = Registered::new(context, &mut locked)?;
                    streamed.run(alpha, &a, &b, beta, &mut locked)?;
                }
                check(&case, "page-locked", &expected, &locked)?;
            }
        }
    }
    Ok(())
}

fn check(case: &str, memory: &str, expected: &[f32], found: &[f32]) -> Result<(), Failed> {
    let differs = expected.iter().zip(found).position(|(one, other)| one.to_bits() != other.to_bits());
    match differs {
        Some(index) => {
            Err(format!("{case}, {memory}: element {index} is {}, not {}", found[index], expected[index]).into())
        }
        None => Ok(()),
    }
}
