//! How far an approximation may be from the exact result.

use half::{bf16, f16};

use super::Case;

/// The greatest error that the PTX ISA allows: relative to the result, or absolute where that is more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// As a part of the result.
    pub relative: f64,
    /// In itself.
    pub absolute: f64,
}

impl Bound {
    /// Whether the hardware's result and the emulator's, which is rounded correctly, may both stand.
    #[must_use]
    pub fn allows(&self, case: &Case, hardware: u64, emulator: u64) -> bool {
        let numbers = |bits| numbers(case, bits);
        numbers(hardware).into_iter().zip(numbers(emulator)).all(|((hardware, _), (emulator, spacing))| {
            let most = (self.relative * emulator.abs()).max(self.absolute) + spacing / 2.0;
            hardware == emulator || hardware.is_nan() && emulator.is_nan() || (hardware - emulator).abs() <= most
        })
    }
}

/// How many numbers of the format lie between the two results at most; `None` where one of them is NaN or infinite.
#[must_use]
pub fn distance(case: &Case, hardware: u64, emulator: u64) -> Option<f64> {
    let pairs = numbers(case, hardware).into_iter().zip(numbers(case, emulator));
    let apart = pairs.map(|((hardware, _), (emulator, spacing))| (hardware - emulator).abs() / spacing);
    apart.filter(|distance| distance.is_finite()).reduce(f64::max)
}

/// The numbers that a result holds, each with the spacing of its format around it.
fn numbers(case: &Case, bits: u64) -> Vec<(f64, f64)> {
    let with_spacing = |x: f64, digits: i32, least: i32| {
        let exponent = if x == 0.0 || !x.is_finite() { least } else { (x.abs().log2().floor() as i32).max(least) };
        (x, f64::from(exponent - digits).exp2())
    };
    let f16 = |bits: u64| with_spacing(f16::from_bits(bits as u16).to_f64(), 10, -14);
    let bf16 = |bits: u64| with_spacing(bf16::from_bits(bits as u16).to_f64(), 7, -126);
    match case.name.rsplit('.').next() {
        Some("f64") => vec![with_spacing(f64::from_bits(bits), 52, -1022)],
        Some("f32") => vec![with_spacing(f32::from_bits(bits as u32).into(), 23, -126)],
        Some("f16") => vec![f16(bits)],
        Some("bf16") => vec![bf16(bits)],
        Some("f16x2") => vec![f16(bits & 0xffff), f16(bits >> 16)],
        Some("bf16x2") => vec![bf16(bits & 0xffff), bf16(bits >> 16)],
        _ => vec![],
    }
}
