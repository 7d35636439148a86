//! Tensor copies: shared memory afterwards, as recorded on an H200, and their counters.

use ptx_emu::{GlobalMemory, Kernel, Launch, Module, Pointer, Swizzle, TensorMap, Type};

/// Copies the box of 32 x 8 floats that begins at (x, y) of a tensor of 100 x 16 to both blocks of the cluster.
fn text() -> String {
    ".version 8.0 .target sm_90 .address_size 64
    .visible .entry k(.param .u64 map, .param .u32 x, .param .u32 y) .reqnctapercluster 2 {
        .reg .pred %p; .reg .b32 %x, %y, %r; .reg .b64 %map;
        .shared .align 128 .b8 tile[1024];
        .shared .align 8 .b8 barrier[8];
        ld.param.u64 %map, [map];
        ld.param.u32 %x, [x];
        ld.param.u32 %y, [y];
        mbarrier.init.shared.b64 [barrier], 1;
        fence.mbarrier_init.release.cluster;
        mbarrier.arrive.expect_tx.shared.b64 _, [barrier], 1024;
        barrier.cluster.arrive;
        barrier.cluster.wait;
        mov.u32 %r, %cluster_ctarank;
        setp.ne.u32 %p, %r, 0;
        barrier.cluster.arrive;
        barrier.cluster.wait;
        @%p bra $waits;
        cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
            [tile], [%map, {%x, %y}], [barrier], 3;
    $waits:
        mbarrier.try_wait.parity.shared.b64 %p, [barrier], 0;
        @!%p bra $waits;
        ret;
    }"
    .to_owned()
}

#[test]
fn a_copy_to_two_blocks_reads_once() {
    let module = Module::parse(&text()).unwrap();
    let kernel = module.kernel("k").unwrap();
    // Rows of 400 bytes begin in the middle of sectors.
    for (x, y, sectors) in [(0, 0, 4 * 5 + 4 * 4), (96, 12, 4), (-32, 0, 0), (0, 15, 5)] {
        let mut memory = GlobalMemory::default();
        let data = memory.allocate(16 * 400);
        let map = TensorMap::new(Type::F32, data, &[100, 16], &[400], &[32, 8], Swizzle::Bytes128).unwrap();
        assert_eq!((map.rank(), map.box_bytes()), (2, 1024));
        let map = memory.allocate_bytes(&map.encode());
        let launch = Launch::new([2, 1, 1], [1, 1, 1]).argument(map.to_le_bytes());
        let launch = launch.argument(i32::to_le_bytes(x)).argument(i32::to_le_bytes(y));
        let report = kernel.launch(&mut memory, &launch).unwrap();
        assert!(report.is_clean(), "{:?} {:?}", report.findings, report.fault);
        let counters = report.counters;
        assert_eq!((counters.copies.requests, counters.copies.sectors), (1, sectors), "{x} {y}");
        assert_eq!(counters.copies, counters.global_loads);
        assert_eq!((counters.block_sectors, counters.copies.bytes), (sectors, 32 * sectors));
        assert_eq!((counters.copies.wavefronts, counters.shared_stores.wavefronts), (0, 0));
    }
}

/// Bytes of shared memory that are looked at.
const SHARED: u64 = 32 << 10;

#[test]
fn boxes_are_what_an_h200_makes_of_them() {
    let recorded = include_str!("../conformance/tensors.json");
    let recorded: serde_json::Value = serde_json::from_str(recorded).unwrap();
    let boxes = recorded["boxes"].as_array().unwrap();
    assert!(boxes.len() > 400);
    let module = Module::parse(include_str!("../ptx/tensor_dump.ptx")).unwrap();
    for (index, recorded) in boxes.iter().enumerate() {
        let hash = u64::from_str_radix(recorded[7].as_str().unwrap(), 16).unwrap();
        assert_eq!(fnv(&dump(&module, recorded)), hash, "box {index}: {recorded}");
    }
}

/// A kernel that copies a box and writes shared memory to where the pointer says, and its launch.
pub fn prepare(module: &Module, recorded: &serde_json::Value) -> (Kernel, GlobalMemory, Launch, Pointer) {
    let list = |index: usize| recorded[index].as_array().unwrap().iter().map(|number| number.as_i64().unwrap());
    let [dims, strides] = [1, 2].map(|index| list(index).map(|number| number as u64).collect::<Vec<_>>());
    let sides: Vec<u32> = list(3).map(|side| side as u32).collect();
    let swizzle = match recorded[4].as_i64() {
        Some(32) => Swizzle::Bytes32,
        Some(64) => Swizzle::Bytes64,
        Some(128) => Swizzle::Bytes128,
        _ => Swizzle::None,
    };
    let mut memory = GlobalMemory::default();
    let tensor = memory.allocate_words(0..1 << 18);
    let ty = Type::from_name(recorded[0].as_str().unwrap()).unwrap();
    let map = TensorMap::new(ty, tensor, &dims, &strides, &sides, swizzle).unwrap();
    let out = memory.allocate(SHARED + 4);
    let mut launch = Launch::new([1; 3], [128, 1, 1]);
    launch.arguments.push(map.encode().to_vec());
    launch.arguments.push(out.to_le_bytes().to_vec());
    let start = list(5).chain(std::iter::repeat(0)).take(5).map(|place| place as i32);
    launch.arguments.extend(start.map(|place| place.to_le_bytes().to_vec()));
    launch.arguments.push((recorded[6].as_i64().unwrap() as u32).to_le_bytes().to_vec());
    launch.arguments.push(map.box_bytes().to_le_bytes().to_vec());
    (module.kernel(&format!("box{}", map.rank())).unwrap(), memory, launch, out)
}

/// Shared memory after a copy.
fn dump(module: &Module, recorded: &serde_json::Value) -> Vec<u8> {
    let (kernel, mut memory, launch, out) = prepare(module, recorded);
    let report = kernel.launch(&mut memory, &launch).unwrap();
    assert!(report.is_clean(), "{recorded}: {:?} {:?}", report.findings, report.fault);
    let mut bytes = memory.read(out).unwrap();
    assert_eq!(bytes.split_off(SHARED as usize), [0; 4], "{recorded}: not all bytes come");
    bytes
}

/// G. Fowler, L. Noll and K. Vo's hash of 64 bits, 1a.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
