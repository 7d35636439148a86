//! Integer arithmetic of one lane. PTX ISA, "Integer Arithmetic Instructions".

use crate::lanes::Lane;

/// Integer types of PTX arithmetic.
pub(crate) trait Int: Lane {
    /// The upper half of the product.
    fn mul_hi(self, b: Self) -> Self;
    /// The quotient, rounded towards zero.
    fn div(self, b: Self) -> Self;
    /// The remainder.
    fn rem(self, b: Self) -> Self;
    /// |a - b| + c
    fn sad(self, b: Self, c: Self) -> Self;
    /// Shifted right by at most the width, filled with the sign.
    fn shr(self, amount: u32) -> Self;
    /// Shifted left; 0 from the width on.
    fn shl(self, amount: u32) -> Self;
}

macro_rules! ints {
    ($($ty:ident $wide:ident $sign:expr;)*) => {$(
        impl Int for $ty {
            #[inline(always)]
            fn mul_hi(self, b: Self) -> Self {
                ($wide::from(self) * $wide::from(b) >> Self::BITS) as Self
            }

            // Division by zero is unspecified in the PTX ISA. GPUs return all ones, for the remainder too.
            #[inline(always)]
            fn div(self, b: Self) -> Self {
                if b == 0 { !0 } else { self.wrapping_div(b) }
            }

            #[inline(always)]
            fn rem(self, b: Self) -> Self {
                if b == 0 { !0 } else { self.wrapping_rem(b) }
            }

            #[inline(always)]
            fn sad(self, b: Self, c: Self) -> Self {
                c.wrapping_add(if self < b { b.wrapping_sub(self) } else { self.wrapping_sub(b) })
            }

            #[inline(always)]
            fn shr(self, amount: u32) -> Self {
                if amount < Self::BITS {
                    self >> amount
                } else {
                    ($sign)(self)
                }
            }

            #[inline(always)]
            fn shl(self, amount: u32) -> Self {
                if amount < Self::BITS { self << amount } else { 0 }
            }
        }
    )*};
}

ints! {
    u16 u32 |_| 0;
    u32 u64 |_| 0;
    u64 u128 |_| 0;
    i16 i32 |x: i16| x >> 15;
    i32 i64 |x: i32| x >> 31;
    i64 i128 |x: i64| x >> 63;
}
