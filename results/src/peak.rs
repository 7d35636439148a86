//! What a device computes at best: the only table of peaks. Figures in documents and pictures are shares of these.

/// What one SM does in a clock cycle, in FLOPs: a fused multiply-add is two.
struct PerCycle {
    /// Fused multiply-adds of fp32 on the CUDA cores.
    fma: f64,
    /// Dense MMA of f16 and bf16 with f32 accumulators. Of TF32, half as much.
    mma: Option<f64>,
}

impl PerCycle {
    /// Of a compute capability. Sources: the CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions", and
    /// NVIDIA's architecture white papers on GA100, GA102, AD102, GH100, GB100 and GB202.
    fn of(compute_capability: (u32, u32)) -> Option<Self> {
        let (fma, mma) = match compute_capability {
            (8, 0) => (128.0, Some(2048.0)),
            (8, 6 | 9) | (12, _) => (256.0, Some(512.0)),
            (8, 7) => (256.0, None),
            (9, 0) => (256.0, Some(4096.0)),
            (10, _) => (256.0, Some(8192.0)),
            _ => return None,
        };
        Some(Self { fma, mma })
    }
}

/// The peak of an arithmetic in GFLOPS: what its units do per SM and cycle, times SMs, times the clock. Of fp32 these are the FMA
/// units; of `f16`, `bf16` and `tf32` the tensor cores, without sparsity. `fp16x3` and `tf32x3` spend three MMAs on a product: a
/// third of the tensor cores' peak is left for it. `None` where the device's units or the arithmetic are not known.
///
/// ```
/// use results::peak_gflops;
///
/// let h200 = |precision| peak_gflops(precision, (9, 0), 132, 1980).map(f64::round);
/// // 132 SMs x 128 lanes x 2 x 1.98 GHz, and 132 SMs x 4096 x 1.98 GHz
/// assert_eq!((h200("fp32"), h200("f16")), (Some(66_908.0), Some(1_070_531.0)));
/// ```
#[must_use]
pub fn peak_gflops(precision: &str, compute_capability: (u32, u32), sm_count: u32, sm_clock_mhz: u32) -> Option<f64> {
    let PerCycle { fma, mma } = PerCycle::of(compute_capability)?;
    let per_cycle = match precision {
        "fp32" => fma,
        "f16" | "bf16" => mma?,
        "tf32" => mma? / 2.0,
        "fp16x3" => mma? / 3.0,
        "tf32x3" => mma? / 6.0,
        _ => return None,
    };
    let peak = per_cycle * f64::from(sm_count) * f64::from(sm_clock_mhz) / 1000.0;
    Some(peak).filter(|peak| *peak > 0.0)
}

/// A compute capability as records write it: `9.0` is major 9, minor 0.
#[must_use]
pub fn parse_compute_capability(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In TFLOPS.
    fn peak(precision: &str, capability: (u32, u32), sm_count: u32, sm_clock_mhz: u32) -> f64 {
        (peak_gflops(precision, capability, sm_count, sm_clock_mhz).unwrap() / 100.0).round() / 10.0
    }

    #[test]
    fn peaks_are_those_of_the_data_sheets() {
        // H200: 989.5 TFLOPS of f16 and 494.7 of TF32, dense, at 1830 MHz; 67 of fp32 at 1980 MHz.
        assert_eq!(["f16", "bf16", "tf32"].map(|of| peak(of, (9, 0), 132, 1830)), [989.4, 989.4, 494.7]);
        assert_eq!(peak("fp32", (9, 0), 132, 1980), 66.9);
        // A100: 312 and 19.5; RTX 3090: 71 and 35.6; RTX 4090: 165.2 and 82.6.
        assert_eq!([peak("f16", (8, 0), 108, 1410), peak("fp32", (8, 0), 108, 1410)], [311.9, 19.5]);
        assert_eq!([peak("f16", (8, 6), 82, 1695), peak("fp32", (8, 6), 82, 1695)], [71.2, 35.6]);
        assert_eq!([peak("f16", (8, 9), 128, 2520), peak("fp32", (8, 9), 128, 2520)], [165.2, 82.6]);
    }

    #[test]
    fn three_mmas_for_a_product_leave_a_third() {
        assert_eq!([peak("fp16x3", (9, 0), 132, 1980), peak("tf32x3", (9, 0), 132, 1980)], [356.8, 178.4]);
    }

    #[test]
    fn what_is_not_known_has_no_peak() {
        assert_eq!(peak_gflops("fp32", (99, 0), 132, 1980), None);
        assert_eq!(peak_gflops("fp64", (9, 0), 132, 1980), None);
        assert_eq!(peak_gflops("fp32", (9, 0), 132, 0), None);
    }
}
