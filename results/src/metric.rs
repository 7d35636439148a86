//! Our counters' names beside those of Nsight Compute, NVIDIA's profiler.

use std::collections::BTreeMap;

use crate::{Counters, Figure};

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
    /// Ours.
    pub figure: &'static Figure,
    /// Where Nsight Compute has it.
    pub source: Source,
    /// How near the two are to be.
    pub tolerance: Tolerance,
}

/// Where Nsight Compute has a figure: the sum of all that is named here, times `unit`.
#[derive(Debug)]
pub struct Source {
    /// Metrics.
    pub metrics: &'static [&'static str],
    /// How opcodes begin whose executions by warps the source view counts. Those of MMAs count as multiply-adds.
    pub opcodes: &'static [&'static str],
    /// Metrics of the opcodes that begin so: nothing, where a metric is missing and no such opcode ran.
    pub of_opcodes: &'static [(&'static str, &'static str)],
    /// What one of them is of ours.
    pub unit: f64,
}

impl Source {
    const fn metrics(metrics: &'static [&'static str]) -> Self {
        Self { metrics, opcodes: &[], of_opcodes: &[], unit: 1.0 }
    }

    const fn opcodes(opcodes: &'static [&'static str]) -> Self {
        Self { metrics: &[], opcodes, of_opcodes: &[], unit: 1.0 }
    }

    const fn with(self, opcodes: &'static [&'static str]) -> Self {
        Self { opcodes, ..self }
    }

    const fn with_those_of(self, of_opcodes: &'static [(&'static str, &'static str)]) -> Self {
        Self { of_opcodes, ..self }
    }

    /// All metrics, by name.
    pub fn all_metrics(&self) -> impl Iterator<Item = &'static str> {
        self.metrics.iter().copied().chain(self.of_opcodes.iter().map(|(_, metric)| *metric))
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

/// How the opcodes of MMAs begin: of warpgroups, then of warps.
const MMAS: &[&str] = &["HGMMA", "IGMMA", "QGMMA", "BGMMA", "HMMA", "IMMA", "DMMA", "BMMA"];

/// The tolerance where both count the same.
const COUNTED: Tolerance = Tolerance::Within(0.01);

/// All of them, in the order of tables.
pub const METRICS: &[Metric] = &[
    Metric::new("blocks", Tolerance::Within(0.0), Source::metrics(&["launch__grid_size"])),
    Metric::new("threads", Tolerance::Within(0.0), Source::metrics(&["launch__block_size"])),
    Metric::new("registers", Tolerance::Units(8), Source::metrics(&["launch__registers_per_thread"])),
    Metric::new(
        "shared_bytes",
        Tolerance::Within(0.0),
        Source::metrics(&["launch__shared_mem_per_block_static", "launch__shared_mem_per_block_dynamic"]),
    ),
    Metric::new("occupancy", COUNTED, Source::metrics(&["sm__maximum_warps_per_active_cycle_pct"])),
    // The hardware's are those that were resident on average: grids of few blocks leave it far below the limit.
    Metric::new("warps_per_sm", Tolerance::Comparable, Source::metrics(&["sm__warps_active.avg.per_cycle_active"])),
    Metric::new("machine_instructions", Tolerance::Within(0.05), Source::metrics(&["smsp__inst_executed.sum"])),
    Metric::new("thread_fmas", COUNTED, Source::metrics(&["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"])),
    Metric::new("tensor_core_fmas", COUNTED, Source::opcodes(MMAS)),
    Metric::new(
        "warp_loads",
        COUNTED,
        Source::metrics(&["smsp__sass_inst_executed_op_global_ld.sum"]).with(&["LDGSTS"]),
    ),
    Metric::new(
        "warp_load_sectors",
        COUNTED,
        Source::metrics(&[
            "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum",
            "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum",
        ]),
    ),
    Metric::new("copies", COUNTED, Source::opcodes(&["UTMALDG", "UBLKCP"])),
    Metric::new("global_stores", COUNTED, Source::metrics(&["smsp__sass_inst_executed_op_global_st.sum"])),
    Metric::new(
        "global_store_sectors",
        COUNTED,
        Source::metrics(&["smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum"]),
    ),
    // Ours are those of the slower of two stages, tags and data; the hardware's those of the second.
    Metric::new(
        "global_wavefronts",
        Tolerance::Comparable,
        Source::metrics(&["l1tex__data_pipe_lsu_wavefronts_mem_lgds.sum"]),
    ),
    // Nsight Compute counts loads and stores of matrices, and atomic operations, by themselves.
    Metric::new(
        "shared_loads",
        COUNTED,
        Source::metrics(&["smsp__sass_inst_executed_op_shared_ld.sum"]).with(&["LDSM"]),
    ),
    Metric::new(
        "shared_load_wavefronts",
        COUNTED,
        Source::metrics(&["smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"])
            .with_those_of(&[("LDSM", "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum")]),
    ),
    Metric::new(
        "shared_stores",
        COUNTED,
        Source::metrics(&["smsp__sass_inst_executed_op_shared_st.sum"]).with(&["LDGSTS", "STSM", "ATOMS"]),
    ),
    Metric::new(
        "shared_store_wavefronts",
        COUNTED,
        Source::metrics(&[
            "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
            "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum",
        ])
        .with_those_of(&[
            ("STSM", "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_stsm.sum"),
            ("ATOMS", "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_atom.sum"),
        ]),
    ),
    Metric::new("barriers", COUNTED, Source::opcodes(&["BAR.SYNC", "BAR.ARV", "UCGABAR_WAIT"])),
    // Ours are the least that must pass; the hardware's those that did.
    Metric::new(
        "l2_bytes",
        Tolerance::Comparable,
        Source::metrics(&["l1tex__m_xbar2l1tex_read_bytes.sum", "l1tex__m_l1tex2xbar_write_bytes.sum"]),
    ),
    // The hardware's is one launch with cold caches under the profiler.
    Metric::new("modelled_ms", Tolerance::Within(0.25), Source::metrics(&["gpu__time_duration.sum"]).in_units_of(1e-6)),
];

impl Metric {
    const fn new(key: &str, tolerance: Tolerance, source: Source) -> Self {
        Self { figure: Figure::of(key), source, tolerance }
    }

    /// Ours.
    #[must_use]
    pub fn of(&self, counters: &Counters) -> f64 {
        self.figure.number(counters).unwrap_or_default()
    }

    /// The metric of that figure's key.
    #[must_use]
    pub fn find(key: &str) -> Option<&'static Self> {
        METRICS.iter().find(|metric| metric.figure.key == key)
    }

    /// Where Nsight Compute has it, in words: its metrics, and opcodes of its source view.
    #[must_use]
    pub fn of_nsight(&self) -> String {
        let opcodes = self.source.opcodes;
        let listed = (!opcodes.is_empty()).then(|| format!("{} in the source view", opcodes.join(", ")));
        self.source.all_metrics().map(str::to_owned).chain(listed).collect::<Vec<_>>().join(" + ")
    }

    /// The hardware's figure; `None` where a metric is not there.
    #[must_use]
    pub fn of_hardware(&self, profiled: &Profiled) -> Option<f64> {
        let metrics = self.source.metrics.iter().map(|&metric| profiled.metrics.get(metric).copied());
        let metrics: f64 = metrics.sum::<Option<f64>>()?;
        let of_opcode = |(opcode, metric): &(&str, &str)| match profiled.metrics.get(*metric) {
            None if profiled.opcodes.keys().any(|name| name.starts_with(opcode)) => None,
            count => Some(count.copied().unwrap_or(0.0)),
        };
        let of_opcodes: f64 = self.source.of_opcodes.iter().map(of_opcode).sum::<Option<f64>>()?;
        let counted = profiled.opcodes.iter().filter(|(name, _)| self.names(name));
        let opcodes: f64 = counted.map(|(name, &count)| count as f64 * work_of(name)).sum();
        Some(self.source.unit * (metrics + of_opcodes + opcodes))
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

/// What one execution of an opcode counts for: the multiply-adds of such as `HMMA.16816.F32`, a warp's share of those of such as
/// `HGMMA.64x256x16.F32`, which four warps execute together, and 1 of any other.
fn work_of(opcode: &str) -> f64 {
    const WARPS: f64 = 4.0;
    let Some((name, rest)) = opcode.split_once('.').filter(|(name, _)| MMAS.contains(name)) else { return 1.0 };
    let size = |digits: &str| digits.parse().unwrap_or(0.0);
    let shape = rest.split('.').find(|part| part.starts_with(|first: char| first.is_ascii_digit())).unwrap_or_default();
    if name.ends_with("GMMA") {
        return shape.split('x').map(size).product::<f64>() / WARPS;
    }
    // The digits of m, n and k, one after the other: m is 8 or 16, n is 8.
    let m = if shape.starts_with("16") { "16" } else { "8" };
    let k = shape.strip_prefix(m).and_then(|rest| rest.strip_prefix('8')).unwrap_or_default();
    size(m) * 8.0 * size(k)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_is_a_number_and_stands_once() {
        for (index, metric) in METRICS.iter().enumerate() {
            let key = metric.figure.key;
            assert!(METRICS[..index].iter().all(|other| other.figure.key != key), "{key}");
            assert!(!matches!(key, "occupancy_limit" | "bound" | "blocks_run"), "{key}");
            assert!(!metric.of_nsight().is_empty(), "{key}");
        }
    }

    #[test]
    fn metrics_and_opcodes_add_up() {
        let loads = Metric::find("warp_loads").unwrap();
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
        let work = ["HMMA.16816.F16", "HMMA.1684.F32.TF32", "IMMA.16832.S8.S8.SAT", "DMMA.884", "BMMA.168256.AND.POPC"];
        assert_eq!(work.map(work_of), [2048.0, 512.0, 4096.0, 256.0, 32_768.0]);
        assert_eq!(work_of("HFMA2.MMA"), 1.0);
    }

    /// What an H100 executed of a product by `mma.sync`, and of a histogram: loads of matrices and atomic operations are metrics of
    /// their own there.
    #[test]
    fn metrics_of_an_opcode_may_be_missing_where_it_did_not_run() {
        let wavefronts = Metric::find("shared_load_wavefronts").unwrap();
        let [ld, ldsm] = [wavefronts.source.metrics[0], wavefronts.source.of_opcodes[0].1];
        let mut profiled = Profiled::default();
        profiled.metrics.insert(ld.into(), 262_144.0);
        assert_eq!(wavefronts.of_hardware(&profiled), Some(262_144.0));
        profiled.opcodes.insert("LDSM.16.M88.4".into(), 1_048_576);
        assert_eq!(wavefronts.of_hardware(&profiled), None);
        profiled.metrics.insert(ldsm.into(), 8_388_608.0);
        assert_eq!(wavefronts.of_hardware(&profiled), Some(8_650_752.0));
        assert!(wavefronts.of_nsight().ends_with("op_ldsm.sum"), "{}", wavefronts.of_nsight());
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
