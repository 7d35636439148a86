//! GPUs that hand panels on to each other: one GPU, the emulated one, stands for all of them.

#![cfg(target_os = "linux")]

use std::env;
use std::os::unix::fs::symlink;
use std::process::Command;

use sgemm::cuda::{Handle, open};
use sgemm::streamed::{Kept, Plan, Registered, Shape, StreamedGemm};
use sgemm::{Abc, AccuracyClass, Error, Layout, Problem};

/// Runs the test below on the emulated driver.
#[test]
fn peers_share_panels_on_the_emulated_driver() {
    let executable = env::current_exe().unwrap();
    let find = |folder: &std::path::Path| Some(folder.join("libptx_emu_driver.so")).filter(|path| path.exists());
    let driver = executable.ancestors().skip(1).find_map(find).expect("cargo builds the library with its tests");
    let folder = tempfile::tempdir().unwrap();
    symlink(driver, folder.path().join("libcuda.so.1")).unwrap();
    symlink("libcuda.so.1", folder.path().join("libcuda.so")).unwrap();
    let mut command = Command::new(executable);
    command.args(["--exact", "results_are_those_of_one_gpu", "--nocapture"]).env("LD_LIBRARY_PATH", folder.path());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("8 products"), "{said}");
}

/// Where there is a GPU: from pageable and from page-locked memory, in each grid of four.
#[test]
fn results_are_those_of_one_gpu() {
    let Ok(context) = open(0) else { return };
    let handles = vec![Handle::new(&context).unwrap(); 4];
    let (m, n, k) = (61, 93, 40);
    let number = |at: usize, factor: usize| (at.wrapping_mul(factor) % 1009 % 9) as f32 - 4.0;
    let mut a: Vec<f32> = (0..m * k).map(|at| number(at, 7919)).collect();
    let mut b: Vec<f32> = (0..k * n).map(|at| number(at, 104_729)).collect();
    // A by rows, B by columns: sums of whole numbers are exact.
    let sum = |at: usize| (0..k).map(|l| a[at / n * k + l] * b[at % n * k + l]).sum::<f32>();
    let expected: Vec<f32> = (0..m * n).map(|at| 2.0 * sum(at) + 3.0).collect();
    let mut products = 0;
    for (class, grid) in [AccuracyClass::Fp32Strict, AccuracyClass::Fp32]
        .into_iter()
        .flat_map(|class| [[1, 4], [2, 2]].map(|grid| (class, grid)))
    {
        let layouts = [Layout::row_major(k), Layout::column_major(k), Layout::row_major(n)];
        let problem = Problem::new(m, n, k).with_accuracy(class).with_layouts(layouts[0], layouts[1], layouts[2]);
        // Slots are used again and again.
        let shape = Shape { tile: [16, 8], piece: k, slots: Abc { a: 1, b: 2, c: 2 }, kept: Kept::B };
        let plan = Plan::of_shape(&problem, handles[0].device(), &[1 << 30; 4], (grid, true), shape).unwrap().unwrap();
        let mut streamed = StreamedGemm::with_plan(&handles, plan).unwrap();
        let mut c = vec![-1.0; m * n];
        streamed.run(2.0, &a, &b, -3.0, &mut c).unwrap();
        assert_eq!(c, expected);
        c.fill(-1.0);
        let (a, b) = (Registered::new(&context, &mut a).unwrap(), Registered::new(&context, &mut b).unwrap());
        let mut locked = Registered::new(&context, &mut c).unwrap();
        streamed.run(2.0, &a, &b, -3.0, &mut locked).unwrap();
        drop(locked);
        assert_eq!(c, expected);
        products += 2;
    }
    println!("{products} products");
    // One that is for other GPUs.
    let plan = Plan::new(&Problem::new(m, n, k), handles[0].device(), &[1 << 30; 4]).unwrap();
    assert!(matches!(StreamedGemm::with_plan(&handles[..3], plan), Err(Error::NotDistributed { .. })));
}
