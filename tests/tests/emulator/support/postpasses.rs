//! Post-passes give D as BLAS defines it, then bias and activation; what need not be read is NaN or not there.

mod case;

use gpu_kernels::{BiasPer, Element, Extent, POSTPASS_ARGUMENTS, Postpass, finish};
use host::backend::{Backend, Kernel as Selected};
use host::{Operands, Problem, PtxSource};
use libtest_mimic::{Failed, Trial};
use ptx_emu::{GlobalMemory, Kernel, Launch, Pointer, Report, SECTOR_BYTES};
use sgemm::plan::Value;

use super::matrix::{Buffer, FarRows, Layout};
use super::{around, kernel, launch};
use case::{BIAS, C, CASES, Case, OLD, PLAIN, W, fault, number, plane_value, round, sum, value};

const ELEMENTS: [Element; 3] = [Element::F32, Element::F16, Element::Bf16];

pub fn trials() -> impl Iterator<Item = Trial> {
    ELEMENTS.into_iter().flat_map(|element| {
        let name = |what| format!("support::{} {what}", finish(element).kernel);
        [
            Trial::test(name("in any size, layout and alignment"), move || in_any_layout(element)),
            Trial::test(name("of far rows and columns"), move || far(element)),
            Trial::test(name("moves each sector once"), move || traffic(element)),
            Trial::test(name("is a step's epilogue"), move || is_the_epilogue(element)),
        ]
    })
}

/// Launches a post-pass on matrices at these addresses.
struct Matrices {
    extent: Extent,
    w: (Pointer, u32),
    plane_stride: u64,
    c: (Pointer, [u64; 2]),
    d: (Pointer, u64),
    bias: Pointer,
}

fn run(
    postpass: &Postpass,
    kernel: &Kernel,
    case: &Case,
    matrices: &Matrices,
    memory: &mut GlobalMemory,
) -> Result<Option<Report>, Failed> {
    let Matrices { extent, w, plane_stride, c, d, bias } = *matrices;
    let scalar = |value: f32, memory: &mut GlobalMemory| match case.on_device {
        true => (f32::NAN, memory.allocate_words([value.to_bits()])),
        false => (value, 0),
    };
    let (alpha, beta) = (scalar(case.alpha, memory), scalar(case.beta, memory));
    let arguments = [
        ("m", Value::U32(extent.rows)),
        ("n", Value::U32(extent.cols)),
        ("w", Value::Address(w.0)),
        ("ldw", Value::U32(w.1)),
        ("planes", Value::U32(case.planes)),
        ("plane_stride", Value::U64(plane_stride)),
        ("alpha", Value::F32(alpha.0)),
        ("alpha_at", Value::Address(alpha.1)),
        ("beta", Value::F32(beta.0)),
        ("beta_at", Value::Address(beta.1)),
        ("c", Value::Address(c.0)),
        ("c_row_stride", Value::U64(c.1[0])),
        ("c_col_stride", Value::U64(c.1[1])),
        ("d", Value::Address(d.0)),
        ("ldd", Value::U64(d.1)),
        ("bias", Value::Address(bias)),
        ("bias_per", Value::U32(case.bias.unwrap_or_default() as u32)),
        ("activation", Value::U32(case.activation as u32)),
    ];
    assert!(arguments.iter().map(|(name, _)| *name).eq(POSTPASS_ARGUMENTS.map(|(name, _)| name)));
    let grid = postpass.grid(extent);
    if grid.contains(&0) {
        return Ok(None);
    }
    let shape = Launch::new(grid, [postpass.threads, 1, 1]);
    launch(kernel, shape, &arguments.map(|(_, argument)| argument), memory).map(Some)
}

/// Sizes around the tile and none at all, every case, and the residues of C's and D's addresses.
fn in_any_layout(element: Element) -> Result<(), Failed> {
    let postpass = finish(element);
    let kernel = kernel(postpass.kernel)?;
    let with_none = |tile| around(tile).into_iter().chain([0]);
    for rows in with_none(postpass.tile.rows) {
        for cols in with_none(postpass.tile.cols) {
            for case in &CASES {
                for residue in 0..4 {
                    let extent = Extent { rows, cols };
                    let what = || format!("{} of {extent:?}, residue {residue}, {case:?}", postpass.kernel);
                    check(&postpass, &kernel, case, extent, residue).map_err(|error| match error.message() {
                        Some(message) => format!("{}: {message}", what()),
                        None => what(),
                    })?;
                }
            }
        }
    }
    Ok(())
}

fn check(postpass: &Postpass, kernel: &Kernel, case: &Case, extent: Extent, residue: usize) -> Result<(), Failed> {
    let Extent { rows, cols } = extent;
    let (element, bytes) = (postpass.element, postpass.element.bytes() as usize);
    let mut memory = GlobalMemory::default();
    let round = |of: u32| move |row: usize, col: usize| round(element, value(of, row, col));

    let ldw = (cols as usize).next_multiple_of(4) + 4 * case.padding[0];
    // Planes with a row of NaN between them.
    let plane_rows = rows as usize + 1;
    let w_layout = Layout::row_major(4, case.planes * (rows + 1), cols, ldw, 0);
    let of_planes = |row: usize, col: usize| match row % plane_rows {
        row_of_plane if row_of_plane < rows as usize => plane_value(row / plane_rows, row_of_plane, col).to_bits(),
        _ => f32::NAN.to_bits(),
    };
    let w = match case.alpha {
        0.0 => 0,
        _ => Buffer::of(&w_layout, of_planes).upload(&mut memory),
    };
    let plane_stride = (plane_rows * ldw) as u64;

    let ldd = cols as usize + case.padding[1];
    let d_layout = Layout { guard: [residue, 9], ..Layout::row_major(bytes, rows, cols, ldd, 0) };
    let before = match case.c {
        C::InPlace => Buffer::of(&d_layout, round(OLD)),
        _ => Buffer::unwritten(&d_layout),
    };
    let d = before.upload(&mut memory);

    let c_layout = match case.c {
        C::Absent => None,
        C::InPlace => Some(d_layout),
        C::Rows(padding) => Some(Layout::row_major(bytes, rows, cols, cols as usize + padding, residue)),
        C::Columns(padding) => {
            let strides = [1, rows as usize + padding];
            Some(Layout { strides, ..Layout::row_major(bytes, rows, cols, 0, residue) })
        }
    };
    let c = match (case.c, c_layout) {
        (C::InPlace, _) => (d_layout.first(d), [ldd as u64, 1]),
        (_, Some(layout)) => {
            let base = Buffer::of(&layout, round(OLD)).upload(&mut memory);
            (layout.first(base), layout.strides.map(|stride| stride as u64))
        }
        (_, None) => (0, [0, 0]),
    };

    let at = |row: usize, col: usize| if case.bias == Some(BiasPer::Row) { row } else { col };
    let length = if case.bias == Some(BiasPer::Row) { rows } else { cols };
    let bias_layout = Layout::row_major(bytes, 1, length, 0, residue);
    let bias = case
        .bias
        .map_or(0, |_| bias_layout.first(Buffer::of(&bias_layout, |_, i| round(BIAS)(0, i)).upload(&mut memory)));

    let matrices = Matrices { extent, w: (w, ldw as u32), plane_stride, c, d: (d_layout.first(d), ldd as u64), bias };
    run(postpass, kernel, case, &matrices, &mut memory)?;

    let after = before.download(&memory, d);
    let untouched = Buffer::of(&d_layout, |row, col| after.get(&d_layout, row, col));
    if after != untouched {
        return Err("what is not D was written".into());
    }
    let number = |of, row, col| number(element, round(of)(row, col));
    for row in 0..rows as usize {
        for col in 0..cols as usize {
            let bias = if case.bias.is_some() { number(BIAS, 0, at(row, col)) } else { 0.0 };
            let values = [sum(case, row, col), number(OLD, row, col), bias];
            if let Some(fault) = fault(case, element, values, after.get(&d_layout, row, col)) {
                return Err(format!("row {row}, column {col}: {fault}").into());
            }
        }
    }
    Ok(())
}

/// Rows of C and D, and columns of C, that lie more than 2^32 elements apart.
fn far(element: Element) -> Result<(), Failed> {
    let postpass = finish(element);
    let kernel = kernel(postpass.kernel)?;
    let bytes = element.bytes() as usize;
    let extent = Extent { rows: postpass.tile.rows + 1, cols: postpass.tile.cols + 1 };
    let case = Case { beta: 1.0, c: C::Rows(0), ..PLAIN };
    let layout = |rows: u32, cols: u32, bytes| Layout::row_major(bytes, rows, cols, cols as usize, 0);
    let d_layout = layout(extent.rows, extent.cols, bytes);
    let old = |row, col| round(element, value(OLD, row, col));
    for aligned in [true, false] {
        for transposed in [true, false] {
            let mut memory = GlobalMemory::default();
            let ldw = extent.cols.next_multiple_of(4);
            let w_layout = Layout::row_major(4, extent.rows, extent.cols, ldw as usize, 0);
            let w = Buffer::of(&w_layout, |row, col| value(W, row, col).to_bits()).upload(&mut memory);
            let d = FarRows::upload(&mut memory, &d_layout, &Buffer::unwritten(&d_layout), aligned);
            let (c_layout, c) = match transposed {
                true => {
                    let layout = layout(extent.cols, extent.rows, bytes);
                    (layout, Buffer::of(&layout, |row, col| old(col, row)))
                }
                false => (d_layout, Buffer::of(&d_layout, old)),
            };
            let c = FarRows::upload(&mut memory, &c_layout, &c, aligned);
            let strides = if transposed { [1, c.ld] } else { [c.ld, 1] };
            let matrices =
                Matrices { extent, w: (w, ldw), plane_stride: 0, c: (c.first, strides), d: (d.first, d.ld), bias: 0 };
            run(&postpass, &kernel, &case, &matrices, &mut memory)?;
            let after = d.download(&memory, &d_layout, aligned);
            for row in 0..extent.rows as usize {
                for col in 0..extent.cols as usize {
                    let values = [value(W, row, col), number(element, old(row, col)), 0.0];
                    if let Some(fault) = fault(&case, element, values, after.get(&d_layout, row, col)) {
                        return Err(format!("ld {}, row {row}, column {col}: {fault}", d.ld).into());
                    }
                }
            }
        }
    }
    Ok(())
}

/// Each sector of W, C and D once where rows are aligned. Where those of C and D are not, 16 elements of a row lie in one sector more.
fn traffic(element: Element) -> Result<(), Failed> {
    let postpass = finish(element);
    let kernel = kernel(postpass.kernel)?;
    let bytes = element.bytes() as usize;
    let extent = Extent { rows: 2 * postpass.tile.rows, cols: 3 * postpass.tile.cols };
    let count = u64::from(extent.count());
    let of_d = count * bytes as u64;
    for (beta, c) in [(0.0, C::Absent), (1.0, C::Rows(0))] {
        for shift in [0, 1] {
            let mut memory = GlobalMemory::default();
            let w_layout = Layout::row_major(4, extent.rows, extent.cols, extent.cols as usize, 0);
            let w = Buffer::unwritten(&w_layout).upload(&mut memory);
            let ldd = extent.cols as usize + shift;
            let d_layout = Layout::row_major(bytes, extent.rows, extent.cols, ldd, shift);
            let [c_at, d_at] =
                [0, 1].map(|_| (d_layout.first(Buffer::unwritten(&d_layout).upload(&mut memory)), ldd as u64));
            let case = Case { beta, c, ..PLAIN };
            let matrices =
                Matrices { extent, w: (w, extent.cols), plane_stride: 0, c: (c_at.0, [c_at.1, 1]), d: d_at, bias: 0 };
            let report = run(&postpass, &kernel, &case, &matrices, &mut memory)?.ok_or("a grid")?;
            let (loads, stores) = (report.counters.global_loads, report.counters.global_stores);
            let of_c = if beta == 0.0 { 0 } else { of_d };
            // 16 elements that begin anywhere are in 64 / 32 + 1 sectors of f32, and in 32 / 32 + 1 of 16 bits.
            let spread = |all: u64| if shift == 0 { all } else { all + all * 2 / bytes as u64 };
            let [loaded, stored] = [loads, stores].map(|counted| counted.sectors * SECTOR_BYTES);
            let bytes_are_right = (loads.bytes, stores.bytes) == (4 * count + of_c, of_d);
            if !bytes_are_right || loaded > 4 * count + spread(of_c) || stored > spread(of_d) {
                return Err(format!("{case:?}, shift {shift}: {loads:?}, {stores:?} for {count} elements").into());
            }
        }
    }
    Ok(())
}

/// D has the bits that a step gives, where W is what that step's accumulators are: single products.
fn is_the_epilogue(element: Element) -> Result<(), Failed> {
    let slug = match element {
        Element::F32 => "naive",
        Element::F16 => "hgemm",
        Element::Bf16 => "hgemm/bf16",
    };
    let step = gpu_kernels::find(slug).ok_or("a step")?;
    let postpass = finish(element);
    let kernel = kernel(postpass.kernel)?;
    for (alpha, beta) in [(1.0, 0.0), (-0.3, 0.0), (0.7, 1.0), (1.1, -0.6), (0.0, 0.9)] {
        let problem = Problem::new(70, 101, 1)?.with_scalars(alpha, beta)?.for_kernel(Selected::Step(step))?;
        let operands = Operands::random(&problem)?;
        let mut backend = tests::emulator(step, PtxSource::BuiltIn, None);
        backend.prepare(Selected::Step(step))?;
        backend.upload(&operands)?;
        backend.run(Selected::Step(step), &problem)?;
        let expected = backend.download()?.c;

        let mut memory = GlobalMemory::default();
        let w_layout = Layout::row_major(4, 70, 101, 104, 0);
        let w = Buffer::of(&w_layout, |row, col| (operands.a.get(row, 0) * operands.b.get(0, col)).to_bits());
        let layout = Layout::row_major(element.bytes() as usize, 70, 101, 101, 0);
        let before = Buffer::of(&layout, |row, col| round(element, operands.c.get(row, col)));
        let (w, d) = (w.upload(&mut memory), before.upload(&mut memory));
        let case = Case { alpha, beta, c: C::InPlace, ..PLAIN };
        let extent = Extent { rows: 70, cols: 101 };
        let matrices = Matrices { extent, w: (w, 104), plane_stride: 0, c: (d, [101, 1]), d: (d, 101), bias: 0 };
        run(&postpass, &kernel, &case, &matrices, &mut memory)?;
        let expected = Buffer::of(&layout, |row, col| round(element, expected.get(row, col)));
        if before.download(&memory, d) != expected {
            return Err(format!("alpha {alpha}, beta {beta}: not what {slug} gives").into());
        }
    }
    Ok(())
}
