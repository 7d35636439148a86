//! The registers of a warp: 32 lanes contiguous, so that an instruction is one vectorised loop.

use bytemuck::{Pod, Zeroable};
use half::{bf16, f16};

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;

/// Set of lanes: bit i is lane i.
pub(crate) type Mask = u32;

/// Every lane.
pub(crate) const ALL_LANES: Mask = u32::MAX;

/// 32 bits of each lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Zeroable, Pod)]
#[repr(C, align(128))]
pub(crate) struct Row([u32; LANES]);

/// The first row of a register. Up to 32 bits take one row, zero-extended; 64 bits take two, 128 bits four, with each
/// lane's value contiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Slot(pub u32);

/// A predicate register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PredSlot(pub u32);

/// A predicate operand, possibly negated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Condition {
    pub slot: PredSlot,
    pub negate: bool,
}

/// The register file of a warp.
#[derive(Debug, Clone)]
pub(crate) struct Registers {
    pub rows: Vec<Row>,
    pub predicates: Vec<Mask>,
    /// The carry flag `CC.CF` of the extended-precision instructions.
    pub carry: Mask,
    /// Instructions executed by the warp: `%clock`.
    pub clock: u64,
    pub simd: pulp::Arch,
}

impl Registers {
    pub(crate) fn new(rows: usize, predicates: usize) -> Self {
        Self {
            rows: vec![Row::zeroed(); rows],
            predicates: vec![0; predicates],
            carry: 0,
            clock: 0,
            simd: pulp::Arch::new(),
        }
    }

    /// The lanes in which the condition is true.
    pub(crate) fn test(&self, condition: Condition) -> Mask {
        let mask = self.predicates[condition.slot.0 as usize];
        if condition.negate { !mask } else { mask }
    }

    /// Sets the predicate in the lanes of `mask`.
    pub(crate) fn set_predicate(&mut self, slot: PredSlot, value: Mask, mask: Mask) {
        let predicate = &mut self.predicates[slot.0 as usize];
        *predicate = *predicate & !mask | value & mask;
    }

    /// The words of one lane of a register of so many rows.
    pub(crate) fn words(&self, slot: Slot, rows: u32, lane: usize) -> impl Iterator<Item = u32> + '_ {
        let words = lane * rows as usize..(lane + 1) * rows as usize;
        words.map(move |word| self.rows[slot.0 as usize + word / LANES].0[word % LANES])
    }

    /// Sets the words of one lane of a register of as many rows.
    pub(crate) fn set_words(&mut self, slot: Slot, words: &[u32], lane: usize) {
        for (word, value) in (lane * words.len()..).zip(words) {
            self.rows[slot.0 as usize + word / LANES].0[word % LANES] = *value;
        }
    }

    /// All lanes of a register.
    #[inline(always)]
    pub(crate) fn read<T: Lane>(&self, slot: Slot) -> [T; LANES] {
        T::load(&self.rows, slot)
    }

    /// Writes the lanes of `mask`.
    #[inline(always)]
    pub(crate) fn write<T: Lane>(&mut self, slot: Slot, values: &[T; LANES], mask: Mask) {
        T::store(&mut self.rows, slot, values, mask);
    }
}

/// A type by which a register's lanes are read and written.
pub(crate) trait Lane: Copy + Default + Send + Sync + 'static {
    fn load(rows: &[Row], slot: Slot) -> [Self; LANES];
    fn store(rows: &mut [Row], slot: Slot, values: &[Self; LANES], mask: Mask);
}

/// No operand.
impl Lane for () {
    #[inline(always)]
    fn load(_: &[Row], _: Slot) -> [Self; LANES] {
        [(); LANES]
    }

    #[inline(always)]
    fn store(_: &mut [Row], _: Slot, _: &[Self; LANES], _: Mask) {}
}

/// Types whose layout is that of whole rows.
macro_rules! whole_rows {
    ($($ty:ty, $rows:literal;)*) => {$(
        impl Lane for $ty {
            #[inline(always)]
            fn load(rows: &[Row], slot: Slot) -> [Self; LANES] {
                let rows: [Row; $rows] = std::array::from_fn(|i| rows[slot.0 as usize + i]);
                bytemuck::cast(rows)
            }

            #[inline(always)]
            fn store(rows: &mut [Row], slot: Slot, values: &[Self; LANES], mask: Mask) {
                let rows = &mut rows[slot.0 as usize..][..$rows];
                let old: &mut [[u32; LANES * $rows]] = bytemuck::cast_slice_mut(rows);
                let (old, new): (_, &[u32; LANES * $rows]) = (&mut old[0], bytemuck::cast_ref(values));
                if mask == ALL_LANES {
                    *old = *new;
                } else {
                    // With branches instead of masks, the compiler emits 32 scalar moves.
                    for word in 0..LANES * $rows {
                        let kept = (mask >> (word / $rows) & 1).wrapping_sub(1);
                        old[word] = old[word] & kept | new[word] & !kept;
                    }
                }
            }
        }
    )*};
}

whole_rows! {
    u32, 1;
    i32, 1;
    f32, 1;
    u64, 2;
    i64, 2;
    f64, 2;
    u128, 4;
    [f32; 2], 2;
}

/// Types that are narrower than a row's 32 bits.
macro_rules! narrow {
    ($($ty:ty, $from:expr, $to:expr;)*) => {$(
        impl Lane for $ty {
            #[inline(always)]
            fn load(rows: &[Row], slot: Slot) -> [Self; LANES] {
                let row = u32::load(rows, slot);
                let mut lanes = [<$ty>::default(); LANES];
                for lane in 0..LANES {
                    lanes[lane] = ($from)(row[lane]);
                }
                lanes
            }

            #[inline(always)]
            fn store(rows: &mut [Row], slot: Slot, values: &[Self; LANES], mask: Mask) {
                let mut row = [0; LANES];
                for lane in 0..LANES {
                    row[lane] = ($to)(values[lane]);
                }
                u32::store(rows, slot, &row, mask);
            }
        }
    )*};
}

narrow! {
    u8, |bits: u32| bits as u8, |x: u8| u32::from(x);
    i8, |bits: u32| bits as i8, |x: i8| u32::from(x as u8);
    u16, |bits: u32| bits as u16, |x: u16| u32::from(x);
    i16, |bits: u32| bits as i16, |x: i16| u32::from(x as u16);
    f16, |bits: u32| f16::from_bits(bits as u16), |x: f16| u32::from(x.to_bits());
    bf16, |bits: u32| bf16::from_bits(bits as u16), |x: bf16| u32::from(x.to_bits());
    [f16; 2], |bits: u32| [f16::from_bits(bits as u16), f16::from_bits((bits >> 16) as u16)],
        |x: [f16; 2]| u32::from(x[0].to_bits()) | u32::from(x[1].to_bits()) << 16;
    [bf16; 2], |bits: u32| [bf16::from_bits(bits as u16), bf16::from_bits((bits >> 16) as u16)],
        |x: [bf16; 2]| u32::from(x[0].to_bits()) | u32::from(x[1].to_bits()) << 16;
    [u16; 2], |bits: u32| [bits as u16, (bits >> 16) as u16], |x: [u16; 2]| u32::from(x[0]) | u32::from(x[1]) << 16;
    [i16; 2], |bits: u32| [bits as i16, (bits >> 16) as i16], |x: [i16; 2]| u32::from(x[0] as u16) | u32::from(x[1] as u16) << 16;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masked_writes_leave_the_other_lanes() {
        let mut registers = Registers::new(4, 1);
        registers.write(Slot(0), &[7u32; LANES], ALL_LANES);
        registers.write(Slot(0), &[9u32; LANES], 0b110);
        assert_eq!(registers.read::<u32>(Slot(0))[..4], [7, 9, 9, 7]);
        registers.write(Slot(2), &std::array::from_fn::<u64, LANES, _>(|lane| (lane as u64) << 40), ALL_LANES);
        assert_eq!(registers.read::<u64>(Slot(2))[31], 31 << 40);
        assert_eq!(registers.words(Slot(2), 2, 31).collect::<Vec<_>>(), [0, 31 << 8]);
        registers.set_words(Slot(2), &[5, 6], 17);
        assert_eq!(registers.read::<u64>(Slot(2))[16..19], [16 << 40, 6 << 32 | 5, 18 << 40]);
    }

    #[test]
    fn narrow_types_are_zero_extended() {
        let mut registers = Registers::new(1, 0);
        registers.write(Slot(0), &[-1i16; LANES], ALL_LANES);
        assert_eq!(registers.read::<u32>(Slot(0))[0], 0xffff);
        assert_eq!(registers.read::<i16>(Slot(0))[0], -1);
    }
}
