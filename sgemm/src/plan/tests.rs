use gpu_kernels::{Element, PREPASS_ARGUMENTS, Precision, SPLIT_ARGUMENTS, Tile, TmaBox, runnable};

use super::*;

const A: Address = 0x1000;
const B: Address = 0x2000;
const C: Address = 0x3000;
const OPERANDS: Abc<Address> = Abc { a: A, b: B, c: C };
const WORKSPACE: Workspace<Address> = Workspace { copies: Ab { a: 0x4000, b: 0x5000 }, reduction: 0x6000 };

const PLAIN: Step = Step { kernel: "k", tile: Tile { bm: 4, bn: 8, bk: 1, tm: 1, tn: 1 }, ..Step::PLAIN };

const COPY_A: Prepass = Prepass {
    kernel: "copy",
    operand: Operand::A,
    transposes: false,
    split: None,
    only_unaligned: true,
    tile: Extent { rows: 8, cols: 32 },
    threads: 64,
    cluster: [1; 3],
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
    cluster: [1, 3, 1],
    ..SPLIT_A
};
const SPLITS: Step = Step { prepasses: &[SPLIT_A, SPLIT_B], maps: Some(Ab::both(PART)), ..PLAIN };

const PERSISTS: Step = Step { schedule: Schedule::Persistent, cluster: [2, 1, 1], ..PLAIN };

const ALL: [&Step; 8] = [&PLAIN, &COPIES, &TRANSPOSED, &MAPPED, &STREAMS, &HALVES, &SPLITS, &PERSISTS];

/// On a device of 3 SMs.
fn plan(step: &'static Step, m: u32, n: u32, k: u32) -> Plan {
    Plan::new(step, &Problem::new(m, n, k).unwrap().with_elements(step.precision.input(), step.output), 3).unwrap()
}

fn launches(plan: &Plan) -> (Vec<Launch>, Vec<Launch>) {
    (plan.prepasses(OPERANDS, &WORKSPACE), plan.launches(OPERANDS, &WORKSPACE))
}

/// The argument of that name.
fn argument(launch: &Launch, name: &str) -> Argument {
    launch.arguments.iter().find(|(known, _)| *known == name).unwrap().1
}

/// The tensor maps of A and B that each launch of the step's kernel gets.
fn maps(plan: &Plan) -> Vec<Ab<TensorMap>> {
    let map = |launch: &Launch, name| match argument(launch, name) {
        Argument::TensorMap(map) => map,
        other => panic!("{other:?} is no tensor map"),
    };
    launches(plan).1.iter().map(|launch| Ab { a: map(launch, "a_map"), b: map(launch, "b_map") }).collect()
}

#[test]
fn kernels_get_what_they_take() {
    let of = |argument: &Argument| match argument {
        Argument::U32(_) => "u32",
        Argument::U64(_) => "u64",
        Argument::F32(_) => "f32",
        Argument::Address(_) => "*",
        Argument::TensorMap(_) => "&TensorMap",
    };
    let check = |launch: &Launch, expected: Vec<(&str, &str)>| {
        let got: Vec<_> = launch.arguments.iter().map(|(name, argument)| (*name, of(argument))).collect();
        let expected: Vec<_> =
            expected.iter().map(|(name, ty)| (*name, if ty.starts_with('*') { "*" } else { ty })).collect();
        assert_eq!(got, expected);
    };
    for step in ALL.into_iter().chain(runnable()) {
        let (before, launches) = launches(&plan(step, 9, 17, 5));
        let splits = if step.has_split_operands() { &SPLIT_ARGUMENTS[..] } else { &[] };
        before.iter().for_each(|launch| check(launch, [&PREPASS_ARGUMENTS, splits].concat()));
        launches.iter().for_each(|launch| check(launch, step.arguments().collect()));
        assert_eq!(launches.len(), 1);
    }
}

#[test]
fn operands_are_copied_where_their_rows_are_not_aligned() {
    let (before, after) = launches(&plan(&COPIES, 9, 16, 8));
    assert_eq!(
        (before.len(), argument(&after[0], "a"), argument(&after[0], "lda")),
        (0, Argument::Address(A), Argument::U32(8))
    );
    assert_eq!(plan(&COPIES, 9, 16, 8).parts(), Workspace::EMPTY);

    let unaligned = plan(&COPIES, 9, 17, 33);
    let (before, after) = launches(&unaligned);
    assert_eq!(unaligned.parts(), Workspace { copies: Ab { a: 9 * 36 * 4, b: 33 * 20 * 4 }, ..Workspace::EMPTY });
    assert_eq!(before.iter().map(|launch| launch.shape.grid).collect::<Vec<_>>(), [[2, 2, 1], [1, 5, 1]]);
    assert_eq!((before[0].kernel, before[0].shape.block), ("copy", [64, 1, 1]));
    for (name, value) in [("rows", 33), ("columns", 17), ("target_ld", 20)] {
        assert_eq!(argument(&before[1], name), Argument::U32(value), "{name}");
    }
    assert_eq!(argument(&before[1], "ld"), Argument::U64(17));
    assert_eq!(argument(&before[1], "source"), Argument::Address(B));
    for (name, address, ld, value) in [("a", WORKSPACE.copies.a, "lda", 36), ("b", WORKSPACE.copies.b, "ldb", 20)] {
        assert_eq!(
            (argument(&after[0], name), argument(&after[0], ld)),
            (Argument::Address(address), Argument::U32(value))
        );
    }
}

#[test]
fn nothing_is_rewritten_that_is_not_read() {
    let problem = Problem::new(9, 17, 33).unwrap().with_scalars(0.0, 1.0);
    for plan in [Plan::new(&COPIES, &problem, 3).unwrap(), plan(&COPIES, 9, 17, 0)] {
        let (before, after) = launches(&plan);
        assert_eq!((before.len(), after.len()), (0, 1));
        let Ab { a, b } = plan.parts().copies;
        assert!(a >= 16 && b >= 16, "there is memory to point to");
    }
    for (m, n) in [(0, 17), (9, 0), (0, 0)] {
        for step in ALL {
            let plan = plan(step, m, n, 33);
            assert_eq!((launches(&plan), plan.parts()), ((vec![], vec![]), Workspace::EMPTY));
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
    let addresses = |first: Address, step: u64| vec![Argument::Address(first), Argument::Address(first + step)];
    assert_eq!(starts(&plain, "a"), addresses(A, u64::from(slab_rows) * 5 * 4));
    assert_eq!(starts(&plain, "c"), addresses(C, u64::from(slab_rows) * 8 * 4));
    assert_eq!(starts(&plain, "b"), addresses(B, 0));
    assert_eq!(starts(&plain, "m"), [Argument::U32(slab_rows), Argument::U32(3)]);

    // A transposed one goes on to the right.
    let (before, after) = launches(&plan(&TRANSPOSED, m, 8, 5));
    assert_eq!(starts(&after, "a"), addresses(WORKSPACE.copies.a, u64::from(slab_rows) * 4));
    assert_eq!(starts(&after, "lda"), [Argument::U32(m.next_multiple_of(4)); 2]);
    assert_eq!((before.len(), argument(&before[0], "target_ld")), (1, Argument::U32(m.next_multiple_of(4))));
    let (before, _) = launches(&plan(&TRANSPOSED, 65_535 * 8 + 1, 8, 5));
    assert_eq!(starts(&before, "target"), addresses(WORKSPACE.copies.a, 65_535 * 8 * 4));
    assert_eq!(starts(&before, "source"), addresses(A, 65_535 * 8 * 5 * 4));
}

#[test]
fn maps_describe_what_the_kernel_reads() {
    let m = 65_535 * 4 + 3;
    let [a_box, b_box] = MAPPED.maps.unwrap().into_array();
    let a = |address, rows| TensorMap { address, rows, columns: 8, ld: 8, tma_box: a_box };
    let b = TensorMap { address: WORKSPACE.copies.b, rows: 8, columns: 17, ld: 20, tma_box: b_box };
    let slabs = [a(A, 65_535 * 4), a(A + 65_535 * 4 * 8 * 4, 3)];
    assert_eq!(maps(&plan(&MAPPED, m, 17, 8)), slabs.map(|a| Ab { a, b }));
    // Where k is 0 there is no matrix, but a map must have one.
    for map in maps(&plan(&MAPPED, 3, 17, 0)).into_iter().flat_map(Ab::into_array) {
        assert!(map.rows > 0 && map.columns > 0 && map.ld > 0 && map.ld % 4 == 0, "{map:?}");
    }
}

#[test]
fn blocks_that_stream_get_their_workspace() {
    // 3 x 5 tiles and 6 CTA slots: the 3 of the partial wave and 6 more are stream-K tiles.
    let streams = plan(&STREAMS, 12, 40, 5);
    assert_eq!(streams.parts().reduction, 6 * (4 * 8 * 4 + 4));
    let (_, after) = launches(&streams);
    assert_eq!(argument(&after[0], "stream_k_tiles"), Argument::U32(9));
    assert_eq!(argument(&after[0], "workspace"), Argument::Address(WORKSPACE.reduction));
    assert_eq!(after[0].shape.grid, [15 - 9 + 6, 1, 1]);
    assert_eq!(streams.parts(), Workspace { reduction: 6 * 132, ..Workspace::EMPTY });
    assert_eq!(streams.workspace_bytes(), 1024);
}

#[test]
fn bytes_are_counted_by_what_elements_have() {
    // 12 elements of 16 bits are no multiple of 16 bytes, though 12 of 32 bits are.
    let halves = plan(&HALVES, 65_535 * 4 + 1, 16, 12);
    assert_eq!(halves.rewritten(), [(Operand::A, 32_768)]);
    assert_eq!(halves.parts().copies, Ab { a: (65_535 * 4 + 1) * 16 * 2, b: 0 });
    let (before, after) = launches(&halves);
    assert_eq!((before.len(), argument(&before[0], "target_ld")), (1, Argument::U32(16)));
    assert_eq!(argument(&after[1], "a"), Argument::Address(WORKSPACE.copies.a + 65_535 * 4 * 16 * 2));
    assert_eq!(argument(&after[1], "b"), Argument::Address(B));
    // C is f32.
    assert_eq!(argument(&after[1], "c"), Argument::Address(C + 65_535 * 4 * 16 * 4));
    let TensorMap { address, rows, columns, ld, .. } = maps(&halves)[1].a;
    assert_eq!((address, rows, columns, ld), (WORKSPACE.copies.a + 65_535 * 4 * 32, 1, 12, 16));
}

#[test]
fn what_is_split_is_read_by_maps_and_the_rest_as_it_is() {
    let m = 65_535 * 4 + 3;
    let splits = plan(&SPLITS, m, 7, 33);
    // 33 values in two chunks of 32, each with its hi and its lo; then an exponent for each row.
    let row = 4 * 32 * 2;
    let [a_scales, b_scales] = [u64::from(m) * row, 7 * row];
    let bytes = Ab { a: u64::from(m) * (row + 4), b: 7 * (row + 4) };
    assert_eq!(splits.parts(), Workspace { copies: bytes, ..Workspace::EMPTY });
    let padded = bytes.map(|bytes| bytes.next_multiple_of(WORKSPACE_ALIGNMENT));
    assert_eq!(splits.workspace_bytes(), padded.a + padded.b);

    let (before, after) = launches(&splits);
    let Ab { a, b } = WORKSPACE.copies;
    // Slabs of A's rows; of B whole columns.
    let (cut, whole) = (65_535 * 2_u64, 2);
    assert_eq!(
        before.iter().map(|launch| launch.shape.grid).collect::<Vec<_>>(),
        [[1, 65_535, 1], [1, 65_535, 1], [1, 2, 1], [whole, 3, 1]]
    );
    assert_eq!(splits.rewritten(), [(Operand::A, u64::from(m.div_ceil(2))), (Operand::B, 6)]);
    for (launch, first) in before[..3].iter().zip([0, cut, 2 * cut]) {
        for (name, address) in
            [("source", A + first * 33 * 4), ("target", a + first * row), ("scales", a + a_scales + first * 4)]
        {
            assert_eq!(argument(launch, name), Argument::Address(address), "{name}");
        }
        assert_eq!(
            (argument(launch, "columns"), argument(launch, "target_ld")),
            (Argument::U32(33), Argument::U32(128))
        );
    }
    let of_b = &before[3];
    assert_eq!((before[0].shape.cluster, of_b.shape.cluster), ([1; 3], [1, 3, 1]));
    for (name, value) in [("rows", 33), ("columns", 7), ("target_ld", 128)] {
        assert_eq!(argument(of_b, name), Argument::U32(value), "{name}");
    }
    assert_eq!(argument(of_b, "ld"), Argument::U64(7));
    for (name, address) in [("source", B), ("target", b), ("scales", b + b_scales)] {
        assert_eq!(argument(of_b, name), Argument::Address(address), "{name}");
    }

    for (launch, first) in after.iter().zip([0, 65_535 * 4]) {
        let addresses =
            [("a", A + first * 33 * 4), ("b", B), ("a_scales", a + a_scales + first * 4), ("b_scales", b + b_scales)];
        for (name, address) in addresses {
            assert_eq!(argument(launch, name), Argument::Address(address), "{name}");
        }
        assert_eq!((argument(launch, "lda"), argument(launch, "ldb")), (Argument::U32(33), Argument::U32(7)));
    }
    let map = |address, rows| TensorMap { address, rows, columns: 128, ld: 128, tma_box: PART };
    let slabs = [map(a, 65_535 * 4), map(a + 65_535 * 4 * row, 3)];
    assert_eq!(maps(&splits), slabs.map(|a| Ab { a, b: map(b, 7) }));
}

#[test]
fn an_operand_that_is_split_has_a_chunk_at_least_and_no_more_than_can_be_counted() {
    let empty = plan(&SPLITS, 3, 4, 0);
    assert_eq!(launches(&empty).0.len(), 0);
    assert_eq!(empty.parts().copies, Ab { a: 3 * (128 + 4), b: 4 * (128 + 4) });
    assert!(maps(&empty).into_iter().flat_map(Ab::into_array).all(|map| map.columns == 64));

    let of = |k| Plan::new(&SPLITS, &Problem::new(1, 1, k).unwrap(), 3);
    let most = (1 << 30) - 32;
    assert_eq!(launches(&of(most).unwrap()).0[0].arguments[5], ("target_ld", Argument::U32((1 << 31) - 64)));
    let error = of(most + 1).unwrap_err();
    assert_eq!(error.to_string(), "k = 1073741793 is too large: it is at most 1073741792");
}

#[test]
fn blocks_persist_in_whole_clusters_on_as_many_multiprocessors_as_there_are() {
    let grid = |m, n, sm_count| {
        let plan = Plan::new(&PERSISTS, &Problem::new(m, n, 5).unwrap(), sm_count).unwrap();
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
    let error = Plan::new(&HALVES, &Problem::new(4, 4, 4).unwrap(), 3).unwrap_err();
    assert_eq!(error.to_string(), " takes f16 and gives f32; the matrices are of f32 and f32");
}
