//! Findings as text.

use super::block::Site;
use super::grid::Grid;
use crate::check::{AccessKind, Discovery, What};
use crate::finding::{Finding, FindingKind, Rank, plural};
use crate::lanes::LANES;
use crate::program::Pc;
use crate::types::Space;

/// The lane and instruction that a finding is about; the warp by its index in the cluster.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin {
    pub warp: usize,
    pub lane: usize,
    pub pc: Pc,
}

/// Findings kept per block slot.
const MAX_FINDINGS: usize = 100;

impl Site {
    /// A finding at an instruction of a thread, given by its index in the cluster.
    pub(crate) fn finding(&self, grid: &Grid<'_>, kind: FindingKind, pc: Pc, thread: usize, what: String) -> Finding {
        let instruction = &grid.program.instructions[pc];
        let thread = grid.thread_of(grid.cluster_of(self.index), thread);
        Finding {
            kind,
            rank: Rank::Error,
            line: instruction.line,
            other: None,
            instruction: instruction.mnemonic.to_string(),
            thread,
            what,
        }
    }

    /// Records a discovery once per instruction. `warp` is the index in the cluster.
    pub(crate) fn report(&mut self, grid: &Grid<'_>, pc: Pc, warp: usize, discovery: Discovery) {
        let Discovery { kind, rank, lane, other, what } = discovery;
        // What was never written may be read before a copy to it begins, and while it is under way.
        let key = (kind, rank, pc, other.filter(|_| kind != FindingKind::Uninitialized));
        if self.findings.len() >= MAX_FINDINGS || !self.known.insert(key) {
            return;
        }
        let other_line = other.map(|other| grid.program.instructions[other].line);
        let what = match what {
            What::Text(text) => text,
            What::NoInitFence { address, thread } => {
                let line = other_line.unwrap_or_default();
                let thread = grid.thread_of(grid.cluster_of(self.index), thread);
                format!(
                    "it completes on the mbarrier at {address:#x}; neither `fence.mbarrier_init` nor `fence.proxy.async` \
                     follows its initialisation by {thread} in line {line}"
                )
            }
            What::NoFence { address, bytes, thread } => {
                let other = &grid.program.instructions[other.unwrap_or(pc)];
                let thread = grid.thread_of(grid.cluster_of(self.index), thread);
                let (bytes, line, mnemonic) = (plural(bytes, "byte"), other.line, &other.mnemonic);
                format!(
                    "{bytes} of shared memory at {address:#x}; no `fence.proxy.async` follows the write by {thread} in \
                     line {line}, `{mnemonic}`"
                )
            }
            What::NonCoherent { address, bytes, thread, cluster } => {
                let other = &grid.program.instructions[other.unwrap_or(pc)];
                let index = cluster.map_or(grid.cluster_of(self.index), |number| grid.cluster_index(number));
                let (thread, bytes) = (grid.thread_of(index, thread), plural(bytes, "byte"));
                let place = grid.place_of(address);
                format!(
                    "{bytes} of global memory at {address:#x}{place}, which `.nc` takes for read-only; {thread} wrote it in \
                     line {}, `{}`",
                    other.line, other.mnemonic
                )
            }
            What::Race { space, address, bytes, thread, cluster, kind, is_observed, .. } => {
                let did = match kind {
                    AccessKind::Read => "read",
                    AccessKind::Write => "write",
                    AccessKind::StrongRead => "strong read",
                    AccessKind::StrongWrite | AccessKind::Atomic => "atomic access",
                };
                let other = &grid.program.instructions[other.unwrap_or(pc)];
                let index = grid.cluster_of(self.index);
                let own = grid.thread_of(index, warp * LANES).block;
                let thread = grid.thread_of(cluster.map_or(index, |number| grid.cluster_index(number)), thread);
                let [x, y, z] = thread.thread;
                let who = if thread.block == own { format!("thread ({x}, {y}, {z})") } else { thread.to_string() };
                let block = self.checks.memory.rank();
                let of = match space {
                    Space::Shared if grid.rank(own) != block => format!(" of {}", grid.peer_block(own, block)),
                    _ => String::new(),
                };
                let bytes = plural(bytes, "byte");
                let place = if space == Space::Global { grid.place_of(address) } else { String::new() };
                let why = match rank {
                    Rank::Remark => ", which stores the same value",
                    _ if is_observed => ": no fence follows the relaxed read of what that released",
                    _ => "",
                };
                format!(
                    "{bytes} of {space} memory{of} at {address:#x}{place}; nothing orders it after the {did} by {who} in line \
                     {}, `{}`{why}",
                    other.line, other.mnemonic
                )
            }
        };
        let finding = Finding { rank, other: other_line, ..self.finding(grid, kind, pc, warp * LANES + lane, what) };
        self.record_finding(grid, &finding);
        self.findings.push(finding);
    }

    /// Reports a misused barrier, if barriers are checked.
    pub(crate) fn complain(&mut self, grid: &Grid<'_>, Origin { warp, lane, pc }: Origin, what: String) {
        if grid.checks.barriers {
            let (kind, rank, what) = (FindingKind::Barrier, Rank::Error, What::Text(what));
            let discovery = Discovery { kind, rank, lane, other: None, what };
            self.report(grid, pc, warp, discovery);
        }
    }
}
