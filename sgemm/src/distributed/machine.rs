//! Hosts, their devices and what connects them: rates, latencies and bandwidths, and the time that tasks take with them.

use gpu_kernels::Ab;

use super::grid::Axis;
use super::plan::Plan;
use super::schedule::Work;
use crate::plan::Plan as Gemm;
use crate::select::{self, Table};
use crate::{AccuracyClass, Device, Error};

/// A way for data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// Microseconds before the first byte.
    pub latency_us: f64,
    /// Gigabytes that a device receives in a second, of 10^9 bytes.
    pub gbps: f64,
}

impl Link {
    /// Microseconds for so many bytes; none for nothing.
    #[must_use]
    pub fn time_us(&self, bytes: f64) -> f64 {
        if bytes > 0.0 { self.latency_us + bytes / (self.gbps * 1e3) } else { 0.0 }
    }
}

/// Equal hosts with equal devices. Ranks fill host after host.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// What large products of a class run at for long, in TFLOPS: the prediction of single products knows no heat.
    pub rates: Vec<(AccuracyClass, f64)>,
    /// Microseconds that a product takes beyond that rate: its first and its last wave of tiles, and its pre-passes.
    pub product_us: f64,
    /// Devices of a host.
    pub gpus_per_host: usize,
    /// An AllGather among so many devices of a host, ascending: a group that is not listed takes the next larger one's, or the last.
    pub host: Vec<(usize, Link)>,
    /// Between hosts, for each device.
    pub network: Link,
    /// A device's own memory, for copies within it: bytes read and written.
    pub memory: Link,
}

impl Machine {
    /// H200: rates of our kernels at 8192; an AllGather by NCCL 2.28's copy engines over NVLink between each pair of four, as
    /// measured; and a network card of 400 Gb/s for each device.
    #[must_use]
    pub fn h200() -> Self {
        use AccuracyClass::{Bf16, F16, Fp32, Fp32Strict, Tf32};
        let rates = vec![(Fp32Strict, 57.2), (Fp32, 201.0), (Tf32, 342.0), (F16, 660.0), (Bf16, 660.0)];
        // AllGather of 4 to 256 MB a rank: 100 to 318 GB/s on two devices, 157 to 361 GB/s on four.
        let host = vec![(2, Link { latency_us: 27.0, gbps: 330.0 }), (4, Link { latency_us: 45.0, gbps: 368.0 })];
        Self {
            rates,
            // Of sixteen products instead of four, over two H100.
            product_us: 20.0,
            gpus_per_host: 8,
            host,
            network: Link { latency_us: 20.0, gbps: 48.0 },
            memory: Link { latency_us: 4.0, gbps: 3600.0 },
        }
    }

    /// The time of an AllGather in which each of these ranks gives `bytes`. Devices of a host share what each of them receives from
    /// the network, while they receive more; so does a ReduceScatter, in the other direction.
    #[must_use]
    pub fn gather_us(&self, ranks: &[usize], bytes: u64) -> f64 {
        let mut hosts: Vec<_> = ranks.iter().map(|rank| rank / self.gpus_per_host).collect();
        hosts.sort_unstable();
        let of_host = hosts.chunk_by(|one, other| one == other).map(<[usize]>::len).max().unwrap_or(1);
        hosts.dedup();
        let bytes = bytes as f64;
        let others = (ranks.len().saturating_sub(1)) as f64;
        let link = self.host.iter().find(|(devices, _)| *devices >= of_host).or(self.host.last());
        let within = match link {
            Some((_, link)) if of_host > 1 => link.time_us(others * bytes),
            _ => 0.0,
        };
        let across = self
            .network
            .time_us((hosts.len() - 1) as f64 * bytes * (ranks.len() as f64 / (hosts.len() * of_host) as f64));
        within.max(across)
    }

    /// The time of a rank's task, in microseconds: of a product as select predicts it for the device.
    ///
    /// # Errors
    /// Those of [`select::predicted_us`].
    pub fn task_us(&self, plan: &Plan, task: usize, device: &Device) -> Result<f64, Error> {
        let memory = |bytes: f64| self.memory.time_us(bytes);
        let group = |axis: Axis| plan.scheme().grid.group(plan.rank(), axis);
        Ok(match &plan.tasks()[task].work {
            Work::Copy(copy) => memory(2.0 * copy.total_bytes() as f64),
            Work::AllGather { axis, bytes, .. } => self.gather_us(&group(*axis), *bytes),
            Work::ReduceScatter { axis, elements, .. } => self.gather_us(&group(*axis), elements * 4),
            Work::Prepare { gemm, operand, .. } => {
                let gemm = &plan.gemms()[*gemm];
                let made = gemm.preparation_of(*operand).map_or(0, |preparation| preparation.bytes().total_bytes());
                memory(2.0 * made as f64)
            }
            Work::Product(product) => self.product_us(&plan.gemms()[product.gemm], product.are_prepared(), device)?,
        })
    }

    /// The time of a product: as predicted for the shape, and no less than at the rate of its class. Pre-passes of operands that were
    /// prepared are left out.
    ///
    /// # Errors
    /// Those of [`select::predicted_us`].
    pub fn product_us(&self, gemm: &Gemm, are_prepared: Ab<bool>, device: &Device) -> Result<f64, Error> {
        let passes_us = |bytes: u64| self.memory.time_us(2.0 * bytes as f64);
        let prepared = gemm.part_bytes_with(are_prepared).total_bytes();
        let shape_us = select::predicted_us(Table::of(device), device, gemm)?;
        let rate = self.rates.iter().find(|(class, _)| *class == gemm.problem().class);
        let least_us = rate.map_or(0.0, |(_, tflops)| gemm.problem().flops() / (tflops * 1e6) + self.product_us);
        Ok((shape_us - passes_us(gemm.workspace_bytes() - prepared)).max(shape_us / 2.0).max(least_us))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against what was measured, of which the constants are a summary.
    #[test]
    fn gathers_take_the_time_that_was_measured() {
        let machine = Machine::h200();
        for (ranks, megabytes, gbps) in [
            (2, 4, 100.0),
            (2, 64, 281.0),
            (2, 256, 318.0),
            (4, 4, 157.0),
            (4, 16, 276.0),
            (4, 64, 337.0),
            (4, 256, 361.0),
        ] {
            let ranks: Vec<_> = (0..ranks).collect();
            let bytes = megabytes * 1_000_000;
            let received = bytes as f64 * (ranks.len() - 1) as f64;
            let predicted = received / machine.gather_us(&ranks, bytes) / 1e3;
            assert!((predicted / gbps - 1.0).abs() < 0.08, "{ranks:?}, {megabytes} MB: {predicted:.0}, not {gbps}");
        }
    }

    #[test]
    fn a_network_is_shared_by_the_devices_of_a_host() {
        let machine = Machine::h200();
        // Sixteen ranks on two hosts: each device receives one part over its card, and seven more from its host.
        let all: Vec<_> = (0..16).collect();
        let time = machine.gather_us(&all, 48_000_000);
        assert!((time - machine.network.time_us(48e6)).abs() < time * 0.9 && time >= machine.network.time_us(48e6));
        // One of each host: there is only the network.
        assert_eq!(machine.gather_us(&[0, 8], 48_000_000), machine.network.time_us(48e6));
        assert_eq!(machine.gather_us(&[3], 48_000_000), 0.0);
    }
}
