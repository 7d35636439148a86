//! Generic addresses: each state space but global memory is seen through a window of the 64-bit address space.

use crate::Space;

/// The windows, from the lowest: constants, parameters, local memory, shared memory. Below lies global memory.
pub(crate) const CONST: u64 = 0x7c00_0000_0000;
pub(crate) const PARAM: u64 = 0x7d00_0000_0000;
pub(crate) const LOCAL: u64 = 0x7e00_0000_0000;
pub(crate) const SHARED: u64 = 0x7f00_0000_0000;
const END: u64 = 0x8000_0000_0000;

/// In a cluster, the address of a byte of a block's shared memory is its address there and this, times the block's rank and 1:
/// see [`rank`]. So it is for the block itself, if there are others. The hardware leaves out the 1, and so
/// hides in the first block what is wrong in the others: that such an address is taken for an offset.
pub(crate) const RANK: u64 = 1 << 24;

/// Where the module's variables in global memory begin, and where memory that is allocated begins.
pub(crate) const VARIABLES: u64 = 0x0100_0000_0000;
pub(crate) const HEAP: u64 = 0x0200_0000_0000;

/// The state space that a generic address is in, and the address within it.
pub(crate) const fn resolve(address: u64) -> (Space, u64) {
    match address {
        END.. => (Space::Global, address),
        SHARED.. => (Space::Shared, address - SHARED),
        LOCAL.. => (Space::Local, address - LOCAL),
        PARAM.. => (Space::Param, address - PARAM),
        CONST.. => (Space::Const, address - CONST),
        _ => (Space::Global, address),
    }
}

/// The rank in its cluster of the block that an address in shared memory names, if it names one.
pub(crate) const fn rank(address: u64) -> Option<u64> {
    (address / RANK).checked_sub(1)
}

/// The address, in shared memory, of the same place in the block of that rank.
pub(crate) const fn of_rank(address: u64, rank: u32) -> u64 {
    // No cluster has as many blocks: what names a block that is not there must not name one that is.
    let rank = if rank < 0xff { rank as u64 } else { 0xfe };
    address % RANK + (rank + 1) * RANK
}

/// What is added to an address in the space to make it generic.
pub(crate) const fn base(space: Space) -> u64 {
    match space {
        Space::Generic | Space::Global => 0,
        Space::Shared => SHARED,
        Space::Local => LOCAL,
        Space::Const => CONST,
        Space::Param => PARAM,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_its_block() {
        assert_eq!((rank(0xff_ffff), rank(of_rank(0x40, 0)), rank(of_rank(0x40, 15))), (None, Some(0), Some(15)));
        assert_eq!(of_rank(of_rank(0x40, 3), 5), of_rank(0x40, 5));
        assert_eq!(of_rank(0x40, u32::MAX), 0xff00_0040);
    }

    #[test]
    fn windows_do_not_overlap() {
        for space in [Space::Shared, Space::Local, Space::Const, Space::Param] {
            assert_eq!(resolve(base(space)), (space, 0));
            assert_eq!(resolve(base(space) + 0xff_ffff), (space, 0xff_ffff));
            assert_ne!(resolve(base(space) - 1).0, space);
        }
        assert_eq!(resolve(HEAP + 5), (Space::Global, HEAP + 5));
    }
}
