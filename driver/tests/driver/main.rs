//! Programs on the CUDA driver's interface, with the emulator in its place. Each test runs itself by `ptx-emu exec`, which cargo has put above
//! it; where only this package was built, it is not there, and the tests say so and end.

#![cfg(target_os = "linux")]

mod arrays;
mod managed;
mod programs;

use std::process::Command;
use std::sync::Arc;
use std::{env, fs};

use cudarc::driver::sys::CUresult;
use cudarc::driver::{CudaContext, CudaFunction, CudaStream, LaunchConfig};
use cudarc::nvrtc::Ptx;

/// Runs the test of that name again, on the emulated driver. Whether this is that run; what it printed otherwise, where it could be made.
fn emulated(test: &str, options: &[&str]) -> Result<(), Option<String>> {
    if env::var_os("PTX_EMU_DEVICE").is_some() {
        return Ok(());
    }
    let executable = env::current_exe().unwrap();
    let find = |file: &str| executable.ancestors().skip(1).map(|folder| folder.join(file)).find(|path| path.is_file());
    let (Some(program), Some(driver)) = (find("ptx-emu"), find("libptx_emu_driver.so")) else {
        println!("ptx-emu is not built");
        return Err(None);
    };
    // The driver is the one beside the tests: that which is beside the program may be older.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for file in [&program, &driver] {
        fs::hard_link(file, folder.path().join(file.file_name().unwrap())).unwrap();
    }
    let mut command = Command::new(folder.path().join("ptx-emu"));
    command.arg("exec").args(options).arg("--").arg(&executable).args(["--exact", test, "--nocapture"]);
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success() && text.contains("running 1 test"), "{text}");
    Err(Some(text))
}

/// The test of that name: a launch ends in a fault, of which the emulator says this. `launch` gives its stream, and what it uses.
fn faults<T>(test: &str, says: &str, launch: impl FnOnce() -> (Arc<CudaStream>, T)) {
    let text = match emulated(test, &[]) {
        Ok(()) => {
            let (stream, _used) = launch();
            assert_eq!(stream.synchronize().unwrap_err().0, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
            std::process::exit(0); // dropping what cannot be freed any more is no part of this
        }
        Err(text) => text,
    };
    assert!(text.is_none_or(|text| text.contains(says)));
}

fn good(status: CUresult) {
    assert_eq!(status, CUresult::CUDA_SUCCESS);
}

/// A kernel, and a stream to launch it in.
fn open(ptx: &str, kernel: &str) -> (Arc<CudaStream>, CudaFunction) {
    let context = CudaContext::new(0).unwrap();
    let module = context.load_module(Ptx::from_src(ptx)).unwrap();
    (context.default_stream(), module.load_function(kernel).unwrap())
}

fn one_block(x: u32, y: u32, z: u32) -> LaunchConfig {
    LaunchConfig { grid_dim: (1, 1, 1), block_dim: (x, y, z), shared_mem_bytes: 0 }
}
