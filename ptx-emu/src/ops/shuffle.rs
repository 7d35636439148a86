//! Source lanes of shuffles, and warp reductions. PTX ISA, "shfl.sync" and "redux.sync".

use super::extreme::Extreme;
use super::float::canonical;
use crate::types::Type;

/// The mode of a shuffle.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

impl Shuffle {
    /// The source lane; `None` if outside of the segment.
    pub(crate) fn source(self, lane: u32, b: u32, c: u32) -> Option<u32> {
        let (b, clamp, segment) = (b & 31, c & 31, c >> 8 & 31);
        let least = lane & segment;
        let bound = least | clamp & !segment;
        let (source, inside) = match self {
            // The bound is the lowest lane here; below lane 0 there is none.
            Self::Up => (lane.wrapping_sub(b), lane >= b && lane - b >= bound),
            Self::Down => (lane + b, lane + b <= bound),
            Self::Butterfly => (lane ^ b, (lane ^ b) <= bound),
            Self::Index => (least | b & !segment, (least | b & !segment) <= bound),
        };
        inside.then_some(source)
    }
}

/// The operation of `redux` on two values.
pub(crate) fn reduction(name: &str, ty: Type) -> Option<fn(u32, u32) -> u32> {
    Some(match (name, ty) {
        ("add", Type::U32 | Type::S32) => u32::wrapping_add,
        ("min", Type::U32) => Ord::min,
        ("max", Type::U32) => Ord::max,
        ("min", Type::S32) => |a, b| (a as i32).min(b as i32) as u32,
        ("max", Type::S32) => |a, b| (a as i32).max(b as i32) as u32,
        ("and", Type::B32) => |a, b| a & b,
        ("or", Type::B32) => |a, b| a | b,
        ("xor", Type::B32) => |a, b| a ^ b,
        _ => return None,
    })
}

/// The reduction of all values; 0 if none.
pub(crate) fn reduce(values: impl Iterator<Item = u32>, f: fn(u32, u32) -> u32) -> u32 {
    values.reduce(f).unwrap_or_default()
}

/// The least or greatest value.
pub(crate) fn reduce_float(values: impl Iterator<Item = f32>, is_min: bool, nan: bool, abs: bool) -> f32 {
    let extreme = Extreme { is_min, nan, abs, xorsign: false };
    let values = values.map(|x| f64::from(if abs { x.abs() } else { x }));
    canonical(values.reduce(|a, b| extreme.of(a, b)).unwrap_or_default() as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As CUDA describes `__shfl_up_sync` and its like, for each width of a segment.
    #[test]
    fn shuffles_stay_within_segments() {
        for width in [1u32, 2, 4, 8, 16, 32] {
            let segment = (32 - width) << 8;
            for lane in 0..32 {
                let (base, position) = (lane / width * width, lane % width);
                for delta in 0..32 {
                    let down = (position + delta < width).then_some(lane + delta);
                    assert_eq!(Shuffle::Down.source(lane, delta, segment | 31), down);
                    let up = (position >= delta).then(|| lane - delta);
                    assert_eq!(Shuffle::Up.source(lane, delta, segment), up);
                    assert_eq!(Shuffle::Index.source(lane, delta, segment | 31), Some(base + delta % width));
                    // Lower segments can be reached, higher ones cannot.
                    let other = lane ^ delta;
                    let reached = (other / width <= lane / width).then_some(other);
                    assert_eq!(Shuffle::Butterfly.source(lane, delta, segment | 31), reached);
                }
            }
        }
    }

    #[test]
    fn floats_are_reduced() {
        let values = || [1.0, f32::NAN, -3.0].into_iter();
        assert_eq!(reduce_float(values(), true, false, false), -3.0);
        assert_eq!(reduce_float(values(), true, false, true), 1.0);
        assert!(reduce_float(values(), true, true, false).is_nan());
    }
}
