//! Initial contents of buffers.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, RngExt, SeedableRng};

use super::value;
use crate::types::Type;

/// How to fill a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// Random: floating-point numbers in [-1, 1], integers over their whole range.
    Uniform,
    /// 0, 1, 2, ...
    Iota,
    /// The same bits in each element.
    Value(u64),
}

impl Fill {
    /// Reads what stands behind `fill=`.
    pub(super) fn parse(ty: Type, text: &str) -> Result<Self, String> {
        match text {
            "uniform" => Ok(Self::Uniform),
            "zeros" => Ok(Self::Value(0)),
            "iota" => Ok(Self::Iota),
            number => value::parse(ty, number)
                .map(Self::Value)
                .map_err(|error| format!("{error}, so that it is no fill: give uniform, zeros, iota or a number")),
        }
    }

    /// The bytes of that many elements.
    pub fn bytes(self, ty: Type, elements: u64, seed: u64) -> Vec<u8> {
        // Not `SmallRng`, which draws others on 32-bit hosts.
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut bytes = Vec::with_capacity((elements * u64::from(ty.bytes())) as usize);
        for index in 0..elements {
            let bits = match self {
                Self::Uniform if ty.is_float() => value::from_f64(ty, rng.random_range(-1.0..1.0)),
                Self::Uniform => rng.next_u64(),
                Self::Iota => value::from_index(ty, index),
                Self::Value(bits) => bits,
            };
            bytes.extend_from_slice(&bits.to_le_bytes()[..ty.bytes() as usize]);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_are_what_they_say() {
        assert_eq!(Fill::Iota.bytes(Type::U16, 3, 0), [0, 0, 1, 0, 2, 0]);
        assert_eq!(Fill::Value(0x3c00).bytes(Type::F16, 2, 0), [0, 0x3c, 0, 0x3c]);
        assert_eq!(Fill::Iota.bytes(Type::U8, 258, 0)[255..], [255, 0, 1]);
        let floats = Fill::Uniform.bytes(Type::F32, 1000, 7);
        let floats: Vec<f32> = floats.chunks(4).map(|word| f32::from_le_bytes(word.try_into().unwrap())).collect();
        assert!(floats.iter().all(|value| value.abs() <= 1.0) && floats.iter().any(|value| *value < -0.9));
        assert_eq!(Fill::Uniform.bytes(Type::S64, 9, 7), Fill::Uniform.bytes(Type::S64, 9, 7));
        assert_ne!(Fill::Uniform.bytes(Type::S64, 9, 7), Fill::Uniform.bytes(Type::S64, 9, 8));
    }
}
