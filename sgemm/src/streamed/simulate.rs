//! When tasks begin and end, from how long each takes: without running any.

use super::part::Part;
use super::task::{PeerTask, Queue, Transfer, Work};
use crate::distributed::{Link, Span};

/// How fast one GPU exchanges data with the host and with other GPUs, while all GPUs do so.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// To the GPU.
    pub up: Link,
    /// From it.
    pub down: Link,
    /// From another GPU; `None` where GPUs are not to share what they read from the host, since some cannot access each other's memory.
    pub peers: Option<Link>,
}

/// A copy engine takes so much longer for each line of a matrix, in microseconds: 33.5 GB/s of lines of 4 KiB were measured on one H200
/// and on four, where contiguous bytes go at 55 and 48.
const LINE_US: f64 = 0.05;

impl Rates {
    /// So many H200 of one host, from pinned memory, while both directions are in use: on one of them 52 GB/s were measured each way. Four
    /// share what the host's memory gives, 48 GB/s for each in both directions together: of that an upload has 32 and a download 24, by
    /// which the times of 67 plans without sharing are predicted within 6 %, and the fastest of them is found. Numbers between are
    /// interpolated; more GPUs are taken to share what four had.
    ///
    /// From another GPU each has 365 GB/s over NVLink, in all directions at once, as was measured on four H100.
    #[must_use]
    pub fn h200(gpus: usize) -> Self {
        const LATENCY_US: f64 = 10.0;
        let others = (gpus.clamp(1, 4) - 1) as f64 / 3.0;
        let sharing = 4.0 / gpus.max(4) as f64;
        let rate = |alone: f64, with_four: f64| Link {
            latency_us: LATENCY_US,
            gbps: (alone + (with_four - alone) * others) * sharing,
        };
        let peers = Link { latency_us: LATENCY_US, gbps: 365.0 };
        Self { up: rate(52.0, 32.0), down: rate(52.0, 24.0), peers: Some(peers) }
    }

    /// The same for GPUs that cannot access each other's memory.
    #[must_use]
    pub const fn without_peers(self) -> Self {
        Self { peers: None, ..self }
    }

    /// The time of an upload, a download or a copy from another GPU, in microseconds; of what stays on the device none.
    pub(super) fn transfer_us(&self, work: &Work) -> f64 {
        let time = |link: &Link, transfer: &Transfer| {
            let lines = if transfer.is_contiguous() { 0 } else { transfer.lines };
            link.time_us(transfer.total_bytes() as f64) + lines as f64 * LINE_US
        };
        match work {
            Work::Upload(transfer) => time(&self.up, transfer),
            Work::Download(transfer) => time(&self.down, transfer),
            Work::Receive(copy) => self.peers.map_or(f64::INFINITY, |link| link.time_us(copy.span_bytes() as f64)),
            Work::Prepare { .. } | Work::Product(_) => 0.0,
        }
    }
}

/// The spans of the tasks of each part, by their index. Tasks of GPUs whose parts are not here count as done.
pub(super) fn simulate(parts: &[&Part], factors: [f32; 2]) -> Vec<Vec<Span>> {
    let mut spans: Vec<Vec<Span>> = parts.iter().map(|part| Vec::with_capacity(part.tasks.len())).collect();
    let mut free_us = vec![[0.0_f64; Queue::ALL.len()]; parts.len()];
    // Each part as far as what it waits for is known: as long as one gets on.
    loop {
        let mut has_moved = false;
        for (number, part) in parts.iter().enumerate() {
            while let Some(task) = part.tasks.get(spans[number].len()) {
                let index = spans[number].len();
                let span = |start_us, end_us| Span { rank: part.gpu, task: index, start_us, end_us, collective: None };
                if !task.is_needed(factors) {
                    spans[number].push(span(0.0, 0.0));
                    continue;
                }
                let Some(peers_us) = ends_us(parts, &spans, &task.after_peers) else { break };
                let free_us = &mut free_us[number][task.queue as usize];
                let own = task.after.iter().map(|before| spans[number][*before].end_us);
                let start_us = own.fold(free_us.max(peers_us), f64::max);
                *free_us = start_us + part.times_us[index];
                spans[number].push(span(start_us, *free_us));
                has_moved = true;
            }
        }
        if !has_moved {
            return spans;
        }
    }
}

/// When all of these have ended; `None` where that is not known yet.
fn ends_us(parts: &[&Part], spans: &[Vec<Span>], tasks: &[PeerTask]) -> Option<f64> {
    tasks.iter().try_fold(0.0_f64, |latest, peer| {
        let Some(number) = parts.iter().position(|part| part.gpu == peer.gpu) else { return Some(latest) };
        spans[number].get(peer.task).map(|span| latest.max(span.end_us))
    })
}

/// When the last task has ended.
pub(super) fn end_us(spans: &[Vec<Span>]) -> f64 {
    spans.iter().flatten().fold(0.0, |latest, span| latest.max(span.end_us))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_that_were_measured() {
        let gbps = |gpus| [Rates::h200(gpus).up.gbps, Rates::h200(gpus).down.gbps];
        assert_eq!([gbps(1), gbps(4), gbps(8)], [[52.0, 52.0], [32.0, 24.0], [16.0, 12.0]]);
        assert!(gbps(2).iter().zip([45.33, 42.67]).all(|(rate, expected)| (rate - expected).abs() < 0.01));
    }
}
