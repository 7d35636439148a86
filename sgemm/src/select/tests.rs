use gpu_kernels::{Activation, Precision, STEPS, Schedule};

use super::*;
use crate::plan::{Bindings, Buffers, Plan, Role};
use crate::{AccuracyClass, BiasPer, Determinism, Epilogue, Layout};

const HOPPER: (u32, u32) = (9, 0);

fn of_capability(compute_capability: (u32, u32)) -> Device {
    Device::new("Test GPU", compute_capability, 132)
}

fn hopper() -> Device {
    of_capability(HOPPER)
}

fn problem(class: AccuracyClass, [m, n, k]: [usize; 3]) -> Problem {
    Problem::new(m, n, k).with_elements(class.input(), class.input()).with_accuracy(class)
}

/// A table in which a kernel costs as much as that, and no other is known.
fn table<const N: usize>(costs: [(&'static Step, Cost); N]) -> Table {
    Table { costs: costs.to_vec(), ..Table::guess() }
}

fn time(cost: &Cost, step: &Step, problem: &Problem) -> f64 {
    let work = Work::of(step, problem, 132).unwrap();
    cost.time(&work, &Table::guess().memory, 132)
}

#[test]
fn every_class_has_a_kernel_for_every_shape_where_the_device_runs_one() {
    let sizes = [0, 1, 7, 64, 1000, 20_000];
    let shapes = sizes.into_iter().flat_map(|m| sizes.map(|n| sizes.map(|k| [m, n, k]))).flatten();
    for shape in shapes {
        for class in AccuracyClass::ALL {
            let problem = problem(class, shape);
            for table in [Table::of(&hopper()), &Table::guess()] {
                let choice = choose(table, &hopper(), &problem).unwrap().unwrap();
                assert!(class.admits(choice.step.precision), "{shape:?} {}", choice.step.slug);
                assert!(plan(table, &hopper(), &problem, u64::MAX).is_ok());
            }
        }
    }
    for class in AccuracyClass::ALL {
        assert_eq!(choose(&Table::guess(), &of_capability((7, 5)), &problem(class, [64; 3])), Ok(None));
    }
}

#[test]
fn short_sums_of_the_class_fp32_are_not_split() {
    for (k, splits) in [(31, false), (32, true)] {
        for determinism in [Determinism::PerProblem, Determinism::PerElement] {
            let problem = problem(AccuracyClass::Fp32, [8192, 8192, k]).with_determinism(determinism);
            let plan = plan(&Table::guess(), &hopper(), &problem, u64::MAX).unwrap();
            assert!(splits || !plan.step().has_split_operands(), "k = {k}: {}", plan.step().slug);
            assert_eq!(problem.admits(gpu_kernels::find("fp16x3").unwrap()), splits);
        }
    }
}

/// Whatever a kernel's constants are, sixteen times of anything never takes less time; but where tiles are shared by fewer blocks then, and
/// where rows are shorter than what is loaded at once.
#[test]
fn more_work_takes_more_time() {
    for step in gpu_kernels::runnable().filter(|step| !step.has_many_splits()) {
        let cost = Cost::guess(step);
        let class = AccuracyClass::of(step.precision);
        let of = |shape| time(&cost, step, &problem(class, shape));
        for [m, n, k] in [[64; 3], [104, 3000, 200], [4096; 3], [8, 64, 50_000]] {
            let once = of([m, n, k]);
            assert!(once.is_finite() && once >= cost.start, "{}", step.slug);
            for more in [[16 * m, n, k], [m, 16 * n, k], [m, n, 16 * k]] {
                assert!(of(more) >= once, "{}: {more:?}", step.slug);
            }
        }
    }
}

#[test]
fn the_least_predicted_time_is_chosen() {
    let [one, other] = [&STEPS[1], &STEPS[4]];
    let cheap = Cost {
        start: 2.0,
        round: 0.0,
        latency: 0.1,
        k_tile: 0.1,
        tile: 0.1,
        partial: 0.0,
        gbps: 1e9,
        uneven: 0.25,
        powers: [0.0; POWERS],
        is_candidate: true,
        slots: 2,
    };
    let dear = Cost { start: 1.0, latency: 9.0, k_tile: 9.0, ..cheap };
    let of = |first: Cost, second: Cost, k| {
        let table = table([(one, first), (other, second)]);
        choose(&table, &hopper(), &Problem::new(32, 32, k)).unwrap().unwrap().step.slug
    };
    assert_eq!((of(cheap, dear, 512), of(dear, cheap, 512)), (one.slug, other.slug));
    assert_eq!(of(cheap, dear, 0), other.slug, "a launch is all that it takes");
}

/// On 3 x 5 tiles on 12 SMs, of which three have two.
#[test]
fn corrections_are_powers_of_sizes_blocks_and_unevenness_and_bounded() {
    let step = gpu_kernels::find("2d-tiling").unwrap();
    let [m, n, k] = [3 * step.tile.bm as usize, 5 * step.tile.bn as usize, 63];
    let problem = Problem::new(m, n, k).with_accuracy(AccuracyClass::Fp32Strict);
    let work = Work::of(step, &problem, 12).unwrap();
    assert_eq!(work.uneven, [1.0, 0.0, 0.0], "rows of A have 252 bytes");
    let work = Work { uneven: [1.0, 0.5, 1.5], ..work };
    let guess = Cost { slots: 1, ..Cost::guess(step) };
    let corrected = |powers| {
        let times = [Cost { powers, ..guess }, guess].map(|cost| cost.time(&work, &Table::guess().memory, 12));
        times[0] / times[1]
    };
    let [of_a, of_b, of_c] = work.uneven.map(f64::exp);
    let bases = [m as f64, n as f64, k as f64, 15.0 / 12.0, 2.0 * 12.0 / 15.0, of_a, of_b, of_c];
    for (index, base) in bases.into_iter().enumerate() {
        for power in [-0.09, 0.08] {
            let mut powers = [0.0; POWERS];
            powers[index] = power;
            assert!((corrected(powers) / base.powf(power) - 1.0).abs() < 1e-12, "{index}");
        }
    }
    let product = bases[0].powf(0.05) * bases[2].powf(-0.1);
    assert!((corrected([0.05, 0.0, -0.1, 0.0, 0.0, 0.0, 0.0, 0.0]) / product - 1.0).abs() < 1e-12);
    assert!(corrected([9.0; POWERS]) < 2.1 && corrected([-9.0; POWERS]) > 0.45, "beyond what was measured");
    let nothing = Work::of(step, &Problem::new(0, n, 0).with_accuracy(AccuracyClass::Fp32Strict), 12).unwrap();
    for powers in [[0.1; POWERS], [0.1, 0.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.0]] {
        assert!(Cost { powers, ..guess }.time(&nothing, &Table::guess().memory, 12).is_finite());
    }
}

#[test]
fn either_half_type_has_as_many_candidates() {
    for table in [(8, 0), (8, 6), (8, 9), (9, 0), (10, 0)].map(|capability| Table::of(&of_capability(capability))) {
        let candidates = |precision| {
            let of_it = |(step, cost): &&(&Step, Cost)| step.precision == precision && cost.is_candidate;
            table.costs.iter().filter(of_it).count()
        };
        assert_eq!(candidates(Precision::F16), candidates(Precision::Bf16), "{}", table.header.device);
    }
}

#[test]
fn what_is_ruled_out_early_is_not_the_fastest() {
    let sizes = [1, 3, 8, 60, 127, 512, 1000, 4096, 11_008];
    for table in Table::built_in().map(|table| Table { entries: Vec::new(), ..table.unwrap() }) {
        // Those of other devices tell nothing new of classes and layouts.
        let (device, classes) = if table.header.device.starts_with("NVIDIA H") {
            (hopper(), &AccuracyClass::ALL[..])
        } else {
            (of_capability((8, 0)), &AccuracyClass::ALL[..1])
        };
        let shapes = sizes.into_iter().flat_map(|m| sizes.map(|n| sizes.map(|k| [m, n, k]))).flatten();
        for (class, shape) in shapes.flat_map(|shape| classes.iter().map(move |class| (*class, shape))) {
            let [m, n, k] = shape;
            let columns = Layout::column_major;
            let transposed = problem(class, shape).with_layouts(columns(m), columns(k), Layout::row_major(n));
            for problem in [problem(class, shape), problem(class, shape).with_batch(7, [1 << 27; 3]), transposed] {
                let prediction = Prediction::new(&table, &device, &problem).unwrap();
                let mut least = f64::INFINITY;
                for (step, cost) in table.costs.iter().filter(|(step, _)| prediction.suits(step)) {
                    let (given, time) = (&prediction.given, prediction.time(step, cost));
                    let Ab { a, b } = given.prepasses(step);
                    let bound = cost.least_time(step, given, &table.memory, a + b);
                    assert!(bound <= time, "{shape:?} {}: {bound} {time}", step.slug);
                    least = least.min(if cost.is_candidate { time } else { f64::INFINITY });
                }
                let choice = choose(&table, &device, &problem).unwrap().unwrap();
                assert_eq!(choice.reason, Reason::Predicted(least), "{shape:?} {}", choice.step.slug);
            }
        }
    }
}

#[test]
fn rows_that_are_not_staged_are_scattered() {
    let scattered = |slug, problem: Problem| {
        let step = gpu_kernels::find(slug).unwrap();
        Work::of(step, &problem, 132).unwrap().scattered > 1.0
    };
    let (short, long) = (Problem::new(10_000, 1, 100), Problem::new(10_000, 1, 1000));
    assert_eq!((scattered("gemv-rows/staged", short), scattered("gemv-rows/staged", long)), (false, true));
    let vectors = [Layout::row_major(1); 2];
    let gap = short.with_layouts(Layout::row_major(104), vectors[0], vectors[1]);
    assert!(scattered("gemv-rows/staged", gap), "rows with gaps are not one array");
    for slug in ["gemv-rows", "gemv-rows/block", "gemv", "gemv/row", "split-k", "any-layout"] {
        assert!(!scattered(slug, long), "{slug}");
    }
}

#[test]
fn loops_of_their_own_are_for_operands_that_are_not_transposed() {
    let problem = Problem::new(1000, 200, 300);
    let [a, b, c] = [(300, 1000), (200, 300), (200, 1000)]
        .map(|(row, column)| [Layout::row_major(row), Layout::row_major(column).transposed()]);
    let with = |a_is, b_is, c_is| problem.with_layouts(a[a_is], b[b_is], c[c_is]);
    let steps = || gpu_kernels::runnable().filter(|step| step.nn_gain > 0);
    assert!(steps().count() > 1);
    for step in steps() {
        let takes = |problem: &Problem| Work::of(step, problem, 132).unwrap().transposed;
        for (order, is_transposed) in [
            (with(0, 0, 0), false),
            (with(1, 0, 0), true),
            (with(0, 1, 0), true),
            (with(1, 1, 0), true),
            (with(1, 1, 1), false), // C^T is the product of B^T and A^T
        ] {
            assert_eq!(takes(&order) > 1.0, is_transposed, "{} {order:?}", step.slug);
        }
    }
}

#[test]
fn what_was_measured_at_this_very_shape_comes_first() {
    let class = AccuracyClass::Fp32Strict;
    let entry = Entry { shape: [4096; 3], class, step: &STEPS[0] };
    let table = Table { entries: vec![entry], ..Table::guess() };
    let reason = |problem: Problem| choose(&table, &hopper(), &problem).unwrap().unwrap().reason;
    let plain = Problem::new(4096, 4096, 4096);
    let is_measured = |problem| reason(problem) == Reason::Measured;
    assert!(is_measured(plain) && is_measured(plain.with_batch(1, [0; 3])));
    assert!(!is_measured(Problem::new(4096, 4096, 4095)));
    assert!(!is_measured(plain.with_accuracy(AccuracyClass::Fp32)), "another class");
    assert!(!is_measured(plain.with_batch(2, [1 << 24; 3])));
    let rows = Layout::row_major(4096);
    assert!(!is_measured(plain.with_layouts(Layout::column_major(4096), rows, rows)));
    assert!(!is_measured(plain.with_epilogue(Epilogue { bias: Some(BiasPer::Row), activation: Activation::None })));
    let old = choose(&table, &of_capability((7, 5)), &plain).unwrap();
    assert!(old.is_none(), "what the device does not run is no choice");
}

#[test]
fn passes_before_and_after_a_kernel_count() {
    let memory = Memory { launch: 100.0, pass_gbps: 1e9, gbps: 1e9 };
    let of = |step: &Step, problem: &Problem| Work::of(step, problem, 132).unwrap().passes;
    let strict = AccuracyClass::Fp32Strict;
    for step in gpu_kernels::runnable().filter(|step| strict.meets(step)) {
        let (aligned, unaligned) = (Problem::new(512, 512, 512), Problem::new(511, 513, 515));
        let by_columns = Layout::column_major(512);
        let rows = Layout::row_major(512);
        let relu = Epilogue { bias: None, activation: Activation::Relu };
        for problem in [
            aligned,
            unaligned,
            aligned.with_layouts(by_columns, rows, rows),
            aligned.with_layouts(rows, by_columns, rows),
            aligned.with_layouts(rows, rows, by_columns),
            aligned.with_d(rows),
            aligned.with_epilogue(relu),
            // An operand that all problems share is rewritten once, and none where k is 0.
            unaligned.with_batch(3, [511 * 515, 515 * 513, 511 * 513]),
            unaligned.with_batch(3, [511 * 515, 0, 511 * 513]),
            unaligned.with_batch(3, [0, 0, 511 * 513]),
            Problem::new(511, 513, 0).with_batch(3, [511, 513, 511 * 513]),
        ] {
            let plan = Plan::new(step, &problem, 132).unwrap();
            let bindings = Bindings::new(Buffers::default(), 1.0, 0.0);
            let launched = (0..plan.rounds()).flat_map(|index| plan.needed(index, &bindings));
            let passes = launched.filter(|number| plan.launches()[*number].role != Role::Product).count();
            let work = Work::of(step, &problem, 132).unwrap();
            let found = (work.launches as usize, work.passes as usize);
            assert_eq!((plan.rounds(), passes), found, "{}: {problem:?}", step.slug);
            let cost = Cost {
                start: 0.0,
                round: 0.0,
                latency: 0.0,
                k_tile: 0.0,
                tile: 0.0,
                partial: 0.0,
                gbps: 1e9,
                uneven: 0.25,
                powers: [0.0; POWERS],
                is_candidate: true,
                slots: 1,
            };
            assert!((cost.time(&work, &memory, 132) - 100.0 * work.passes).abs() < 1.0);
        }
    }
    let fused = gpu_kernels::runnable().find(|step| step.fused.is_some()).unwrap();
    let relu = Epilogue { bias: None, activation: Activation::Relu };
    assert_eq!(of(fused, &Problem::new(512, 512, 512).with_epilogue(relu)), of(fused, &Problem::new(512, 512, 512)));
}

#[test]
fn a_limit_of_the_workspace_rules_kernels_out() {
    let big = Problem::new(4095, 4097, 4099);
    let table = Table::of(&hopper());
    let best = plan(table, &hopper(), &big, u64::MAX).unwrap();
    let limit = best.workspace_bytes().saturating_sub(1);
    assert!(best.workspace_bytes() == 0 || plan(table, &hopper(), &big, limit).unwrap().workspace_bytes() <= limit);
    assert_eq!(plan(table, &hopper(), &big, 0).unwrap().workspace_bytes(), 0);
    // Both operands would have to be split, or aligned.
    let odd = problem(AccuracyClass::Tf32, [4095, 4097, 4099]);
    let tensor_cores = Table { costs: table.costs.clone(), ..Table::guess() };
    let only = |precision| {
        let costs = tensor_cores.costs.iter().filter(|(step, _)| step.precision == precision && step.maps.is_some());
        Table { costs: costs.copied().collect(), ..Table::guess() }
    };
    let error = plan(&only(Precision::Tf32), &hopper(), &odd, 0).unwrap_err();
    assert!(matches!(error, Error::WorkspaceLimit { limit: 0, least: 1.. }), "{error}");
}

#[test]
fn a_single_vector_is_left_to_kernels_made_for_it() {
    assert!(gpu_kernels::runnable().any(|step| step.sides[0] == 2));
    let device = hopper();
    for class in AccuracyClass::ALL {
        for k in [1, 33, 500, 53_689] {
            for sizes in [[1, 300, k], [300, 1, k], [27, 1, k], [1, 1, k], [0, 5, k]] {
                let choice = choose(Table::of(&device), &device, &problem(class, sizes)).unwrap();
                assert!(choice.is_some_and(|choice| choice.step.sides[0] == 1), "{} {sizes:?}", class.name());
            }
        }
    }
}

#[test]
fn many_columns_are_not_for_kernels_of_a_few() {
    assert!(gpu_kernels::runnable().any(|step| step.most_columns < 2000));
    let device = Device::new("NVIDIA H200", (9, 0), 132);
    for class in [AccuracyClass::F16, AccuracyClass::Bf16] {
        for sizes in [[8, 2000, 328], [8, 2800, 320], [8, 3256, 280]] {
            let choice = choose(Table::of(&device), &device, &problem(class, sizes)).unwrap();
            assert!(choice.is_some_and(|choice| choice.step.most_columns == u32::MAX), "{} {sizes:?}", class.name());
        }
    }
}

#[test]
fn several_vectors_are_not_for_kernels_of_a_single_one() {
    assert!(gpu_kernels::runnable().any(|step| step.sides[1] == 1));
    let device = hopper();
    for class in AccuracyClass::ALL {
        for sizes in [[8, 48, 4992], [104, 40, 288], [120, 8, 512], [48, 24, 512], [8, 64, 904]] {
            let choice = choose(Table::of(&device), &device, &problem(class, sizes)).unwrap();
            assert!(choice.is_some_and(|choice| choice.step.sides[1] > 1), "{} {sizes:?}", class.name());
        }
    }
}

#[test]
fn a_pinned_order_does_not_depend_on_m_and_n() {
    let device = hopper();
    for class in AccuracyClass::ALL {
        for k in [16, 64, 65, 5000] {
            let splits = |m, n| {
                let problem = problem(class, [m, n, k]).with_determinism(Determinism::PerElement);
                let step = pinned(Table::of(&device), &device, &problem).unwrap().unwrap().step;
                (step.precision, step.k_splits().unwrap())
            };
            let families: Vec<_> = [(1, 1), (16, 4096), (333, 77), (4096, 4096)].map(|(m, n)| splits(m, n)).to_vec();
            assert!(families.iter().all(|family| *family == families[0]), "{} {k}: {families:?}", class.name());
        }
    }
}

#[test]
fn variants_are_chosen_by_their_predicted_times() {
    let device = hopper();
    for step in STEPS.iter().filter(|step| device.runs(step) && !step.variants.is_empty()) {
        let of = |size| {
            let elements = step.precision.input();
            let problem = Problem::new(size, size, size).with_elements(elements, elements);
            variant(Table::of(&device), &device, &problem, step).unwrap().map(|choice| choice.step.slug)
        };
        let own = step.slug.split('/').next().unwrap();
        for size in [64, 4096] {
            assert!(of(size).is_none_or(|slug| slug.split('/').next() == Some(own)), "{}", step.slug);
        }
    }
}

#[test]
fn work_is_what_a_schedule_makes_of_the_grid() {
    for step in gpu_kernels::runnable() {
        let class = AccuracyClass::of(step.precision);
        let problem = problem(class, [300, 500, 700]);
        let work = Work::of(step, &problem, 132).unwrap();
        let plan = Plan::new(step, &problem, 132).unwrap();
        let launch = plan.launches().iter().find(|launch| launch.role == Role::Product).unwrap();
        let blocks = launch.shape.grid.into_iter().map(f64::from).product::<f64>();
        match step.schedule {
            // Clusters are whole.
            Schedule::DataParallel | Schedule::SerialSplitK { .. } | Schedule::SplitK { .. } => {
                assert!(work.blocks <= blocks && blocks <= 8.0 * work.blocks, "{}", step.slug);
            }
            Schedule::PlannedSplitK { .. } | Schedule::StreamK { .. } => {
                assert_eq!(work.blocks, blocks, "{}", step.slug)
            }
            Schedule::Persistent { .. } | Schedule::PersistentBatch { .. } => {
                assert!(blocks <= 2.0 * work.blocks, "{}", step.slug)
            }
        }
    }
}
