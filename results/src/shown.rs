//! What is shown of [`Counters`], wherever they are: names, and values as texts.

use crate::{Counters, grouped, significant};

/// A figure out of [`Counters`].
#[derive(Debug, Clone, Copy)]
pub struct Shown {
    /// What it is, with its unit. Two blanks before it: it belongs to the one above.
    pub name: &'static str,
    /// The value as a text.
    pub text: fn(&Counters) -> String,
    /// Whether it is estimated or modelled, and not counted.
    pub is_estimate: bool,
}

const fn counted(name: &'static str, text: fn(&Counters) -> String) -> Shown {
    Shown { name, text, is_estimate: false }
}

const fn estimated(name: &'static str, text: fn(&Counters) -> String) -> Shown {
    Shown { name, text, is_estimate: true }
}

/// All that is shown, in order.
pub const SHOWN: [Shown; 24] = [
    counted("warp instructions of the PTX", |counters| grouped(counters.ptx_instructions)),
    estimated("machine instructions, estimated", |counters| grouped(counters.machine_instructions)),
    estimated("FMAs among them, %", |counters| significant(100.0 * counters.fma_share())),
    counted("FMAs per load", |counters| significant(counters.fmas_per_load())),
    counted("global loads", |counters| grouped(counters.warp_loads())),
    counted("  sectors per load", |counters| significant(counters.sectors_per_load())),
    counted("copies in bulk", |counters| grouped(counters.copies)),
    counted("  bytes per copy", |counters| significant(counters.bytes_per_copy())),
    counted("global bytes per FMA", |counters| significant(counters.global_bytes_per_fma())),
    counted("global stores", |counters| grouped(counters.global_stores)),
    counted("shared loads", |counters| grouped(counters.shared_loads)),
    counted("  wavefronts per load", |counters| significant(counters.wavefronts_per_shared_load())),
    counted("shared stores", |counters| grouped(counters.shared_stores)),
    counted("shared wavefronts lost to bank conflicts, %", |counters| significant(100.0 * counters.conflict_share())),
    counted("L1 and shared wavefronts per FMA", |counters| significant(counters.wavefronts_per_fma())),
    counted("barriers", |counters| grouped(counters.barriers)),
    counted("divergent branches", |counters| grouped(counters.divergent_branches)),
    estimated("registers per thread, estimated", |counters| counters.registers.to_string()),
    counted("shared memory per block, bytes", |counters| grouped(counters.shared_bytes.into())),
    estimated("occupancy, %", |counters| significant(100.0 * counters.occupancy)),
    estimated("  limited by", |counters| counters.occupancy_limit.clone()),
    estimated("modelled time, ms", |counters| significant(counters.modelled_ms)),
    estimated("  bound by", |counters| counters.bound.clone()),
    counted("blocks run", |counters| format!("{} of {}", counters.blocks_run, counters.blocks)),
];
