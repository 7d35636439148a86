use sgemm::select::POWERS;
use sgemm::{AccuracyClass, Problem};

use super::*;

const H200: Timed = Timed { sm_count: 132, compute_capability: (9, 0), sm_clock_mhz: 1980 };

#[test]
fn constants_are_found_again() {
    let step = gpu_kernels::find("split-k/32x64x8").unwrap();
    let memory = Memory { launch: 1.0, pass_gbps: 2500.0, gbps: 4300.0 };
    let guess = Cost::guess(step);
    let truth = Cost { start: 1.7 * guess.start, latency: 0.6 * guess.latency, k_tile: 1.4 * guess.k_tile, ..guess };
    let sizes = [17, 64, 130, 512, 1000, 2048, 4096];
    let shapes = sizes.into_iter().flat_map(|m| sizes.map(|n| sizes.map(|k| [m, n, k]))).flatten();
    let samples: Vec<_> = shapes
        .enumerate()
        .map(|(number, [m, n, k])| {
            let problem = Problem::new(m, n, k).with_accuracy(AccuracyClass::Fp32);
            let work = Work::of(step, &problem, 132).unwrap();
            Sample { problem: number, step, work, us: truth.time(&work, &memory, 132) }
        })
        .collect();
    let (found, costs) = fit(&samples, H200);
    let [(of, cost)] = costs.as_slice() else { panic!("{costs:?}") };
    assert_eq!(*of, step);
    assert!(error(&samples, step, cost, &found, 132) < 0.02, "{cost:?} {found:?} instead of {truth:?}");
}

/// Two kernels whose times have powers of m and n that the model does not explain: which is the faster turns on these.
#[test]
fn powers_are_found_that_choices_turn_on() {
    let memory = Memory { launch: 1.0, pass_gbps: 2500.0, gbps: 4300.0 };
    let truths = [("split-k/32x64x7", 0.2), ("split-k/32x64x8", -0.2)].map(|(slug, power)| {
        let step = gpu_kernels::find(slug).unwrap();
        (step, Cost { powers: [power, -power, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], ..Cost::guess(step) })
    });
    let sizes = [17, 64, 130, 512, 1000, 2048, 4096];
    let shapes = sizes.into_iter().flat_map(|m| sizes.map(|n| [64, 512, 4096].map(|k| [m, n, k]))).flatten();
    let samples = shapes.enumerate().flat_map(|(number, [m, n, k])| {
        truths.map(|(step, truth)| {
            let problem = Problem::new(m, n, k).with_accuracy(AccuracyClass::Fp32);
            let work = Work::of(step, &problem, 132).unwrap();
            Sample { problem: number, step, work, us: truth.time(&work, &memory, 132) }
        })
    });
    let problems = by_problem(&samples.collect::<Vec<_>>());
    let (memory, costs) = fit(&problems.concat(), H200);
    let regret = |costs: &[(&'static Step, Cost)]| {
        let of_problem = |samples: &Vec<Sample>| {
            let chosen = chosen(samples, costs, &memory, 132).unwrap();
            (chosen.us / fastest(samples)).ln()
        };
        problems.iter().map(of_problem).sum::<f64>() / problems.len() as f64
    };
    let without: Vec<_> = costs.iter().map(|(step, cost)| (*step, Cost { powers: [0.0; POWERS], ..*cost })).collect();
    assert!(regret(&costs) < 0.005 && regret(&without) > 0.05, "{} {}", regret(&costs), regret(&without));
    let (_, of_few) = fit(&problems[1..ranking::ENOUGH].concat(), H200);
    assert!(of_few.iter().all(|(_, cost)| cost.powers == [0.0; POWERS]), "{of_few:?}");
}

#[test]
fn kernels_of_either_half_type_share_their_constants() {
    let find = |slug| gpu_kernels::find(slug).unwrap();
    assert!(are_alike(find("hgemm-split-k/64x16"), find("hgemm-split-k/bf16-64x16")));
    let others = [("hgemm-split-k", "hgemm-split-k/bf16-64x16"), ("gemv", "gemv/f16"), ("gemv/f16", "gemv/f16")];
    assert!(others.into_iter().all(|(one, other)| !are_alike(find(one), find(other))));
    let alike = |step: &Step| gpu_kernels::runnable().filter(|other| are_alike(step, other)).count();
    let halves = gpu_kernels::runnable().filter(|step| matches!(step.precision, Precision::F16 | Precision::Bf16));
    assert!(halves.into_iter().all(|step| alike(step) == 1), "each has one other");
}

#[test]
fn kernels_of_the_half_type_that_was_not_timed_are_candidates_as_their_twins() {
    let steps = ["hgemm-split-k/64x16", "hgemm-split-k/128x128"].map(|slug| gpu_kernels::find(slug).unwrap());
    let memory = Memory { launch: 1.0, pass_gbps: 2500.0, gbps: 4300.0 };
    let shapes =
        [16, 128, 1024].into_iter().flat_map(|m| [16, 256, 1024].map(|n| [512, 4096].map(|k| [m, n, k]))).flatten();
    let samples = shapes.enumerate().flat_map(|(number, [m, n, k])| {
        steps.map(|step| {
            let class = AccuracyClass::F16;
            let problem = Problem::new(m, n, k).with_elements(class.input(), class.input()).with_accuracy(class);
            let work = Work::of(step, &problem, 132).unwrap();
            Sample { problem: number, step, work, us: Cost::guess(step).time(&work, &memory, 132) }
        })
    });
    let (_, costs) = fit(&samples.collect::<Vec<_>>(), H200);
    let is_candidate = |slug: &str| costs.iter().find(|(step, _)| step.slug == slug).unwrap().1.is_candidate;
    assert!(is_candidate("hgemm-split-k/128x128"));
    assert!(["64x16", "128x128"].iter().all(|tile| {
        is_candidate(&format!("hgemm-split-k/{tile}")) == is_candidate(&format!("hgemm-split-k/bf16-{tile}"))
    }));
}

#[test]
fn no_k_tile_is_predicted_to_be_multiplied_faster_than_an_sm_can() {
    let step = gpu_kernels::find("stream-k/256x128-16x8").unwrap();
    let least = H200.least_k_tile(step);
    // 256 x 128 x 48 products on 128 lanes at 1.98 GHz
    assert!((least - 6.2061).abs() < 1e-3, "{least}");
    let too_fast = constants::logarithms(&Cost { k_tile: least / 2.0, ..Cost::guess(step) });
    assert_eq!(constants::exponentials(&too_fast, &Cost::guess(step), least).k_tile, least);
}
