//! C = A\*B of f32, on a GPU.

use sgemm::Problem;
use sgemm::cuda::{Handle, open};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Ok(context) = open(0).inspect_err(|error| println!("{error}")) else { return Ok(()) };
    let stream = context.default_stream();
    let (m, n, k) = (1000, 500, 200);
    let a = stream.clone_htod(&vec![1.0_f32; m * k])?;
    let b = stream.clone_htod(&vec![2.0_f32; k * n])?;
    let mut c = stream.alloc_zeros::<f32>(m * n)?;

    let handle = Handle::new(&context)?;
    let gemm = handle.plan(&Problem::new(m, n, k))?;
    let mut workspace = handle.workspace(&stream, gemm.workspace_bytes())?;
    gemm.run(&stream, 1.0, &a, &b, 0.0, &mut c, &mut workspace)?;

    assert_eq!(stream.clone_dtoh(&c)?, vec![400.0; m * n]);
    println!("{} on {}", gemm.kernel().slug, handle.device().name);
    Ok(())
}
