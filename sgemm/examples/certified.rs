//! The accuracy class fp32 on inputs that a hi/lo split is certified for, and on others: times, and how much was computed by three bf16, by
//! signs or in fp32.

use std::time::Instant;

use sgemm::cuda::{Handle, open};
use sgemm::gpu_kernels::Uncertified;
use sgemm::{AccuracyClass, Problem};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const RUNS: u32 = 20;
    let Ok(context) = open(0).inspect_err(|error| println!("{error}")) else { return Ok(()) };
    let stream = context.default_stream();
    let handle = Handle::new(&context)?;
    for size in [1024, 2048, 4096] {
        let all = size * size;
        let ordinary: Vec<f32> = (0..all).map(|i| 1.0 + (i * 7919 % 1009) as f32 / 1009.0).collect();
        // A subnormal in a row and 2^100 are beyond the window of two parts; some products of 2^127 overflow.
        let with = |rows: usize, x: f32| {
            let mut a = ordinary.clone();
            a.chunks_mut(size).take(rows).for_each(|row| row[0] = x);
            a
        };
        // Signs, and exponents from -e to e.
        let wide = |e: u32| {
            let hash = |i: usize| ((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u32;
            let power = |i: usize| 2f32.powi((hash(i) % (2 * e + 1)) as i32 - e as i32);
            ordinary
                .iter()
                .enumerate()
                .map(|(i, x)| x * power(i) * if hash(i) >> 23 == 0 { 1.0 } else { -1.0 })
                .collect()
        };
        const SUBNORMAL: f32 = f32::MIN_POSITIVE / 2.0;
        let inputs: [(_, Vec<f32>, Vec<f32>); 8] = [
            ("all rows certified", ordinary.clone(), ordinary.clone()),
            ("a subnormal in one", with(1, SUBNORMAL), ordinary.clone()),
            ("a subnormal in each", with(size, SUBNORMAL), ordinary.clone()),
            ("2^100 in each", with(size, 2f32.powi(100)), ordinary.clone()),
            ("exponents of 60", wide(60), wide(60)),
            ("exponents of 120", wide(120), wide(120)),
            ("an infinity in each", with(size, f32::INFINITY), ordinary.clone()),
            ("2^127 in each", with(size, 2f32.powi(127)), ordinary.clone()),
        ];
        let mut on_c = stream.alloc_zeros::<f32>(all)?;
        for class in [AccuracyClass::Fp32, AccuracyClass::Fp32Strict] {
            let gemm = handle.plan(&Problem::new(size, size, size).with_accuracy(class))?;
            let mut workspace = handle.workspace(&stream, gemm.workspace_bytes())?;
            for (what, a, b) in &inputs {
                let (on_a, on_b) = (stream.clone_htod(a)?, stream.clone_htod(b)?);
                let mut run = || gemm.run(&stream, 1.0, &on_a, &on_b, 0.0, &mut on_c, &mut workspace);
                run()?;
                stream.synchronize()?;
                let since = Instant::now();
                for _ in 0..RUNS {
                    run()?;
                }
                stream.synchronize()?;
                let ms = since.elapsed().as_secs_f64() * 1e3 / f64::from(RUNS);
                let Uncertified { by_bf16, by_bf16_or_in_fp32, by_signs, in_fp32 } =
                    gemm.uncertified(&stream, &workspace)?;
                let kernel = gemm.kernel().slug;
                print!("{size} {} {kernel}, {what}: {ms:.3} ms, ", class.name());
                print!("{by_bf16} by bf16, {by_bf16_or_in_fp32} by bf16 or in fp32, ");
                println!("{by_signs} by signs, {in_fp32} in fp32");
            }
        }
    }
    Ok(())
}
