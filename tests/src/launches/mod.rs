//! Everything that a step can ask of a launch, each by a kernel written by hand that is right only if it gets that.

use gpu_kernels::{
    Ab, Element, Extent, Group, Operand, Precision, Prepass, Schedule, Split, Step, Target, Tile, TmaBox,
};
use host::PtxSource;

mod checks;
pub mod parts;
pub mod persistent;
pub mod ptx;

pub use checks::{is_verified, keeps_the_contract};

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

/// A block computes 32 contiguous elements of a row of C.
const PLAIN: Step = Step { tile: Tile { bm: 1, bn: 32, bk: 1, tm: 1, tn: 1 }, block: [32, 1, 1], ..Step::PLAIN };

const COPY: Prepass = Prepass {
    kernel: "copy",
    operand: Operand::B,
    transposes: false,
    split: None,
    only_unaligned: true,
    tile: Extent { rows: 1, cols: 32 },
    threads: 32,
    shared_rows: None,
    waits_last: false,
};

const SPLIT: Prepass = Prepass {
    kernel: "split_rows",
    operand: Operand::A,
    split: Some(Split { element: Element::F16, chunk: 32 }),
    only_unaligned: false,
    tile: Extent { rows: 1, cols: u32::MAX },
    ..COPY
};

/// Steps, by what they ask for.
pub const ALL: [Launched; 14] = [
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
        step: &Step { slug: "split", kernel: "sgemm_split", schedule: Schedule::SplitK { splits: 3 }, ..PLAIN },
        text: || ptx::module("sm_80", &[ptx::split("sgemm_split")]),
    },
    Launched {
        step: &Step {
            slug: "streaming",
            kernel: "sgemm_streaming",
            schedule: Schedule::StreamK { blocks_per_sm: 1, max_splits: 2 },
            ..PLAIN
        },
        text: || ptx::module("sm_80", &[ptx::stream_k("sgemm_streaming")]),
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
            maps: Some(Ab {
                a: TmaBox { element: Element::F32, extent: Extent { rows: 1, cols: 32 }, swizzled: false },
                b: TmaBox { element: Element::F32, extent: Extent { rows: 32, cols: 32 }, swizzled: true },
            }),
            smem_bytes: 4096 + 128 + 8,
            ..PLAIN
        },
        text: || ptx::module("sm_90a", &[ptx::copy("copy", false), ptx::mapped("sgemm_mapped")]),
    },
    Launched {
        step: &Step {
            slug: "in-parts",
            kernel: "sgemm_in_parts",
            // Its one scale is no good for very large and very small numbers.
            precision: Precision::Tf32,
            target: Target::Sm90a,
            prepasses: &[
                SPLIT,
                Prepass {
                    kernel: "split_columns",
                    operand: Operand::B,
                    transposes: true,
                    tile: Extent { rows: u32::MAX, cols: 1 },
                    shared_rows: Some(32),
                    ..SPLIT
                },
            ],
            maps: Some(Ab {
                a: TmaBox { element: Element::F16, extent: Extent { rows: 1, cols: 64 }, swizzled: false },
                b: TmaBox { element: Element::F16, extent: Extent { rows: 32, cols: 64 }, swizzled: true },
            }),
            smem_bytes: 4096 + 128 + 8,
            ..PLAIN
        },
        text: || {
            let splits = [parts::split("split_rows", false), parts::split("split_columns", true)];
            ptx::module("sm_90a", &[&splits[..], &[parts::of_parts("sgemm_in_parts")]].concat())
        },
    },
    Launched {
        step: &Step {
            slug: "persistent",
            kernel: "sgemm_persistent",
            target: Target::Sm90a,
            schedule: Schedule::Persistent { group: Group::ALONE },
            ..PLAIN
        },
        text: || ptx::module("sm_90a", &[persistent::persistent("sgemm_persistent", Group::ALONE)]),
    },
    Launched {
        step: &Step {
            slug: "persistent-clusters",
            kernel: "sgemm_persistent_clusters",
            target: Target::Sm90a,
            schedule: Schedule::Persistent { group: Group { columns: 2, rows: 2 } },
            cluster: [4, 1, 1],
            ..PLAIN
        },
        text: || {
            ptx::module("sm_90a", &[persistent::persistent("sgemm_persistent_clusters", Group { columns: 2, rows: 2 })])
        },
    },
    Launched {
        step: &Step { slug: "f16", kernel: "sgemm_f16", precision: Precision::F16, output: Element::F16, ..OF_HALVES },
        text: || of_halves("sgemm_f16", Element::F16, Element::F16),
    },
    Launched {
        step: &Step { slug: "f16-to-f32", kernel: "sgemm_f16_to_f32", precision: Precision::F16, ..OF_HALVES },
        text: || of_halves("sgemm_f16_to_f32", Element::F16, Element::F32),
    },
    Launched {
        step: &Step {
            slug: "bf16",
            kernel: "sgemm_bf16",
            precision: Precision::Bf16,
            output: Element::Bf16,
            ..OF_HALVES
        },
        text: || of_halves("sgemm_bf16", Element::Bf16, Element::Bf16),
    },
];

/// Elements of 16 bits: A transposed, B copied where its rows are not aligned.
const OF_HALVES: Step = Step {
    prepasses: &[
        COPY,
        Prepass { kernel: "transpose", operand: Operand::A, transposes: true, only_unaligned: false, ..COPY },
    ],
    ..PLAIN
};

fn of_halves(name: &str, input: Element, output: Element) -> String {
    let gemm = ptx::gemm_to(output, name, &[], ptx::AT_ITS_PLACE, &ptx::products_of(input, true), "");
    ptx::module("sm_80", &[ptx::copy_of(input, "copy", false), ptx::copy_of(input, "transpose", true), gemm])
}
