//! What a call costs the host, with a plan at hand: microseconds for each way to run it, beside cuBLAS's SGEMM and beside empty kernels
//! with as many parameters, launched by the driver alone.
//!
//! `cargo run --release -p sgemm --example latency`
//!
//! Where a context has more than one stream, cudarc orders what they do to a slice by events, of which each slice of a run costs two
//! or three. `CudaContext::disable_event_tracking` leaves that to the program.

use std::error::Error;
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::time::Instant;

use libloading::Library;
use sgemm::cuda::{Arguments, CUdeviceptr, CUstream, Handle, open};
use sgemm::cudarc::driver::sys::CUfunction;
use sgemm::cudarc::driver::{CudaStream, DevicePtr, result};
use sgemm::plan::{Bindings, Buffer};
use sgemm::{AccuracyClass, Problem};

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
            cublas.set_stream(&stream);
            times.push(time(&stream, || cublas.sgemm([m, n, k], [at_a, at_b, at_c]))?);
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

/// cuBLAS, where it is installed.
struct Cublas(Option<Found>);

struct Found {
    handle: *mut c_void,
    set_stream: SetStream,
    sgemm: Sgemm,
    // The functions are of it.
    _library: Library,
}

type Create = unsafe extern "C" fn(*mut *mut c_void) -> c_int;
type SetStream = unsafe extern "C" fn(*mut c_void, CUstream) -> c_int;
#[rustfmt::skip]
type Sgemm = unsafe extern "C" fn(
    *mut c_void, c_int, c_int, c_int, c_int, c_int, *const f32, CUdeviceptr, c_int, CUdeviceptr, c_int, *const f32, CUdeviceptr, c_int,
) -> c_int;

impl Cublas {
    /// For the current context.
    fn open() -> Result<Self, Box<dyn Error>> {
        let names = ["libcublas.so.13", "libcublas.so.12", "libcublas.so"];
        // SAFETY: initialising the library has no requirements.
        let library = names.into_iter().find_map(|name| unsafe { Library::new(name) }.ok());
        let Some(library) = library else { return Ok(Self(None)) };
        let mut handle = std::ptr::null_mut();
        // SAFETY: the functions' types are those of cublas_v2.h, and the library stays as long as they do.
        let (status, set_stream, sgemm) = unsafe {
            let status = library.get::<Create>(b"cublasCreate_v2\0")?(&raw mut handle);
            (status, *library.get::<SetStream>(b"cublasSetStream_v2\0")?, *library.get::<Sgemm>(b"cublasSgemm_v2\0")?)
        };
        Ok(Self((status == 0).then_some(Found { handle, set_stream, sgemm, _library: library })))
    }

    /// Has it run in this stream.
    fn set_stream(&self, stream: &CudaStream) {
        if let Some(Found { handle, set_stream, .. }) = &self.0 {
            // SAFETY: the handle is cuBLAS's, and the stream lives as long as calls are made in it.
            unsafe { set_stream(*handle, stream.cu_stream()) };
        }
    }

    /// Row-major C = A*B, which is C^T = B^T*A^T to cuBLAS; nothing where it is not there.
    fn sgemm(&self, sizes: [usize; 3], [a, b, c]: [CUdeviceptr; 3]) -> Result<(), Box<dyn Error>> {
        let Some(Found { handle, sgemm, .. }) = &self.0 else { return Ok(()) };
        let [m, n, k] = sizes.map(|size| size as c_int);
        let (one, zero) = (1.0, 0.0);
        // SAFETY: matrices are of these sizes, and live until the stream has passed.
        let status = unsafe { sgemm(*handle, 0, 0, n, m, k, &raw const one, b, n, a, k, &raw const zero, c, n) };
        if status == 0 { Ok(()) } else { Err(format!("cublasSgemm answers {status}").into()) }
    }
}
