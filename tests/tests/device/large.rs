//! Matrices that reach beyond 2^31 elements: many, or few that lie far apart. Sums of small integers, which every class computes
//! exactly, in rows or columns of which some are read back whole.

use half::f16;
use libtest_mimic::Failed;
use sgemm::cuda::{Arguments, Gemm};
use sgemm::cudarc::driver::{CudaSlice, ValidAsZeroBits};
use sgemm::plan::Plan;
use sgemm::{AccuracyClass, BiasPer, Element, Epilogue, Error, Layout, Problem};
use tests::orders::Bits;

use super::library::Device;

/// What these tests take of a device's memory, in bytes.
const LEAST_FREE: usize = 60_000_000_000;

/// Elements behind a row that nobody writes to.
const GAP: usize = 64;

/// Lines of a large matrix that are checked beside the first, the last, and those at multiples of 2^31 elements.
const SAMPLES: usize = 40;

/// A matrix, or those of a strided batch.
#[derive(Clone, Copy)]
struct Matrix {
    /// Rows, columns.
    size: [usize; 2],
    layout: Layout,
    batch_stride: usize,
    /// Which numbers it has.
    seed: usize,
}

impl Matrix {
    fn is_row_major(&self) -> bool {
        self.layout.column_stride == 1
    }

    /// Contiguous rows or columns, and their elements.
    fn lines(&self) -> (usize, usize) {
        let [rows, columns] = self.size;
        if self.is_row_major() { (rows, columns) } else { (columns, rows) }
    }

    fn ld(&self) -> usize {
        self.layout.row_stride.max(self.layout.column_stride)
    }

    /// Where a line of a problem of the batch begins.
    fn offset(&self, index: usize, line: usize) -> usize {
        index * self.batch_stride + line * self.ld()
    }

    /// Row and column of an element of a line.
    fn place(&self, line: usize, at: usize) -> [usize; 2] {
        if self.is_row_major() { [line, at] } else { [at, line] }
    }

    /// A small integer for each place, without a pattern.
    fn value(&self, index: usize, [row, column]: [usize; 2]) -> f32 {
        let index = if self.batch_stride > 0 { index } else { 0 };
        let place = [row, column, index, self.seed].into_iter().fold(0_u64, |mixed, next| {
            let mixed = (mixed ^ next as u64).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            mixed ^ (mixed >> 29)
        });
        (place % 7) as f32 - 3.0
    }

    /// Its elements on the device, zeros between them.
    fn upload<T: Bits + ValidAsZeroBits>(
        &self,
        device: &Device,
        batch: usize,
        extent: usize,
    ) -> Result<CudaSlice<T>, Failed> {
        let mut slice = device.stream.alloc_zeros(extent)?;
        let (lines, len) = self.lines();
        for index in 0..if self.batch_stride > 0 { batch } else { 1 } {
            for line in 0..lines {
                let elements: Vec<T> = (0..len).map(|at| T::new(self.value(index, self.place(line, at)))).collect();
                let begin = self.offset(index, line);
                device.stream.memcpy_htod(&elements, &mut slice.slice_mut(begin..begin + len))?;
            }
        }
        Ok(slice)
    }
}

/// A product of matrices.
struct Case {
    name: &'static str,
    sizes: [usize; 3],
    layouts: [Layout; 3],
    batch: usize,
    batch_strides: [usize; 3],
}

impl Case {
    fn problem(&self) -> Problem {
        let ([m, n, k], [a, b, c]) = (self.sizes, self.layouts);
        Problem::new(m, n, k).with_layouts(a, b, c).with_batch(self.batch, self.batch_strides)
    }

    /// A, B and C.
    fn matrices(&self) -> [Matrix; 3] {
        let ([m, n, k], [a, b, c], strides) = (self.sizes, self.layouts, self.batch_strides);
        let matrix = |size, layout, at: usize| Matrix { size, layout, batch_stride: strides[at], seed: at };
        [matrix([m, k], a, 0), matrix([k, n], b, 1), matrix([m, n], c, 2)]
    }
}

/// Row-major and column-major C of 2.8*10^9 elements, rows that are 2^30 elements apart, products that are more than 2^31 apart.
fn cases() -> [Case; 4] {
    let (rows, columns) = (Layout::row_major, Layout::column_major);
    let ([m, n, k], far, apart) = ([70_000, 40_000, 16], 1 << 30, (1 << 31) + 64);
    let dense =
        Case { name: "rows", sizes: [m, n, k], layouts: [rows(k), rows(n), rows(n)], batch: 1, batch_strides: [0; 3] };
    [
        Case { name: "columns", layouts: [columns(m), columns(k), columns(m)], ..dense },
        Case { name: "far rows", sizes: [5, 70, 5], layouts: [rows(far); 3], ..dense },
        Case {
            name: "a far batch",
            sizes: [96; 3],
            layouts: [rows(96); 3],
            batch: 3,
            batch_strides: [apart, 0, apart],
        },
        dense,
    ]
}

/// All of it, where there is room.
pub fn matrices() -> Result<(), Failed> {
    let device = Device::new()?;
    let (free, _) = device.handle.context().mem_get_info()?;
    if free < LEAST_FREE {
        println!("skipped: {free} bytes of the device are free, and {LEAST_FREE} are needed");
        return Ok(());
    }
    let mut found = Vec::new();
    for case in &cases() {
        let problem = case.problem();
        let of_f32 = [problem, problem.with_accuracy(AccuracyClass::Fp32)];
        check::<f32>(&device, case, &of_f32, &["stream-k", "split-k", "fp16x3"], &mut found)?;
        check::<f16>(&device, case, &[problem.with_elements(Element::F16, Element::F32)], &[], &mut found)?;
    }
    let [.., dense] = &cases();
    check_apart(&device, dense, &mut found)?;
    if found.is_empty() { Ok(()) } else { Err(found.join("\n").into()) }
}

/// The plans of these problems, and those of the first on these steps; without what the device does not run.
fn plans(device: &Device, problems: &[Problem], slugs: &[&str]) -> Result<Vec<Gemm>, Failed> {
    let Device { handle, .. } = device;
    let on_step = |slug: &&str| {
        let step = gpu_kernels::find(slug).ok_or_else(|| format!("there is no step {slug}"))?;
        Ok(handle.load(Plan::new(step, &problems[0], handle.device().sm_count)?))
    };
    let steps = slugs.iter().map(on_step).collect::<Result<Vec<_>, Failed>>()?;
    let mut plans: Vec<Gemm> = Vec::new();
    for plan in problems.iter().map(|problem| handle.plan(problem)).chain(steps) {
        match plan {
            Err(error @ Error::Unsupported { .. }) => println!("skipped: {error}"),
            Ok(plan) if plans.iter().any(|known| known.kernel().slug == plan.kernel().slug) => {}
            plan => plans.push(plan?),
        }
    }
    Ok(plans)
}

/// C = A\*B and then C = A\*B + C, such that both is done far out: writing and reading.
fn check<I: Bits + ValidAsZeroBits>(
    device: &Device,
    case: &Case,
    problems: &[Problem],
    slugs: &[&str],
    found: &mut Vec<String>,
) -> Result<(), Failed> {
    let Device { handle, stream } = device;
    let plans = plans(device, problems, slugs)?;
    if plans.is_empty() {
        return Ok(());
    }
    let ([a, b, c], [extent_a, extent_b, extent_c, ..]) = (case.matrices(), case.problem().extents()?);
    let (on_a, on_b) = (a.upload::<I>(device, case.batch, extent_a)?, b.upload::<I>(device, case.batch, extent_b)?);
    let mut on_c = stream.alloc_zeros::<f32>(extent_c)?;
    for gemm in plans {
        let name = format!("{}, {} of {}", case.name, gemm.kernel().slug, I::ELEMENT.name());
        stream.memset_zeros(&mut on_c)?;
        let mut workspace = handle.workspace(stream, gemm.workspace_bytes())?;
        for beta in [0.0, 1.0] {
            gemm.run(stream, 1.0, &on_a, &on_b, beta, &mut on_c, &mut workspace)?;
        }
        let expected = |index, place| 2.0 * product(&[a, b], index, place, case.sizes[2]);
        let outcome = compare(device, &c, case.batch, &on_c, expected)?;
        println!("{name}: {}", outcome.as_deref().unwrap_or("as expected"));
        found.extend(outcome.map(|error| format!("{name}: {error}")));
    }
    drop((on_a, on_b, on_c));
    Ok(handle.context().synchronize()?)
}

/// D = A\*B + bias, of sums in the workspace.
fn check_apart(device: &Device, case: &Case, found: &mut Vec<String>) -> Result<(), Failed> {
    let Device { handle, stream } = device;
    let [a, b, d] = case.matrices();
    let epilogue = Epilogue { bias: Some(BiasPer::Column), ..Epilogue::default() };
    let problem = case.problem().with_d(d.layout).with_epilogue(epilogue);
    let [extent_a, extent_b, _, extent_d, columns] = problem.extents()?;
    let gemm = handle.plan(&problem)?;
    let bias = Matrix { size: [1, columns], layout: Layout::row_major(columns), batch_stride: 0, seed: 3 };
    let (on_a, on_b) = (a.upload::<f32>(device, 1, extent_a)?, b.upload::<f32>(device, 1, extent_b)?);
    let on_bias = bias.upload::<f32>(device, 1, columns)?;
    let mut on_d = stream.alloc_zeros::<f32>(extent_d)?;
    let mut workspace = handle.workspace(stream, gemm.workspace_bytes())?;
    let arguments = Arguments::with_d(1.0, &on_a, &on_b, 0.0, None, &mut on_d).with_bias(&on_bias);
    gemm.run_with(stream, arguments, &mut workspace)?;
    let expected = |index, [row, column]: [usize; 2]| {
        product(&[a, b], index, [row, column], case.sizes[2]) + bias.value(index, [0, column])
    };
    let outcome = compare(device, &d, 1, &on_d, expected)?;
    println!("D apart, {}: {}", gemm.kernel().slug, outcome.as_deref().unwrap_or("as expected"));
    found.extend(outcome.map(|error| format!("D apart: {error}")));
    Ok(())
}

/// An element of A\*B.
fn product([a, b]: &[Matrix; 2], index: usize, [row, column]: [usize; 2], k: usize) -> f32 {
    (0..k).map(|l| a.value(index, [row, l]) * b.value(index, [l, column])).sum()
}

/// What is wrong with the lines that are looked at, and with what lies behind them.
fn compare(
    device: &Device,
    matrix: &Matrix,
    batch: usize,
    on_device: &CudaSlice<f32>,
    expected: impl Fn(usize, [usize; 2]) -> f32,
) -> Result<Option<String>, Failed> {
    let (lines, len) = matrix.lines();
    let at_2_31 = (1..4).flat_map(|times| {
        let line = (times << 31) / matrix.ld();
        [line.saturating_sub(1), line, line + 1]
    });
    let samples = (0..SAMPLES).map(|_| rand::random_range(0..lines));
    let mut looked_at: Vec<_> = [0, lines - 1].into_iter().chain(at_2_31).chain(samples).collect();
    if lines <= SAMPLES {
        looked_at = (0..lines).collect();
    }
    looked_at.retain(|line| *line < lines);
    for index in 0..batch {
        for &line in &looked_at {
            let begin = matrix.offset(index, line);
            let gap = if matrix.ld() > len { GAP } else { 0 };
            let end = (begin + len + gap).min(on_device.len());
            let found = device.stream.clone_dtoh(&on_device.slice(begin..end))?;
            for (at, element) in found.into_iter().enumerate() {
                let place = matrix.place(line, at);
                let expected = if at < len { expected(index, place) } else { 0.0 };
                if element != expected {
                    return Ok(Some(format!("{element}, not {expected}, at {place:?} of problem {index}")));
                }
            }
        }
    }
    Ok(None)
}
