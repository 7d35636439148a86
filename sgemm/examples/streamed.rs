//! C = A\*B of matrices in the host's memory, on all GPUs, with a part of their memory.

use std::time::Instant;

use sgemm::Problem;
use sgemm::cuda::{Handle, open};
use sgemm::streamed::{Registered, StreamedGemm};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Ok(first) = open(0).inspect_err(|error| println!("{error}")) else { return Ok(()) };
    let mut handles = vec![Handle::new(&first)?];
    while let Ok(context) = open(handles.len()) {
        handles.push(Handle::new(&context)?);
    }
    let (m, n, k) = (3000, 5000, 4000);
    let (mut a, mut b) = (vec![1.0_f32; m * k], vec![2.0_f32; k * n]);
    let mut c = vec![f32::NAN; m * n];

    // 188 MB of matrices, in 64 MiB of each GPU.
    let problem = Problem::new(m, n, k);
    let mut streamed = StreamedGemm::new(&handles, &problem, &vec![64 << 20; handles.len()])?;
    streamed.run(1.0, &a, &b, 0.0, &mut c)?;
    assert_eq!(c, vec![8000.0; m * n]);

    // Page-locked, they are copied by the GPUs themselves, as often as wanted.
    let (a, b) = (Registered::new(&first, &mut a)?, Registered::new(&first, &mut b)?);
    let mut c = Registered::new(&first, &mut c)?;
    let start = Instant::now();
    streamed.run(1.0, &a, &b, 1.0, &mut c)?;
    assert_eq!(*c, *vec![16_000.0; m * n]);
    println!("{:.1} TFLOPS on {} GPUs", problem.flops() / start.elapsed().as_secs_f64() / 1e12, handles.len());
    Ok(())
}
