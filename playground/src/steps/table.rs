//! Which size each step has in its chapter, and what to try there: the only list of it.

use Change::Delete;
use Outcome::{Changes, Finds};

use super::Exercise;
use crate::Case;

/// What a chapter embeds.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// The step.
    pub slug: &'static str,
    /// m, n and k.
    pub sizes: [usize; 3],
    /// SMs of the device that the plan is made for.
    pub sm_count: u32,
    /// What to do and what to look at.
    pub text: &'static str,
    /// What is changed.
    pub change: Change,
    /// What comes of it.
    pub outcome: Outcome,
}

/// A change of the PTX of a step.
#[derive(Debug, Clone, Copy)]
pub enum Change {
    /// The n-th line that has this text, counted from 0, becomes a comment.
    Delete(&'static str, usize),
    /// In the n-th line that has the first text, the second takes its place.
    Replace(&'static str, usize, &'static str),
}

/// What a changed kernel shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A finding of this kind, which was not there before.
    Finds(&'static str),
    /// Other results, and no finding.
    Changes,
}

const fn entry(slug: &'static str, sizes: [usize; 3], change: Change, outcome: Outcome, text: &'static str) -> Entry {
    Entry { slug, sizes, sm_count: 2, text, change, outcome }
}

const FIRST_BARRIER: &str =
    "This barrier guards the reads: behind it a thread reads what others have copied. Delete it and run.";
const SECOND_BARRIER: &str = "This barrier guards the writes: a fast thread must not overwrite a k-tile that a slow one still reads. Delete it and run.";
const WAIT_GROUP: &str =
    "Here a thread waits for its copies in the background. Delete the wait and run: who writes what the loads read?";
const EXPECT_TX: &str = "The producer tells the barrier of a stage how many bytes TMA will bring. Delete that and run: the phase ends \
    without the bytes, or never. The timeline shows which barrier the others wait for.";
const MMA_WAIT: &str =
    "Until this wait, the tensor cores may still read the stage and write the accumulators. Delete it and run.";

/// The entries, in the ladder's order.
pub const TABLE: &[Entry] = &[
    entry(
        "naive",
        [20, 32, 8],
        Delete("bra", 0),
        Finds("out of bounds"),
        "The grid covers more rows than C has, and this branch ends the threads beyond it. Delete it and run. Then put it back, and look \
         at the accesses of a load in the loop: how many sectors for 32 lanes?",
    ),
    entry(
        "coalesced",
        [20, 32, 8],
        Delete("bra", 0),
        Finds("out of bounds"),
        "The grid covers more rows than C has, and this branch ends the threads beyond it. Delete it and run. Then put it back, and \
         compare the sectors of a load in the loop with those of naive.",
    ),
    entry("smem-tiling", [32, 32, 64], Delete("bar.sync", 1), Finds("race"), SECOND_BARRIER),
    entry("1d-tiling", [64, 64, 16], Delete("bar.sync", 0), Finds("race"), FIRST_BARRIER),
    entry("2d-tiling", [128, 128, 16], Delete("bar.sync", 1), Finds("race"), SECOND_BARRIER),
    entry("vectorized", [128, 128, 16], Delete("bar.sync", 0), Finds("race"), FIRST_BARRIER),
    entry(
        "bank-conflicts",
        [128, 128, 16],
        Delete("bar.sync", 1),
        Finds("race"),
        "Look at the accesses of a store to shared memory: the padding spreads the lanes over the banks. And this barrier guards the \
         writes: delete it and run.",
    ),
    entry("read-only-cache", [128, 128, 16], Delete("bar.sync", 0), Finds("race"), FIRST_BARRIER),
    entry(
        "lane-sharing",
        [128, 128, 16],
        Delete("bar.sync", 1),
        Finds("race"),
        "Lanes give each other values by shuffles, which need no barrier. What all warps share does: delete this one and run.",
    ),
    entry("transposed", [128, 128, 16], Delete("bar.sync", 0), Finds("race"), FIRST_BARRIER),
    entry(
        "prefetch",
        [128, 128, 16],
        Delete("bar.sync", 0),
        Finds("race"),
        "With two halves of shared memory one barrier for each k-tile is enough. Without it? Delete it and run.",
    ),
    entry(
        "warp-tiling",
        [128, 128, 16],
        Delete("bar.sync", 0),
        Finds("race"),
        "Each warp has a tile of its own, but all copy for all. Delete the barrier of the loop and run.",
    ),
    entry("async-copy", [128, 128, 16], Delete("cp.async.wait_group", 0), Finds("race"), WAIT_GROUP),
    entry("ilp", [128, 256, 8], Delete("cp.async.wait_group", 0), Finds("race"), WAIT_GROUP),
    entry("packed-fma", [128, 256, 8], Delete("cp.async.wait_group", 0), Finds("race"), WAIT_GROUP),
    entry(
        "tma-multicast",
        [256, 256, 16],
        Delete("fence.mbarrier_init", 0),
        Finds("race"),
        "This fence makes the initialised barriers of the stages visible to the other block of the cluster and to TMA. Delete it and run; \
         then look at the timeline, where the stages fill and empty.",
    ),
    entry(
        "autotuned",
        [256, 128, 24],
        Delete("bar.sync", 0),
        Finds("race"),
        "Behind this barrier every warp knows the barriers of the stages, which one thread initialises. Delete it and run.",
    ),
    entry(
        "split-k",
        [64, 64, 48],
        Delete("barrier.cluster.arrive", 0),
        Finds("out of bounds"),
        "The blocks of a cluster reduce their partial tiles through each other's shared memory, and none may end before. Delete this barrier of the \
         cluster and run.",
    ),
    entry(
        "stream-k",
        [256, 128, 24],
        Delete("bar.sync", 0),
        Finds("race"),
        "Behind this barrier every warp knows the barriers of the stages, which one thread initialises. Delete it and run.",
    ),
    entry("hgemm", [128, 512, 64], Delete("wgmma.wait_group", 1), Finds("race"), MMA_WAIT),
    entry("tf32", [256, 256, 96], Delete("wgmma.wait_group", 0), Finds("race"), MMA_WAIT),
    entry("fp16x3", [128, 128, 64], Delete("expect_tx", 0), Finds("deadlock"), EXPECT_TX),
    entry("tf32x3", [128, 128, 32], Delete("expect_tx", 0), Finds("deadlock"), EXPECT_TX),
    entry("any-layout", [64, 64, 24], Delete("cp.async.wait_group", 0), Finds("race"), WAIT_GROUP),
    entry(
        "hgemm-split-k",
        [64, 64, 192],
        Delete("bar.sync", 0),
        Finds("race"),
        "Behind this barrier every warp knows the barriers of the stages, which one thread initialises. Delete it and run.",
    ),
    entry(
        "gemv",
        [64, 1, 192],
        Delete("bar.sync", 0),
        Finds("race"),
        "The warps write their partial sums to shared memory, and one of them reads them behind this barrier. Delete it and run.",
    ),
    entry("tf32-split-k", [64, 64, 96], Delete("expect_tx", 0), Finds("deadlock"), EXPECT_TX),
    entry(
        "gemv-rows",
        [32, 1, 384],
        Delete("shfl.sync", 0),
        Changes,
        "Lanes reduce their partial sums by shuffles, in five levels. Delete one and run: no checker complains, for nothing is wrong but the \
         result. Compare the digest of C.",
    ),
    entry("hgemm-any-layout", [64, 64, 192], Delete("bar.sync", 0), Finds("race"), FIRST_BARRIER),
    entry("hgemm-batch", [128, 256, 64], Delete("expect_tx", 0), Finds("deadlock"), EXPECT_TX),
    entry("tf32-any-layout", [64, 40, 96], Delete("bar.sync", 0), Finds("race"), FIRST_BARRIER),
];

impl Change {
    /// The change, at its line.
    pub(super) fn exercise(self, says: &'static str, outcome: Outcome, case: &Case) -> Result<Exercise, String> {
        let (text, nth) = match self {
            Self::Delete(text, nth) | Self::Replace(text, nth, _) => (text, nth),
        };
        let module = case.modules.first().map(String::as_str).unwrap_or_default();
        let found = (1..).zip(module.lines()).filter(|(_, line)| line.contains(text)).nth(nth);
        let (line, from) = found.ok_or_else(|| format!("its PTX has not {} lines with `{text}`", nth + 1))?;
        let to = match self {
            Self::Delete(..) => format!("//{from}"),
            Self::Replace(_, _, with) => from.replacen(text, with, 1),
        };
        Ok(Exercise { text: says, line, from: from.to_owned(), to, outcome })
    }
}
