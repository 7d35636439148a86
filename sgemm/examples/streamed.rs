//! C = A\*B of square matrices in the host's memory, on all GPUs, with a part of their memory.
//!
//! `cargo run --release -p sgemm --example streamed [-- SIZE [MIB]]`

use std::time::Instant;

use sgemm::Problem;
use sgemm::cuda::{Handle, open};
use sgemm::streamed::{Registered, StreamedGemm};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given: Vec<usize> = std::env::args().skip(1).map(|word| word.parse()).collect::<Result<_, _>>()?;
    // 192 MB of matrices, in 64 MiB of each GPU.
    let [n, mib] = [0, 1].map(|at| given.get(at).copied().unwrap_or([4000, 64][at]));
    let Ok(first) = open(0).inspect_err(|error| println!("{error}")) else { return Ok(()) };
    let mut handles = vec![Handle::new(&first)?];
    while let Ok(context) = open(handles.len()) {
        handles.push(Handle::new(&context)?);
    }
    // Whole numbers, so that results are exact.
    let number = |at: usize, factor: usize| (at.wrapping_mul(factor) % 1009 % 9) as f32 - 4.0;
    let mut a: Vec<f32> = (0..n * n).map(|at| number(at, 7919)).collect();
    let mut b: Vec<f32> = (0..n * n).map(|at| number(at, 104_729)).collect();
    let mut c = vec![f32::NAN; n * n];

    let problem = Problem::new(n, n, n);
    let mut streamed = StreamedGemm::new(&handles, &problem, &vec![(mib as u64) << 20; handles.len()])?;
    streamed.run(1.0, &a, &b, 0.0, &mut c)?;
    let element = |i: usize, j: usize| (0..n).map(|p| a[i * n + p] * b[p * n + j]).sum::<f32>();
    for (i, j) in [(0, 0), (n - 1, n - 1), (n / 2, n / 3), (n / 5, n - 1)] {
        assert_eq!(c[i * n + j], element(i, j));
    }

    // Page-locked, they are copied by the GPUs themselves, as often as wanted.
    let (a, b) = (Registered::new(&first, &mut a)?, Registered::new(&first, &mut b)?);
    let mut c = Registered::new(&first, &mut c)?;
    for _ in 0..3 {
        let start = Instant::now();
        streamed.run(1.0, &a, &b, 0.0, &mut c)?;
        println!("{:.1} TFLOPS on {} GPUs", problem.flops() / start.elapsed().as_secs_f64() / 1e12, handles.len());
    }
    Ok(())
}
