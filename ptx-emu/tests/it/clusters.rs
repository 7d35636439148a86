//! Launches of clusters: which fit, and what a sample of them counts.

use std::time::Duration;

use ptx_emu::{Blocks, Error, GlobalMemory, Grouping, Launch, Module, Report};

fn launch(directive: &str, grid: [u32; 3], cluster: [u32; 3], blocks: Blocks) -> Result<Report, Error> {
    let body = "barrier.cluster.arrive; barrier.cluster.wait; ret;";
    let text = format!(".version 8.0 .target sm_90 .address_size 64 .visible .entry k() {directive} {{ {body} }}");
    let launch = Launch { cluster, blocks, ..Launch::new(grid, [32, 1, 1]) };
    Module::parse(&text)?.kernel("k")?.launch(&mut GlobalMemory::default(), &launch)
}

fn refusal(directive: &str, grid: [u32; 3], cluster: [u32; 3]) -> String {
    launch(directive, grid, cluster, Blocks::All).expect_err("it does not fit").to_string()
}

#[test]
fn a_launch_that_does_not_fit_is_refused() {
    assert_eq!(
        refusal("", [6, 2, 1], [4, 1, 1]),
        "k cannot be launched: a grid of 6 x 2 x 1 blocks is not made of clusters of 4 x 1 x 1"
    );
    assert_eq!(
        refusal("", [32, 1, 1], [32, 1, 1]),
        "k cannot be launched: a cluster of 32 x 1 x 1 blocks; it has 1 to 16"
    );
    assert!(refusal("", [4, 1, 1], [2, 0, 1]).contains("a cluster of 2 x 0 x 1 blocks"));
    assert!(refusal("", [4, 1, 1], [u32::MAX; 3]).contains("it has 1 to 16"));
    assert_eq!(
        refusal(".reqnctapercluster 2, 2", [4, 4, 1], [4, 1, 1]),
        "k cannot be launched: its .reqnctapercluster is 2 x 2 x 1, not 4 x 1 x 1"
    );
    assert!(refusal(".reqnctapercluster 2", [3, 1, 1], [1, 1, 1]).contains("not made of clusters of 2 x 1 x 1"));
    assert!(refusal(".reqnctapercluster 0", [3, 1, 1], [1, 1, 1]).contains("a cluster of 0"));
}

#[test]
fn a_launch_that_fits_is_clean() {
    for (directive, cluster) in
        [(".reqnctapercluster 2, 2", [1; 3]), (".reqnctapercluster 2, 2", [2, 2, 1]), ("", [1; 3])]
    {
        let report = launch(directive, [4, 4, 1], cluster, Blocks::All).expect("it fits");
        assert!(report.is_clean());
        assert_eq!((report.blocks_run, report.counters.barriers), (16, 16));
    }
}

#[test]
fn a_sample_has_whole_clusters() {
    let blocks = Blocks::Sample { budget: Duration::ZERO, seed: 1, grouping: Grouping::Clusters };
    let report = launch("", [128, 64, 1], [4, 2, 1], blocks).expect("it fits");
    assert_eq!((report.blocks_run, report.sample.len(), report.blocks), (12 * 8, 12 * 8, 128 * 64));
    assert_eq!(report.counters.barriers, 128 * 64);
    assert!(
        report.sample.chunks(8).all(|cluster| cluster
            .iter()
            .all(|[x, y, _]| { (x / 4, y / 2) == (cluster[0][0] / 4, cluster[0][1] / 2) }))
    );
}
