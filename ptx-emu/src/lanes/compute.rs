//! Instructions of a warp from functions of one lane.
//!
//! Each combinator takes the operands' registers and a function of one lane, and returns an instruction of a warp. The
//! loops over lanes are compiled for the host's widest vectors, chosen at run time.

use super::outcome::Outcome;
use crate::lanes::{Condition, LANES, Lane, Mask, PredSlot, Registers, Slot, lanes_of, pack};

/// An instruction that only uses registers, for the lanes of the mask.
pub(crate) type Compute = Box<dyn Fn(&mut Registers, Mask) + Send + Sync>;

struct Vectorized<F>(F);

impl<R, F: FnMut() -> R> pulp::WithSimd for Vectorized<F> {
    type Output = R;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(mut self, _: S) -> R {
        (self.0)()
    }
}

/// Runs the function, compiled for the host's vectors if it is `#[inline(always)]`. pulp would call an `FnOnce` through
/// a separate function that is not compiled for them.
#[inline(always)]
pub(crate) fn vectorized<R>(simd: pulp::Arch, f: impl FnMut() -> R) -> R {
    simd.dispatch(Vectorized(f))
}

/// d = f(a)
pub(crate) fn unary<A: Lane, R: Lane>(d: Slot, a: Slot, f: impl Fn(A) -> R + Copy + Send + Sync + 'static) -> Compute {
    Box::new(move |registers, mask| {
        vectorized(
            registers.simd,
            #[inline(always)]
            || {
                let a: [A; LANES] = registers.read(a);
                let mut result = [R::default(); LANES];
                for lane in 0..LANES {
                    result[lane] = f(a[lane]);
                }
                registers.write(d, &result, mask);
            },
        );
    })
}

/// d = f(a, b)
pub(crate) fn binary<A: Lane, B: Lane, R: Lane>(
    d: Slot,
    (a, b): (Slot, Slot),
    f: impl Fn(A, B) -> R + Copy + Send + Sync + 'static,
) -> Compute {
    Box::new(move |registers, mask| {
        vectorized(
            registers.simd,
            #[inline(always)]
            || {
                let (a, b): ([A; LANES], [B; LANES]) = (registers.read(a), registers.read(b));
                let mut result = [R::default(); LANES];
                for lane in 0..LANES {
                    result[lane] = f(a[lane], b[lane]);
                }
                registers.write(d, &result, mask);
            },
        );
    })
}

/// d = f(a, b, c)
pub(crate) fn ternary<A: Lane, B: Lane, C: Lane, R: Lane>(
    d: Slot,
    (a, b, c): (Slot, Slot, Slot),
    f: impl Fn(A, B, C) -> R + Copy + Send + Sync + 'static,
) -> Compute {
    Box::new(move |registers, mask| {
        vectorized(
            registers.simd,
            #[inline(always)]
            || {
                let (a, b): ([A; LANES], [B; LANES]) = (registers.read(a), registers.read(b));
                let c: [C; LANES] = registers.read(c);
                let mut result = [R::default(); LANES];
                for lane in 0..LANES {
                    result[lane] = f(a[lane], b[lane], c[lane]);
                }
                registers.write(d, &result, mask);
            },
        );
    })
}

/// `setp` and similar: f(a, b) by lane.
pub(crate) fn compare<A: Lane>(
    (a, b): (Slot, Slot),
    f: impl Fn(A, A) -> bool + Copy + Send + Sync + 'static,
    outcome: Outcome,
) -> Compute {
    Box::new(move |registers, mask| {
        let holds = vectorized(
            registers.simd,
            #[inline(always)]
            || {
                let (a, b): ([A; LANES], [A; LANES]) = (registers.read(a), registers.read(b));
                let mut holds = [false; LANES];
                for lane in 0..LANES {
                    holds[lane] = f(a[lane], b[lane]);
                }
                pack(&holds)
            },
        );
        outcome.store(registers, holds, mask);
    })
}

/// d = if p { a } else { b }
pub(crate) fn select<T: Lane>(d: Slot, (a, b): (Slot, Slot), p: Condition) -> Compute {
    Box::new(move |registers, mask| {
        let p = registers.test(p);
        vectorized(
            registers.simd,
            #[inline(always)]
            || {
                let (a, b): ([T; LANES], [T; LANES]) = (registers.read(a), registers.read(b));
                let mut result = [T::default(); LANES];
                for lane in 0..LANES {
                    result[lane] = if p >> lane & 1 != 0 { a[lane] } else { b[lane] };
                }
                registers.write(d, &result, mask);
            },
        );
    })
}

/// p = f(registers), bit by bit: logic on predicates.
pub(crate) fn predicate(p: PredSlot, f: impl Fn(&Registers, Mask) -> Mask + Send + Sync + 'static) -> Compute {
    Box::new(move |registers, mask| {
        let value = f(registers, mask);
        registers.set_predicate(p, value, mask);
    })
}

/// d = f(a), only in active lanes: for functions too long to be compiled per vector width.
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

/// Compiled once per combination of types, not per function.
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

/// e = f(a, b, c, d); see [`unary_slow`].
pub(crate) fn quaternary_slow<T: Lane>(
    e: Slot,
    (a, b, c, d): (Slot, Slot, Slot, Slot),
    f: fn(T, T, u32, u32) -> T,
) -> Compute {
    Box::new(move |registers, mask| {
        let (a, b): ([T; LANES], [T; LANES]) = (registers.read(a), registers.read(b));
        let (c, d): ([u32; LANES], [u32; LANES]) = (registers.read(c), registers.read(d));
        registers.write(e, &std::array::from_fn(|lane| f(a[lane], b[lane], c[lane], d[lane])), mask);
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
