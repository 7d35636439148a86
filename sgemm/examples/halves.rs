//! C = A\*B on the tensor cores: A and B of f16, C of f32.

use half::f16;
use sgemm::cuda::{Handle, open};
use sgemm::{Element, Problem};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Ok(context) = open(0).inspect_err(|error| println!("{error}")) else { return Ok(()) };
    let stream = context.default_stream();
    let (m, n, k) = (512, 256, 128);
    let a = stream.clone_htod(&vec![f16::from_f32(0.5); m * k])?;
    let b = stream.clone_htod(&vec![f16::from_f32(3.0); k * n])?;
    let mut c = stream.alloc_zeros::<f32>(m * n)?;

    let handle = Handle::new(&context)?;
    let problem = Problem::new(m, n, k).with_elements(Element::F16, Element::F32);
    let Ok(gemm) = handle.plan(&problem).inspect_err(|error| println!("{error}")) else { return Ok(()) };
    let mut workspace = handle.workspace(&stream, gemm.workspace_bytes())?;
    gemm.run(&stream, 1.0, &a, &b, 0.0, &mut c, &mut workspace)?;

    assert_eq!(stream.clone_dtoh(&c)?, vec![192.0; m * n]);
    println!("{} on {}", gemm.kernel().slug, handle.device().name);
    Ok(())
}
