//! Shapes in bulk: what `host shapes` measures is the same product on both sides, in every layout, class and batch.

use host::backend::cuda::Sequences;
use host::backend::{Case, Op, Options, Order};
use host::measure::shapes::{self, Set, Wanted};
use host::{AccuracyClass, Error};
use libtest_mimic::{Failed, Trial};

/// The tests, ignored where there is no device.
pub fn trials(capability: Option<(u32, u32)>) -> impl Iterator<Item = Trial> {
    AccuracyClass::ALL.into_iter().map(move |class| {
        let name = format!("shapes::{}", class.name());
        Trial::test(name, move || beside_cublas(class)).with_ignored_flag(capability.is_none())
    })
}

/// Shapes of each kind of rotation, in every layout, once and in batches.
fn cases() -> Vec<Case> {
    let sizes = [[1, 300, 70], [65, 31, 1000], [1200, 1100, 900], [4100, 4000, 1030]];
    let ops = [[Op::N, Op::N], [Op::T, Op::N], [Op::N, Op::T], [Op::T, Op::T]];
    let layouts = ops.into_iter().flat_map(|ops| [Order::Row, Order::Column].map(|order| (ops, order)));
    let layouts: Vec<_> = layouts.collect();
    let case = |sizes| layouts.iter().map(move |&(ops, order)| Case { ops, order, ..Case::new(sizes) });
    let plain = sizes.into_iter().flat_map(case);
    plain.chain(case([70, 50, 33]).map(|case| Case { batch: 3, ..case })).collect()
}

fn beside_cublas(class: AccuracyClass) -> Result<(), Failed> {
    let mut sequences = match Sequences::open(Options::default()) {
        // Nothing to be beside.
        Err(Error::NoCublas { .. }) => return Ok(()),
        opened => opened?,
    };
    let set = Set { name: "test".into(), cases: cases(), notes: Vec::new() };
    let numbers = shapes::supply(&mut sequences, &set.cases, class)?;
    for case in &set.cases {
        // One search is enough: it runs every kernel of the class.
        let wanted = Wanted { class, regret: case == &set.cases[8] };
        let row = shapes::measure(&mut sequences, &numbers, &set, case, wanted)
            .map_err(|error| format!("{case:?}: {error}"))?;
        // bf16 with k split has errors beyond its bound; another product's are far beyond any.
        if !row.cublas_verified && class != AccuracyClass::Bf16 {
            return Err(format!("{case:?}: cuBLAS computes something else").into());
        }
        let times = [row.time_ms, row.cublas_ms, row.calls_ms, row.cublas_calls_ms];
        if !row.verified
            || times.iter().any(|ms| !(1e-4..1e3).contains(ms))
            || row.regret.is_some_and(|regret| regret < 1.0)
        {
            return Err(format!("{case:?}: {row:?}").into());
        }
    }
    Ok(())
}
