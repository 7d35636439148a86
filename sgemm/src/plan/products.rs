//! The launches of the step's own kernel.

use gpu_kernels::{Ab, Element, Group, MAX_SIZE, Operand, Schedule, Splits, Transposed};

use super::operand::Pipeline;
use super::stored::Stored;
use super::{
    Argument, Buffer, Launch, LaunchShape, ModuleKind, Oriented, Place, Plan, Role, Slab, TensorMap, grouped_slabs,
    slabs,
};
use crate::Error;

/// Launches of a plan's kernel, at most: more are batches of billions, which a device would not hold.
const MAX_LAUNCHES: usize = 1 << 17;

/// Blocks that a grid can have along z.
const MAX_GRID_Z: u32 = 65_535;

/// [`gpu_kernels::FUSION_ARGUMENTS`] where nothing is fused.
const NO_FUSION: [(&str, Argument); 3] =
    [("bias", Argument::Null), ("bias_per", Argument::U32(0)), ("activation", Argument::U32(0))];

/// Where the kernel's results go.
pub(super) struct Target {
    pub(super) buffer: Buffer,
    /// Elements from one row to the next.
    pub(super) ld: u32,
    pub(super) element: Element,
    /// Elements from one plane to the next.
    pub(super) plane_stride: u64,
}

/// Problems of a batch that one launch computes.
#[derive(Clone, Copy)]
struct Problems {
    first: u64,
    count: u32,
}

impl Plan {
    /// Of each slab of C, for all problems of the batch where the step takes several.
    pub(super) fn push_products(
        &mut self,
        oriented: &Oriented,
        inputs: &Ab<Pipeline>,
        target: &Target,
        splits: Splits,
        sm_count: u32,
    ) -> Result<(), Error> {
        let step = self.step;
        let problems = if self.has_batch_in_launch { self.batch() } else { 1 };
        let most = (MAX_GRID_Z / splits.count()) as usize;
        let slabs: Vec<Slab> = match step.multicasts {
            true => grouped_slabs(oriented.m, step.tile.bm).collect(),
            false => slabs(oriented.m, step.tile.bm).collect(),
        };
        if problems.div_ceil(most).saturating_mul(slabs.len()) > MAX_LAUNCHES {
            return Err(Error::TooManyBlocks { kernel: self.kernel });
        }
        for first in (0..problems).step_by(most) {
            let problems = Problems { first: first as u64, count: (problems - first).min(most) as u32 };
            for &slab in &slabs {
                let Oriented { n, k, .. } = *oriented;
                let group = step.group(slab.rows, n, problems.count, splits, sm_count);
                let arguments =
                    self.product_arguments(oriented, inputs, target, splits, group, problems, slab, sm_count);
                let [x, y, z] = step.grid(slab.rows, n, problems.count, sm_count);
                // Blocks that persist are a row, whatever the place of their tiles.
                let in_grid = if step.persists() { Group { columns: group.count(), rows: 1 } } else { group };
                let [x, y] = [x.next_multiple_of(in_grid.columns), y.next_multiple_of(in_grid.rows)];
                let [cluster_x, cluster_y, cluster_z] = step.cluster;
                let grid = [x, y, z * splits.count()];
                let blocks = grid.map(u64::from).iter().product();
                let k_tiles = k.div_ceil(step.tile.bk).div_ceil(splits.count());
                self.launches.push(Launch {
                    role: Role::Product,
                    kernel: self.kernel,
                    module: ModuleKind::Step,
                    shape: LaunchShape {
                        grid,
                        block: step.block,
                        cluster: [cluster_x * in_grid.columns, cluster_y * in_grid.rows, cluster_z * splits.cluster],
                        dynamic_smem_bytes: step.launch_smem_bytes(blocks, k_tiles, splits.cluster, sm_count),
                    },
                    arguments,
                    slab,
                    is_repeated: true,
                    waits_last: false,
                });
            }
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn product_arguments(
        &mut self,
        oriented: &Oriented,
        inputs: &Ab<Pipeline>,
        target: &Target,
        splits: Splits,
        group: Group,
        problems: Problems,
        slab: Slab,
        sm_count: u32,
    ) -> Vec<(&'static str, Argument)> {
        let step = self.step;
        let Oriented { n, k, .. } = *oriented;
        let Ab { a, b } = inputs;
        let Slab { first_row, rows } = slab;
        let is_result = target.buffer == Buffer::C;
        let [alpha, beta] = if is_result { [Argument::Alpha, Argument::Beta] } else { [1.0, 0.0].map(Argument::F32) };
        let has_batch = self.has_batch_in_launch;
        let strides = if has_batch { oriented.batch_strides(&self.problem) } else { Ab::default() };
        let c_stride = if has_batch && is_result { self.problem.batch.c as u64 } else { 0 };
        // The first of these problems.
        let of_first = |place: Place, stride: u64, element: Element| {
            // Of matrices without elements, the stride may be any number.
            place.plus(problems.first.wrapping_mul(stride).wrapping_mul(element.bytes().into()))
        };
        let (of_a, of_b) = (a.plain.at_row(first_row), b.plain.place);
        let c = Place::start(target.buffer)
            .plus(u64::from(first_row) * u64::from(target.ld) * u64::from(target.element.bytes()));
        let mut arguments = vec![
            ("m", Argument::U32(rows)),
            ("n", Argument::U32(n)),
            ("k", Argument::U32(k)),
            ("alpha", alpha),
            ("a", Argument::Place(of_first(of_a, strides.a, a.plain.element))),
            ("lda", Argument::U32(a.plain.ld as u32)),
            ("b", Argument::Place(of_first(of_b, strides.b, b.plain.element))),
            ("ldb", Argument::U32(b.plain.ld as u32)),
            ("beta", beta),
            ("c", Argument::Place(of_first(c, c_stride, target.element))),
            ("ldc", Argument::U32(target.ld)),
        ];
        if let Some(boxes) = step.maps {
            let transposed = match step.transposed {
                Transposed::Mapped(transposed) => transposed,
                Transposed::MappedB(b) => Ab { b, ..boxes },
                Transposed::ByPrepass | Transposed::Read | Transposed::ReadB => boxes,
            };
            let map = |stored: Stored, operand, stride: u64| {
                let Stored { place, rows, columns, ld, element, .. } = stored;
                let (rows, columns) = (rows.max(1), columns.max(1));
                let (tma_box, blocks, lies_along_k) = match operand {
                    Operand::A if stored.transposed => (transposed.a, group.columns, true),
                    Operand::A => (boxes.a, group.columns, false),
                    Operand::B if stored.transposed => (transposed.b, group.rows, false),
                    Operand::B => (boxes.b, group.rows, true),
                };
                let loads_parts = matches!(step.schedule, Schedule::PlannedSplitK { .. }) && splits.have_long_k(k);
                // Blocks that share the operand's k-tiles load a part of their rows each.
                let tma_box = tma_box.part(if loads_parts && !lies_along_k { rows } else { MAX_SIZE }, blocks);
                let batch = step.is_planned().then(|| match stride {
                    0 => (1, u64::from(rows) * ld),
                    _ => (problems.count, stride),
                });
                Argument::TensorMap(TensorMap {
                    at: of_first(place, stride, element),
                    rows,
                    columns,
                    ld,
                    batch,
                    tma_box,
                })
            };
            arguments.push(("a_map", map(a.mapped.slab(slab), Operand::A, strides.a)));
            arguments.push(("b_map", map(b.mapped, Operand::B, strides.b)));
        }
        if step.has_split_operands() {
            arguments.push(("a_scales", Argument::Place(a.mapped.scales_at(first_row))));
            arguments.push(("b_scales", Argument::Place(b.mapped.scales_at(0))));
        }
        if step.transposed != Transposed::ByPrepass {
            arguments.push(("a_transposed", Argument::U32(a.plain.transposed.into())));
            arguments.push(("b_transposed", Argument::U32(b.plain.transposed.into())));
        }
        if let Schedule::PersistentBatch { .. } = step.schedule {
            arguments.push(("problems", Argument::U32(problems.count)));
        }
        if step.is_planned() {
            arguments.extend([
                ("a_stride", Argument::U64(strides.a)),
                ("b_stride", Argument::U64(strides.b)),
                ("c_stride", Argument::U64(c_stride)),
                ("c_is_f32", Argument::U32((target.element == Element::F32).into())),
                ("planes", Argument::U32(splits.planes)),
                ("plane_stride", Argument::U64(target.plane_stride)),
            ]);
        }
        if let Schedule::StreamK { .. } = step.schedule {
            let stream_k = step.stream_k_tiles(rows, n, sm_count);
            let part = |place, bytes| if bytes == 0 { Argument::Null } else { Argument::Place(Place::start(place)) };
            let (partials, flags) = (step.partial_tile_bytes(stream_k), step.flag_bytes(stream_k));
            arguments.push(("stream_k_tiles", Argument::U32(stream_k.tiles)));
            arguments.push(("partial_tiles", part(Buffer::Partials, partials)));
            arguments.push(("flags", part(Buffer::Flags, flags)));
            for (part, bytes) in [(Buffer::Partials, partials), (Buffer::Flags, flags)] {
                self.bytes[part] = self.bytes[part].max(bytes);
            }
        }
        if Some(self.kernel) == step.fused {
            arguments.extend(if is_result { self.fusion(oriented, first_row) } else { NO_FUSION });
        }
        arguments
    }
}
