//! `wgmma` with each operand source and in each layout.

mod kernel;
mod layout;
pub mod tile;

use crate::mma::number::encode;
use half::{bf16, f16};
use kernel::{A_BYTES, B_BYTES, Product, STEPS};
use layout::{Layout, SWIZZLES};
use ptx_emu::{FindingKind, GlobalMemory, Launch, Module, Report};

/// A small integer, as the bits of an element.
fn bits(ty: &str, value: i32) -> u32 {
    match ty {
        "f16" => f16::from_f32(value as f32).to_bits().into(),
        "bf16" => bf16::from_f32(value as f32).to_bits().into(),
        // The last bits are ignored.
        "tf32" => (value as f32).to_bits() | 0x1fff,
        _ => encode(ty, value.into()) as u32,
    }
}

fn a_value(row: usize, k: usize) -> i32 {
    (row * 7 + k * 3) as i32 % 11 - 5
}

fn b_value(column: usize, k: usize) -> i32 {
    (column * 5 + k * k) as i32 % 9 - 4
}

/// Runs the MMA on matrices in shared memory with the given layouts; `b_start` overrides the start of B. Returns the
/// accumulators.
fn run(product: &Product, a: &Layout, b: &Layout, b_start: usize) -> (Report, Vec<f32>) {
    run_text(&product.ptx(), product, a, b, b_start, [1; 3])
}

fn run_text(
    text: &str,
    product: &Product,
    a: &Layout,
    b: &Layout,
    b_start: usize,
    cluster: [u32; 3],
) -> (Report, Vec<f32>) {
    let (ty, width) = (product.ty, product.width());
    let mut image = vec![0u8; A_BYTES + B_BYTES];
    let mut put = |place: usize, value: u32| image[place..][..width].copy_from_slice(&value.to_le_bytes()[..width]);
    for k in 0..STEPS * 32 / width {
        (0..64).for_each(|row| put(a.place(row, k, width), bits(ty, a_value(row, k))));
    }
    for k in 0..product.depth() {
        (0..product.columns).for_each(|column| put(A_BYTES + b.place(column, k, width), bits(ty, b_value(column, k))));
    }
    let mut fragments = vec![];
    for thread in 0..128 {
        let (lane, first) = (thread % 32, thread / 32 * 16);
        for register in 0..4 * STEPS {
            let (row, unit) = (first + lane / 4 + 8 * (register % 2), register / 2 * 4 + lane % 4);
            let per_word = 4 / width;
            let part = |part: usize| bits(ty, a_value(row, unit * per_word + part)) << (8 * width * part % 32);
            fragments.push((0..per_word).map(part).fold(0, |word, part| word | part));
        }
    }
    let mut memory = GlobalMemory::default();
    let image = memory.allocate_bytes(&image);
    let fragments = memory.allocate_words(fragments);
    let out = memory.allocate(64 * product.columns as u64 * 4);
    let mut launch = Launch { cluster, ..Launch::new(cluster, [128, 1, 1]) };
    let numbers = [
        a.descriptor(0),
        b.descriptor(b_start),
        a.step(width, 32) as u64,
        b.step(width, product.column_bytes()) as u64,
    ];
    for argument in [image, fragments, out].into_iter().chain(numbers) {
        launch = launch.argument(argument.to_le_bytes());
    }
    let module = Module::parse(text).unwrap();
    let report = module.kernel("k").unwrap().launch(&mut memory, &launch).unwrap();
    let decode = |word: u32| if product.is_integer() { word.cast_signed() as f32 } else { f32::from_bits(word) };
    (report, memory.free(out).unwrap().into_iter().map(decode).collect())
}

/// The expected accumulators.
fn expected(product: &Product) -> Vec<f32> {
    let mut result = vec![];
    for thread in 0..128usize {
        for register in 0..product.columns / 2 {
            let row = thread / 32 * 16 + thread % 32 / 4 + 8 * (register / 2 % 2);
            let column = register / 4 * 8 + thread % 4 * 2 + register % 2;
            let terms = (0..STEPS * 32 / product.width()).map(|k| a_value(row, k) * b_value(column, product.k_of(k)));
            result.push(terms.sum::<i32>() as f32 * product.sign());
        }
    }
    result
}

fn check(product: &Product, a: &Layout, b: &Layout) {
    let (report, is) = run(product, a, b, A_BYTES);
    let all = format!("{product:?} {a:?} {b:?}");
    assert!(report.is_clean(), "{all}: {:?} {:?}", report.findings, report.fault);
    assert!(is == expected(product), "{all}");
}

#[test]
fn each_layout_of_each_type() {
    let columns = [8, 24, 40, 64, 136, 192, 256, 16];
    let mut index = 0;
    for ty in ["f16", "bf16", "tf32"] {
        let majors: &[bool] = if ty == "tf32" { &[false] } else { &[false, true] };
        for (&a_transposed, &b_transposed) in majors.iter().flat_map(|a| majors.iter().map(move |b| (a, b))) {
            for (a_swizzle, b_swizzle) in SWIZZLES.iter().flat_map(|a| SWIZZLES.iter().map(move |b| (a, b))) {
                let product = Product { a_transposed, b_transposed, ..Product::new(ty, columns[index % 8]) };
                index += 1;
                let a = Layout::new(*a_swizzle, a_transposed, 64);
                check(&product, &a, &Layout::new(*b_swizzle, b_transposed, product.columns));
            }
        }
    }
}

#[test]
fn the_first_matrix_in_registers() {
    for (index, ty) in ["f16", "bf16", "tf32"].into_iter().enumerate() {
        for b_transposed in [false, true].into_iter().take(if ty == "tf32" { 1 } else { 2 }) {
            let columns = [48, 88, 200][index];
            let product = Product { from_registers: true, b_transposed, ..Product::new(ty, columns) };
            check(&product, &Layout::new(128, false, 64), &Layout::new(128, b_transposed, columns));
        }
    }
}

#[test]
fn types_of_8_bits() {
    for (index, ty) in ["e4m3", "e5m2", "s8"].into_iter().enumerate() {
        for (swizzle, from_registers) in SWIZZLES.into_iter().zip([false, true].into_iter().cycle()) {
            let product = Product { from_registers, ..Product::new(ty, [8, 72, 256][index]) };
            check(&product, &Layout::new(128, false, 64), &Layout::new(swizzle, false, product.columns));
        }
    }
}

#[test]
fn a_sparse_first_matrix() {
    // Ascending pairs of places, and halves of words.
    let (halves, bytes, words) = (0xd9c4_d9c4, 0xec98_4d9e, 0xe44e_e44e);
    for (ty, metadata) in
        [("f16", halves), ("bf16", halves), ("tf32", words), ("e4m3", bytes), ("e5m2", bytes), ("s8", bytes)]
    {
        for (swizzle, from_registers) in SWIZZLES.into_iter().zip([false, true].into_iter().cycle()) {
            for b_transposed in [false, true] {
                if b_transposed && !ty.ends_with("f16") || !b_transposed && swizzle == 32 {
                    continue;
                }
                let product = Product { from_registers, b_transposed, sparse: Some(metadata), ..Product::new(ty, 40) };
                check(&product, &Layout::new(64, false, 64), &Layout::new(swizzle, b_transposed, product.columns));
            }
        }
    }
    let narrow = Layout::new(32, false, 8);
    let product = Product { sparse: Some(halves), ..Product::new("f16", 8) };
    let fault = run(&product, &Layout::new(128, false, 64), &narrow, A_BYTES).0.fault.expect("a fault");
    assert!(fault.what.contains("a column of 64 bytes needs a wider one"), "{fault}");
    let (report, _) = run(
        &Product { sparse: Some(0xd9c4_d9c0), ..Product::new("f16", 8) },
        &Layout::new(128, false, 64),
        &Layout::new(128, false, 8),
        A_BYTES,
    );
    let found = report.findings.first().expect("a finding").to_string();
    assert!(found.contains("the metadata 0xd9c4d9c0 have 0b0000, which is not defined"), "{found}");
}

#[test]
fn factors_of_minus_one() {
    for (negates, sign) in [([true, false], -1.0), ([false, true], -1.0), ([true, true], 1.0)] {
        let product = Product { negates, ..Product::new("f16", 32) };
        assert_eq!(product.sign(), sign);
        check(&product, &Layout::new(64, false, 64), &Layout::new(32, false, 32));
    }
}

#[test]
fn each_number_of_columns() {
    for columns in (8..=256).step_by(8) {
        check(&Product::new("bf16", columns), &Layout::new(128, false, 64), &Layout::new(128, false, columns));
    }
}

#[test]
fn warps_that_are_missing() {
    let product = Product::new("f16", 8);
    let module = Module::parse(&product.ptx()).unwrap();
    let mut memory = GlobalMemory::default();
    let image = memory.allocate((A_BYTES + B_BYTES) as u64);
    let layout = Layout::new(128, false, 64);
    let mut launch = Launch::new([1; 3], [96, 1, 1]);
    for argument in [image, image, image, layout.descriptor(0), layout.descriptor(0), 0, 0] {
        launch = launch.argument(argument.to_le_bytes());
    }
    let report = module.kernel("k").unwrap().launch(&mut memory, &launch).unwrap();
    assert!(
        report.findings.iter().any(|finding| finding.what.contains("needs all lanes of a warpgroup")),
        "{report:?}"
    );
}

/// The result in the block of a rank, in a cluster of two, with descriptors that keep `bits` bits of the address.
fn of_rank(rank: u32, bits: u32, product: &Product, a: &Layout, b: &Layout) -> (Report, Vec<f32>) {
    let alone =
        format!("mov.u32 %r1, %cluster_ctarank;\nsetp.ne.u32 %p0, %r1, {rank};\n@%p0 exit;\nmov.u32 %r1, %tid.x;");
    let text = product.ptx().replacen("mov.u32 %r1, %tid.x;", &alone, 1);
    let text = text.replacen("shr.u32 %r3, %r2, 4;", &format!("bfe.u32 %r3, %r2, 4, {bits};"), 1);
    run_text(&text, product, a, b, A_BYTES, [2, 1, 1])
}

#[test]
fn an_address_in_a_cluster_has_its_blocks_rank() {
    let product = Product { b_transposed: true, ..Product::new("bf16", 128) };
    let a = Layout::new(128, false, 64);
    for rank in 0..2 {
        let wide = Layout::new(128, true, 128);
        let (report, is) = of_rank(rank, 14, &product, &a, &wide);
        assert!(report.is_clean() && is == expected(&product), "{:?} {:?}", report.findings, report.fault);
        let fault = of_rank(rank, 28, &product, &a, &wide).0.fault.expect("a fault");
        assert_eq!(fault.kind, FindingKind::Misaligned);
        assert!(fault.what.contains("the rank of the block in bits 24 and up"), "{fault}");
        // Nothing tells these from a valid start of B.
        let (_, is) = of_rank(rank, 28, &product, &a, &Layout::new(0, true, 128));
        assert!(is != expected(&product));
        // No stride is used that the rank could change.
        let product = Product::new("bf16", 128);
        let (report, is) = of_rank(rank, 28, &product, &a, &Layout::new(128, false, 128));
        assert!(report.is_clean() && is == expected(&product), "{:?} {:?}", report.findings, report.fault);
    }
}

#[test]
fn matrices_outside_of_shared_memory() {
    let (product, layout) = (Product::new("f16", 256), Layout::new(128, false, 64));
    let b = Layout::new(128, false, 256);
    let (report, _) = run(&product, &layout, &b, 2 * A_BYTES);
    let fault = report.fault.expect("a fault");
    assert_eq!(fault.kind, FindingKind::OutOfBounds, "{fault}");
}

/// The findings when a part of the kernel's text is replaced.
fn findings(product: &Product, part: &str, other: &str) -> Vec<String> {
    let (text, layout) = (product.ptx(), Layout::new(128, false, 64));
    assert!(text.contains(part), "{part}");
    let (report, _) = run_text(&text.replacen(part, other, 1), product, &layout, &layout, A_BYTES, [1; 3]);
    assert!(report.fault.is_none());
    report.findings.iter().map(ToString::to_string).collect()
}

#[test]
fn stores_need_a_fence_before_tensor_cores_read() {
    let product = Product::new("f16", 64);
    let found = findings(&product, "fence.proxy.async.shared::cta;", "");
    assert!(
        found.len() == 2 && found[0].starts_with("race: ") && found[0].contains("no `fence.proxy.async`"),
        "{found:?}"
    );
    let after = "bar.sync 0;\nfence.proxy.async;";
    let text = findings(&product, "fence.proxy.async.shared::cta;\n                bar.sync 0;", after);
    assert!(text.is_empty(), "{text:?}");
    let found = findings(&product, "bar.sync 0;", "");
    assert!(found.iter().any(|finding| finding.contains("nothing orders it")), "{found:?}");
}

#[test]
fn registers_that_are_waited_for() {
    let product = Product::new("f16", 64);
    let one = |part: &str, other: &str| findings(&product, part, other).into_iter().next().unwrap_or_default();
    let wait = "wgmma.wait_group.sync.aligned 0;";
    for (part, other) in
        [(wait, ""), (wait, "wgmma.wait_group.sync.aligned 1;"), ("wgmma.commit_group.sync.aligned;", "")]
    {
        let found = findings(&product, part, other);
        assert!(found.len() == 32, "each register that is stored: {found:?}");
        assert!(found[0].contains("register %f0 is read here, but the `wgmma.mma_async` in line"), "{found:?}");
    }
    let wait = "ld.param.u64 %rd4, [a_step];";
    assert!(one(wait, &format!("{wait} mov.f32 %f5, 0f00000000;")).contains("%f5 is written here"));
    assert!(one(wait, &format!("{wait} add.f32 %f5, %f5, %f5;")).contains("%f5 is read here"));
    assert_eq!(one("wgmma.fence.sync.aligned;", "").split(": ").last(), Some("there is no `wgmma.fence` before it"));
    let written = "wgmma.fence.sync.aligned; mov.f32 %f5, 0f00000000;";
    assert_eq!(one("wgmma.fence.sync.aligned;", written), "", "it is overwritten");
    let added = format!("{written} setp.eq.u32 %p0, %r1, %r1;");
    assert!(one("wgmma.fence.sync.aligned;", &added).contains("there is no `wgmma.fence` after line"));
    // What compilers insert around inline assembly.
    let copies = format!(".reg .f32 %g; mov.f32 %g, %f5; mov.f32 %f5, %g; mov.f32 %g, 0f00000000; {wait}");
    assert_eq!(one(wait, &copies), "");
}

#[test]
fn fragments_that_are_waited_for() {
    let product = Product { from_registers: true, ..Product::new("tf32", 64) };
    let found = findings(&product, "wgmma.fence.sync.aligned;", "");
    assert!(
        found[0].contains("there is no `wgmma.fence` after line") && found[0].contains("register %a0"),
        "{found:?}"
    );
    let step = "ld.param.u64 %rd4, [a_step];";
    let found = findings(&product, step, &format!("{step} mov.u32 %a2, 0;"));
    assert!(found.len() == 1 && found[0].contains("register %a2 is written here"), "{found:?}");
}
