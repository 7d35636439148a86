//! What plans are predicted to take.

use super::*;
use crate::plan::Plan as Gemm;
use crate::streamed::simulate::{end_us, simulate};

const N: usize = 16_384;

/// The predicted rate on so many H200, and that of one product in one device's memory, in TFLOPS.
fn rates(class: AccuracyClass, gpus: usize) -> [f64; 2] {
    let (device, machine) = (h200(), Machine::h200());
    let problem = Problem::new(N, N, N).with_accuracy(class);
    let plan = Plan::new(&problem, &device, &vec![130 << 30; gpus]).unwrap();
    let resident = crate::select::plan(crate::select::Table::of(&device), &device, &problem, u64::MAX).unwrap();
    let resident_us = machine.product_us(&resident, gpu_kernels::Ab::both(false), &device).unwrap();
    [plan.predicted_us([1.0, 0.0]), resident_us].map(|time_us| problem.flops() / time_us / 1e6)
}

#[test]
fn rates_from_the_host_are_near_those_of_devices() {
    for class in [AccuracyClass::Fp32Strict, AccuracyClass::Fp32] {
        for gpus in [1, 2, 4] {
            let [streamed, resident] = rates(class, gpus);
            let of_all = resident * gpus as f64;
            println!(
                "modelled, {} at n = {N} from host memory, {gpus} H200: {streamed:.1} TFLOPS, {:.3} of {gpus} x {resident:.1}",
                class.name(),
                streamed / of_all
            );
            if class == AccuracyClass::Fp32Strict {
                assert!(streamed > [0.93, 0.91, 0.86][gpus.ilog2() as usize] * of_all, "{gpus}: {streamed}");
            }
        }
    }
}

/// GPUs that hand panels on to each other read less from the host, and are faster by what they waited for.
#[test]
fn sharing_pays() {
    let problem = Problem::new(N, N, N);
    let rates = Rates::h200(4);
    let plan = |rates| Plan::with_rates(&problem, &h200(), &[130 << 30; 4], [1.0, 0.0], rates).unwrap();
    let (shared, alone) = (plan(rates), plan(rates.without_peers()));
    assert!(shared.is_shared() && !alone.is_shared());
    let bytes = |plan: &Plan| plan.parts().iter().map(|part| part.uploaded_bytes([1.0, 0.0])).sum::<u64>();
    assert_eq!(bytes(&shared), 2 * 4 * (N * N) as u64, "each matrix once");
    assert!(bytes(&alone) >= 2 * bytes(&shared));
    // 173 TFLOPS were measured of the latter.
    let [shared, alone] = [shared, alone].map(|plan| problem.flops() / plan.predicted_us([1.0, 0.0]) / 1e6);
    println!("modelled, {shared:.1} TFLOPS with sharing and {alone:.1} without");
    assert!((alone / 173.0 - 1.0).abs() < 0.02 && shared > 1.12 * alone, "{shared}, {alone}");
}

/// One GPU stands for all where the best shape is looked for: it is taken to be as far as those that it waits for.
#[test]
fn all_gpus_take_as_long_as_one() {
    let plan = Plan::new(&Problem::new(N, N, N), &h200(), &[4 << 30; 4]).unwrap();
    assert!(plan.is_shared());
    let spans = plan.spans([1.0, 0.0]);
    let ends: Vec<f64> = spans.iter().map(|spans| end_us(std::slice::from_ref(spans))).collect();
    let alone: Vec<f64> = plan.parts().iter().map(|part| end_us(&simulate(&[part], [1.0, 0.0]))).collect();
    assert!(ends.iter().chain(&alone).all(|end| (end / ends[0] - 1.0).abs() < 0.01), "{ends:?}, {alone:?}");
    let all_run = spans.iter().zip(plan.parts()).all(|(spans, part)| spans.len() == part.tasks().len());
    assert!(all_run, "no task waits for ever");
}

/// With less memory than the matrices take, panels are loaded again, and the product is hardly slower.
#[test]
fn little_memory_costs_little() {
    let device = h200();
    let problem = Problem::new(N, N, N);
    let time_us = |limit| Plan::new(&problem, &device, &[limit]).unwrap().predicted_us([1.0, 0.0]);
    let (all, some) = (time_us(130 << 30), time_us(1200 << 20));
    println!("modelled, {:.1} and {:.1} ms with 130 and 1.2 GiB", all / 1e3, some / 1e3);
    assert!(all < 1.02 * some && some < 1.1 * all, "{all}, {some}");
}

/// Copies both ways and products run at the same time, for most of the time.
#[test]
fn copies_are_hidden_behind_products() {
    let time = |gemm: &Gemm, _| Ok(gemm.problem().flops() / 50e6);
    let (problem, factors) = (Problem::new(N, N, N), [1.0, 1.0]);
    let plan = Plan::with_times(&problem, &h200(), &[2 << 30], factors, Rates::h200(1), &time).unwrap();
    let computing_us = problem.flops() / 50e6;
    let all_us = plan.predicted_us(factors);
    assert!(all_us < 1.06 * computing_us, "{all_us}, not {computing_us}");
    let shape = plan.parts()[0].shape();
    assert!(shape.slots.c > 1 && shape.slots.a.max(shape.slots.b) > 1, "{shape:?}");
}
