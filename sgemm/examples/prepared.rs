//! C = A\*B for several A and the same B: weights that are split once.

use sgemm::cuda::{Arguments, Handle, open};
use sgemm::{AccuracyClass, Problem};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Ok(context) = open(0).inspect_err(|error| println!("{error}")) else { return Ok(()) };
    let stream = context.default_stream();
    let (m, n, k) = (1024, 2048, 512);
    let weights = stream.clone_htod(&vec![2.0_f32; k * n])?;
    let mut c = stream.alloc_zeros::<f32>(m * n)?;

    let handle = Handle::new(&context)?;
    let gemm = handle.plan(&Problem::new(m, n, k).with_accuracy(AccuracyClass::Fp32))?;
    let prepared = gemm.prepare_b(&stream, &weights)?;
    let mut workspace = handle.workspace(&stream, gemm.workspace_bytes())?;
    for layer in [1.0_f32, 3.0] {
        let a = stream.clone_htod(&vec![layer; m * k])?;
        let arguments = Arguments::new(1.0, &a, &weights, 0.0, &mut c).with_prepared_b(&prepared);
        gemm.run_with(&stream, arguments, &mut workspace)?;
        assert_eq!(stream.clone_dtoh(&c)?, vec![layer * 1024.0; m * n]);
    }
    println!("{}: {} bytes beside {} of the weights", gemm.kernel().slug, prepared.bytes(), prepared.original_bytes());
    Ok(())
}
