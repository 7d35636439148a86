//! What checkers find, in words.

use super::block::Site;
use super::grid::Grid;
use crate::Space;
use crate::check::{AccessKind, Discovery, What};
use crate::finding::{Finding, FindingKind, plural};
use crate::program::Pc;
use crate::registers::LANES;

/// Findings of a worker beyond which no more are kept.
const MAX_FINDINGS: usize = 100;

impl Site {
    /// What is wrong with what a thread did, by its number in the cluster.
    pub(super) fn finding(&self, grid: &Grid<'_>, kind: FindingKind, pc: Pc, thread: usize, what: String) -> Finding {
        let instruction = &grid.program.instructions[pc];
        let thread = grid.thread_of(grid.place(self.index), thread);
        Finding {
            kind,
            line: instruction.line,
            other: None,
            instruction: instruction.mnemonic.to_string(),
            thread,
            what,
        }
    }

    /// Keeps what a checker found, the first time that it is found at this place. The warp is given by its number in the
    /// cluster.
    pub(super) fn report(&mut self, grid: &Grid<'_>, pc: Pc, warp: usize, discovery: Discovery) {
        let Discovery { kind, lane, other, what } = discovery;
        if self.findings.len() >= MAX_FINDINGS || !self.known.insert((kind, pc, other)) {
            return;
        }
        let other_line = other.map(|other| grid.program.instructions[other].line);
        let what = match what {
            What::Text(text) => text,
            What::NoFence { address, bytes, thread } => {
                let other = &grid.program.instructions[other.unwrap_or(pc)];
                let thread = grid.thread_of(grid.place(self.index), thread);
                let (bytes, line, mnemonic) = (plural(bytes, "byte"), other.line, &other.mnemonic);
                format!(
                    "{bytes} of shared memory at {address:#x}; no `fence.proxy.async` follows the write by {thread} in line \
                     {line}, `{mnemonic}`"
                )
            }
            What::Race { space, address, bytes, thread, cluster, kind } => {
                let did = match kind {
                    AccessKind::Read => "read",
                    AccessKind::Write => "write",
                    AccessKind::StrongRead => "strong read",
                    AccessKind::StrongWrite | AccessKind::Atomic => "atomic access",
                };
                let other = &grid.program.instructions[other.unwrap_or(pc)];
                let place = grid.place(self.index);
                let own = grid.thread_of(place, warp * LANES).block;
                let thread = grid.thread_of(cluster.map_or(place, |number| grid.place_of(number)), thread);
                let [x, y, z] = thread.thread;
                let who = if thread.block == own { format!("thread ({x}, {y}, {z})") } else { thread.to_string() };
                let rank = self.checks.memory.rank();
                let of = match space {
                    Space::Shared if grid.rank(own) != rank => format!(" of {}", grid.neighbour(own, rank)),
                    _ => String::new(),
                };
                let bytes = plural(bytes, "byte");
                format!(
                    "{bytes} of {space} memory{of} at {address:#x}; nothing orders it after the {did} by {who} in line \
                     {}, `{}`",
                    other.line, other.mnemonic
                )
            }
        };
        let finding = Finding { other: other_line, ..self.finding(grid, kind, pc, warp * LANES + lane, what) };
        self.findings.push(finding);
    }
}
