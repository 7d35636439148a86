//! Special registers of a thread.

use super::grid::Grid;
use crate::lanes::LANES;
use crate::memory::window;
use crate::program::Special;

impl Grid<'_> {
    /// The value of a special register for a thread of the block.
    pub(crate) fn special(&self, special: Special, block: [u32; 3], warp: usize, thread: u32) -> u64 {
        use Special as S;
        let [tx, ty, _] = self.block;
        let tid = self.thread(thread);
        let lane = thread % LANES as u32;
        let value = match special {
            S::TidX => tid[0],
            S::TidY => tid[1],
            S::TidZ => tid[2],
            S::NtidX => tx,
            S::NtidY => ty,
            S::NtidZ => self.block[2],
            S::CtaidX => block[0],
            S::CtaidY => block[1],
            S::CtaidZ => block[2],
            S::NctaidX => self.grid[0],
            S::NctaidY => self.grid[1],
            S::NctaidZ => self.grid[2],
            S::ClusterIdX => block[0] / self.cluster[0],
            S::ClusterIdY => block[1] / self.cluster[1],
            S::ClusterIdZ => block[2] / self.cluster[2],
            S::NclusterIdX => self.grid[0] / self.cluster[0],
            S::NclusterIdY => self.grid[1] / self.cluster[1],
            S::NclusterIdZ => self.grid[2] / self.cluster[2],
            S::ClusterCtaidX => block[0] % self.cluster[0],
            S::ClusterCtaidY => block[1] % self.cluster[1],
            S::ClusterCtaidZ => block[2] % self.cluster[2],
            S::ClusterNctaidX => self.cluster[0],
            S::ClusterNctaidY => self.cluster[1],
            S::ClusterNctaidZ => self.cluster[2],
            S::ClusterCtarank => self.rank(block) as u32,
            S::ClusterNctarank => self.cluster_blocks() as u32,
            S::IsExplicitCluster => {
                (self.cluster_blocks() > 1 || self.program.bounds.required_cluster.is_some()).into()
            }
            S::LaneId => lane,
            S::WarpId => warp as u32,
            S::NwarpId => self.warps() as u32,
            S::LanemaskEq => 1 << lane,
            S::LanemaskLe => u32::MAX >> (31 - lane),
            S::LanemaskLt => !(u32::MAX << lane),
            S::LanemaskGe => u32::MAX << lane,
            S::LanemaskGt => !(u32::MAX >> (31 - lane)),
            S::NsmId => self.sm_count,
            S::SmId => (block[0] + block[1] * self.grid[0]) % self.sm_count.max(1),
            S::TotalSmemSize => self.shared_bytes() as u32,
            S::DynamicSmemSize => self.dynamic_shared,
            S::AggrSmemSize => self.shared_bytes() as u32,
            S::EnvReg1 => (window::WORKSPACE >> 32) as u32,
            S::EnvReg2 => window::WORKSPACE as u32,
            S::GridId | S::EnvReg => 0,
            // Read by each instruction at run time, or set by calls.
            S::Frame | S::Clock | S::ClockHi | S::Clock64 | S::GlobalTimer | S::GlobalTimerLo | S::GlobalTimerHi => 0,
        };
        value.into()
    }
}
