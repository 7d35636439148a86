//! Plans: what they compute, what they touch, and how long they take.

mod modelled;
mod ordering;
mod replay;
#[cfg(feature = "emulator")]
mod results;

use std::ops::Range;

use gpu_kernels::{Ab, Element};
use proptest::prelude::*;

use super::build::Builder;
use super::geometry::{Geometry, Kept, Shape};
use super::kernels::Kernels;
use super::part::Part;
use super::plan::Plan;
use super::side::Group;
use super::simulate::Rates;
use super::task::Work;
use crate::distributed::Machine;
use crate::{Abc, AccuracyClass, Determinism, Device, Error, Layout, Problem};

fn h200() -> Device {
    Device::new("NVIDIA H200", (9, 0), 132)
}

/// Layouts of A, B and C: by columns or by rows, with a gap between these.
type Orders = [(bool, usize); 3];

fn orders() -> impl Strategy<Value = Orders> {
    prop::array::uniform3((any::<bool>(), 0..5_usize))
}

fn problem([m, n, k]: [usize; 3], orders: Orders, class: AccuracyClass) -> Problem {
    let layout = |[rows, columns]: [usize; 2], (by_columns, gap): (bool, usize)| {
        let of = |length: usize| (length + gap).max(1);
        if by_columns { Layout::column_major(of(rows)) } else { Layout::row_major(of(columns)) }
    };
    let [a, b, c] = orders;
    Problem::new(m, n, k).with_elements(class.input(), class.input()).with_accuracy(class).with_layouts(
        layout([m, k], a),
        layout([k, n], b),
        layout([m, n], c),
    )
}

/// The part of that shape, for rows and columns of C.
fn part(problem: &Problem, [rows, columns]: [Range<usize>; 2], shape: Shape) -> Result<Part, Error> {
    let device = h200();
    let mut kernels = Kernels::new(&device, Machine::h200().memory, &|_, _| Ok(1.0));
    let geometry = Geometry::new(problem, &mut kernels, [rows, columns], shape.tile, shape.piece, 1 << 40)?;
    Ok(Builder::new(&Ab::both(Group::alone(0)), &geometry, &kernels, &Rates::h200(1), shape).build().part)
}

/// Checks what parts do, and the order between their tasks, with any factors.
fn check(problem: &Problem, parts: &[Part], seed: u64) -> Result<(), TestCaseError> {
    let order = replay::order(parts, seed)?;
    for factors in [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]] {
        let steps = replay::steps(parts, &order, factors);
        let checked = ordering::check(&steps);
        prop_assert!(checked.is_ok(), "{factors:?}: {checked:?}");
        let has_room = |access: &ordering::Access| {
            parts.get(access.memory).is_none_or(|part| access.bytes.end <= part.memory_bytes())
        };
        prop_assert!(steps.iter().flat_map(|step| &step.accesses).all(has_room));
    }
    replay::check(problem, parts, &order)
}

fn shapes() -> impl Strategy<Value = Shape> {
    let kept = prop::sample::select(Kept::ALL.to_vec());
    ([1..40_usize, 1..40], 1..60_usize, [1..5_usize, 1..5, 1..4], kept)
        .prop_map(|(tile, piece, [a, b, c], kept)| Shape { tile, piece, slots: Abc { a, b, c }, kept })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever the blocks and the slots: each element is computed once, with all of k, from what was brought for it.
    #[test]
    fn every_element_is_computed_once(
        sizes in [1..120_usize, 1..120, 0..130_usize],
        orders in orders(),
        class in prop::sample::select(AccuracyClass::ALL.to_vec()),
        shape in shapes(),
        from in [0.0..1.0_f64, 0.0..1.0],
    ) {
        let problem = problem(sizes, orders, class);
        let start = |size: usize, from: f64| (size as f64 * from * 0.5) as usize..size;
        let part = part(&problem, [start(sizes[0], from[0]), start(sizes[1], from[1])], shape).unwrap();
        check(&problem, &[part], 0)?;
    }

    /// The same where GPUs share panels; they do not wait for each other for ever, in whatever order their threads go on.
    #[test]
    fn shared_panels_are_there_when_they_are_read(
        grid in [1..4_usize, 1..4],
        vectors in [1..6_usize, 1..6],
        missing in [0..8_usize, 0..8],
        k in 0..90_usize,
        orders in orders(),
        class in prop::sample::select(AccuracyClass::ALL.to_vec()),
        shape in shapes(),
        seed in any::<u64>(),
    ) {
        // GPUs have as much as each other, but for the last ones.
        let size = |at: usize| 8 * grid[at] * vectors[at] - missing[at];
        let problem = problem([size(0), size(1), k], orders, class);
        let limits = vec![1 << 40; grid[0] * grid[1]];
        let Some(plan) = Plan::of_shape(&problem, &h200(), &limits, (grid, true), shape).unwrap() else {
            return Ok(());
        };
        let receives = plan.parts().iter().flat_map(Part::tasks).any(|task| matches!(task.work, Work::Receive(_)));
        prop_assert!(receives || limits.len() == 1 || k < 2);
        check(&problem, plan.parts(), seed)?;
    }

    /// Parts of all GPUs make up C, have about as much work as each other, and keep to the memory of each.
    #[test]
    fn parts_divide_the_work(
        sizes in [1..3000_usize, 1..3000, 0..3000_usize],
        gpus in 1..9_usize,
        limit in 1_u64..200,
    ) {
        let problem = problem(sizes, [(false, 0); 3], AccuracyClass::Fp32);
        let limits: Vec<u64> = (0..gpus as u64).map(|gpu| (limit + gpu % 2) << 20).collect();
        let plan = match Plan::with_times(&problem, &h200(), &limits, [1.0, 0.0], Rates::h200(gpus), &|_, _| Ok(1.0)) {
            Err(Error::DeviceMemory { limit, enough }) => {
                prop_assert!(limit < enough && limit < 20 << 20, "{limit} bytes are not enough");
                return Ok(());
            }
            plan => plan.unwrap(),
        };
        let of = |part: &Part| part.rows().len() * part.columns().len();
        let all: usize = plan.parts().iter().map(of).sum();
        prop_assert_eq!(all, sizes[0] * sizes[1]);
        for (number, (part, limit)) in plan.parts().iter().zip(&limits).enumerate() {
            prop_assert_eq!(part.gpu(), number);
            prop_assert!(part.memory_bytes() <= *limit);
            // A vector more than the average, along either side.
            let [m, n] = [sizes[0], sizes[1]];
            prop_assert!(of(part) <= all.div_ceil(gpus) + 8 * (m + n + 8), "{:?}", part.rows());
        }
    }
}

#[test]
fn too_little_memory_is_an_error_that_says_how_much_would_do() {
    for class in AccuracyClass::ALL {
        let problem = problem([500, 600, 700], [(true, 1); 3], class);
        let Err(Error::DeviceMemory { limit: 1000, enough }) = Plan::new(&problem, &h200(), &[1000]) else {
            panic!("{}: it has no room", class.name());
        };
        let plan = Plan::new(&problem, &h200(), &[enough]).unwrap();
        assert!(plan.parts()[0].memory_bytes() <= enough);
    }
}

#[test]
fn k_is_cut_only_where_that_is_allowed() {
    // Panels of all of k take 25 MB, for tiles of 8 x 8 elements.
    let problem = Problem::new(64, 64, 400_000);
    let plan = |problem: &Problem| Plan::new(problem, &h200(), &[8 << 20]);
    assert!(plan(&problem).unwrap().parts()[0].shape().piece < 400_000);
    let pinned = problem.with_determinism(Determinism::PerElement);
    assert!(matches!(plan(&pinned), Err(Error::DeviceMemory { .. })));
    let halves = problem.with_elements(Element::F16, Element::F16);
    assert!(matches!(plan(&halves), Err(Error::DeviceMemory { .. })));
}

#[test]
fn what_only_one_device_does_is_refused() {
    let batch = Problem::new(8, 8, 8).with_batch(2, [64, 64, 64]);
    let error = Plan::new(&batch, &h200(), &[1 << 30]).unwrap_err();
    assert_eq!(error, Error::NotDistributed { what: "a batch" });
    assert_eq!(Plan::new(&Problem::new(8, 8, 8), &h200(), &[]), Err(Error::NoDevice));
}
