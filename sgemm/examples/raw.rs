//! C = A\*B on raw device addresses and a raw stream, as any owner of memory has them: here the driver's own calls.

use sgemm::Problem;
use sgemm::cuda::{CUdeviceptr, Handle, open};
use sgemm::cudarc::driver::result::{free_sync, malloc_sync, memcpy_dtoh_sync, memcpy_htod_sync, stream};
use sgemm::plan::{Bindings, Buffer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Ok(context) = open(0).inspect_err(|error| println!("{error}")) else { return Ok(()) };
    let (m, n, k) = (300, 200, 100);
    let gemm = Handle::new(&context)?.plan(&Problem::new(m, n, k))?;
    let plan = gemm.plan();
    let mut result = vec![0.0_f32; m * n];
    context.bind_to_thread()?;
    // SAFETY: the context is current. A, B, C and the workspace have the bytes that problem and plan ask for, nothing else uses them,
    // and they and the stream live until the stream has been synchronised.
    unsafe {
        let queue = stream::create(stream::StreamKind::NonBlocking)?;
        let a: CUdeviceptr = malloc_sync(m * k * 4)?;
        let b = malloc_sync(k * n * 4)?;
        let c = malloc_sync(m * n * 4)?;
        let workspace = malloc_sync(plan.workspace_bytes().max(1) as usize)?;
        memcpy_htod_sync(a, &vec![1.0_f32; m * k])?;
        memcpy_htod_sync(b, &vec![2.0_f32; k * n])?;

        let parts = plan.part_bytes().at(workspace);
        let addresses = parts.with(Buffer::A, a).with(Buffer::B, b).with(Buffer::C, c);
        gemm.run_raw(queue, &Bindings::new(addresses, 1.0, 0.0))?;

        stream::synchronize(queue)?;
        memcpy_dtoh_sync(&mut result, c)?;
        stream::destroy(queue)?;
        [a, b, c, workspace].map(|address| free_sync(address)).into_iter().collect::<Result<(), _>>()?;
    }
    assert_eq!(result, vec![200.0; m * n]);
    println!("{} on raw addresses", gemm.kernel().slug);
    Ok(())
}
