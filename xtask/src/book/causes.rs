//! Why each step has the speed that it has: which counter shows it. This choice is editorial; all figures are generated.

use results::Figure;

/// What a step's chapter begins with.
pub struct Cause {
    /// The step's slug.
    pub step: &'static str,
    /// The square size that the step is for.
    pub size: u32,
    /// The counter that shows the cause.
    pub figure: &'static Figure,
    /// Its name within a sentence, in the plural.
    pub subject: &'static str,
    /// What follows from it, or what no counter shows; it ends the sentence.
    pub so: &'static str,
}

const WAVEFRONTS: &str = "shared-memory and L1 wavefronts per FMA";
const OWN_SHAPES: &str = "; its own shapes have few columns or few rows";

/// The cause of the step's speed.
pub fn of(step: &str) -> Option<&'static Cause> {
    CAUSES.iter().find(|cause| cause.step == step)
}

const fn cause(step: &'static str, size: u32, key: &str, subject: &'static str, so: &'static str) -> Cause {
    Cause { step, size, figure: Figure::of(key), subject, so }
}

#[rustfmt::skip] // a line or two for each step
const CAUSES: [Cause; 31] = [
    cause("naive", 4096, "wavefronts_per_fma", WAVEFRONTS, ", where an SM has time for a quarter of one"),
    cause("coalesced", 4096, "wavefronts_per_fma", WAVEFRONTS, ", since the lanes of a warp read contiguous floats"),
    cause("smem-tiling", 4096, "wavefronts_per_fma", WAVEFRONTS, ", and still bound the step"),
    cause("1d-tiling", 4096, "wavefronts_per_fma", WAVEFRONTS, ", since a thread uses each value of B eight times"),
    cause("2d-tiling", 4096, "wavefronts_per_fma", WAVEFRONTS, ", since a thread uses each value of A and B eight times"),
    cause("vectorized", 4096, "warp_loads", "global loads", ", and operands come to lie in both banks of the register file"),
    cause("bank-conflicts", 4096, "wavefronts_per_fma", WAVEFRONTS, ", for the first time below the quarter that an SM has time for"),
    cause("read-only-cache", 4096, "global_bytes_per_fma", "global bytes per FMA", ": there is nothing for another cache to save"),
    cause("lane-sharing", 4096, "fma_share", "FMAs as a percentage of all instructions", ", since four shuffles replace one load"),
    cause("transposed", 1024, "barriers", "waits at barriers", ", since k-tiles are twice as deep"),
    cause("prefetch", 1024, "barriers", "waits at barriers", ", and the FMAs hide the latency of the next k-tile's loads"),
    cause("warp-tiling", 4096, "wavefronts_per_fma", WAVEFRONTS, ": the earlier steps have saved what this one could"),
    cause("async-copy", 1024, "barriers", "waits at barriers", ", and no register holds a value on its way to shared memory"),
    cause("ilp", 4096, "fmas_per_load", "FMAs per load", ", for half the occupancy"),
    cause("packed-fma", 4096, "machine_instructions", "instructions", ", since one does two FMAs"),
    cause("tma-multicast", 4096, "global_bytes_per_fma", "global bytes per FMA",
        ", but the ninth warp takes the registers for fragments ahead of their use"),
    cause("autotuned", 1024, "registers", "registers per thread",
        " in the tile for large matrices; for small ones another tile gives work to more SMs"),
    cause("split-k", 256, "blocks", "blocks", ", so that every SM has work; large matrices had tiles enough"),
    cause("stream-k", 4096, "registers", "registers per thread",
        ", and nothing else changes in a tile: the gain is an even share of k-tiles for each SM, which no counter shows"),
    cause("hgemm", 4096, "machine_instructions", "instructions", ", since the tensor cores multiply"),
    cause("tf32", 4096, "global_bytes_per_fma", "global bytes per FMA", ", since elements have 32 bits, at half the MMA rate"),
    cause("fp16x3", 4096, "tensor_core_fmas", "multiply-adds of the tensor cores", ": three for each product of fp32"),
    cause("tf32x3", 4096, "global_bytes_per_fma", "global bytes per FMA", ", the price of a format that needs no scaling"),
    cause("any-layout", 256, "blocks", "blocks", ", so that small matrices reach more SMs"),
    cause("hgemm-split-k", 512, "blocks", "blocks", ", so that small matrices reach more SMs"),
    cause("gemv", 4096, "flops_per_l2_byte", "FLOPs per byte from L2", OWN_SHAPES),
    cause("tf32-split-k", 512, "blocks", "blocks", ", so that small matrices reach more SMs"),
    cause("gemv-rows", 4096, "flops_per_l2_byte", "FLOPs per byte from L2", OWN_SHAPES),
    cause("hgemm-any-layout", 4096, "machine_instructions", "instructions",
        ", since threads copy instead of the TMA; its own shapes are those that the TMA cannot load"),
    cause("hgemm-batch", 4096, "global_bytes_per_fma", "global bytes per FMA", ", and blocks stay, so that C is stored behind the MMAs"),
    cause("tf32-any-layout", 4096, "machine_instructions", "instructions",
        ", since threads copy instead of the TMA; its own shapes are those that the TMA cannot load"),
];

#[cfg(test)]
mod tests {
    use gpu_kernels::STEPS;

    use super::*;

    #[test]
    fn every_step_has_one_cause_in_the_ladders_order() {
        assert!(STEPS.iter().map(|step| step.slug).eq(CAUSES.iter().map(|cause| cause.step)));
    }
}
