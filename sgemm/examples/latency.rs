//! What a run costs the host, with a plan at hand: microseconds per call, beside a bare launch of the driver's.
//!
//! `cargo run --release -p sgemm --example latency`

use std::time::Instant;

use sgemm::cuda::{Arguments, Handle, open};
use sgemm::{AccuracyClass, Problem};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = match open(0) {
        Ok(context) => context,
        Err(error) => {
            println!("{error}");
            return Ok(());
        }
    };
    let stream = context.default_stream();
    let handle = Handle::new(&context)?;
    const CALLS: u32 = 2000;
    for (m, n, k, class) in [
        (64, 64, 64, AccuracyClass::Fp32Strict),
        (256, 256, 256, AccuracyClass::Fp32Strict),
        (512, 512, 512, AccuracyClass::Fp32Strict),
        (256, 256, 256, AccuracyClass::Tf32),
        (256, 256, 256, AccuracyClass::Fp32),
    ] {
        let problem = Problem::new(m, n, k).with_accuracy(class);
        let start = Instant::now();
        let gemm = handle.plan(&problem)?;
        let planned = start.elapsed();
        let (a, b) = (stream.alloc_zeros::<f32>(m * k)?, stream.alloc_zeros::<f32>(k * n)?);
        let mut c = stream.alloc_zeros::<f32>(m * n)?;
        let mut workspace = handle.workspace(&stream, gemm.workspace_bytes())?;
        let mut call = || gemm.run(&stream, 1.0, &a, &b, 0.0, &mut c, &mut workspace);
        call()?;
        stream.synchronize()?;
        // The queue must not fill up, so that no call waits for the device.
        let mut times = Vec::new();
        for _ in 0..CALLS / 100 {
            let start = Instant::now();
            (0..100).try_for_each(|_| call())?;
            times.push(start.elapsed().as_secs_f64() * 1e4);
            stream.synchronize()?;
        }
        times.sort_by(f64::total_cmp);
        let median = times[times.len() / 2];
        drop(times);
        let mut graph = gemm.capture(Arguments::new(1.0, &a, &b, 0.0, &mut c), &mut workspace)?;
        graph.launch(&stream)?;
        stream.synchronize()?;
        let start = Instant::now();
        (0..100).try_for_each(|_| graph.launch(&stream))?;
        let graph_us = start.elapsed().as_secs_f64() * 1e4;
        println!(
            "{m}x{n}x{k} {}: {} launches of {}, {median:.2} us a run, {graph_us:.2} us a graph, {:.1} ms to plan",
            class.name(),
            gemm.plan().launches().len(),
            gemm.kernel().slug,
            planned.as_secs_f64() * 1e3
        );
    }
    Ok(())
}
