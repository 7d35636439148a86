//! Multiplies on the first device, or says why not.

use sgemm::cuda::{open, Handle};
use sgemm::{Error, Problem};

fn main() {
    match multiply() {
        Ok(c) => assert_eq!(c, [19.0, 22.0, 43.0, 50.0]),
        Err(error) => println!("{error}"),
    }
}

fn multiply() -> Result<[f32; 4], Error> {
    let handle = Handle::new(&open(0)?)?;
    let (a, b, mut c) = ([1.0_f32, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [0.0; 4]);
    handle.gemm_host(&Problem::new(2, 2, 2), 1.0, &a, &b, 0.0, &mut c)?;
    Ok(c)
}

/// The contexts of a program's own cudarc are the library's.
#[cfg(feature = "linked")]
pub fn handle(context: &std::sync::Arc<cudarc::driver::CudaContext>) -> Result<Handle, Error> {
    Handle::new(context)
}
