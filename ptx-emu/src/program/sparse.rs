//! Which elements a sparse A has. PTX ISA, "Sparse matrix storage" and the sections of `mma.sp` on metadata.
//!
//! Of each group of consecutive elements of k there is half: of types of 8 and 16 bits two of four, of 4 bits two pairs of four, of
//! 32 bits one of two. Four bits of metadata say which: two places, each in units of a quarter of the group.

use crate::lanes::{LANES, Slot};

/// Bits of metadata of a group.
const GROUP_BITS: usize = 4;

/// Rows of a warp, whose metadata are in its lanes.
const ROWS: usize = 16;

/// The operands of a sparse A beside its elements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sparse {
    /// The register of the metadata.
    pub metadata: Slot,
    /// Which lanes of each four have them.
    pub selector: u32,
    /// The places must ascend.
    pub is_ordered: bool,
}

/// Where metadata are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Groups {
    element_bits: usize,
    /// Groups of a row.
    count: usize,
}

impl Groups {
    pub(crate) const fn new(element_bits: usize, k: usize) -> Self {
        let size = match element_bits {
            32 => 2,
            4 => 8,
            _ => 4,
        };
        Self { element_bits, count: k / size }
    }

    /// How many selectors there are.
    pub(crate) const fn selectors(self) -> usize {
        u32::BITS as usize * LANES / (self.count * GROUP_BITS * ROWS)
    }

    /// The elements that a row has of each group.
    const fn kept(self) -> usize {
        match self.element_bits {
            32 => 1,
            4 => 4,
            _ => 2,
        }
    }

    /// The lane of four, and the bit, at which a group's metadata are, in the row of that number of eight apart.
    pub(crate) const fn place(self, selector: usize, half: usize, group: usize) -> (usize, usize) {
        if self.element_bits >= 16 {
            let each = u16::BITS as usize / GROUP_BITS;
            let first = selector * self.count / each;
            (first + group / each, GROUP_BITS * (each * half + group % each))
        } else {
            let each = u32::BITS as usize / GROUP_BITS;
            (2 * selector + half + 2 * (group / each), GROUP_BITS * (group % each))
        }
    }

    /// The group that a row's element is of, and its k, where the group's metadata are `bits`.
    pub(crate) fn element(self, index: usize, bits: impl Fn(usize) -> u32) -> usize {
        let (group, within) = (index / self.kept(), index % self.kept());
        let bits = bits(group);
        let place = |which: usize| (bits >> (2 * which) & 3) as usize;
        match self.element_bits {
            32 => 2 * group + place(0) / 2,
            4 => 8 * group + 2 * place(within / 2) + within % 2,
            _ => 4 * group + place(within),
        }
    }

    /// Whether the metadata of a group are such that the PTX ISA defines the result.
    pub(crate) const fn is_defined(self, bits: u32, is_ordered: bool) -> bool {
        let places = (bits & 3, bits >> 2 & 3);
        match self.element_bits {
            32 => bits == 0b0100 || bits == 0b1110,
            _ => !is_ordered || places.0 < places.1,
        }
    }

    pub(crate) const fn count(self) -> usize {
        self.count
    }
}
