//! Small kernels that show one thing each.

use super::Lesson;
use super::table::Change::{self, Delete, Replace};
use super::table::Outcome::{self, Changes, Finds};
use crate::case::{Argument, Case, Launch, Memory, Value};

/// PTX, entry, threads of a block, and arguments by name.
struct Sample {
    slug: &'static str,
    summary: &'static str,
    ptx: &'static str,
    kernel: &'static str,
    grid: u32,
    threads: u32,
    arguments: &'static [(&'static str, &'static str)],
    change: Change,
    outcome: Outcome,
    text: &'static str,
}

const SAMPLES: [Sample; 4] = [
    Sample {
        slug: "saxpy",
        summary: "y = a x + y",
        ptx: include_str!("../../../ptx-emu/tests/ptx/saxpy.ptx"),
        kernel: "saxpy",
        grid: 2,
        threads: 64,
        arguments: &[("n", "u32:200"), ("a", "f32:2"), ("x", "in:f32:200:fill=iota"), ("y", "inout:f32:200:fill=1")],
        change: Replace("%r5, 4;", 0, "%r5, 8;"),
        outcome: Finds("out of bounds"),
        text: "Lanes access words 4 bytes apart: a request of 32 lanes takes 4 sectors. Make it 8 and run: the accesses take 8, and the end \
               of x is passed.",
    },
    Sample {
        slug: "reduction",
        summary: "a sum over a block, in a tree",
        ptx: include_str!("../../../ptx-emu/tests/ptx/reduction.ptx"),
        kernel: "reduction",
        grid: 1,
        threads: 128,
        arguments: &[("in", "in:u32:128:fill=1"), ("out", "out:u32:1")],
        change: Delete("bar.sync", 0),
        outcome: Finds("race"),
        text: "Each level adds what other warps have written: hence the barrier. Delete it and run.",
    },
    Sample {
        slug: "divergent-loop",
        summary: "each lane turns as often as its number says",
        ptx: include_str!("../../../ptx-emu/tests/programs/good/divergent_loop.ptx"),
        kernel: "k",
        grid: 1,
        threads: 64,
        arguments: &[("out", "out:u32:64")],
        change: Replace("%x, %t;", 0, "%x, 7;"),
        outcome: Changes,
        text: "Step through the loop: the warp loses a lane in each turn. Let all lanes turn seven times, and run: nothing diverges.",
    },
    Sample {
        slug: "producer-consumer",
        summary: "a ring of two stages, with mbarriers",
        ptx: include_str!("../../../ptx-emu/tests/programs/good/mbarrier_producer_consumer.ptx"),
        kernel: "k",
        grid: 1,
        threads: 64,
        arguments: &[("in", "in:u32:256:fill=iota"), ("out", "out:u32:64")],
        change: Delete("mbarrier.arrive", 0),
        outcome: Finds("deadlock"),
        text: "The consumers wait until the producer has arrived. Delete an arrival and run: the timeline shows who waits for whom.",
    },
];

/// The samples as lessons.
#[must_use]
pub fn samples() -> Vec<Result<Lesson, String>> {
    SAMPLES.iter().map(Sample::lesson).collect()
}

impl Sample {
    fn lesson(&self) -> Result<Lesson, String> {
        let argument =
            |(name, spec): &(&str, &str)| Argument { name: (*name).into(), value: Value::Spec((*spec).into()) };
        let case = Case {
            modules: vec![self.ptx.to_owned()],
            memory: Vec::<Memory>::new(),
            launches: vec![Launch {
                module: 0,
                kernel: self.kernel.to_owned(),
                grid: [self.grid, 1, 1],
                block: [self.threads, 1, 1],
                cluster: [1; 3],
                shared_bytes: 0,
                arguments: self.arguments.iter().map(argument).collect(),
            }],
            traced: 0,
            checks: true,
            limit: 60_000,
        };
        let exercise =
            self.change.exercise(self.text, self.outcome, &case).map_err(|error| format!("{}: {error}", self.slug))?;
        Ok(Lesson { slug: self.slug, summary: self.summary, sizes: None, case, exercise })
    }
}
