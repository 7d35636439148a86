//! Operands, and what is left of many times.

/// Numbers in -1..1 by SplitMix64: fewer bits that change would cost less power, and the clock would be higher.
pub fn random(count: usize, seed: u64) -> Vec<f32> {
    let mix = |i: u64| {
        let z = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) >> 40
    };
    (0..count as u64).map(|i| mix(i + (seed << 32)) as f32 / f32::from_bits(0x4b00_0000) - 1.0).collect()
}

/// The median.
pub fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
