//! C = A\*B on cust's buffers and stream. cust uses the device's primary context, as cudarc and the CUDA runtime do.
//!
//! `cargo run -p host --example cust`

use cust::context::Context;
use cust::device::Device;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::{Stream, StreamFlags};
use sgemm::Problem;
use sgemm::cuda::{Handle, open};
use sgemm::plan::{Bindings, Buffer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Ok(primary) = open(0).inspect_err(|error| println!("{error}")) else { return Ok(()) };
    cust::init(cust::CudaFlags::empty())?;
    let _current = Context::new(Device::get_device(0)?)?;
    let (m, n, k) = (300, 200, 100);
    let gemm = Handle::new(&primary)?.plan(&Problem::new(m, n, k))?;

    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let a = DeviceBuffer::from_slice(&vec![1.0_f32; m * k])?;
    let b = DeviceBuffer::from_slice(&vec![2.0_f32; k * n])?;
    let c = DeviceBuffer::from_slice(&vec![0.0_f32; m * n])?;
    let workspace = DeviceBuffer::from_slice(&vec![0_u8; gemm.plan().workspace_bytes().max(1) as usize])?;

    let parts = gemm.plan().part_bytes().at(workspace.as_device_ptr().as_raw());
    let addresses = parts
        .with(Buffer::A, a.as_device_ptr().as_raw())
        .with(Buffer::B, b.as_device_ptr().as_raw())
        .with(Buffer::C, c.as_device_ptr().as_raw());
    // SAFETY: the primary context is current, and the stream is one of it. The buffers have the elements and bytes that problem and
    // plan ask for, and live until the stream is synchronised.
    unsafe { gemm.run_raw(stream.as_inner().cast(), &Bindings::new(addresses, 1.0, 0.0)) }?;
    stream.synchronize()?;

    let mut result = vec![0.0_f32; m * n];
    c.copy_to(&mut result)?;
    assert_eq!(result, vec![200.0; m * n]);
    println!("{} on cust's buffers", gemm.kernel().slug);
    Ok(())
}
