//! Layouts, batches and epilogues: what a plan makes of them.

use gpu_kernels::{BiasPer, POSTPASS_ARGUMENTS};

use super::*;
use crate::problem::Layout;

/// Every layout of A and B, with D by rows and by columns, on every kind of step: the operands are rewritten into what the step
/// reads, and only where they have to be.
#[test]
fn operands_of_any_layout_become_what_the_step_reads() {
    let rows = |ld: usize| Layout::row_major(ld);
    let columns = |ld: usize| Layout::column_major(ld);
    let kernels = |step: &'static Step, a: Layout, b: Layout, c: Layout| -> Vec<&str> {
        let problem = problem(step, 8, 16, 32).with_layouts(a, b, c);
        Plan::new(step, &problem, 3).unwrap().launches().iter().map(|launch| launch.kernel).collect()
    };
    let element = |step: &Step| if step.precision.input() == Element::F32 { "transpose" } else { "transpose_16" };
    for step in [&PLAIN, &MAPPED, &HALVES, &PERSISTS] {
        let transpose = element(step);
        assert_eq!(kernels(step, rows(32), rows(16), rows(16)), ["k"]);
        assert_eq!(kernels(step, columns(8), rows(16), rows(16)), [transpose, "k"]);
        assert_eq!(kernels(step, columns(8), columns(32), rows(16)), [transpose, transpose, "k"]);
        // C^T = B^T * A^T: what is stored by columns is read as it is.
        assert_eq!(kernels(step, columns(8), columns(32), columns(8)), ["k"]);
        assert_eq!(kernels(step, rows(32), columns(32), columns(8)), [transpose, "k"]);
    }
    // A step that wants A transposed takes it as it is if it is.
    assert_eq!(kernels(&TRANSPOSED, columns(8), rows(16), rows(16)), ["k"]);
    assert_eq!(kernels(&TRANSPOSED, columns(9), rows(16), rows(16)), ["align_rows", "k"]);
    assert_eq!(kernels(&TRANSPOSED, rows(32), rows(16), rows(16)), ["transpose", "k"]);
    assert_eq!(kernels(&SPLITS, columns(8), rows(16), rows(16)), ["transpose", "split", "split", "k"]);
}

#[test]
fn columns_of_d_change_the_operands_places() {
    let turned = problem(&PLAIN, 9, 17, 33).with_layouts(
        Layout::column_major(10),
        Layout::column_major(40),
        Layout::column_major(11),
    );
    let plan = Plan::new(&PLAIN, &turned, 3).unwrap();
    let launch = &plan.launches()[0];
    for (name, value) in [("m", 17), ("n", 9), ("k", 33), ("lda", 40), ("ldb", 10), ("ldc", 11)] {
        assert_eq!(argument(launch, name), Value::U32(value), "{name}");
    }
    for (name, address) in [("a", B), ("b", A), ("c", C)] {
        assert_eq!(argument(launch, name), Value::Address(address), "{name}");
    }
}

#[test]
fn contiguous_rows_times_a_vector_have_one_form() {
    let (rows, columns) = (Layout::row_major, Layout::column_major);
    // A is (17, 33), x (33, 1), y (17, 1); then the same as y^T = x^T A^T.
    let upright =
        [(rows(33), rows(1), rows(1)), (rows(33), columns(33), columns(17)), (rows(33), rows(1), columns(17))];
    let lying = [(rows(33), columns(33), rows(17)), (columns(1), columns(33), columns(1))];
    let upright = upright.map(|layouts| (problem(&PLAIN, 17, 1, 33), layouts, [A, B]));
    let lying = lying.map(|layouts| (problem(&PLAIN, 1, 17, 33), layouts, [B, A]));
    for (problem, (a, b, c), [matrix, vector]) in upright.into_iter().chain(lying) {
        let plan = Plan::new(&PLAIN, &problem.with_layouts(a, b, c), 3).unwrap();
        let [launch] = plan.launches() else { panic!("{a:?} {b:?} {c:?}: {} launches", plan.launches().len()) };
        for (name, value) in [("m", 17), ("n", 1), ("k", 33), ("lda", 33), ("ldb", 1), ("ldc", 1)] {
            assert_eq!(argument(launch, name), Value::U32(value), "{name}, {a:?} {b:?} {c:?}");
        }
        for (name, address) in [("a", matrix), ("b", vector), ("c", C)] {
            assert_eq!(argument(launch, name), Value::Address(address), "{name}");
        }
    }
}

#[test]
fn pointers_that_are_not_aligned_are_read_by_a_copy_where_tma_loads_them() {
    let plain = problem(&PLAIN, 9, 16, 8).with_alignment(4, 8);
    assert_eq!(Plan::new(&PLAIN, &plain, 3).unwrap().launches().len(), 1);
    let plan = Plan::new(&MAPPED, &plain, 3).unwrap();
    assert_eq!(plan.launches().iter().map(|launch| launch.kernel).collect::<Vec<_>>(), ["copy", "copy", "k"]);
    // A batch's second A begins 8 bytes further on.
    let batch = problem(&MAPPED, 9, 16, 8).with_batch(2, [74, 0, 9 * 16]);
    let plan = Plan::new(&MAPPED, &batch, 3).unwrap();
    assert_eq!(plan.launches().iter().map(|launch| launch.kernel).collect::<Vec<_>>(), ["copy", "k"]);
}

#[test]
fn leading_dimensions_that_kernels_cannot_count_are_copied() {
    let far = 1_usize << 40;
    let apart = problem(&PLAIN, 2, 16, 8).with_layouts(
        Layout::row_major(far),
        Layout::column_major(far),
        Layout::row_major(far),
    );
    let plan = Plan::new(&PLAIN, &apart, 3).unwrap();
    let kernels: Vec<_> = plan.launches().iter().map(|launch| launch.kernel).collect();
    assert_eq!(kernels, ["align_rows", "transpose", "k", "finish_f32"]);
    assert_eq!(argument(&plan.launches()[0], "ld"), Value::U64(1 << 40));
    assert_eq!(argument(&plan.launches()[3], "ldd"), Value::U64(1 << 40));
}

#[test]
fn an_epilogue_of_its_own_is_a_post_pass() {
    let epilogue = Epilogue { bias: Some(BiasPer::Row), activation: Activation::Gelu };
    let by_columns = problem(&PLAIN, 9, 17, 5)
        .with_layouts(Layout::row_major(5), Layout::row_major(17), Layout::row_major(17))
        .with_d(Layout::column_major(9))
        .with_scalars(Scalars::Device)
        .with_epilogue(epilogue);
    let plan = Plan::new(&PLAIN, &by_columns, 3).unwrap();
    let [.., product, last] = plan.launches() else { panic!() };
    assert_eq!((argument(product, "alpha"), argument(product, "beta")), (Value::F32(1.0), Value::F32(0.0)));
    assert_eq!(argument(product, "c"), Value::Address(at(Buffer::Sums)));
    let names: Vec<_> = last.arguments.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, POSTPASS_ARGUMENTS.map(|(name, _)| name));
    // D^T is 17 x 9: its bias is one per column, and C's rows are its columns.
    let values = [
        ("m", Value::U32(17)),
        ("n", Value::U32(9)),
        ("ldw", Value::U32(12)),
        ("alpha_at", Value::Address(at(Buffer::Alpha))),
        ("beta_at", Value::Address(at(Buffer::Beta))),
        ("c", Value::Address(C)),
        ("c_row_stride", Value::U64(1)),
        ("c_col_stride", Value::U64(17)),
        ("d", Value::Address(at(Buffer::D))),
        ("ldd", Value::U64(9)),
        ("bias", Value::Address(at(Buffer::Bias))),
        ("bias_per", Value::U32(BiasPer::Column as u32)),
        ("activation", Value::U32(Activation::Gelu as u32)),
    ];
    for (name, value) in values {
        assert_eq!(argument(last, name), value, "{name}");
    }
    assert_eq!(plan.part_bytes()[Buffer::Sums], 17 * 12 * 4);
}

#[test]
fn an_epilogue_is_the_kernels_own_where_it_does_all_of_it() {
    const FUSED: Step = Step { fused: Some("k_fused"), ..PLAIN };
    let epilogue = Epilogue { bias: Some(BiasPer::Row), activation: Activation::GeluTanh };
    let of = |problem: Problem| Plan::new(&FUSED, &problem.with_epilogue(epilogue), 3).unwrap();
    let kernels = |plan: &Plan| plan.launches().iter().map(|launch| launch.kernel).collect::<Vec<_>>();
    let in_place = problem(&FUSED, 9, 17, 5);
    let plan = of(in_place);
    assert_eq!((kernels(&plan), plan.part_bytes()[Buffer::Sums]), (vec!["k_fused"], 0));
    let launch = &plan.launches()[0];
    let values = [
        ("alpha", Value::F32(2.0)),
        ("beta", Value::F32(3.0)),
        ("c", Value::Address(C)),
        ("bias", Value::Address(at(Buffer::Bias))),
        ("bias_per", Value::U32(BiasPer::Row as u32)),
        ("activation", Value::U32(Activation::GeluTanh as u32)),
    ];
    for (name, value) in values {
        assert_eq!(argument(launch, name), value, "{name}");
    }
    // Without a bias, none is read; a bias per row of a C by columns is one per column of what the kernel computes.
    let unbiased = Plan::new(&FUSED, &in_place.with_epilogue(Epilogue { bias: None, ..epilogue }), 3).unwrap();
    assert_eq!(argument(&unbiased.launches()[0], "bias"), Value::Address(0));
    let by_columns = of(in_place.with_layouts(Layout::row_major(5), Layout::row_major(17), Layout::column_major(9)));
    assert_eq!(argument(by_columns.launches().last().unwrap(), "bias_per"), Value::U32(BiasPer::Column as u32));
    // A slab's rows have their part of the bias; its columns have all of it.
    let rows = 65_535 * FUSED.tile.bm;
    let tall = problem(&FUSED, rows + 1, 3, 1);
    let plan = of(tall);
    let bias = |plan: &Plan| plan.launches().iter().map(|launch| argument(launch, "bias")).collect::<Vec<_>>();
    let first = at(Buffer::Bias);
    assert_eq!(bias(&plan), [first, first + u64::from(rows) * 4].map(Value::Address));
    let per_column = Epilogue { bias: Some(BiasPer::Column), ..epilogue };
    assert_eq!(bias(&Plan::new(&FUSED, &tall.with_epilogue(per_column), 3).unwrap()), [first; 2].map(Value::Address));
    // What the kernel's own epilogue does not: another D, factors on the device, and no epilogue needs it.
    for needs_sums in [in_place.with_d(Layout::row_major(17)), in_place.with_scalars(Scalars::Device)] {
        assert_eq!(kernels(&of(needs_sums)), ["k", "finish_f32"]);
    }
    assert_eq!(kernels(&Plan::new(&FUSED, &in_place, 3).unwrap()), ["k"]);
}

#[test]
fn a_batch_rewrites_what_its_problems_share_once() {
    let batch = problem(&COPIES, 9, 17, 33).with_batch(3, [0, 33 * 17, 9 * 17]);
    let plan = Plan::new(&COPIES, &batch, 3).unwrap();
    assert_eq!([0, 1, 2].map(|index| plan.needed(index, &bindings()).count()), [3, 2, 2]);
    let second = plan.addresses_of(1, &bindings().addresses);
    let moved = [Buffer::A, Buffer::B, Buffer::C, Buffer::CopyA].map(|buffer| second[buffer] - at(buffer));
    assert_eq!(moved, [0, 33 * 17 * 4, 9 * 17 * 4, 0]);
}
