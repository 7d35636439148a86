//! Elements of the operands, as they are loaded and as they are multiplied.

use half::{bf16, f16};

use super::SIDE;
use crate::epilogue::direct::Output;
use crate::ptx::{convert, read_only};

/// A line of fragments in registers: [`SIDE`] elements that were loaded one by one, or [`Load::AT_ONCE`] times as many, in fours.
pub(crate) type Raw = [u32; SIDE as usize];

/// An element type of the operands, and of C.
pub(crate) trait Load: Output {
    /// Fours of elements that fit into a [`Raw`].
    const AT_ONCE: u32 = SIDE * size_of::<u32>() as u32 / (SIDE * size_of::<Self>() as u32);
    /// Elements of a word of 32 bits.
    const PER_WORD: u32 = (size_of::<u32>() / size_of::<Self>()) as u32;

    /// An element if `index` is below `end`, and zero otherwise.
    ///
    /// # Safety
    /// It is in bounds of a buffer in global memory that nothing writes while the kernel runs, if it is loaded.
    unsafe fn load_below(source: *const Self, index: u32, end: u32) -> u32;

    /// The same of four adjacent elements, and of others that are `apart` elements and `further` indices further on.
    ///
    /// # Safety
    /// As of [`load_below`](Self::load_below) for each of them, each four at a multiple of their size.
    unsafe fn load_fours_below(source: *const Self, apart: usize, index: u32, further: u32, end: u32) -> Raw;

    /// A word of elements that are `along` elements apart, each as of [`load_below`](Self::load_below).
    ///
    /// # Safety
    /// As of [`load_below`](Self::load_below) for each of them.
    #[inline(always)]
    unsafe fn gather_below(source: *const Self, along: usize, index: u32, end: u32) -> u32 {
        let mut word = 0;
        for i in 0..Self::PER_WORD {
            // SAFETY: upheld by the caller (see `# Safety`).
            word |= unsafe { Self::load_below(source.wrapping_add(i as usize * along), index + i, end) } << (16 * i);
        }
        word
    }

    /// The number that was loaded alone, or the first of a word.
    fn number(raw: u32) -> f32;

    /// The numbers of a word: [`PER_WORD`](Self::PER_WORD), and then zero.
    fn unpack(word: u32) -> [f32; 2];

    /// The first four numbers of those that were loaded in fours.
    fn numbers(raw: Raw) -> [f32; SIDE as usize];

    /// Those after the first four, in front.
    fn rest(raw: Raw) -> Raw;
}

impl Load for f32 {
    #[inline(always)]
    unsafe fn load_below(source: *const Self, index: u32, end: u32) -> u32 {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { read_only::load_below(source, index, end) }.to_bits()
    }

    #[inline(always)]
    unsafe fn load_fours_below(source: *const Self, _: usize, index: u32, _: u32, end: u32) -> Raw {
        // SAFETY: upheld by the caller (see `# Safety`).
        unsafe { read_only::load_4_below(source, index, end) }.map(Self::to_bits)
    }

    #[inline(always)]
    fn number(raw: u32) -> f32 {
        Self::from_bits(raw)
    }

    #[inline(always)]
    fn unpack(word: u32) -> [f32; 2] {
        [Self::from_bits(word), 0.0]
    }

    #[inline(always)]
    fn numbers(raw: Raw) -> [f32; SIDE as usize] {
        raw.map(Self::from_bits)
    }

    #[inline(always)]
    fn rest(raw: Raw) -> Raw {
        raw // there are none
    }
}

macro_rules! of_16_bits {
    ($($element:ty: $number:expr, $unpack:expr;)*) => {$(
        impl Load for $element {
            #[inline(always)]
            unsafe fn load_below(source: *const Self, index: u32, end: u32) -> u32 {
                // SAFETY: upheld by the caller (see `# Safety`).
                unsafe { read_only::load_16_below(source.cast(), index, end) }
            }

            #[inline(always)]
            unsafe fn load_fours_below(source: *const Self, apart: usize, index: u32, further: u32, end: u32) -> Raw {
                // SAFETY: upheld by the caller (see `# Safety`).
                let [[a, b], [c, d]] = unsafe {
                    let other = source.wrapping_add(apart);
                    [
                        read_only::load_2_below(source.cast(), index, end),
                        read_only::load_2_below(other.cast(), index + further, end),
                    ]
                };
                [a, b, c, d]
            }

            #[inline(always)]
            fn number(raw: u32) -> f32 {
                $number(raw)
            }

            #[inline(always)]
            fn unpack(word: u32) -> [f32; 2] {
                $unpack(word)
            }

            #[inline(always)]
            fn numbers([first, second, ..]: Raw) -> [f32; SIDE as usize] {
                [first, first >> 16, second, second >> 16].map($number)
            }

            #[inline(always)]
            fn rest([first, second, third, fourth]: Raw) -> Raw {
                [third, fourth, first, second] // constants would make LLVM peel a loop
            }
        }
    )*};
}

of_16_bits! {
    f16: convert::from_f16, convert::from_f16x2;
    bf16: |bits: u32| f32::from_bits(bits << 16), |word: u32| [word << 16, word & 0xffff_0000].map(f32::from_bits);
}
