//! What a call costs the host, with a plan at hand: microseconds for each way to run it, beside cuBLAS's SGEMM and beside empty kernels
//! with as many parameters, launched by the driver alone.
//!
//! `cargo run --release -p sgemm --example latency`
//!
//! Where a context has more than one stream, cudarc orders what they do to a slice by events, of which each slice of a run costs two
//! or three. `CudaContext::disable_event_tracking` leaves that to the program.

use std::error::Error;
use std::ffi::c_void;
use std::sync::Arc;
use std::time::Instant;

use sgemm::cuda::{Arguments, Handle, open};
use sgemm::cudarc::driver::sys::CUfunction;
use sgemm::cudarc::driver::{CudaStream, DevicePtr, result};
use sgemm::plan::{Bindings, Buffer};
use sgemm::{AccuracyClass, Problem};

#[path = "common/cublas.rs"]
mod cublas;

use cublas::Cublas;

/// Calls between two synchronisations: fewer than the queue has room for, so that no call waits for the device.
const CALLS: u32 = 100;
const ROUNDS: usize = 31;

fn main() -> Result<(), Box<dyn Error>> {
    let Ok(context) = open(0).inspect_err(|error| println!("{error}")) else { return Ok(()) };
    let empty = empty_kernel(&context.default_stream())?;
    let cublas = Cublas::open()?;
    println!("microseconds of the host for each call: medians of {ROUNDS} times {CALLS}");
    let columns = ["launches", "bare", "run", "run, events", "run_raw", "graph", "cublasSgemm", "first plan, ms"];
    println!("{:34}{}", "", columns.map(|column| format!("{column:>15}")).concat());
    for [m, n, k, class] in
        [[64, 64, 64, 0], [512, 512, 512, 0], [1024, 1024, 1024, 0], [512, 512, 512, 2], [512, 512, 512, 1]]
    {
        let problem = Problem::new(m, n, k).with_accuracy(AccuracyClass::ALL[class]);
        let start = Instant::now();
        let handle = Handle::new(&context)?;
        let gemm = handle.plan(&problem)?;
        let planned = start.elapsed().as_secs_f64() * 1e3;
        let launches = gemm.plan().launches().len();
        let mut times = Vec::new();
        for is_tracked in [false, true] {
            // cudarc tracks nothing where all is done in one stream.
            let stream = if is_tracked { context.new_stream()? } else { context.default_stream() };
            let (a, b) = (stream.alloc_zeros::<f32>(m * k)?, stream.alloc_zeros::<f32>(k * n)?);
            let mut c = stream.alloc_zeros::<f32>(m * n)?;
            let mut workspace = handle.workspace(&stream, gemm.workspace_bytes())?;
            if !is_tracked {
                times.push(launches as f64 * time(&stream, || launch_empty(empty, &stream))?);
            }
            times.push(time(&stream, || Ok(gemm.run(&stream, 1.0, &a, &b, 0.0, &mut c, &mut workspace)?))?);
            if !is_tracked {
                continue;
            }
            let [at_a, at_b, at_c] = [&a, &b, &c].map(|slice| slice.device_ptr(&stream).0);
            let memory = stream.alloc_zeros::<u8>(gemm.plan().workspace_bytes().max(1) as usize)?;
            let parts = gemm.plan().part_bytes().at(memory.device_ptr(&stream).0);
            let addresses = parts.with(Buffer::A, at_a).with(Buffer::B, at_b).with(Buffer::C, at_c);
            let bindings = Bindings::new(addresses, 1.0, 0.0);
            // SAFETY: the slices are as long as the problem and the plan ask for, and live until the stream is synchronised.
            times.push(time(&stream, || Ok(unsafe { gemm.run_raw(stream.cu_stream(), &bindings) }?))?);
            {
                let mut graph = gemm.capture(Arguments::new(1.0, &a, &b, 0.0, &mut c), &mut workspace)?;
                times.push(time(&stream, || Ok(graph.launch(&stream)?))?);
            }
            let of_cublas = cublas.as_ref().map(|cublas| {
                cublas.set_stream(&stream);
                time(&stream, || cublas.sgemm([m, n, k], [at_a, at_b, at_c]))
            });
            times.push(of_cublas.unwrap_or(Ok(f64::NAN))?);
        }
        let numbers: String = times.iter().map(|us| format!("{us:15.2}")).collect();
        let name = format!("{m}x{n}x{k} {}", gemm.kernel().slug);
        println!("{name:34}{launches:15}{numbers}{planned:15.1}");
    }
    Ok(())
}

/// Microseconds of a call.
fn time(stream: &CudaStream, mut call: impl FnMut() -> Result<(), Box<dyn Error>>) -> Result<f64, Box<dyn Error>> {
    let mut times = Vec::new();
    for _ in 0..=ROUNDS {
        let start = Instant::now();
        (0..CALLS).try_for_each(|_| call())?;
        times.push(start.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS));
        stream.synchronize()?;
    }
    times.remove(0); // what is done once
    times.sort_by(f64::total_cmp);
    Ok(times[ROUNDS / 2])
}

/// A kernel that does nothing, with the parameters of one with tensor maps.
const EMPTY: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry empty(.param .u64 a, .param .u64 b,\
    .param .u64 c, .param .u64 d, .param .u64 e, .param .u64 f, .param .u64 g, .param .u64 h, .param .u64 i, .param .u64 j,\
    .param .u64 k, .param .align 64 .b8 l[128], .param .align 64 .b8 m[128]) { ret; }\0";

fn empty_kernel(stream: &Arc<CudaStream>) -> Result<CUfunction, Box<dyn Error>> {
    stream.context().bind_to_thread()?;
    // SAFETY: the context is current, and the text ends with a NUL. The module is never unloaded.
    Ok(unsafe { result::module::get_function(result::module::load_data(EMPTY.as_ptr().cast())?, c"empty".to_owned())? })
}

fn launch_empty(kernel: CUfunction, stream: &CudaStream) -> Result<(), Box<dyn Error>> {
    let parameter = [0_u64; 16];
    let mut parameters = [parameter.as_ptr().cast_mut().cast::<c_void>(); 13];
    // SAFETY: the kernel reads none of its 13 parameters, and none has more bytes than that.
    unsafe { result::launch_kernel(kernel, (16, 1, 1), (128, 1, 1), 0, stream.cu_stream(), &mut parameters) }?;
    Ok(())
}
