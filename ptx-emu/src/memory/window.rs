//! Generic addresses: all state spaces but global memory are windows of the 64-bit address space.
//!
//! The windows are beyond what a process of the host has, which is below 2^48 unless it asks for more: memory of the host can be mapped at
//! the address that it has there. Nor is it at the addresses of variables and allocations, which operating systems leave free between a
//! program and its libraries.

use crate::types::Space;

/// The windows, from the lowest; global memory lies below.
pub(crate) const CONST: u64 = 0x007c_0000_0000_0000;
pub(crate) const PARAM: u64 = 0x007d_0000_0000_0000;
pub(crate) const LOCAL: u64 = 0x007e_0000_0000_0000;
pub(crate) const SHARED: u64 = 0x007f_0000_0000_0000;
const END: u64 = 0x0080_0000_0000_0000;

/// In a cluster, an address in a block's shared memory carries (rank + 1) * RANK, also for the block itself if the
/// cluster has others: see [`rank`]. The hardware omits the + 1, which hides in rank 0 the error of taking such an
/// address for an offset.
pub(crate) const RANK: u64 = 1 << 24;

/// Addresses of the variables of a module, and of those of modules that a memory holds side by side; addresses of allocations.
pub(crate) const VARIABLES: u64 = 0x0100_0000_0000;
pub(crate) const LOADED: u64 = 0x0101_0000_0000;
pub(crate) const HEAP: u64 = 0x0200_0000_0000;

/// Addresses of the module's functions, where no memory is.
const FUNCTIONS: u64 = 0x00f0_0000_0000;
const FUNCTION: u64 = 16;

/// Addresses of the heap of `malloc`, and of the driver's workspace, in which blocks count for `grid.sync`.
pub(crate) const DEVICE_HEAP: u64 = 0x00e0_0000_0000;
pub(crate) const WORKSPACE: u64 = 0x00e8_0000_0000;

/// The address of a function by its index among the module's.
pub(crate) const fn of_function(index: usize) -> u64 {
    FUNCTIONS + index as u64 * FUNCTION
}

/// The index of the function at an address; whether there is one, the module knows.
pub(crate) const fn function(address: u64) -> Option<usize> {
    let offset = address.wrapping_sub(FUNCTIONS);
    if offset < VARIABLES - FUNCTIONS && offset.is_multiple_of(FUNCTION) {
        Some((offset / FUNCTION) as usize)
    } else {
        None
    }
}

/// Whether an address is one of the heap.
pub(crate) const fn is_in_heap(address: u64) -> bool {
    DEVICE_HEAP <= address && address < WORKSPACE
}

/// Whether an address is one of variables, of a heap, or of what else has its place: no allocation that can be freed.
pub(crate) const fn is_fixed(address: u64) -> bool {
    DEVICE_HEAP <= address && address < HEAP
}

/// Whether a generic address is one of global memory.
pub(crate) const fn is_global(address: u64) -> bool {
    matches!(resolve(address).0, Space::Global)
}

/// The state space of a generic address, and the address in it.
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

/// The rank that an address in shared memory carries, if any.
pub(crate) const fn rank(address: u64) -> Option<u64> {
    (address / RANK).checked_sub(1)
}

/// The same offset in the shared memory of the block of that rank.
pub(crate) const fn of_rank(address: u64, rank: u32) -> u64 {
    // Saturates: an invalid rank must not become a valid one.
    let rank = if rank < 0xff { rank as u64 } else { 0xfe };
    address % RANK + (rank + 1) * RANK
}

/// The base of the state space's window.
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
        let of_host = std::ptr::from_ref(&HEAP).addr() as u64;
        assert_eq!(resolve(of_host), (Space::Global, of_host));
    }
}
