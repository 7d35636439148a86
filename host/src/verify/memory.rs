//! How much memory the host can spare.

use sysinfo::{MemoryRefreshKind, RefreshKind, System};

/// Bytes of memory that can be had without swapping, within the limits that this process runs under; [`u64::MAX`] where
/// the system does not tell.
pub(crate) fn available() -> u64 {
    let memory = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let Ok(system) = System::new_with_specifics(memory) else { return u64::MAX };
    let limit = system.cgroup_limits().map_or(u64::MAX, |limits| limits.free_memory);
    system.available_memory().min(limit)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_plausible_amount_is_there() {
        assert!(super::available() > 1 << 20);
    }
}
