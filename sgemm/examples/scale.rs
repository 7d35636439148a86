//! What the event model predicts for square products over 2 to 4096 H200, a network card of 400 Gb/s each: JSON lines, all modelled.

use sgemm::distributed::{Chunks, Machine, Scheme, choose, predict};
use sgemm::{AccuracyClass, Device, Error, Problem};

/// Sizes n of n x n x n.
const SIZES: [usize; 5] = [8192, 16384, 32768, 65536, 131_072];

/// Numbers of devices, eight to a host.
const RANKS: [usize; 8] = [2, 4, 8, 16, 64, 256, 1024, 4096];

/// Bytes of an H200's memory, without what the driver keeps.
const MEMORY: u64 = 140_000_000_000;

fn main() -> Result<(), Error> {
    rows()?.iter().for_each(|row| println!("{row}"));
    Ok(())
}

/// A line for each class, size and number of devices that have room for it.
///
/// # Errors
/// Where there is no plan.
pub fn rows() -> Result<Vec<String>, Error> {
    let (device, machine) = (Device::new("NVIDIA H200", (9, 0), 132), Machine::h200());
    let mut rows = Vec::new();
    for class in [AccuracyClass::Fp32Strict, AccuracyClass::Fp32] {
        let rate = machine.rates.iter().find(|(of, _)| *of == class).map_or(f64::NAN, |(_, tflops)| *tflops);
        for size in SIZES {
            let problem = Problem::new(size, size, size).with_accuracy(class);
            for ranks in RANKS {
                let matrices = (3 * size * size * size_of::<f32>() / ranks) as u64;
                let Some(limit) = MEMORY.checked_sub(matrices) else { continue };
                let best = match choose(&problem, ranks, &device, &machine, limit) {
                    Err(Error::WorkspaceLimit { .. }) => continue,
                    best => best?,
                };
                let Chunks { m, n } = best.scheme.chunks;
                let panels = Scheme::row_panels(problem.sizes(), ranks).with_chunks(Chunks { m: 1, n: m.max(n) });
                let panels = predict(&problem, &panels, &device, &machine)?;
                let tflops = |time_us: f64| problem.flops() / time_us / 1e6;
                let grid = best.scheme.grid;
                rows.push(format!(
                    "{{\"modelled\":true,\"device\":\"{}\",\"class\":\"{}\",\"size\":{size},\"gpus\":{ranks},\"grid\":\"{}x{}x{}\",\
                     \"chunks\":\"{m}x{n}\",\"tflops\":{:.0},\"efficiency\":{:.3},\"efficiency_1d\":{:.3}}}",
                    device.name,
                    class.name(),
                    grid.rows,
                    grid.columns,
                    grid.layers,
                    tflops(best.time_us),
                    tflops(best.time_us) / rate / ranks as f64,
                    tflops(panels.time_us) / rate / ranks as f64,
                ));
            }
        }
    }
    Ok(rows)
}
