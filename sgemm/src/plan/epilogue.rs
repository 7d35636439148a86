//! The arguments of epilogues that do more than alpha and beta: of a kernel's own, or of a post-pass.

use gpu_kernels::{BiasPer, Element, Extent, Step};

use super::{Argument, Buffer, Launch, LaunchShape, Oriented, Place, Plan, Role, Slab};
use crate::problem::{Problem, Scalars};

impl Problem {
    /// Whether a step's kernel stores D itself: in place, by value, and with the epilogue of one of its entry points.
    pub(crate) fn is_direct(&self, step: &Step) -> bool {
        self.d.is_none()
            && self.scalars == Scalars::Host
            && (self.epilogue.is_plain() || step.fused.is_some())
            && (step.output == self.output || step.is_planned() && self.output == Element::F32)
    }

    /// Whether a step takes its A and B and can make its D, if need be by a post-pass.
    pub(crate) fn can_use(&self, step: &Step) -> bool {
        let can_sum = step.output == Element::F32 || step.is_planned();
        step.precision.input() == self.input && (can_sum || self.is_direct(step))
    }
}

impl Plan {
    /// [`gpu_kernels::FUSION_ARGUMENTS`] for the rows from that one on.
    pub(super) fn fusion(&self, oriented: &Oriented, first_row: u32) -> [(&'static str, Argument); 3] {
        let place = |per| {
            let first = if per == BiasPer::Row { u64::from(first_row) } else { 0 };
            Argument::Place(Place::start(Buffer::Bias).plus(first * u64::from(self.problem.output.bytes())))
        };
        [
            ("bias", oriented.bias.map_or(Argument::Null, place)),
            ("bias_per", Argument::U32(oriented.bias.unwrap_or_default() as u32)),
            ("activation", Argument::U32(self.problem.epilogue.activation as u32)),
        ]
    }

    /// The launch that makes D of the sums.
    pub(super) fn push_postpass(&mut self, oriented: &Oriented, ld_sums: u32, planes: u32, plane_stride: u64) {
        let Oriented { m, n, c_strides: [c_row_stride, c_col_stride], ldd, .. } = *oriented;
        let postpass = gpu_kernels::finish(self.problem.output);
        let place = |buffer| Argument::Place(Place::start(buffer));
        let scalar = |buffer| if self.problem.scalars == Scalars::Device { place(buffer) } else { Argument::Null };
        let mut arguments = vec![
            ("m", Argument::U32(m)),
            ("n", Argument::U32(n)),
            ("w", place(Buffer::Sums)),
            ("ldw", Argument::U32(ld_sums)),
            ("planes", Argument::U32(planes)),
            ("plane_stride", Argument::U64(plane_stride)),
            ("alpha", Argument::Alpha),
            ("alpha_at", scalar(Buffer::Alpha)),
            ("beta", Argument::Beta),
            ("beta_at", scalar(Buffer::Beta)),
            ("c", place(Buffer::C)),
            ("c_row_stride", Argument::U64(c_row_stride)),
            ("c_col_stride", Argument::U64(c_col_stride)),
            ("d", place(if self.problem.d.is_some() { Buffer::D } else { Buffer::C })),
            ("ldd", Argument::U64(ldd)),
        ];
        arguments.extend(self.fusion(oriented, 0));
        self.launches.push(Launch {
            role: Role::Postpass,
            kernel: postpass.kernel,
            module: self.module_of(postpass.kernel),
            shape: LaunchShape {
                grid: postpass.grid(Extent { rows: m, cols: n }),
                block: [postpass.threads, 1, 1],
                cluster: [1; 3],
                dynamic_smem_bytes: 0,
            },
            arguments,
            slab: Slab { first_row: 0, rows: m },
            is_repeated: true,
            waits_last: false,
        });
    }
}
