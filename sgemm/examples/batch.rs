//! A strided batch, C\[p\] = A\[p\]ᵀ\*B for each p: B is shared, and each A is stored as k x m.

use sgemm::cuda::{Handle, open};
use sgemm::{Layout, Problem};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Ok(context) = open(0).inspect_err(|error| println!("{error}")) else { return Ok(()) };
    let stream = context.default_stream();
    let (count, m, n, k) = (8, 100, 60, 40);
    let small = |elements: usize| (0..elements).map(|i| (i % 7) as f32).collect::<Vec<_>>();
    let (a, b) = (small(count * k * m), small(k * n));
    let (on_a, on_b) = (stream.clone_htod(&a)?, stream.clone_htod(&b)?);
    let mut on_c = stream.alloc_zeros::<f32>(count * m * n)?;

    let problem = Problem::new(m, n, k)
        .with_layouts(Layout::row_major(m).transposed(), Layout::row_major(n), Layout::row_major(n))
        .with_batch(count, [k * m, 0, m * n]);
    let handle = Handle::new(&context)?;
    handle.gemm(&stream, &problem, 1.0, &on_a, &on_b, 0.0, &mut on_c)?;

    for (p, c) in stream.clone_dtoh(&on_c)?.chunks(m * n).enumerate() {
        let a = &a[p * k * m..];
        let at = |i: usize, j: usize| (0..k).map(|l| a[l * m + i] * b[l * n + j]).sum::<f32>();
        assert!((0..m).all(|i| (0..n).all(|j| c[i * n + j] == at(i, j))));
    }
    // The pre-pass that transposes, and the kernel: once for each of the batch.
    let plan = handle.plan(&problem)?;
    let kernels: Vec<_> = plan.plan().launches().iter().map(|launch| launch.kernel).collect();
    println!("{count} times {kernels:?}");
    Ok(())
}
