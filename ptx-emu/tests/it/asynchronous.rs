//! Counters of asynchronous copies: a load from global memory and a store to shared memory of the same width.

use ptx_emu::{Error, GlobalMemory, Launch, Module, Report};

fn run(bytes: u32, stride: u32) -> Report {
    let cache = if bytes == 16 { "cg" } else { "ca" };
    let text = format!(
        ".version 8.0 .target sm_90 .address_size 64
        .visible .entry k(.param .u64 in) {{
            .reg .b32 %t, %a, %b; .reg .b64 %in, %at;
            .shared .align 16 .b8 tile[8192];
            mov.u32 %t, %tid.x;
            mov.u32 %b, tile;
            mad.lo.u32 %a, %t, {stride}, %b;
            ld.param.u64 %in, [in];
            mul.wide.u32 %at, %t, {bytes};
            add.u64 %in, %in, %at;
            cp.async.{cache}.shared.global [%a], [%in], {bytes};
            cp.async.wait_all;
            ret;
        }}"
    );
    let mut memory = GlobalMemory::default();
    let pointer = memory.allocate(512);
    let launch = Launch::new([1; 3], [32, 1, 1]).argument(pointer.to_le_bytes());
    Module::parse(&text).unwrap().kernel("k").unwrap().launch(&mut memory, &launch).unwrap()
}

/// Those of 16 bytes are `.cg`, past L1: it fetches a sector for each half that goes elsewhere.
#[test]
fn copies_count_as_a_load_and_a_store() {
    for (bytes, stride, sectors, passes, shared_passes) in
        [(4, 4, 4, 1, 1), (8, 8, 8, 2, 2), (16, 16, 16, 0, 4), (4, 128, 4, 1, 32), (16, 128, 32, 0, 32)]
    {
        let report = run(bytes, stride);
        assert!(report.is_clean());
        let (loads, stores) = (report.counters.global_loads, report.counters.shared_stores);
        assert_eq!((loads.requests, loads.sectors, loads.wavefronts), (1, sectors, passes), "{bytes} {stride}");
        assert_eq!((stores.requests, stores.wavefronts), (1, shared_passes), "{bytes} {stride}");
        assert_eq!([loads.bytes, stores.bytes], [u64::from(32 * bytes); 2]);
    }
}

#[test]
fn what_is_not_there_is_refused() {
    let lowered = |instruction: &str| {
        let registers = ".reg .b32 %r<9>; .reg .b64 %rd<9>;";
        let entry = format!(".visible .entry k() {{ {registers} {instruction} ret; }}");
        let module = Module::parse(&format!(".version 8.0 .target sm_90 .address_size 64 {entry}")).unwrap();
        module.kernel("k").map(drop)
    };
    for instruction in [
        "cp.async.cg.shared.global [%r1], [%rd1], 8;",
        "cp.async.ca.shared.global [%r1], [%rd1], 12;",
        "cp.async.mbarrier.init.shared.b64 [%r1], 1;",
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2}], [%r3];",
        "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1], [%rd1, {1, 2, 3}], [%r3];",
        "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group.multicast::cluster [%rd1, {%r2}], [%r1], 3;",
        "setmaxnreg.dec.sync.aligned.u32 20;",
        "setmaxnreg.inc.sync.aligned.u32 100;",
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1}, [%r2];",
        "barrier.cluster.sync;",
        "barrier.cluster.wait.release;",
    ] {
        assert!(matches!(lowered(instruction), Err(Error::Lower(_))), "{instruction}");
    }
}
