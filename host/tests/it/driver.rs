//! The CUDA backend on the emulated driver, where cargo has put it beside the program: with this package alone, it does not.

use std::path::Path;
use std::process::Command;

#[test]
fn the_cuda_backend_runs_on_the_emulated_driver_and_says_so() {
    let program = Path::new(env!("CARGO_BIN_EXE_host"));
    let beside = |name: &str| program.with_file_name(name);
    if !beside("ptx-emu").is_file() || !beside("libptx_emu_driver.so").is_file() {
        println!("ptx-emu is not built");
        return;
    }
    // A pre-pass and TMA; a cluster; cuBLAS's place is empty.
    let options = "--backend cuda --kernel 2d-tiling,split-k,fp16x3 --size 96 --json -";
    let output = Command::new(beside("ptx-emu"))
        .args(["exec", "--check", "--"])
        .arg(program)
        .args(options.split(' '))
        .output()
        .unwrap();
    let (rows, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{errors}");
    let of_kernels: Vec<_> = rows.lines().filter(|row| row.contains(r#""backend":"cuda""#)).collect();
    assert_eq!(of_kernels.len(), 3, "{rows}");
    for row in of_kernels {
        for part in [r#""device":"NVIDIA H200 (ptx-emu)""#, r#""modelled":true"#, r#""verified":true"#] {
            assert!(row.contains(part), "{row}");
        }
    }
}
