//! What a launch of a post-pass does, and what D must then hold.

use gpu_kernels::{Activation, BiasPer, Element};
use half::{bf16, f16};

use super::super::gelu;

/// Where C is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum C {
    /// Nowhere: it is not read.
    Absent,
    /// It is D.
    InPlace,
    /// Row-major, with so many elements between rows.
    Rows(usize),
    /// Column-major, likewise.
    Columns(usize),
}

/// What a launch does, and how its matrices lie.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    pub alpha: f32,
    pub beta: f32,
    /// Whether alpha and beta come from memory.
    pub on_device: bool,
    pub c: C,
    pub bias: Option<BiasPer>,
    pub activation: Activation,
    /// Elements between rows of W, in fours, and of D.
    pub padding: [usize; 2],
    /// Planes of W.
    pub planes: u32,
}

pub const PLAIN: Case = Case {
    alpha: 1.0,
    beta: 0.0,
    on_device: false,
    c: C::Absent,
    bias: None,
    activation: Activation::None,
    padding: [0, 0],
    planes: 1,
};

pub const CASES: [Case; 19] = [
    PLAIN,
    Case { alpha: -0.75, on_device: true, padding: [1, 4], ..PLAIN },
    Case { beta: 1.0, c: C::InPlace, ..PLAIN },
    Case { alpha: 2.5, beta: -0.5, c: C::InPlace, padding: [0, 3], activation: Activation::Relu, ..PLAIN },
    Case { beta: 3.0, c: C::Rows(4), on_device: true, ..PLAIN },
    Case { beta: -1.0, c: C::Rows(1), bias: Some(BiasPer::Row), ..PLAIN },
    Case { alpha: 0.5, beta: 0.25, c: C::Columns(0), bias: Some(BiasPer::Column), padding: [2, 1], ..PLAIN },
    Case { beta: 2.0, c: C::Columns(3), activation: Activation::Gelu, ..PLAIN },
    Case { alpha: 0.0, beta: 1.0, c: C::InPlace, ..PLAIN },
    Case { alpha: 0.0, beta: -0.5, c: C::Rows(0), bias: Some(BiasPer::Column), ..PLAIN },
    Case { alpha: 0.0, on_device: true, ..PLAIN },
    Case { alpha: -0.0, bias: Some(BiasPer::Row), activation: Activation::GeluTanh, ..PLAIN },
    Case { bias: Some(BiasPer::Column), activation: Activation::Gelu, padding: [0, 5], ..PLAIN },
    Case { alpha: 1.5, bias: Some(BiasPer::Row), activation: Activation::Relu, on_device: true, ..PLAIN },
    Case { planes: 2, ..PLAIN },
    Case { beta: 1.0, c: C::InPlace, planes: 3, padding: [1, 0], ..PLAIN },
    Case { alpha: -2.0, beta: 0.5, c: C::Columns(1), bias: Some(BiasPer::Column), planes: 5, ..PLAIN },
    Case { bias: Some(BiasPer::Row), activation: Activation::Gelu, planes: 9, padding: [0, 1], ..PLAIN },
    Case { alpha: 0.0, beta: 2.0, c: C::InPlace, planes: 4, ..PLAIN },
];

/// A value of W, C or the bias: in [-4, 4), and now and then what is no normal number. No special value comes twice in a sum.
pub fn value(of: u32, row: usize, col: usize) -> f32 {
    let mixed = (of * 7 + row as u32 * 40_503 + col as u32).wrapping_mul(0x9e37_79b1);
    match mixed % 61 {
        0 if of == W => f32::NAN,
        1 if of == W => f32::INFINITY,
        2 if of == W => f32::NEG_INFINITY,
        3 => -0.0,
        4 => 1e-41,
        _ => (mixed >> 8) as f32 * 8.0 / (1 << 24) as f32 - 4.0,
    }
}

pub const W: u32 = 0;
pub const OLD: u32 = 1;
pub const BIAS: u32 = 2;

/// A value of that plane of W. What is no number is in the first one.
pub fn plane_value(plane: usize, row: usize, col: usize) -> f32 {
    value(if plane == 0 { W } else { BIAS + plane as u32 }, row, col)
}

/// The sum of the planes of W, added in order.
pub fn sum(case: &Case, row: usize, col: usize) -> f32 {
    (1..case.planes as usize).fold(value(W, row, col), |sum, plane| sum + plane_value(plane, row, col))
}

/// The nearest element, as bits.
pub fn round(element: Element, value: f32) -> u32 {
    match element {
        Element::F32 => value.to_bits(),
        Element::F16 => f16::from_f32(value).to_bits().into(),
        Element::Bf16 => bf16::from_f32(value).to_bits().into(),
    }
}

/// The value of an element's bits.
pub fn number(element: Element, bits: u32) -> f32 {
    match element {
        Element::F32 => f32::from_bits(bits),
        Element::F16 => f16::from_bits(bits as u16).to_f32(),
        Element::Bf16 => bf16::from_bits(bits as u16).to_f32(),
    }
}

/// What is wrong with an element of D.
pub fn fault(case: &Case, element: Element, [w, old, bias]: [f32; 3], got: u32) -> Option<String> {
    // In f64, where nothing special is among them; then in f32, as the epilogue of a step rounds.
    let Case { alpha, beta, .. } = *case;
    let product = if alpha == 0.0 { 0.0 * alpha } else { alpha * w };
    let sum = if beta == 0.0 { product } else { beta.mul_add(old, product) };
    let sum = if case.bias.is_some() { sum + bias } else { sum };
    let parts = [f64::from(product), f64::from(beta) * f64::from(old), f64::from(bias)];
    let (exact, magnitude): (f64, f64) = (parts.iter().sum(), parts.iter().map(|part| part.abs()).sum());
    let is_near = (f64::from(sum) - exact).abs() <= magnitude * 2f64.powi(-22);
    assert!(!exact.is_finite() || is_near, "the reference: {sum} is not {exact}");

    let value = number(element, got);
    let unit = match element {
        Element::F32 => 2f64.powi(-24),
        Element::F16 => 2f64.powi(-11),
        Element::Bf16 => 2f64.powi(-8),
    };
    let (expected, is_right) = match case.activation {
        Activation::None => (f64::from(sum), got == round(element, sum)),
        Activation::Relu => {
            let relu = if sum < 0.0 { 0.0 } else { sum };
            (f64::from(relu), got == round(element, relu))
        }
        activation => {
            let exact = gelu::exact(activation, sum.into());
            let error = gelu::bound(sum.into(), exact);
            let bound = error + (exact.abs() + error) * unit + 2f64.powi(-25);
            (exact, (f64::from(value) - exact).abs() <= bound || f64::from(value) == exact)
        }
    };
    let is_right = is_right || expected.is_nan() && value.is_nan();
    (!is_right).then(|| format!("{value} instead of {expected}"))
}
