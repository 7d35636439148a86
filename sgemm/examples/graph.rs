//! C = A\*B + C, captured once in a CUDA graph and launched ten times.

use sgemm::Problem;
use sgemm::cuda::{Arguments, Handle, open};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Ok(context) = open(0).inspect_err(|error| println!("{error}")) else { return Ok(()) };
    let stream = context.default_stream();
    let (m, n, k) = (300, 200, 100);
    let (a, b) = (stream.clone_htod(&vec![1.0_f32; m * k])?, stream.clone_htod(&vec![2.0_f32; k * n])?);
    let mut c = stream.alloc_zeros::<f32>(m * n)?;

    let handle = Handle::new(&context)?;
    let gemm = handle.plan(&Problem::new(m, n, k))?;
    let mut workspace = handle.workspace(&stream, gemm.workspace_bytes())?;
    let mut graph = gemm.capture(Arguments::new(1.0, &a, &b, 1.0, &mut c), &mut workspace)?;
    for _ in 0..10 {
        graph.launch(&stream)?;
    }
    drop(graph); // It borrows C.

    assert_eq!(stream.clone_dtoh(&c)?, vec![10.0 * 200.0; m * n]);
    println!("ten launches of the graph of {}", gemm.kernel().slug);
    Ok(())
}
