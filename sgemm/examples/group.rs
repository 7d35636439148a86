//! Products of several sizes, and several of one size at unrelated addresses, in one call; then the same as a CUDA graph.

use sgemm::Problem;
use sgemm::cuda::{Arguments, Handle, open};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Ok(context) = open(0).inspect_err(|error| println!("{error}")) else { return Ok(()) };
    let stream = context.default_stream();
    let sizes = [(64, 64, 64), (64, 64, 64), (300, 20, 100), (64, 64, 64)];
    let ones = |elements: usize| stream.clone_htod(&vec![1.0_f32; elements]);
    let mut matrices = Vec::new();
    for (m, n, k) in sizes {
        matrices.push((ones(m * k)?, ones(k * n)?, ones(m * n)?));
    }

    let handle = Handle::new(&context)?;
    let group = handle.plan_group(&sizes.map(|(m, n, k)| Problem::new(m, n, k)))?;
    let mut workspace = handle.workspace(&stream, group.workspace_bytes())?;
    let mut arguments: Vec<_> = matrices.iter_mut().map(|(a, b, c)| Arguments::new(1.0, a, b, 1.0, c)).collect();
    group.run(&stream, &mut arguments, &mut workspace)?;
    group.capture(arguments, &mut workspace)?.launch(&stream)?;

    for ((m, n, k), (.., c)) in sizes.into_iter().zip(&matrices) {
        assert_eq!(stream.clone_dtoh(c)?, vec![1.0 + 2.0 * k as f32; m * n]);
    }
    println!("{} products, twice", group.gemms().len());
    Ok(())
}
