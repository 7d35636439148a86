//! What copies of boxes count as: sectors of global memory, and nothing in shared memory.

use ptx_emu::{GlobalMemory, Launch, Module, Swizzle, TensorMap, Type};

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
        mbarrier.arrive.expect_tx.shared.b64 _, [barrier], 1024;
        barrier.cluster.arrive;
        barrier.cluster.wait;
        mov.u32 %r, %cluster_ctarank;
        setp.ne.u32 %p, %r, 0;
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
