//! Programs on the CUDA driver's interface, with the emulator in its place. Each test runs itself by `ptx-emu exec`, which cargo has put above
//! it; where only this package was built, it is not there, and the tests say so and end.

#![cfg(target_os = "linux")]

use std::env;
use std::ffi::c_void;
use std::process::Command;
use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUgraphInstantiate_flags, CUresult, CUstreamCaptureMode};
use cudarc::driver::{CudaContext, CudaModule, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use ptx_emu::device::Device;

/// Each thread doubles one word, and those of block 1 a word that is not there.
const DOUBLE: &str = "
.version 7.0
.target sm_80
.address_size 64
.visible .entry double(.param .u64 words)
{
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [words];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mad.lo.s32 %r3, %r2, 1048576, %r1;
    mul.wide.u32 %rd2, %r3, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r4, [%rd3];
    add.s32 %r5, %r4, %r4;
    st.global.u32 [%rd3], %r5;
    ret;
}";

/// Runs the test of that name again, on the emulated driver. Whether this is that run; what it printed otherwise, where it could be made.
fn emulated(test: &str, options: &[&str]) -> Result<(), Option<String>> {
    if env::var_os("PTX_EMU_DEVICE").is_some() {
        return Ok(());
    }
    let executable = env::current_exe().unwrap();
    let is_built =
        |folder: &&std::path::Path| ["ptx-emu", "libptx_emu_driver.so"].iter().all(|file| folder.join(file).is_file());
    let Some(folder) = executable.ancestors().skip(1).find(is_built) else {
        println!("ptx-emu is not built");
        return Err(None);
    };
    let mut command = Command::new(folder.join("ptx-emu"));
    command.arg("exec").args(options).arg("--").arg(&executable).args(["--exact", test, "--nocapture"]);
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{text}");
    Err(Some(text))
}

fn open() -> (Arc<CudaContext>, Arc<CudaModule>) {
    let context = CudaContext::new(0).unwrap();
    let module = context.load_module(Ptx::from_src(DOUBLE)).unwrap();
    (context, module)
}

const ONE_BLOCK: LaunchConfig = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (64, 1, 1), shared_mem_bytes: 0 };

#[test]
fn a_kernel_runs_and_takes_the_modelled_time() {
    let Ok(()) = emulated("a_kernel_runs_and_takes_the_modelled_time", &["--check", "--device", "a100"]) else {
        return;
    };
    let (context, module) = open();
    assert!(context.name().unwrap().starts_with("NVIDIA A100") && Device::is_emulated(&context.name().unwrap()));
    assert_eq!(context.compute_capability().unwrap(), (8, 0));
    let (stream, function) = (context.new_stream().unwrap(), module.load_function("double").unwrap());
    let mut words = stream.clone_htod(&(0..64).collect::<Vec<u32>>()).unwrap();
    let timed = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
    let start = stream.record_event(timed).unwrap();
    // SAFETY: the kernel takes a pointer to 64 words.
    unsafe { stream.launch_builder(&function).arg(&mut words).launch(ONE_BLOCK) }.unwrap();
    let end = stream.record_event(timed).unwrap();
    let ms = start.elapsed_ms(&end).unwrap();
    assert!(ms > 0.0 && ms < 0.1, "{ms} ms");
    assert_eq!(stream.clone_dtoh(&words).unwrap(), (0..64).map(|word| 2 * word).collect::<Vec<u32>>());
    assert!(module.load_function("triple").is_err());
    assert!(context.load_module(Ptx::from_src("no PTX")).is_err());
}

#[test]
fn a_fault_is_said_and_ends_the_context() {
    let text = match emulated("a_fault_is_said_and_ends_the_context", &[]) {
        Ok(()) => {
            let (context, module) = open();
            let (stream, function) = (context.new_stream().unwrap(), module.load_function("double").unwrap());
            let mut words = stream.alloc_zeros::<u32>(64).unwrap();
            let two_blocks = LaunchConfig { grid_dim: (2, 1, 1), ..ONE_BLOCK };
            // SAFETY: what block 1 accesses is not there: the emulator finds it.
            unsafe { stream.launch_builder(&function).arg(&mut words).launch(two_blocks) }.unwrap();
            assert_eq!(stream.synchronize().unwrap_err().0, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
            std::process::exit(0); // dropping what cannot be freed any more is no part of this
        }
        Err(text) => text,
    };
    assert!(text.is_none_or(|text| text.contains("double: out of bounds: line 15")));
}

#[test]
fn a_capture_becomes_a_graph_and_forbids_what_may_wait() {
    let Ok(()) = emulated("a_capture_becomes_a_graph_and_forbids_what_may_wait", &["--check"]) else { return };
    let (context, module) = open();
    // cudarc's own events between streams would be recorded in the capture.
    // SAFETY: all that follows is in one stream.
    unsafe { context.disable_event_tracking() };
    let (stream, function) = (context.new_stream().unwrap(), module.load_function("double").unwrap());
    let mut words = stream.clone_htod(&[1_u32; 64]).unwrap();
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
    let flags = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    stream.begin_capture(mode).unwrap();
    // SAFETY: the kernel takes a pointer to 64 words.
    unsafe { stream.launch_builder(&function).arg(&mut words).launch(ONE_BLOCK) }.unwrap();
    let graph = stream.end_capture(flags).unwrap().expect("a graph");
    (0..3).for_each(|_| graph.launch().unwrap());
    assert_eq!(stream.clone_dtoh(&words).unwrap(), [8; 64], "recorded, and done three times");

    stream.begin_capture(mode).unwrap();
    let mut address = 0;
    // SAFETY: a place for an address.
    let allocated = unsafe { sys::cuMemAlloc_v2(&raw mut address, 64) };
    assert_eq!(allocated, CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_eq!(stream.end_capture(flags).err().unwrap().0, CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

#[test]
fn functions_are_found_by_name_and_what_is_missing_says_so() {
    let name = "functions_are_found_by_name_and_what_is_missing_says_so";
    let text = match emulated(name, &[]) {
        Ok(()) => {
            let _context = CudaContext::new(0).unwrap();
            let find = |name: &std::ffi::CStr| {
                let mut function: *mut c_void = ptr::null_mut();
                // SAFETY: a name, and a place for an address; no status is asked for.
                let status =
                    unsafe { sys::cuGetProcAddress_v2(name.as_ptr(), &raw mut function, 13_000, 0, ptr::null_mut()) };
                (status, function.is_null())
            };
            assert_eq!(find(c"cuMemAlloc"), (CUresult::CUDA_SUCCESS, false));
            assert_eq!(find(c"cuNothing"), (CUresult::CUDA_ERROR_NOT_FOUND, true));
            let mut address = 0;
            // SAFETY: a place for an address.
            let status = unsafe { sys::cuMemAllocManaged(&raw mut address, 64, 1) };
            assert_eq!(status, CUresult::CUDA_ERROR_NOT_SUPPORTED);
            return;
        }
        Err(text) => text,
    };
    assert!(text.is_none_or(|text| text.contains("ptx-emu: managed memory is not emulated")));
}
