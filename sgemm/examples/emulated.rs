//! C = A\*B of f32, in the emulator: the kernel that an H200 runs, on the CPU.

use sgemm::Problem;
use sgemm::emulator::{Arguments, Emulator};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (m, n, k) = (1000, 500, 200);
    let (a, b) = (vec![1.0_f32; m * k], vec![2.0_f32; k * n]);
    let mut c = vec![0.0_f32; m * n];

    let emulator = Emulator::of("h200").ok_or("there is no such model")?;
    let plan = emulator.plan(&Problem::new(m, n, k), u64::MAX)?;
    emulator.run(&plan, Arguments::new(1.0, &a, &b, 0.0, &mut c))?;

    assert_eq!(c, vec![400.0; m * n]);
    println!("{} on an emulated {}", plan.step().slug, emulator.device().name);
    Ok(())
}
