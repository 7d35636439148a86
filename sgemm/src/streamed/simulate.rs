//! When tasks begin and end, from how long each takes: without running any.

use super::task::{Task, Transfer, Work};
use crate::distributed::{Link, Queue, Span};

/// How fast one GPU exchanges data with the host, while all GPUs do so.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// To the GPU.
    pub up: Link,
    /// From it.
    pub down: Link,
}

/// A copy engine takes so much longer for each line of a matrix, in microseconds: 33.5 GB/s of lines of 4 KiB were measured on one H200
/// and on four, where contiguous bytes go at 55 and 48.
const LINE_US: f64 = 0.05;

impl Rates {
    /// So many H200 of one host, from pinned memory, while both directions are in use: on one of them 52 GB/s were measured each way. Four
    /// share what the host's memory gives, 48 GB/s for each in both directions together: of that an upload has 32 and a download 24, by
    /// which the times of 67 plans are predicted within 6 %, and the fastest of them is found. Numbers between are interpolated; more GPUs
    /// are taken to share what four had.
    #[must_use]
    pub fn h200(gpus: usize) -> Self {
        const LATENCY_US: f64 = 10.0;
        let others = (gpus.clamp(1, 4) - 1) as f64 / 3.0;
        let sharing = 4.0 / gpus.max(4) as f64;
        let rate = |alone: f64, with_four: f64| Link {
            latency_us: LATENCY_US,
            gbps: (alone + (with_four - alone) * others) * sharing,
        };
        Self { up: rate(52.0, 32.0), down: rate(52.0, 24.0) }
    }

    /// The time of an upload or a download, in microseconds; of what stays on the device none.
    pub(super) fn transfer_us(&self, work: &Work) -> f64 {
        let time = |link: &Link, transfer: &Transfer| {
            let lines = if transfer.is_contiguous() { 0 } else { transfer.lines };
            link.time_us(transfer.total_bytes() as f64) + lines as f64 * LINE_US
        };
        match work {
            Work::Upload(transfer) => time(&self.up, transfer),
            Work::Download(transfer) => time(&self.down, transfer),
            Work::Prepare { .. } | Work::Product(_) => 0.0,
        }
    }
}

/// The spans of tasks, by their index. Each comes after those that it waits for, so that one pass will do.
pub(super) fn simulate(gpu: usize, tasks: &[Task], times_us: &[f64], factors: [f32; 2]) -> Vec<Span> {
    let mut free_us = [0.0_f64; Queue::ALL.len()];
    let mut spans: Vec<Span> = Vec::with_capacity(tasks.len());
    for (index, (task, time_us)) in tasks.iter().zip(times_us).enumerate() {
        let span = |start_us, end_us| Span { rank: gpu, task: index, start_us, end_us, collective: None };
        if !task.is_needed(factors) {
            spans.push(span(0.0, 0.0));
            continue;
        }
        let free_us = &mut free_us[task.queue as usize];
        let start_us = task.after.iter().fold(*free_us, |latest, before| latest.max(spans[*before].end_us));
        *free_us = start_us + time_us;
        spans.push(span(start_us, *free_us));
    }
    spans
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
