//! Matrices in the host's memory: the same bits as in a device's, from pageable and from page-locked memory, on one GPU or as on two.

use libtest_mimic::Failed;
use sgemm::streamed::{Registered, StreamedGemm};
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

/// Each problem, with any factors, gives what one product in a device's memory gives.
pub fn same_bits() -> Result<(), Failed> {
    let Device { handle, .. } = Device::new()?;
    // Two GPUs that are one.
    let handles = [handle.clone(), handle.clone()];
    for (problem, limit) in problems() {
        let [a, b, c, ..] = problem.extents()?;
        let (mut a, mut b, before) = (random(a), random(b), random(c));
        for gpus in [1, 2] {
            let mut streamed = StreamedGemm::new(&handles[..gpus], &problem, &vec![limit; gpus])?;
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
