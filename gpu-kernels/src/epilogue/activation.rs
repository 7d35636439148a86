//! Activations, in f32: [`crate::Activation`].

use cuda_std::GpuFloat;

use crate::Activation;
use crate::ptx::approximate;

const RELU: u32 = Activation::Relu as u32;
const GELU: u32 = Activation::Gelu as u32;
const GELU_TANH: u32 = Activation::GeluTanh as u32;

/// The values of that [`Activation`].
#[inline(always)]
pub(crate) fn apply<const W: usize, const V: usize>(activation: u32, values: [[f32; W]; V]) -> [[f32; W]; V] {
    match activation {
        RELU => values.map(|values| values.map(|x| if x < 0.0 { 0.0 } else { x })),
        GELU => values.map(|values| values.map(gelu)),
        GELU_TANH => values.map(|values| values.map(gelu_tanh)),
        _ => values,
    }
}

/// x*Φ(x), where Φ(-|x|) = erfc(|x|/√2)/2 = 2^P(|x|): so both tails of Φ have a small relative error, which 1 + erf(x/√2) has not.
#[inline(always)]
fn gelu(x: f32) -> f32 {
    /// P of degree 10, from its last coefficient to its first: of all with P(0) = -1 the nearest to log2(Φ(-t)), relatively, for t in
    /// 0..6, within 2^-23.8. Beyond, it falls faster.
    const P: [f32; 11] = [
        -1.862_417_4e-8,
        5.959_1e-7,
        -8.140_764e-6,
        6.000_175e-5,
        -2.233_574_6e-4,
        -1.150_841_1e-4,
        7.083_632e-3,
        -5.252_904_4e-2,
        -4.591_946_6e-1,
        -1.151_106_7,
        -1.0,
    ];
    let mut p = P[0];
    for coefficient in &P[1..] {
        p = GpuFloat::mul_add(p, x.abs(), *coefficient);
    }
    let tail = approximate::exp2(p);
    x * if x < 0.0 { tail } else { 1.0 - tail }
}

/// By 1 + tanh(z) = 2/(1 + e^-2z), which has no cancellation either.
#[inline(always)]
fn gelu_tanh(x: f32) -> f32 {
    /// -2*√(2/π)*log2(e), and 0.044715 times that.
    const LINEAR: f32 = -2.302_208_2;
    const CUBIC: f32 = -0.102_943_24;
    let power = approximate::exp2(x * GpuFloat::mul_add(CUBIC, x * x, LINEAR));
    x * approximate::reciprocal(1.0 + power)
}
