//! Maps that a kernel changes, as CUTLASS's grouped GEMM does: a template is copied to shared memory, changed there, and copied to
//! global memory, from where TMA reads it.

use ptx_emu::{FindingKind, GlobalMemory, Launch, Module, Report, Swizzle, TensorMap, Type};

/// One warp; the changes stand in the place of `{changes}`, and are made by lane 0.
const TEXT: &str = "
.version 8.5
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 template, .param .u64 map, .param .u64 tensor, .param .u64 out, .param .u32 rows)
{
    .reg .pred %p, %q; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .b128 %w;
    .shared .align 128 .b8 smem_map[128];
    .shared .align 1024 .b8 tile[256];
    .shared .align 8 .b8 barrier[8];
    ld.param.u64 %rd0, [template];
    ld.param.u64 %rd1, [map];
    ld.param.u64 %rd2, [tensor];
    ld.param.u64 %rd3, [out];
    ld.param.u32 %r4, [rows];
    mov.u32 %r0, %tid.x;
    setp.ne.u32 %p, %r0, 0;
    mov.u32 %r1, smem_map;
    cvt.u64.u32 %rd5, %r1;
    mul.wide.u32 %rd4, %r0, 4;
    add.u64 %rd4, %rd0, %rd4;
    ld.global.u32 %r2, [%rd4];
    mad.lo.u32 %r3, %r0, 4, %r1;
    st.shared.u32 [%r3], %r2;
    bar.warp.sync -1;
    @%p bra $changed;
    {changes}
$changed:
    bar.warp.sync -1;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], [%r1], 128;
    fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;
    @%p bra $issued;
    mbarrier.init.shared.b64 [barrier], 1;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared.b64 _, [barrier], 256;
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1, {0, 0}], [barrier];
$issued:
    bar.warp.sync -1;
$waits:
    mbarrier.try_wait.parity.shared.b64 %q, [barrier], 0;
    @!%q bra $waits;
    mov.u32 %r5, tile;
    mad.lo.u32 %r5, %r0, 4, %r5;
    mul.wide.u32 %rd4, %r0, 4;
    add.u64 %rd4, %rd3, %rd4;
    ld.shared.u32 %r6, [%r5];
    st.global.u32 [%rd4], %r6;
    ld.shared.u32 %r6, [%r5+128];
    st.global.u32 [%rd4+128], %r6;
    ret;
}";

/// What CUTLASS changes: the tensor's address, its extents and strides.
const CHANGES: &str = "
    tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%rd5], %rd2;
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%rd5], 0, 12;
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%rd5], 1, %r4;
    mov.u64 %rd6, 64;
    tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%rd5], 0, %rd6;";

const ROWS: usize = 5;

/// Runs it with a template of another tensor, of 8 x 8 elements with a box of 16 x 4, and a tensor of 16 columns.
fn run(changes: &str) -> (Report, Vec<u32>) {
    let module = Module::parse(&TEXT.replace("{changes}", changes)).unwrap_or_else(|error| panic!("{error}"));
    let kernel = module.kernel("k").unwrap_or_else(|error| panic!("{error}"));
    let mut memory = GlobalMemory::default();
    let other = memory.allocate_words((0..64).map(|index| 7000 + index));
    let template = TensorMap::new(Type::U32, other, &[8, 8], &[32], &[16, 4], Swizzle::None).unwrap();
    let template = memory.allocate_bytes(&template.encode());
    let (map, tensor) = (memory.allocate(128), memory.allocate_words(0..16 * ROWS as u32));
    let out = memory.allocate(256);
    let mut launch = Launch::new([1; 3], [32, 1, 1]);
    for address in [template, map, tensor, out] {
        launch = launch.argument(address.to_le_bytes());
    }
    let report = kernel.launch(&mut memory, &launch.argument(3u32.to_le_bytes())).unwrap();
    (report, memory.free(out).unwrap())
}

#[test]
fn a_map_is_changed_in_shared_memory() {
    let (report, tile) = run(CHANGES);
    assert!(report.is_clean(), "{:?} {:?}", report.findings, report.fault);
    // 12 columns and 3 rows of the tensor are in bounds.
    let expected = |index: usize| if index % 16 < 12 && index / 16 < 3 { index as u32 } else { 0 };
    assert_eq!(tile, (0..64).map(expected).collect::<Vec<_>>());
}

#[test]
fn every_field_can_be_changed() {
    let fields = "
        tensormap.replace.tile.rank.shared::cta.b1024.b32 [%rd5], 1;
        tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%rd5], 0, 32;
        tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%rd5], 1, 4;
        tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%rd5], 0, 1;
        tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%rd5], 6;
        tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%rd5], 0;
        tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%rd5], 2;
        tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%rd5], 0;";
    let (report, tile) = run(&format!("{CHANGES}{fields}"));
    assert!(report.is_clean(), "{:?} {:?}", report.findings, report.fault);
    // Of f16, the 12 columns are six words of the tensor's rows of 64 bytes; chunks of rows 2 and 3 change places.
    let expected = |row: usize, word: usize| if word < 6 && row < 3 { (16 * row + word) as u32 } else { 0 };
    for (place, word) in tile.iter().enumerate() {
        let (row, chunk) = (place / 16, (place / 4 % 4) ^ (place / 32 % 4));
        assert_eq!(*word, expected(row, 4 * chunk + place % 4), "{place}");
    }
}

#[test]
fn what_is_no_map_or_not_supported_is_a_fault() {
    for (changes, text) in [
        ("tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%rd5], 1;", "Fill of 1 is not supported"),
        ("tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%rd5], 13;", "an element type of 13"),
        (
            "st.shared.u32 [%r1], 5; tensormap.replace.tile.rank.shared::cta.b1024.b32 [%rd5], 1;",
            "there is no tensor map whose field could be replaced",
        ),
    ] {
        let fault = run(changes).0.fault.expect("a fault");
        assert_eq!(fault.kind, FindingKind::TensorMap);
        assert!(fault.what.contains(text), "{fault}");
    }
    let module =
        Module::parse(&TEXT.replace("{changes}", "tensormap.replace.tile.rank.b1024.b64 [%rd5], %rd2;")).unwrap();
    let error = module.kernel("k").err().unwrap().to_string();
    assert!(error.contains("the field .rank has the type .b32"), "{error}");
}

#[test]
fn a_map_that_another_lane_still_writes_is_a_race() {
    let without = TEXT.replacen("bar.warp.sync -1;\n    @%p bra $changed;", "@%p bra $changed;", 1);
    let module = Module::parse(&without.replace("{changes}", CHANGES)).unwrap();
    let mut memory = GlobalMemory::default();
    let other = memory.allocate_words(0..64);
    let map = TensorMap::new(Type::U32, other, &[8, 8], &[32], &[16, 4], Swizzle::None).unwrap();
    let template = memory.allocate_bytes(&map.encode());
    let (map, tensor, out) = (memory.allocate(128), memory.allocate_words(0..16 * ROWS as u32), memory.allocate(256));
    let mut launch = Launch::new([1; 3], [32, 1, 1]);
    for address in [template, map, tensor, out] {
        launch = launch.argument(address.to_le_bytes());
    }
    let report = module.kernel("k").unwrap().launch(&mut memory, &launch.argument(3u32.to_le_bytes())).unwrap();
    let found = report.findings.iter().map(ToString::to_string).find(|finding| finding.contains("tensormap.replace"));
    assert!(found.is_some_and(|finding| finding.contains("race: ")), "{:?}", report.findings);
}
