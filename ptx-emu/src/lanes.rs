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
