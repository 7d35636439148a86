//! Numbers of 16 bits: how the host, which has f32, gets them to a device and back.

use std::borrow::Cow;

use gpu_kernels::Element;
use half::{bf16, f16};
use rayon::prelude::*;

/// What guard bands and row padding hold: a NaN, so that a kernel that reads it spoils its result, with a payload that
/// no arithmetic produces, so that a kernel that writes there is found out.
pub(crate) const SENTINEL: u32 = 0x7fc5_ca1e;

/// The same in 16 bits, which is such a NaN as f16 and as bf16.
const SENTINEL_16: u16 = 0x7fe5;

/// The nearest number that an element can hold.
#[must_use]
pub fn round(element: Element, value: f32) -> f32 {
    match element {
        Element::F32 => value,
        Element::F16 | Element::Bf16 => widen(element, narrow(element, value)),
    }
}

/// The largest finite number.
pub(crate) fn max(element: Element) -> f64 {
    match element {
        Element::F32 => f32::MAX.into(),
        Element::F16 => f16::MAX.into(),
        Element::Bf16 => bf16::MAX.into(),
    }
}

/// The smallest number above 0.
pub(crate) fn smallest(element: Element) -> f64 {
    match element {
        Element::F32 => f32::from_bits(1).into(),
        Element::F16 => f16::from_bits(1).into(),
        Element::Bf16 => bf16::from_bits(1).into(),
    }
}

/// The largest relative error of one rounding.
pub(crate) fn unit_roundoff(element: Element) -> f64 {
    let epsilon = match element {
        Element::F32 => f32::EPSILON.into(),
        Element::F16 => f64::from(f16::EPSILON),
        Element::Bf16 => bf16::EPSILON.into(),
    };
    epsilon / 2.0
}

/// Elements as they lie in memory, in words of 32 bits; the last one may have room for one more.
pub(crate) fn to_words(element: Element, values: &[f32]) -> Cow<'_, [u32]> {
    let halves = |pair: &[f32]| {
        let [low, high] = [0, 1].map(|i| pair.get(i).map_or(0, |value| narrow(element, *value)));
        u32::from(low) | u32::from(high) << 16
    };
    match element {
        Element::F32 => bytemuck::cast_slice(values).into(),
        Element::F16 | Element::Bf16 => values.par_chunks(2).map(halves).collect::<Vec<_>>().into(),
    }
}

/// So many elements out of their memory.
pub(crate) fn from_words(element: Element, words: Vec<u32>, count: usize) -> Vec<f32> {
    match element {
        // The memory itself, not a copy: collecting into the same layout reuses it.
        Element::F32 => words.into_iter().map(f32::from_bits).collect(),
        Element::F16 | Element::Bf16 => {
            let pairs = words.into_par_iter().flat_map_iter(|word| [word as u16, (word >> 16) as u16]);
            let mut values: Vec<_> = pairs.map(|bits| widen(element, bits)).collect();
            values.truncate(count);
            values
        }
    }
}

/// The bits of an element of 16.
fn narrow(element: Element, value: f32) -> u16 {
    match element {
        _ if value.to_bits() == SENTINEL => SENTINEL_16,
        Element::Bf16 => bf16::from_f32(value).to_bits(),
        Element::F32 | Element::F16 => f16::from_f32(value).to_bits(),
    }
}

/// Their value.
fn widen(element: Element, bits: u16) -> f32 {
    match element {
        _ if bits == SENTINEL_16 => f32::from_bits(SENTINEL),
        Element::Bf16 => bf16::from_bits(bits).to_f32(),
        Element::F32 | Element::F16 => f16::from_bits(bits).to_f32(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_16_bits_comes_back_and_no_other_becomes_the_sentinel() {
        for element in [Element::F16, Element::Bf16] {
            for bits in 0..=u16::MAX {
                let value = widen(element, bits);
                let back = narrow(element, value);
                assert!(back == bits || value.is_nan() && widen(element, back).is_nan(), "{element:?} {bits:#x}");
                assert_eq!(value.to_bits() == SENTINEL, bits == SENTINEL_16);
            }
            assert!(widen(element, SENTINEL_16).is_nan() && f16::from_bits(SENTINEL_16).is_nan());
            assert!(bf16::from_bits(SENTINEL_16).is_nan());
            assert_eq!(narrow(element, f32::NAN), if element == Element::F16 { 0x7e00 } else { 0x7fc0 });
        }
    }

    #[test]
    fn limits_are_those_of_the_elements() {
        let of = |element| (max(element), smallest(element), unit_roundoff(element));
        assert_eq!(of(Element::F16), (65504.0, 0.5_f64.powi(24), 0.5_f64.powi(11)));
        assert_eq!(of(Element::Bf16), (f64::from(f32::from_bits(0x7f7f_0000)), 0.5_f64.powi(133), 0.5_f64.powi(8)));
        assert_eq!(of(Element::F32), (f64::from(f32::MAX), 0.5_f64.powi(149), 0.5_f64.powi(24)));
    }
}
