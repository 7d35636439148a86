//! Sums that reach the end of f32: elements are what fp32 SGEMM gives.

use gpu_kernels::{Magnitudes, find};
use sgemm::emulator::Emulator;
use tests::grading::{Case, Graded, multiply};

const K: usize = 32;

/// A row of A and a column of B: these, and zeros.
fn product(row: &[f32], column: &[f32]) -> Case {
    let padded = |values: &[f32]| (0..K).map(|p| values.get(p).copied().unwrap_or(0.0)).collect();
    Case::product([1, 1, K], padded(row), padded(column))
}

/// SGEMM in the order of k.
fn sgemm(case: &Case) -> f32 {
    case.a.iter().zip(&case.b).fold(0.0, |sum, (a, b)| a.mul_add(*b, sum))
}

fn cases() -> [(&'static str, Case); 6] {
    let two = |exponent| 2f32.powi(exponent);
    // hi is rounded up, so that lo is negative.
    let above_hi = 1.0 + 0.75 * two(-10);
    // hi + lo of these significands is above their product by 5 u of it.
    let [a, b] = [0xae_7c27, 0xbb_cc63].map(|bits: u32| bits as f32 * two(-23));
    [
        ("hi * hi is infinite, and hi * lo of the other sign", product(&[above_hi * two(100); K], &[two(100); K])),
        ("products that are infinite cancel", product(&[two(70); 2], &[two(70), -two(70)])),
        ("products that are far from finite cancel", product(&[two(80); 2], &[two(80), -two(80)])),
        ("the only product is far below those of the largest", product(&[two(60), a * two(-125)], &[0.0, b * two(40)])),
        ("a product is finite, and hi * hi is not", product(&[(2.0 - two(-12)) * two(63)], &[two(64)])),
        ("a product is finite, and what the split makes of it is not", product(&[a * two(63)], &[b * two(64)])),
    ]
}

#[test]
fn what_overflows_is_what_sgemm_gives() {
    let emulator = Emulator::of("h200").unwrap();
    let mut others = Vec::new();
    for slug in ["fp16x3", "tf32x3"] {
        let plan = Graded::Kernel(find(slug).unwrap()).plan(&emulator, [1, 1, K]).unwrap();
        for (what, case) in cases() {
            let (computed, expected) = (multiply(&emulator, &plan, &case).unwrap()[0], sgemm(&case));
            if computed.to_bits() != expected.to_bits() {
                others.push(format!("{slug}, {what}: {computed:e}, not {expected:e}"));
            }
        }
    }
    assert_eq!(others, [""; 0]);
}

/// For each k: 2^31 products of smaller elements are below 2^127.
#[test]
fn elements_from_2_to_48_on_have_no_certificate_of_a_hi_lo_split() {
    let large = 2f32.powi(48);
    for (x, is_certified) in
        [(large.next_down(), true), (large, false), (f32::MAX, false), (f32::INFINITY, false), (f32::NAN, false)]
    {
        let (bits, count) = (x.to_bits(), K as f32);
        let of = Magnitudes { largest: bits, smallest: bits, count, exponents: (bits >> 23) as f32 * count };
        let certificates = [of.certificates_of_f16(K as u32, false), of.certificates_of_tf32(K as u32)];
        assert_eq!(certificates.map(|bits| bits > 0), [is_certified; 2], "{x:e}");
    }
}
