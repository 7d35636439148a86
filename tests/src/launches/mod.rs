//! Everything that a step can ask of a launch, each by a kernel written by hand that is right only if it gets that.

use gpu_kernels::{Element, MapBox, Operand, Prepass, Schedule, Step, Target, Tile};
use host::PtxSource;

pub mod ptx;

/// A step and the module that holds its kernels.
#[derive(Debug, Clone, Copy)]
pub struct Launched {
    /// The step.
    pub step: &'static Step,
    /// Its module's text.
    pub text: fn() -> String,
}

impl Launched {
    /// Where the kernels come from.
    #[must_use]
    pub fn ptx(&self) -> PtxSource {
        PtxSource::File { path: format!("{}.ptx", self.step.slug).into(), text: (self.text)() }
    }
}

/// A block computes 32 neighbours of a row of C.
const PLAIN: Step = Step { tile: Tile { bm: 1, bn: 32, bk: 1, tm: 1, tn: 1 }, block: [32, 1, 1], ..Step::PLAIN };

const COPY: Prepass = Prepass {
    kernel: "copy",
    operand: Operand::B,
    transposes: false,
    split: None,
    only_unaligned: true,
    tile: [1, 32],
    threads: 32,
};

/// Steps, by what they ask for.
pub const ALL: [Launched; 8] = [
    Launched {
        step: &Step { slug: "plain", kernel: "sgemm_plain", ..PLAIN },
        text: || ptx::module("sm_80", &[ptx::gemm("sgemm_plain", &[], ptx::AT_ITS_PLACE, &ptx::products(false))]),
    },
    Launched {
        step: &Step { slug: "copied", kernel: "sgemm_copied", prepasses: &[COPY], ..PLAIN },
        text: || {
            let gemm = ptx::gemm("sgemm_copied", &[], ptx::AT_ITS_PLACE, &ptx::products(false));
            ptx::module("sm_80", &[ptx::copy("copy", false), gemm])
        },
    },
    Launched {
        step: &Step {
            slug: "transposed-a",
            kernel: "sgemm_transposed_a",
            prepasses: &[
                COPY,
                Prepass { kernel: "transpose", operand: Operand::A, transposes: true, only_unaligned: false, ..COPY },
            ],
            ..PLAIN
        },
        text: || {
            let gemm = ptx::gemm("sgemm_transposed_a", &[], ptx::AT_ITS_PLACE, &ptx::products(true));
            ptx::module("sm_80", &[ptx::copy("copy", false), ptx::copy("transpose", true), gemm])
        },
    },
    Launched {
        step: &Step { slug: "split", kernel: "sgemm_split", schedule: Schedule::SplitK { parts: 3 }, ..PLAIN },
        text: || ptx::module("sm_80", &[ptx::split("sgemm_split")]),
    },
    Launched {
        step: &Step {
            slug: "streamed",
            kernel: "sgemm_streamed",
            schedule: Schedule::StreamK { blocks_per_sm: 1 },
            ..PLAIN
        },
        text: || ptx::module("sm_80", &[ptx::streamed("sgemm_streamed")]),
    },
    Launched {
        step: &Step {
            slug: "clustered",
            kernel: "sgemm_clustered",
            target: Target::Sm90a,
            cluster: [4, 2, 1],
            ..PLAIN
        },
        text: || ptx::module("sm_90a", &[ptx::clustered("sgemm_clustered", 4)]),
    },
    Launched {
        step: &Step {
            slug: "large-clusters",
            kernel: "sgemm_large_clusters",
            target: Target::Sm90a,
            cluster: [16, 1, 1],
            ..PLAIN
        },
        text: || ptx::module("sm_90a", &[ptx::clustered("sgemm_large_clusters", 16)]),
    },
    Launched {
        step: &Step {
            slug: "mapped",
            kernel: "sgemm_mapped",
            target: Target::Sm90a,
            prepasses: &[COPY, Prepass { operand: Operand::A, ..COPY }],
            maps: Some([
                MapBox { element: Element::F32, rows: 1, columns: 32, swizzled: false },
                MapBox { element: Element::F32, rows: 32, columns: 32, swizzled: true },
            ]),
            smem_bytes: 4096 + 128 + 8,
            ..PLAIN
        },
        text: || ptx::module("sm_90a", &[ptx::copy("copy", false), ptx::mapped("sgemm_mapped")]),
    },
];
