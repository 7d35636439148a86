//! The GELUs keep the error bounds that [`Activation`] states, against f64.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use gpu_kernels::{Activation, Element, Extent, finish};
use libtest_mimic::{Failed, Trial};
use ptx_emu::{GlobalMemory, Launch};
use sgemm::plan::Value;

use super::{kernel, launch};

pub fn trials() -> impl Iterator<Item = Trial> {
    [Activation::Gelu, Activation::GeluTanh].into_iter().map(|activation| {
        Trial::test(format!("support::finish_f32 keeps the bounds of {activation:?}"), move || {
            keeps_its_bounds(activation)
        })
    })
}

/// The function in f64.
pub fn exact(activation: Activation, x: f64) -> f64 {
    match activation {
        Activation::GeluTanh => 0.5 * x * (1.0 + ((2.0 / PI).sqrt() * (x + 0.044715 * x * x * x)).tanh()),
        _ => x * normal_cdf(x),
    }
}

/// What the absolute error may be.
pub fn bound(x: f64, exact: f64) -> f64 {
    let unit = 2f64.powi(-24);
    match x {
        0.0.. => 5.0 * unit * exact,
        -6.0..0.0 => 4.0 * (1.0 + x * x) * unit * exact.abs(),
        _ => 2f64.powi(-36),
    }
}

/// The distribution function of the normal distribution: near 0 by its series, whose terms are all positive, then by the continued
/// fraction of Mills' ratio.
fn normal_cdf(x: f64) -> f64 {
    let t = x.abs();
    let density = (-t * t / 2.0).exp() * FRAC_1_SQRT_2 / PI.sqrt();
    let tail = if t < 3.0 {
        let terms = (1..200).scan(t, |term, i| {
            let this = *term;
            *term *= t * t / f64::from(2 * i + 1);
            Some(this)
        });
        0.5 - density * terms.sum::<f64>()
    } else {
        density / (1..400).rev().fold(t, |rest, i| t + f64::from(i) / rest)
    };
    if x < 0.0 { tail } else { 1.0 - tail }
}

/// Values from far beyond both ends, denser towards zero, and what is no normal number.
fn grid() -> Vec<f32> {
    let steps = (0..120_000).map(|i| i as f32 * 0.000_125); // to 15
    let powers = (0..4000).map(|i| 2f32.powf(-40.0 + i as f32 * 0.025));
    let positive = steps.chain(powers).chain([f32::INFINITY, f32::MAX, f32::MIN_POSITIVE, 1e-41]);
    let mut grid: Vec<f32> = positive.flat_map(|x| [x, -x]).chain([f32::NAN]).collect();
    grid.resize(grid.len().next_multiple_of(1024), 1.0);
    grid
}

fn keeps_its_bounds(activation: Activation) -> Result<(), Failed> {
    let (postpass, inputs) = (finish(Element::F32), grid());
    let extent = Extent { rows: inputs.len() as u32 / 1024, cols: 1024 };
    let mut memory = GlobalMemory::default();
    let w = memory.allocate_words(inputs.iter().map(|x| x.to_bits()));
    let d = memory.allocate(inputs.len() as u64 * 4);
    let arguments = [
        Value::U32(extent.rows),
        Value::U32(extent.cols),
        Value::Address(w),
        Value::U32(extent.cols),
        Value::U32(1),
        Value::U64(0),
        Value::F32(1.0),
        Value::Address(0),
        Value::F32(0.0),
        Value::Address(0),
        Value::Address(0),
        Value::U64(0),
        Value::U64(0),
        Value::Address(d),
        Value::U64(extent.cols.into()),
        Value::Address(0),
        Value::U32(0),
        Value::U32(activation as u32),
    ];
    let shape = Launch::new(postpass.grid(extent), [postpass.threads, 1, 1]);
    launch(&kernel(postpass.kernel)?, shape, &arguments, &mut memory)?;
    let outputs = memory.free(d).ok_or("D")?;
    for (x, y) in inputs.into_iter().zip(outputs.into_iter().map(f32::from_bits)) {
        let exact = exact(activation, x.into());
        let error = (f64::from(y) - exact).abs();
        // The GELUs of -infinity are NaN; subnormal results may be flushed.
        let is_right = error <= bound(x.into(), exact).max(f64::from(f32::MIN_POSITIVE))
            || exact.is_nan() && y.is_nan()
            || f64::from(y) == exact;
        if !is_right {
            return Err(format!("{activation:?} of {x:e} is {y:e} instead of {exact:e}").into());
        }
    }
    Ok(())
}
