//! From a function of one lane to an instruction of a warp.
//!
//! Each combinator takes where the operands are and what happens in a lane, and gives back what happens in a warp. The
//! loops over lanes are compiled for the processor's widest vectors, chosen at run time.

use crate::registers::{Condition, LANES, Lane, Mask, PredSlot, Registers, Slot};

/// What an instruction that only knows registers does, in the lanes of the mask.
pub(crate) type Compute = Box<dyn Fn(&mut Registers, Mask) + Send + Sync>;

/// d = f(a)
pub(crate) fn unary<A: Lane, R: Lane>(d: Slot, a: Slot, f: impl Fn(A) -> R + Copy + Send + Sync + 'static) -> Compute {
    Box::new(move |registers, mask| {
        registers.simd.dispatch(|| {
            let a: [A; LANES] = registers.read(a);
            let result: [R; LANES] = std::array::from_fn(|lane| f(a[lane]));
            registers.write(d, &result, mask);
        });
    })
}

/// d = f(a, b)
pub(crate) fn binary<A: Lane, B: Lane, R: Lane>(
    d: Slot,
    (a, b): (Slot, Slot),
    f: impl Fn(A, B) -> R + Copy + Send + Sync + 'static,
) -> Compute {
    Box::new(move |registers, mask| {
        registers.simd.dispatch(|| {
            let (a, b): ([A; LANES], [B; LANES]) = (registers.read(a), registers.read(b));
            let result: [R; LANES] = std::array::from_fn(|lane| f(a[lane], b[lane]));
            registers.write(d, &result, mask);
        });
    })
}

/// d = f(a, b, c)
pub(crate) fn ternary<A: Lane, B: Lane, C: Lane, R: Lane>(
    d: Slot,
    (a, b, c): (Slot, Slot, Slot),
    f: impl Fn(A, B, C) -> R + Copy + Send + Sync + 'static,
) -> Compute {
    Box::new(move |registers, mask| {
        registers.simd.dispatch(|| {
            let (a, b): ([A; LANES], [B; LANES]) = (registers.read(a), registers.read(b));
            let c: [C; LANES] = registers.read(c);
            let result: [R; LANES] = std::array::from_fn(|lane| f(a[lane], b[lane], c[lane]));
            registers.write(d, &result, mask);
        });
    })
}

/// The lanes in which f(a, b) holds go to `then`, with all lanes that run: `setp` and what is like it.
pub(crate) fn compare<A: Lane>(
    (a, b): (Slot, Slot),
    f: impl Fn(A, A) -> bool + Copy + Send + Sync + 'static,
    then: impl Fn(&mut Registers, Mask, Mask) + Send + Sync + 'static,
) -> Compute {
    Box::new(move |registers, mask| {
        let holds = registers.simd.dispatch(|| {
            let (a, b): ([A; LANES], [A; LANES]) = (registers.read(a), registers.read(b));
            pack(&std::array::from_fn(|lane| f(a[lane], b[lane])))
        });
        then(registers, holds, mask);
    })
}

/// d = if p { a } else { b }
pub(crate) fn select<T: Lane>(d: Slot, (a, b): (Slot, Slot), p: Condition) -> Compute {
    Box::new(move |registers, mask| {
        let p = registers.test(p);
        registers.simd.dispatch(|| {
            let (a, b): ([T; LANES], [T; LANES]) = (registers.read(a), registers.read(b));
            let result: [T; LANES] = std::array::from_fn(|lane| if p >> lane & 1 != 0 { a[lane] } else { b[lane] });
            registers.write(d, &result, mask);
        });
    })
}

/// p = f(registers), bit by bit: logic on predicates.
pub(crate) fn predicate(p: PredSlot, f: impl Fn(&Registers, Mask) -> Mask + Send + Sync + 'static) -> Compute {
    Box::new(move |registers, mask| {
        let value = f(registers, mask);
        registers.set_predicate(p, value, mask);
    })
}

/// d = f(a), lane by lane, only in the lanes that run: for functions too long to be worth a copy per vector width.
pub(crate) fn unary_slow<A: Lane, R: Lane>(d: Slot, a: Slot, f: impl Fn(A) -> R + Send + Sync + 'static) -> Compute {
    ternary_dyn(d, (a, d, d), Box::new(move |a, (): (), (): ()| f(a)))
}

/// d = f(a, b); see [`unary_slow`].
pub(crate) fn binary_slow<A: Lane, B: Lane, R: Lane>(
    d: Slot,
    (a, b): (Slot, Slot),
    f: impl Fn(A, B) -> R + Send + Sync + 'static,
) -> Compute {
    ternary_dyn(d, (a, b, d), Box::new(move |a, b, (): ()| f(a, b)))
}

/// d = f(a, b, c); see [`unary_slow`].
pub(crate) fn ternary_slow<A: Lane, B: Lane, C: Lane, R: Lane>(
    d: Slot,
    abc: (Slot, Slot, Slot),
    f: impl Fn(A, B, C) -> R + Send + Sync + 'static,
) -> Compute {
    ternary_dyn(d, abc, Box::new(f))
}

/// One copy per combination of types instead of one per function.
fn ternary_dyn<A: Lane, B: Lane, C: Lane, R: Lane>(
    d: Slot,
    (a, b, c): (Slot, Slot, Slot),
    f: Box<dyn Fn(A, B, C) -> R + Send + Sync>,
) -> Compute {
    Box::new(move |registers, mask| {
        let (a, b): ([A; LANES], [B; LANES]) = (registers.read(a), registers.read(b));
        let c: [C; LANES] = registers.read(c);
        let mut result = [R::default(); LANES];
        for lane in lanes_of(mask) {
            result[lane] = f(a[lane], b[lane], c[lane]);
        }
        registers.write(d, &result, mask);
    })
}

/// (d, carry) = f(a, b, c, carry): extended-precision arithmetic. The carry flag is written only if `sets_carry`.
pub(crate) fn carry<T: Lane>(
    d: Slot,
    (a, b, c): (Slot, Slot, Slot),
    sets_carry: bool,
    f: fn(T, T, T, bool) -> (T, bool),
) -> Compute {
    Box::new(move |registers, mask| {
        let (a, b): ([T; LANES], [T; LANES]) = (registers.read(a), registers.read(b));
        let c: [T; LANES] = registers.read(c);
        let mut result = [T::default(); LANES];
        for lane in lanes_of(mask) {
            let (value, carry) = f(a[lane], b[lane], c[lane], registers.carry >> lane & 1 != 0);
            result[lane] = value;
            if sets_carry {
                registers.carry = registers.carry & !(1 << lane) | u32::from(carry) << lane;
            }
        }
        registers.write(d, &result, mask);
    })
}

/// One bit per lane.
#[inline(always)]
pub(crate) fn pack(lanes: &[bool; LANES]) -> Mask {
    lanes.iter().enumerate().fold(0, |mask, (lane, &holds)| mask | u32::from(holds) << lane)
}

/// The numbers of the lanes of a mask.
pub(crate) fn lanes_of(mask: Mask) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
        rest &= rest - 1;
        Some(lane)
    })
}
