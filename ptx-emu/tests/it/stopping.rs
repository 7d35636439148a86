//! Launches that are told to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ptx_emu::{GlobalMemory, Launch, Module, Report};

/// `blocks` blocks that never end: each counts as runaway after some seconds.
fn endless(stop: &Arc<AtomicBool>) -> Report {
    let text = ".version 7.0 .target sm_80 .address_size 64 .visible .entry k() { $again: bra $again; }";
    let launch = Launch {
        stop: Some(Arc::clone(stop)),
        max_instructions: 1 << 28,
        threads: 2,
        ..Launch::new([8, 1, 1], [32, 1, 1])
    };
    Module::parse(text).unwrap().kernel("k").unwrap().launch(&mut GlobalMemory::default(), &launch).unwrap()
}

#[test]
fn a_launch_ends_in_the_midst_of_a_block() {
    let stop = Arc::new(AtomicBool::new(false));
    let report = std::thread::scope(|scope| {
        let launch = scope.spawn(|| endless(&stop));
        stop.store(true, Ordering::Release);
        launch.join().unwrap()
    });
    assert!(report.stopped && report.fault.is_none(), "{:?}", report.fault);
}

#[test]
fn nothing_runs_after_it_was_told() {
    let report = endless(&Arc::new(AtomicBool::new(true)));
    assert_eq!((report.stopped, report.blocks_run, report.blocks), (true, 0, 8));
}
