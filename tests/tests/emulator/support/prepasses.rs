//! Pre-passes that align and transpose copy every bit to its place; those that split do not depend on alignment.

use gpu_kernels::{Element, Extent, Operand, PREPASS_ARGUMENTS, Prepass, align, find, transpose};
use libtest_mimic::{Failed, Trial};
use ptx_emu::{GlobalMemory, Kernel, Launch, Module, Pointer, Report, SECTOR_BYTES};
use sgemm::ModuleSource;
use sgemm::plan::Value;

use super::matrix::{Buffer, FarRows, Layout};
use super::{around, kernel, launch};

pub fn trials() -> Vec<Trial> {
    let elements = [Element::F32, Element::F16];
    let prepasses = elements.into_iter().flat_map(|element| {
        [align(Operand::A, element), transpose(Operand::B, element)].map(|prepass| (prepass, element.bytes() as usize))
    });
    let trials = prepasses.flat_map(|(prepass, bytes)| {
        let name = |what| format!("support::{} {what}", prepass.kernel);
        [
            Trial::test(name("in any size and alignment"), move || any_size_and_alignment(prepass, bytes)),
            Trial::test(name("of far rows"), move || far_rows(prepass, bytes)),
            Trial::test(name("moves each sector once"), move || traffic(prepass, bytes)),
        ]
    });
    let split = ["fp16x3", "tf32x3"].map(|slug| {
        Trial::test(format!("support::split for {slug} in any alignment"), move || split_in_any_alignment(slug))
    });
    trials.chain(split).collect()
}

/// Bits by which each element is known.
fn bits(bytes: usize) -> impl Fn(usize, usize) -> u32 {
    move |row, col| (row as u32 * 40_503 + col as u32 + 1).wrapping_mul(0x9e37_79b1) >> (32 - 8 * bytes)
}

/// What a launch of a pre-pass takes.
struct Source {
    extent: Extent,
    first: Pointer,
    ld: u64,
}

fn run(
    prepass: &Prepass,
    kernel: &Kernel,
    source: &Source,
    target: (Pointer, u32),
    scales: Option<Pointer>,
    memory: &mut GlobalMemory,
) -> Result<Report, Failed> {
    let Extent { rows, cols } = source.extent;
    let arguments = [
        ("rows", Value::U32(rows)),
        ("columns", Value::U32(cols)),
        ("source", Value::Address(source.first)),
        ("ld", Value::U64(source.ld)),
        ("target", Value::Address(target.0)),
        ("target_ld", Value::U32(target.1)),
    ];
    assert!(arguments.iter().map(|(name, _)| *name).eq(PREPASS_ARGUMENTS.map(|(name, _)| name)));
    let arguments: Vec<_> =
        arguments.into_iter().map(|(_, argument)| argument).chain(scales.map(Value::Address)).collect();
    let grid = prepass.grid(source.extent);
    let shape = Launch { cluster: prepass.cluster(source.extent), ..Launch::new(grid, [prepass.threads, 1, 1]) };
    launch(kernel, shape, &arguments, memory)
}

/// The layout of the target, with guard bands, and what must lie there.
fn expected(prepass: &Prepass, bytes: usize, Extent { rows, cols }: Extent, padding: u32) -> (Layout, Buffer) {
    let vec = 16 / bytes;
    let (rows, cols) = if prepass.transposes { (cols, rows) } else { (rows, cols) };
    let ld = (cols.next_multiple_of(vec as u32) + padding) as usize;
    let layout = Layout { guard: [2 * vec, 2 * vec], ..Layout::row_major(bytes, rows, cols, ld, 0) };
    let source = bits(bytes);
    let transposes = prepass.transposes;
    let buffer = Buffer::of(&layout, |row, col| if transposes { source(col, row) } else { source(row, col) });
    (layout, buffer)
}

fn compare(got: &Buffer, expected: &Buffer, what: impl FnOnce() -> String) -> Result<(), Failed> {
    if got == expected {
        return Ok(());
    }
    let differs = got.elements.iter().zip(&expected.elements).position(|(got, expected)| got != expected);
    Err(format!("{}: element {differs:?} of the buffer differs", what()).into())
}

/// Every size around the tile, every residue of the source's address, leading dimensions that keep rows aligned and that do not.
fn any_size_and_alignment(prepass: Prepass, bytes: usize) -> Result<(), Failed> {
    let (kernel, vec) = (kernel(prepass.kernel)?, 16 / bytes);
    assert!([(0, 5), (5, 0)].iter().all(|&(rows, cols)| prepass.grid(Extent { rows, cols }).contains(&0)));
    for rows in around(prepass.tile.rows) {
        for cols in around(prepass.tile.cols) {
            for residue in 0..vec {
                for ld in [cols as usize, (cols as usize).next_multiple_of(vec), (cols as usize + 1) | 1] {
                    let extent = Extent { rows, cols };
                    let mut memory = GlobalMemory::default();
                    let layout = Layout::row_major(bytes, rows, cols, ld, residue);
                    let base = Buffer::of(&layout, bits(bytes)).upload(&mut memory);
                    let (target, expected) = expected(&prepass, bytes, extent, residue as u32 / 2 * vec as u32);
                    let target_base = Buffer::unwritten(&target).upload(&mut memory);
                    let to = (target.first(target_base), target.strides[0] as u32);
                    let source = Source { extent, first: layout.first(base), ld: ld as u64 };
                    run(&prepass, &kernel, &source, to, None, &mut memory)?;
                    let what = || format!("{} of {extent:?}, ld {ld}, residue {residue}", prepass.kernel);
                    compare(&expected.download(&memory, target_base), &expected, what)?;
                }
            }
        }
    }
    Ok(())
}

/// A tile and an edge of it, whose rows lie more than 2^32 elements apart.
fn far_rows(prepass: Prepass, bytes: usize) -> Result<(), Failed> {
    let kernel = kernel(prepass.kernel)?;
    let extent = Extent { rows: prepass.tile.rows + 1, cols: prepass.tile.cols + 1 };
    for aligned in [true, false] {
        let mut memory = GlobalMemory::default();
        let layout = Layout::row_major(bytes, extent.rows, extent.cols, extent.cols as usize, 0);
        let rows = FarRows::upload(&mut memory, &layout, &Buffer::of(&layout, bits(bytes)), aligned);
        assert!(rows.ld > u32::MAX.into() && rows.ld.is_multiple_of(16) == aligned);
        let (target, expected) = expected(&prepass, bytes, extent, 0);
        let target_base = Buffer::unwritten(&target).upload(&mut memory);
        let to = (target.first(target_base), target.strides[0] as u32);
        run(&prepass, &kernel, &Source { extent, first: rows.first, ld: rows.ld }, to, None, &mut memory)?;
        compare(&expected.download(&memory, target_base), &expected, || format!("ld {}", rows.ld))?;
    }
    Ok(())
}

/// Whole sectors on both sides where rows are aligned; where they are not, a sector's worth of values in each request, which lies in
/// two sectors, and whole sectors of the target.
fn traffic(prepass: Prepass, bytes: usize) -> Result<(), Failed> {
    let kernel = kernel(prepass.kernel)?;
    let extent = Extent { rows: 2 * prepass.tile.rows, cols: 2 * prepass.tile.cols };
    let all = u64::from(extent.count()) * bytes as u64;
    for (padding, most) in [(0, all), (1, 2 * all)] {
        let mut memory = GlobalMemory::default();
        let ld = extent.cols as usize + padding;
        let layout = Layout::row_major(bytes, extent.rows, extent.cols, ld, padding);
        let base = Buffer::of(&layout, bits(bytes)).upload(&mut memory);
        let (target, expected) = expected(&prepass, bytes, extent, 0);
        let to = (target.first(expected.upload(&mut memory)), target.strides[0] as u32);
        let source = Source { extent, first: layout.first(base), ld: ld as u64 };
        let counters = run(&prepass, &kernel, &source, to, None, &mut memory)?.counters;
        let (loads, stores) = (counters.global_loads, counters.global_stores);
        let sectors = [loads.sectors, stores.sectors].map(|sectors| sectors * SECTOR_BYTES);
        let is_whole = loads.bytes == all && stores.bytes == all && sectors[0] <= most && sectors[1] == all;
        if !is_whole {
            return Err(format!("padding {padding}: {all} bytes each, but {loads:?}, {stores:?}").into());
        }
    }
    Ok(())
}

/// What is split is the same wherever the source lies. That it is right in one place, the contract of the steps shows.
fn split_in_any_alignment(slug: &str) -> Result<(), Failed> {
    let step = find(slug).ok_or("a step")?;
    let module = Module::parse(&ModuleSource::BuiltIn.module(step)?)?;
    for prepass in step.prepasses {
        let (kernel, split) = (module.kernel(prepass.kernel)?, prepass.split.ok_or("it splits")?);
        for (rows, cols) in [(1, 1), (3, 33), (33, 16), (70, 36), (5, 1100)] {
            let extent = Extent { rows, cols };
            let (lines, long) = if prepass.transposes { (cols, rows) } else { (rows, cols) };
            let target_ld = 2 * long.next_multiple_of(split.chunk);
            let split_at = |memory: &mut GlobalMemory, source: &Source| -> Result<[Option<Vec<u8>>; 2], Failed> {
                let target = memory.allocate(u64::from(lines * target_ld * split.element.bytes()));
                let scales = memory.allocate(u64::from(lines) * 4);
                run(prepass, &kernel, source, (target, target_ld), Some(scales), memory)?;
                Ok([target, scales].map(|base| memory.read(base)))
            };
            let value = |row: usize, col: usize| ((row * 31 + col * 17) as f32 * 0.37 - 20.0).to_bits();
            let at = |ld: usize, residue: usize| {
                let mut memory = GlobalMemory::default();
                let layout = Layout::row_major(4, rows, cols, ld, residue);
                let base = Buffer::of(&layout, value).upload(&mut memory);
                split_at(&mut memory, &Source { extent, first: layout.first(base), ld: ld as u64 })
            };
            let aligned = (cols as usize).next_multiple_of(4);
            let expected = at(aligned, 0)?;
            for (ld, residue) in [(aligned, 1), (aligned, 2), (aligned, 3), (aligned + 1, 0), (aligned + 3, 3)] {
                if at(ld, residue)? != expected {
                    return Err(format!("{} of {extent:?}: ld {ld}, residue {residue}", prepass.kernel).into());
                }
            }
            for is_aligned in [true, false].into_iter().filter(|_| rows > 1) {
                let mut memory = GlobalMemory::default();
                let layout = Layout::row_major(4, rows, cols, cols as usize, 0);
                let far = FarRows::upload(&mut memory, &layout, &Buffer::of(&layout, value), is_aligned);
                if split_at(&mut memory, &Source { extent, first: far.first, ld: far.ld })? != expected {
                    return Err(format!("{} of {extent:?}: ld {}", prepass.kernel, far.ld).into());
                }
            }
        }
    }
    Ok(())
}
