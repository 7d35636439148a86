//! Our counters' names beside those of Nsight Compute, NVIDIA's profiler.

use std::collections::BTreeMap;

use crate::Counters;

/// A figure of [`Counters`] that the hardware's profiler has too.
///
/// ```
/// use results::{Metric, Profiled};
///
/// let barriers = Metric::find("barriers").expect("it is one of them");
/// assert_eq!(barriers.of_nsight(), "BAR.SYNC, BAR.ARV, UCGABAR_WAIT in the source view");
///
/// let mut profiled = Profiled::default();
/// profiled.opcodes.insert("BAR.SYNC.DEFER_BLOCKING".into(), 2048);
/// assert_eq!(barriers.of_hardware(&profiled), Some(2048.0));
/// assert!(barriers.agrees(2050.0, 2048.0) && !barriers.agrees(4096.0, 2048.0));
/// ```
#[derive(Debug)]
pub struct Metric {
    /// The key of [`Counters`].
    pub key: &'static str,
    /// What tables call it.
    pub name: &'static str,
    /// What it says of a kernel, in a line.
    pub meaning: &'static str,
    /// Where Nsight Compute has it.
    pub source: Source,
    /// How near the two are to be.
    pub tolerance: Tolerance,
    /// Ours, as far as the hardware counts the same.
    pub of: fn(&Counters) -> f64,
}

/// Where Nsight Compute has a figure: the sum of all that is named here, times `unit`.
#[derive(Debug)]
pub struct Source {
    /// Metrics.
    pub metrics: &'static [&'static str],
    /// How opcodes begin whose executions by warps the source view counts. Those of `HGMMA` count as multiply-adds.
    pub opcodes: &'static [&'static str],
    /// What one of them is of ours.
    pub unit: f64,
}

impl Source {
    const fn metrics(metrics: &'static [&'static str]) -> Self {
        Self { metrics, opcodes: &[], unit: 1.0 }
    }

    const fn opcodes(opcodes: &'static [&'static str]) -> Self {
        Self { metrics: &[], opcodes, unit: 1.0 }
    }

    const fn with(self, opcodes: &'static [&'static str]) -> Self {
        Self { opcodes, ..self }
    }

    const fn in_units_of(self, unit: f64) -> Self {
        Self { unit, ..self }
    }
}

/// How near the emulator's figure is to be to the hardware's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tolerance {
    /// This share of the hardware's away, at most: 0 to 1.
    Within(f64),
    /// Equal, when both are rounded up to whole units of so many.
    Units(u32),
    /// They are not the same by definition, and stand beside each other to be compared.
    Comparable,
}

/// What Nsight Compute counted of one launch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Profiled {
    /// Metrics by name, in base units: bytes, ns, %.
    pub metrics: BTreeMap<String, f64>,
    /// Executions by warps, by opcode.
    pub opcodes: BTreeMap<String, u64>,
}

/// What the emulator may be away from the hardware where both count the same.
const COUNTED: Tolerance = Tolerance::Within(0.01);

/// All of them, in the order of tables.
pub const METRICS: &[Metric] = &[
    Metric {
        key: "blocks",
        name: "blocks",
        meaning: "Blocks of the grid.",
        source: Source::metrics(&["launch__grid_size"]),
        tolerance: Tolerance::Within(0.0),
        of: |counters| counters.blocks as f64,
    },
    Metric {
        key: "threads",
        name: "threads per block",
        meaning: "Threads of a block.",
        source: Source::metrics(&["launch__block_size"]),
        tolerance: Tolerance::Within(0.0),
        of: |counters| counters.threads.into(),
    },
    Metric {
        key: "registers",
        name: "registers per thread, estimated",
        meaning: "Registers of a thread, which are handed out eight at a time: estimated from the PTX, and by how many blocks fit.",
        source: Source::metrics(&["launch__registers_per_thread"]),
        tolerance: Tolerance::Units(8),
        of: |counters| counters.registers.into(),
    },
    Metric {
        key: "shared_bytes",
        name: "shared memory per block, bytes",
        meaning: "Shared memory of a block, static and dynamic, without the KiB that the driver takes.",
        source: Source::metrics(&["launch__shared_mem_per_block_static", "launch__shared_mem_per_block_dynamic"]),
        tolerance: Tolerance::Within(0.0),
        of: |counters| counters.shared_bytes.into(),
    },
    Metric {
        key: "occupancy",
        name: "occupancy, %",
        meaning: "Warps that fit on a multiprocessor at once, as a share of what it could hold.",
        source: Source::metrics(&["sm__maximum_warps_per_active_cycle_pct"]),
        tolerance: COUNTED,
        of: |counters| 100.0 * counters.occupancy,
    },
    Metric {
        key: "warps_per_sm",
        name: "  warps on a multiprocessor",
        meaning: "Those that fit; the hardware's are those that were there, on average, which grids of few blocks leave far below.",
        source: Source::metrics(&["sm__warps_active.avg.per_cycle_active"]),
        tolerance: Tolerance::Comparable,
        of: |counters| counters.warps_per_sm.into(),
    },
    Metric {
        key: "machine_instructions",
        name: "machine instructions, estimated",
        meaning: "Instructions of the GPU's own code that warps execute: estimated from the PTX, for its compiler adds and drops some.",
        source: Source::metrics(&["smsp__inst_executed.sum"]),
        tolerance: Tolerance::Within(0.05),
        of: |counters| counters.machine_instructions as f64,
    },
    Metric {
        key: "thread_fmas",
        name: "FMAs of threads",
        meaning: "Fused multiply-adds of threads: m*n*k, and what is computed beyond the edges of C.",
        source: Source::metrics(&["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"]),
        tolerance: COUNTED,
        of: |counters| counters.thread_fmas as f64,
    },
    Metric {
        key: "tensor_core_fmas",
        name: "FMAs of the tensor cores",
        meaning: "Multiply-adds of the tensor cores: those of each `wgmma`, whose size stands in its opcode.",
        source: Source::opcodes(&["HGMMA"]),
        tolerance: COUNTED,
        of: |counters| counters.tensor_core_fmas as f64,
    },
    Metric {
        key: "global_loads",
        name: "global loads",
        meaning: "Warps that load from global memory, copies by `cp.async` included.",
        source: Source::metrics(&["smsp__sass_inst_executed_op_global_ld.sum"]).with(&["LDGSTS"]),
        tolerance: COUNTED,
        of: |counters| counters.warp_loads() as f64,
    },
    Metric {
        key: "global_load_sectors",
        name: "  sectors",
        meaning: "Sectors of 32 bytes that these touch: 4 for each load of 32 neighbouring words, up to 32 for scattered ones.",
        source: Source::metrics(&[
            "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum",
            "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum",
        ]),
        tolerance: COUNTED,
        of: |counters| (counters.global_load_sectors - counters.copy_sectors) as f64,
    },
    Metric {
        key: "copies",
        name: "copies in bulk",
        meaning: "Copies of boxes of a matrix to shared memory, each asked for by one thread (`cp.async.bulk`).",
        source: Source::opcodes(&["UTMALDG", "UBLKCP"]),
        tolerance: COUNTED,
        of: |counters| counters.copies as f64,
    },
    Metric {
        key: "global_stores",
        name: "global stores",
        meaning: "Warps that store to global memory: C.",
        source: Source::metrics(&["smsp__sass_inst_executed_op_global_st.sum"]),
        tolerance: COUNTED,
        of: |counters| counters.global_stores as f64,
    },
    Metric {
        key: "global_store_sectors",
        name: "  sectors",
        meaning: "Sectors of 32 bytes that these touch.",
        source: Source::metrics(&["smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum"]),
        tolerance: COUNTED,
        of: |counters| counters.global_store_sectors as f64,
    },
    Metric {
        key: "global_wavefronts",
        name: "  passes through the L1 cache",
        meaning: "Passes of these loads and stores: ours are those of the slower of two stages, tags and data; the hardware's those of the second.",
        source: Source::metrics(&["l1tex__data_pipe_lsu_wavefronts_mem_lgds.sum"]),
        tolerance: Tolerance::Comparable,
        of: |counters| counters.global_wavefronts as f64,
    },
    Metric {
        key: "shared_loads",
        name: "shared loads",
        meaning: "Warps that load from shared memory.",
        source: Source::metrics(&["smsp__sass_inst_executed_op_shared_ld.sum"]),
        tolerance: COUNTED,
        of: |counters| counters.shared_loads as f64,
    },
    Metric {
        key: "shared_load_wavefronts",
        name: "  wavefronts",
        meaning: "Passes that these take: one for each 128 bytes that differ, and more where lanes meet in a bank.",
        source: Source::metrics(&["smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"]),
        tolerance: COUNTED,
        of: |counters| counters.shared_load_wavefronts as f64,
    },
    Metric {
        key: "shared_stores",
        name: "shared stores",
        meaning: "Warps that store to shared memory, copies by `cp.async` included.",
        source: Source::metrics(&["smsp__sass_inst_executed_op_shared_st.sum"]).with(&["LDGSTS"]),
        tolerance: COUNTED,
        of: |counters| counters.shared_stores as f64,
    },
    Metric {
        key: "shared_store_wavefronts",
        name: "  wavefronts",
        meaning: "Passes that these take.",
        source: Source::metrics(&[
            "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
            "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum",
        ]),
        tolerance: COUNTED,
        of: |counters| counters.shared_store_wavefronts as f64,
    },
    Metric {
        key: "barriers",
        name: "barriers",
        meaning: "Warps that come to a barrier of the block or the cluster, where they wait for others.",
        source: Source::opcodes(&["BAR.SYNC", "BAR.ARV", "UCGABAR_WAIT"]),
        tolerance: COUNTED,
        of: |counters| counters.barriers as f64,
    },
    Metric {
        key: "l2_bytes",
        name: "bytes to and from the L2 cache",
        meaning: "Distinct sectors that each block touches, the least that must pass; the hardware's are those that did.",
        source: Source::metrics(&["l1tex__m_xbar2l1tex_read_bytes.sum", "l1tex__m_l1tex2xbar_write_bytes.sum"]),
        tolerance: Tolerance::Comparable,
        of: |counters| counters.l2_bytes as f64,
    },
    Metric {
        key: "modelled_ms",
        name: "time, ms",
        meaning: "The time on the device, pre-passes included: modelled, beside one launch with cold caches under the profiler.",
        source: Source::metrics(&["gpu__time_duration.sum"]).in_units_of(1e-6),
        tolerance: Tolerance::Within(0.25),
        of: |counters| counters.modelled_ms,
    },
];

impl Metric {
    /// The metric of that key.
    #[must_use]
    pub fn find(key: &str) -> Option<&'static Self> {
        METRICS.iter().find(|metric| metric.key == key)
    }

    /// Where Nsight Compute has it, in words: its metrics, and opcodes of its source view.
    #[must_use]
    pub fn of_nsight(&self) -> String {
        let Source { metrics, opcodes, .. } = self.source;
        let listed = (!opcodes.is_empty()).then(|| format!("{} in the source view", opcodes.join(", ")));
        metrics.iter().map(|&metric| metric.to_owned()).chain(listed).collect::<Vec<_>>().join(" + ")
    }

    /// The hardware's figure; `None` where a metric is not there.
    #[must_use]
    pub fn of_hardware(&self, profiled: &Profiled) -> Option<f64> {
        let metrics = self.source.metrics.iter().map(|&metric| profiled.metrics.get(metric).copied());
        let metrics: f64 = metrics.sum::<Option<f64>>()?;
        let counted = profiled.opcodes.iter().filter(|(name, _)| self.names(name));
        let opcodes: f64 = counted.map(|(name, &count)| count as f64 * work_of(name)).sum();
        Some(self.source.unit * (metrics + opcodes))
    }

    /// Whether the emulator's figure is as near to the hardware's as it is to be.
    #[must_use]
    pub fn agrees(&self, ours: f64, hardware: f64) -> bool {
        match self.tolerance {
            Tolerance::Within(share) => (ours - hardware).abs() <= share * hardware.abs(),
            Tolerance::Units(unit) => {
                let [ours, hardware] = [ours, hardware].map(|count| (count / f64::from(unit)).ceil());
                ours == hardware
            }
            Tolerance::Comparable => true,
        }
    }

    fn names(&self, opcode: &str) -> bool {
        self.source.opcodes.iter().any(|prefix| opcode.starts_with(prefix))
    }
}

/// What one execution of an opcode counts for: a warp's share of the multiply-adds of such as `HGMMA.64x256x16.F32`, which
/// four warps execute together, and 1 of any other.
fn work_of(opcode: &str) -> f64 {
    const WARPS: f64 = 4.0;
    let Some(rest) = opcode.strip_prefix("HGMMA.") else { return 1.0 };
    let shape = rest.split('.').next().unwrap_or_default();
    shape.split('x').map(|size| size.parse().unwrap_or(0.0)).product::<f64>() / WARPS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_one_of_the_counters_and_stands_once() {
        let schema = schemars::schema_for!(Counters).to_value();
        for (index, metric) in METRICS.iter().enumerate() {
            assert!(schema["properties"].get(metric.key).is_some(), "{}", metric.key);
            assert!(METRICS[..index].iter().all(|other| other.key != metric.key), "{}", metric.key);
            assert!(metric.meaning.ends_with('.') && !metric.of_nsight().is_empty(), "{}", metric.key);
        }
    }

    #[test]
    fn metrics_and_opcodes_add_up() {
        let loads = Metric::find("global_loads").unwrap();
        let mut profiled = Profiled::default();
        assert_eq!(loads.of_hardware(&profiled), None);
        profiled.metrics.insert("smsp__sass_inst_executed_op_global_ld.sum".into(), 10.0);
        profiled.opcodes =
            [("LDGSTS.E", 4), ("LDGSTS.E.BYPASS.128", 2), ("LDG.E", 10)].map(|(o, n)| (o.into(), n)).into();
        assert_eq!(loads.of_hardware(&profiled), Some(16.0));
        assert_eq!(loads.of_nsight(), "smsp__sass_inst_executed_op_global_ld.sum + LDGSTS in the source view");
    }

    /// What an H200 executed of tf32 at 256x256x256.
    #[test]
    fn the_tensor_cores_work_is_in_the_opcodes() {
        let opcodes = [("HGMMA.64x256x8.F32.TF32", 512), ("BAR.SYNC.DEFER_BLOCKING", 48)];
        let profiled = Profiled { opcodes: opcodes.map(|(o, n)| (o.into(), n)).into(), ..Profiled::default() };
        let of = |key| Metric::find(key).unwrap().of_hardware(&profiled);
        assert_eq!((of("tensor_core_fmas"), of("barriers")), (Some(256f64.powi(3)), Some(48.0)));
    }

    #[test]
    fn tolerances_are_shares_of_the_hardwares() {
        let agrees = |key, ours, hardware| Metric::find(key).unwrap().agrees(ours, hardware);
        assert!(agrees("thread_fmas", 101.0, 100.0) && !agrees("thread_fmas", 102.0, 100.0));
        assert!(agrees("registers", 128.0, 126.0) && !agrees("registers", 128.0, 120.0));
        assert!(agrees("copies", 0.0, 0.0) && !agrees("copies", 1.0, 0.0));
        assert!(agrees("l2_bytes", 1.0, 100.0));
    }
}
