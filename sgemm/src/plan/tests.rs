use gpu_kernels::{
    Activation, Group, PREPASS_ARGUMENTS, Precision, Prepass, SPLIT_ARGUMENTS, Schedule, Tile, TmaBox, runnable,
};

use super::*;
use crate::problem::Epilogue;

mod blocks;
mod certificates;
mod early;
mod layouts;

/// Where everything begins, far apart.
const fn at(buffer: Buffer) -> Address {
    (buffer as u64 + 1) << 40
}

const A: Address = at(Buffer::A);
const B: Address = at(Buffer::B);
const C: Address = at(Buffer::C);
const COPY: Ab<Address> = Ab { a: at(Buffer::CopyA), b: at(Buffer::CopyB) };

fn bindings() -> Bindings {
    let mut addresses = Buffers::default();
    for buffer in [Buffer::A, Buffer::B, Buffer::C, Buffer::D, Buffer::Bias, Buffer::Alpha, Buffer::Beta] {
        addresses[buffer] = at(buffer);
    }
    for part in Buffer::PARTS {
        addresses[part] = at(part);
    }
    Bindings::new(addresses, 2.0, 3.0)
}

const PLAIN: Step = Step { kernel: "k", tile: Tile { bm: 4, bn: 8, bk: 1, tm: 1, tn: 1 }, ..Step::PLAIN };

const COPY_A: Prepass = Prepass {
    kernel: "copy",
    operand: Operand::A,
    transposes: false,
    split: None,
    only_unaligned: true,
    tile: Extent { rows: 8, cols: 32 },
    threads: 64,
    shared_rows: None,
    waits_last: false,
};
const COPY_B: Prepass = Prepass { operand: Operand::B, ..COPY_A };
const TRANSPOSE_A: Prepass = Prepass { kernel: "transpose", transposes: true, only_unaligned: false, ..COPY_A };

const COPIES: Step = Step { prepasses: &[COPY_A, COPY_B], ..PLAIN };
const TRANSPOSED: Step = Step { prepasses: &[TRANSPOSE_A], ..PLAIN };
const MAPPED: Step = Step {
    prepasses: &[COPY_A, COPY_B],
    maps: Some(Ab {
        a: TmaBox { element: Element::F32, extent: Extent { rows: 4, cols: 16 }, swizzled: false },
        b: TmaBox { element: Element::F32, extent: Extent { rows: 16, cols: 8 }, swizzled: true },
    }),
    ..PLAIN
};
const STREAMS: Step = Step { schedule: Schedule::StreamK { blocks_per_sm: 2, max_splits: 2 }, ..PLAIN };

/// A kernel of 16-bit operands with maps of them.
const HALVES: Step = Step {
    precision: Precision::F16,
    output: Element::F32,
    maps: Some(Ab::both(TmaBox { element: Element::F16, extent: Extent { rows: 4, cols: 16 }, swizzled: false })),
    ..COPIES
};

const PART: TmaBox = TmaBox { element: Element::F16, extent: Extent { rows: 8, cols: 64 }, swizzled: true };
const SPLIT_A: Prepass = Prepass {
    kernel: "split",
    split: Some(Split { element: Element::F16, chunk: 32 }),
    only_unaligned: false,
    tile: Extent { rows: 2, cols: u32::MAX },
    ..COPY_A
};
const SPLIT_B: Prepass = Prepass {
    operand: Operand::B,
    transposes: true,
    tile: Extent { rows: u32::MAX, cols: 5 },
    shared_rows: Some(16),
    ..SPLIT_A
};
const SPLITS: Step = Step { prepasses: &[SPLIT_A, SPLIT_B], maps: Some(Ab::both(PART)), ..PLAIN };

const PERSISTS: Step =
    Step { schedule: Schedule::Persistent { group: Group { columns: 1, rows: 2 } }, cluster: [2, 1, 1], ..PLAIN };

const ALL: [&Step; 8] = [&PLAIN, &COPIES, &TRANSPOSED, &MAPPED, &STREAMS, &HALVES, &SPLITS, &PERSISTS];

fn problem(step: &Step, m: u32, n: u32, k: u32) -> Problem {
    let [m, n, k] = [m, n, k].map(|size| size as usize);
    Problem::new(m, n, k).with_elements(step.precision.input(), step.output)
}

/// On a device of 3 SMs.
fn plan(step: &'static Step, m: u32, n: u32, k: u32) -> Plan {
    Plan::new(step, &problem(step, m, n, k), 3).unwrap()
}

/// Pre-passes, and the others.
fn launches(plan: &Plan) -> (Vec<Launch>, Vec<Launch>) {
    plan.launches().iter().cloned().partition(|launch| matches!(launch.role, Role::Prepass(_)))
}

/// The argument of that name.
fn argument(launch: &Launch, name: &str) -> Value {
    launch.arguments.iter().find(|(known, _)| *known == name).unwrap().1.value(&bindings())
}

/// What the tensor maps of the launches say, in order.
fn maps(plan: &Plan) -> Vec<TensorMap<Address>> {
    let arguments = plan.launches().iter().flat_map(|launch| launch.arguments.iter());
    let map = |(_, argument): &(_, Argument)| match argument.value(&bindings()) {
        Value::TensorMap(map) => Some(map),
        _ => None,
    };
    arguments.filter_map(map).collect()
}

fn copies(plan: &Plan) -> Ab<u64> {
    Ab { a: plan.part_bytes()[Buffer::CopyA], b: plan.part_bytes()[Buffer::CopyB] }
}

#[test]
fn kernels_get_what_they_take() {
    let of = |argument: &Argument| match argument.value(&bindings()) {
        Value::U32(_) => "u32",
        Value::U64(_) => "u64",
        Value::F32(_) => "f32",
        Value::Address(_) => "*",
        Value::TensorMap(_) => "map",
    };
    let check = |launch: &Launch, expected: Vec<(&'static str, &'static str)>| {
        let got: Vec<_> = launch.arguments.iter().map(|(name, argument)| (*name, of(argument))).collect();
        let kind = |ty: &'static str| match ty {
            "&TensorMap" => "map",
            _ if ty.len() > 3 => "*",
            _ => ty,
        };
        let expected: Vec<_> = expected.iter().map(|(name, ty)| (*name, kind(ty))).collect();
        assert_eq!(got, expected);
    };
    for step in ALL.into_iter().chain(runnable()) {
        let (before, launches) = launches(&plan(step, 9, 17, 5));
        let splits = if step.has_split_operands() { &SPLIT_ARGUMENTS[..] } else { &[] };
        before.iter().for_each(|launch| check(launch, [&PREPASS_ARGUMENTS, splits].concat()));
        launches.iter().for_each(|launch| check(launch, step.arguments().collect()));
        assert_eq!(launches.len(), 1);
        let relu = Epilogue { activation: Activation::Relu, ..Epilogue::default() };
        let fused = Plan::new(step, &problem(step, 9, 17, 5).with_epilogue(relu), 3);
        if let (Some(kernel), Ok(fused)) = (step.fused, fused) {
            let launch = fused.launches().last().unwrap();
            assert_eq!((fused.kernel(), launch.kernel, launch.role), (kernel, kernel, Role::Product));
            check(launch, step.fused_arguments().collect());
        }
    }
}

#[test]
fn operands_are_copied_where_their_rows_are_not_aligned() {
    let (before, after) = launches(&plan(&COPIES, 9, 16, 8));
    assert_eq!(
        (before.len(), argument(&after[0], "a"), argument(&after[0], "lda")),
        (0, Value::Address(A), Value::U32(8))
    );
    assert_eq!(plan(&COPIES, 9, 16, 8).workspace_bytes(), 0);

    let unaligned = plan(&COPIES, 9, 17, 33);
    let (before, after) = launches(&unaligned);
    assert_eq!(copies(&unaligned), Ab { a: 9 * 36 * 4, b: 33 * 20 * 4 });
    assert_eq!(before.iter().map(|launch| launch.shape.grid).collect::<Vec<_>>(), [[2, 2, 1], [1, 5, 1]]);
    assert_eq!((before[0].kernel, before[0].shape.block), ("copy", [64, 1, 1]));
    for (name, value) in [("rows", 33), ("columns", 17), ("target_ld", 20)] {
        assert_eq!(argument(&before[1], name), Value::U32(value), "{name}");
    }
    assert_eq!(argument(&before[1], "ld"), Value::U64(17));
    assert_eq!(argument(&before[1], "source"), Value::Address(B));
    for (name, address, ld, value) in [("a", COPY.a, "lda", 36), ("b", COPY.b, "ldb", 20)] {
        assert_eq!((argument(&after[0], name), argument(&after[0], ld)), (Value::Address(address), Value::U32(value)));
    }
}

#[test]
fn nothing_is_rewritten_that_is_not_read() {
    let (before, after) = launches(&plan(&COPIES, 9, 17, 0));
    assert_eq!((before.len(), after.len()), (0, 1));
    let Ab { a, b } = copies(&plan(&COPIES, 9, 17, 0));
    assert!(a >= 16 && b >= 16, "there is memory to point to");
    let plan_of = plan(&COPIES, 9, 17, 33);
    let needed = |alpha| plan_of.needed(0, &Bindings { alpha, ..bindings() }).count();
    assert_eq!((needed(1.0), needed(0.0), needed(f32::NAN)), (3, 1, 3));
    for (m, n) in [(0, 17), (9, 0), (0, 0)] {
        for step in ALL {
            let plan = plan(step, m, n, 33);
            assert_eq!((plan.launches().len(), plan.workspace_bytes()), (0, 0));
        }
    }
}

#[test]
fn tall_problems_have_slabs_of_everything() {
    let slab_rows = 65_535 * 4;
    let m = slab_rows + 3;
    let (_, plain) = launches(&plan(&PLAIN, m, 8, 5));
    let starts =
        |launches: &[Launch], name| -> Vec<_> { launches.iter().map(|launch| argument(launch, name)).collect() };
    let addresses = |first: Address, step: u64| vec![Value::Address(first), Value::Address(first + step)];
    assert_eq!(starts(&plain, "a"), addresses(A, u64::from(slab_rows) * 5 * 4));
    assert_eq!(starts(&plain, "c"), addresses(C, u64::from(slab_rows) * 8 * 4));
    assert_eq!(starts(&plain, "b"), addresses(B, 0));
    assert_eq!(starts(&plain, "m"), [Value::U32(slab_rows), Value::U32(3)]);

    // A transposed one goes on to the right.
    let (before, after) = launches(&plan(&TRANSPOSED, m, 8, 5));
    assert_eq!(starts(&after, "a"), addresses(COPY.a, u64::from(slab_rows) * 4));
    assert_eq!(starts(&after, "lda"), [Value::U32(m.next_multiple_of(4)); 2]);
    assert_eq!((before.len(), argument(&before[0], "target_ld")), (1, Value::U32(m.next_multiple_of(4))));
    let (before, _) = launches(&plan(&TRANSPOSED, 65_535 * 8 + 1, 8, 5));
    assert_eq!(starts(&before, "target"), addresses(COPY.a, 65_535 * 8 * 4));
    assert_eq!(starts(&before, "source"), addresses(A, 65_535 * 8 * 5 * 4));
}

#[test]
fn maps_describe_what_the_kernel_reads() {
    let m = 65_535 * 4 + 3;
    let maps_of = maps(&plan(&MAPPED, m, 17, 8));
    let [a_box, b_box] = MAPPED.maps.unwrap().into_array();
    let a = |at, rows| TensorMap { at, rows, columns: 8, ld: 8, batch: None, tma_box: a_box };
    let b = TensorMap { at: COPY.b, rows: 8, columns: 17, ld: 20, batch: None, tma_box: b_box };
    assert_eq!(maps_of, [a(A, 65_535 * 4), b, a(A + 65_535 * 4 * 8 * 4, 3), b]);
    // Where k is 0 there is no matrix, but a map must have one.
    let empty = maps(&plan(&MAPPED, 3, 17, 0));
    assert!(empty.iter().all(|map| map.rows > 0 && map.columns > 0 && map.ld > 0 && map.ld % 4 == 0), "{empty:?}");
}

#[test]
fn blocks_that_stream_get_their_workspace() {
    // 3 x 5 tiles and 6 CTA slots: the 3 of the partial wave and 6 more are stream-K tiles.
    let streams = plan(&STREAMS, 12, 40, 5);
    let bytes = streams.part_bytes();
    assert_eq!((bytes[Buffer::Partials], bytes[Buffer::Flags]), (6 * 4 * 8 * 4, 6 * 4));
    assert_eq!(streams.workspace_bytes(), 256 + 768);
    let (_, after) = launches(&streams);
    assert_eq!(argument(&after[0], "stream_k_tiles"), Value::U32(9));
    assert_eq!(argument(&after[0], "partial_tiles"), Value::Address(at(Buffer::Partials)));
    assert_eq!(argument(&after[0], "flags"), Value::Address(at(Buffer::Flags)));
    assert_eq!(after[0].shape.grid, [15 - 9 + 6, 1, 1]);
}

#[test]
fn bytes_are_counted_by_what_elements_have() {
    // 12 elements of 16 bits are no multiple of 16 bytes, though 12 of 32 bits are.
    let halves = plan(&HALVES, 65_535 * 4 + 1, 16, 12);
    assert_eq!(halves.rewritten(), [(Operand::A, 32_768)]);
    assert_eq!(copies(&halves), Ab { a: (65_535 * 4 + 1) * 16 * 2, b: 0 });
    let (before, after) = launches(&halves);
    assert_eq!((before.len(), argument(&before[0], "target_ld")), (1, Value::U32(16)));
    assert_eq!(argument(&after[1], "a"), Value::Address(COPY.a + 65_535 * 4 * 16 * 2));
    assert_eq!(argument(&after[1], "b"), Value::Address(B));
    // C is f32.
    assert_eq!(argument(&after[1], "c"), Value::Address(C + 65_535 * 4 * 16 * 4));
    let maps = maps(&halves);
    assert_eq!((maps[2].at, maps[2].rows, maps[2].columns, maps[2].ld), (COPY.a + 65_535 * 4 * 32, 1, 12, 16));
}

#[test]
fn what_is_split_is_read_by_maps_and_the_rest_as_it_is() {
    let m = 65_535 * 4 + 3;
    let splits = plan(&SPLITS, m, 7, 33);
    // 33 values in two chunks of 32, each with its hi and its lo; then an exponent for each row.
    let row = 4 * 32 * 2;
    let [a_scales, b_scales] = [u64::from(m) * row, 7 * row];
    let bytes = Ab { a: u64::from(m) * (row + 4), b: 7 * (row + 4) };
    assert_eq!(copies(&splits), bytes);
    let padded = bytes.map(|bytes| bytes.next_multiple_of(WORKSPACE_ALIGNMENT));
    assert_eq!(splits.workspace_bytes(), padded.a + padded.b);

    let (before, after) = launches(&splits);
    let Ab { a, b } = COPY;
    // Slabs of A's rows; of B whole columns.
    let (cut, whole) = (65_535 * 2_u64, 2);
    assert_eq!(
        before.iter().map(|launch| launch.shape.grid).collect::<Vec<_>>(),
        [[1, 65_535, 1], [1, 65_535, 1], [1, 2, 1], [whole, 4, 1]]
    );
    assert_eq!(splits.rewritten(), [(Operand::A, u64::from(m.div_ceil(2))), (Operand::B, 8)]);
    for (launch, first) in before[..3].iter().zip([0, cut, 2 * cut]) {
        for (name, address) in
            [("source", A + first * 33 * 4), ("target", a + first * row), ("scales", a + a_scales + first * 4)]
        {
            assert_eq!(argument(launch, name), Value::Address(address), "{name}");
        }
        assert_eq!((argument(launch, "columns"), argument(launch, "target_ld")), (Value::U32(33), Value::U32(128)));
    }
    let of_b = &before[3];
    assert_eq!((before[0].shape.cluster, of_b.shape.cluster), ([1; 3], [1, 4, 1]));
    // Blocks for 16 of k each, as many as a power of two, and at most eight.
    for (k, sharers) in [(1, 1), (16, 1), (17, 2), (64, 4), (65, 8), (128, 8), (100_000, 8)] {
        let of_b = launches(&plan(&SPLITS, 1, 7, k)).0.pop().unwrap();
        assert_eq!((of_b.shape.cluster, of_b.shape.grid), ([1, sharers, 1], [2, sharers, 1]), "{k}");
    }
    for (name, value) in [("rows", 33), ("columns", 7), ("target_ld", 128)] {
        assert_eq!(argument(of_b, name), Value::U32(value), "{name}");
    }
    for (name, address) in [("source", B), ("target", b), ("scales", b + b_scales)] {
        assert_eq!(argument(of_b, name), Value::Address(address), "{name}");
    }

    for (launch, first) in after.iter().zip([0, 65_535 * 4]) {
        let addresses =
            [("a", A + first * 33 * 4), ("b", B), ("a_scales", a + a_scales + first * 4), ("b_scales", b + b_scales)];
        for (name, address) in addresses {
            assert_eq!(argument(launch, name), Value::Address(address), "{name}");
        }
        assert_eq!((argument(launch, "lda"), argument(launch, "ldb")), (Value::U32(33), Value::U32(7)));
    }
    let map = |at, rows| TensorMap { at, rows, columns: 128, ld: 128, batch: None, tma_box: PART };
    let of_b = map(b, 7);
    assert_eq!(maps(&splits), [map(a, 65_535 * 4), of_b, map(a + 65_535 * 4 * row, 3), of_b]);
}

#[test]
fn an_operand_that_is_split_has_a_chunk_at_least_and_no_more_than_can_be_counted() {
    let empty = plan(&SPLITS, 3, 4, 0);
    assert_eq!(launches(&empty).0.len(), 0);
    assert_eq!(copies(&empty), Ab { a: 3 * (128 + 4), b: 4 * (128 + 4) });
    assert!(maps(&empty).iter().all(|map| map.columns == 64));

    let of = |k| Plan::new(&SPLITS, &problem(&SPLITS, 1, 1, k), 3);
    let most = (1 << 30) - 32;
    assert_eq!(argument(&launches(&of(most).unwrap()).0[0], "target_ld"), Value::U32((1 << 31) - 64));
    let error = of(most + 1).unwrap_err();
    assert_eq!(error.to_string(), "k = 1073741793 is too large: it is at most 1073741792");
}

#[test]
fn blocks_persist_in_whole_clusters_on_as_many_multiprocessors_as_there_are() {
    let grid = |m, n, sm_count| {
        let plan = Plan::new(&PERSISTS, &problem(&PERSISTS, m, n, 5), sm_count).unwrap();
        launches(&plan).1[0].shape.grid
    };
    // 3 rows of tiles, 4 with the other tile of the last one's cluster, and 2 columns.
    assert_eq!(grid(12, 16, u32::MAX), [8, 1, 1]);
    assert_eq!(grid(12, 16, 132), [8, 1, 1]);
    assert_eq!(grid(12, 16, 3), [4, 1, 1]);
    assert_eq!(grid(12, 16, 1), [2, 1, 1]);
}

#[test]
fn a_step_takes_what_its_matrices_are_made_of() {
    let error = Plan::new(&HALVES, &Problem::new(4, 4, 4), 3).unwrap_err();
    assert_eq!(error.to_string(), " takes f16 and gives f32; the matrices are of f32 and f32");
}

#[test]
fn words_of_rows_and_columns_follow_what_is_split() {
    let of = plan(&SPLITS, 9, 7, 33);
    let row = 4 * 32 * 2;
    let at = |buffer, offset| Place { buffer, offset };
    assert_eq!(of.certificates(Operand::A), Some((at(Buffer::CopyA, 9 * row), 9)));
    assert_eq!(of.certificates(Operand::B), Some((at(Buffer::CopyB, 7 * row), 7)));
    assert_eq!(plan(&COPIES, 9, 17, 33).certificates(Operand::A), None);
}
