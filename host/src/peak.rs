//! What the device could do at best.

use crate::backend::Device;

/// The device's fp32 FMA peak in GFLOPS, at its highest clock: SMs x fp32 lanes per SM x 2 x clock. `None` for a
/// compute capability whose lanes are not known.
///
/// ```
/// use host::backend::{BackendChoice, Options, open};
/// use host::peak::fma_gflops;
///
/// let backend = open(BackendChoice::Emulator, Options::default())?.backend; // stands for an H200
/// // 132 SMs x 128 lanes x 2 operations x 1.98 GHz
/// assert_eq!(fma_gflops(backend.device()).map(f64::round), Some(66908.0));
/// # Ok::<(), host::Error>(())
/// ```
#[must_use]
pub fn fma_gflops(device: &Device) -> Option<f64> {
    let lanes = fp32_lanes_per_sm(device.compute_capability)?;
    let clock_ghz = f64::from(device.max_clock_mhz) / 1000.0;
    Some(f64::from(device.sm_count) * f64::from(lanes) * 2.0 * clock_ghz).filter(|peak| *peak > 0.0)
}

/// Results per clock cycle and SM of 32-bit floating-point multiply-add: CUDA C++ Programming Guide, "Arithmetic
/// Instructions", table "Throughput of Native Arithmetic Instructions".
fn fp32_lanes_per_sm(compute_capability: (u32, u32)) -> Option<u32> {
    match compute_capability {
        (8, 0) => Some(64),
        (8, 6 | 7 | 9) | (9, 0) | (10 | 12, _) => Some(128),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_data_sheets() {
        // H200: 67 TFLOPS; A100: 19.5 TFLOPS.
        assert_eq!(fma_gflops(&Device::of_capability((9, 0))).unwrap().round(), 66908.0);
        let a100 = Device { sm_count: 108, max_clock_mhz: 1410, ..Device::of_capability((8, 0)) };
        assert_eq!(fma_gflops(&a100).unwrap().round(), 19492.0);
    }

    #[test]
    fn unknown_devices_have_no_peak() {
        assert_eq!(fma_gflops(&Device::of_capability((99, 0))), None);
    }
}
