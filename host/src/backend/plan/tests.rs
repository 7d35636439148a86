use gpu_kernels::{Element, PREPASS_ARGUMENTS, STEPS, Tile};

use super::*;

const A: Address = 0x1000;
const B: Address = 0x2000;
const C: Address = 0x3000;
const SCRATCH: Scratch<Address> = Scratch { copies: [0x4000, 0x5000], workspace: 0x6000, maps: 0x7000 };

const PLAIN: Step = Step { kernel: "k", tile: Tile { bm: 4, bn: 8, bk: 1, tm: 1, tn: 1 }, ..Step::PLAIN };

const COPY_A: Prepass = Prepass {
    kernel: "copy",
    operand: Operand::A,
    transposes: false,
    split: None,
    only_unaligned: true,
    tile: [8, 32],
    threads: 64,
};
const COPY_B: Prepass = Prepass { operand: Operand::B, ..COPY_A };
const TRANSPOSE_A: Prepass = Prepass { kernel: "transpose", transposes: true, only_unaligned: false, ..COPY_A };

const COPIES: Step = Step { prepasses: &[COPY_A, COPY_B], ..PLAIN };
const TRANSPOSED: Step = Step { prepasses: &[TRANSPOSE_A], ..PLAIN };
const MAPPED: Step = Step {
    prepasses: &[COPY_A, COPY_B],
    maps: Some([
        MapBox { element: Element::F32, rows: 4, columns: 16, swizzled: false },
        MapBox { element: Element::F32, rows: 16, columns: 8, swizzled: true },
    ]),
    ..PLAIN
};
const STREAMS: Step = Step { schedule: Schedule::StreamK { blocks_per_sm: 2 }, ..PLAIN };
const ALL: [&Step; 5] = [&PLAIN, &COPIES, &TRANSPOSED, &MAPPED, &STREAMS];

/// On a device of 3 multiprocessors.
fn plan(step: &'static Step, m: u32, n: u32, k: u32) -> Plan {
    Plan::new(step, &Problem::new(m, n, k).unwrap(), 3)
}

fn launches(plan: &Plan) -> (Vec<Launch>, Vec<Launch>) {
    (plan.prepasses([A, B, C], &SCRATCH), plan.launches([A, B, C], &SCRATCH))
}

/// The argument of that name.
fn argument(launch: &Launch, name: &str) -> Argument {
    launch.arguments.iter().find(|(known, _)| *known == name).unwrap().1
}

#[test]
fn kernels_get_what_they_take() {
    let of = |argument: &Argument| match argument {
        Argument::U32(_) => "u32",
        Argument::F32(_) => "f32",
        Argument::Address(_) => "*",
    };
    let check = |launch: &Launch, expected: Vec<(&str, &str)>| {
        let got: Vec<_> = launch.arguments.iter().map(|(name, argument)| (*name, of(argument))).collect();
        let expected: Vec<_> = expected.iter().map(|(name, ty)| (*name, if ty.len() > 3 { "*" } else { ty })).collect();
        assert_eq!(got, expected);
    };
    for step in ALL.into_iter().chain(STEPS) {
        let (before, launches) = launches(&plan(step, 9, 17, 5));
        before.iter().for_each(|launch| check(launch, PREPASS_ARGUMENTS.to_vec()));
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
    assert_eq!(plan(&COPIES, 9, 16, 8).scratch_bytes(), Scratch::default());

    let unaligned = plan(&COPIES, 9, 17, 33);
    let (before, after) = launches(&unaligned);
    assert_eq!(unaligned.scratch_bytes(), Scratch { copies: [9 * 36 * 4, 33 * 20 * 4], ..Scratch::default() });
    assert_eq!(before.iter().map(|launch| launch.shape.grid).collect::<Vec<_>>(), [[2, 2, 1], [1, 5, 1]]);
    assert_eq!((before[0].kernel, before[0].shape.block), ("copy", [64, 1, 1]));
    for (name, value) in [("rows", 33), ("columns", 17), ("ld", 17), ("target_ld", 20)] {
        assert_eq!(argument(&before[1], name), Argument::U32(value), "{name}");
    }
    assert_eq!(argument(&before[1], "source"), Argument::Address(B));
    for (name, address, ld, value) in [("a", SCRATCH.copies[0], "lda", 36), ("b", SCRATCH.copies[1], "ldb", 20)] {
        assert_eq!(
            (argument(&after[0], name), argument(&after[0], ld)),
            (Argument::Address(address), Argument::U32(value))
        );
    }
}

#[test]
fn nothing_is_rewritten_that_is_not_read() {
    let problem = Problem::new(9, 17, 33).unwrap().with_scalars(0.0, 1.0).unwrap();
    for plan in [Plan::new(&COPIES, &problem, 3), plan(&COPIES, 9, 17, 0)] {
        let (before, after) = launches(&plan);
        assert_eq!((before.len(), after.len()), (0, 1));
        let [a, b] = plan.scratch_bytes().copies;
        assert!(a >= 16 && b >= 16, "there is memory to point to");
    }
    for (m, n) in [(0, 17), (9, 0), (0, 0)] {
        for step in ALL {
            let plan = plan(step, m, n, 33);
            assert_eq!((launches(&plan), plan.scratch_bytes()), ((vec![], vec![]), Scratch::default()));
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
    assert_eq!(starts(&after, "a"), addresses(SCRATCH.copies[0], u64::from(slab_rows) * 4));
    assert_eq!(starts(&after, "lda"), [Argument::U32(m.next_multiple_of(4)); 2]);
    assert_eq!((before.len(), argument(&before[0], "target_ld")), (1, Argument::U32(m.next_multiple_of(4))));
    let (before, _) = launches(&plan(&TRANSPOSED, 65_535 * 8 + 1, 8, 5));
    assert_eq!(starts(&before, "target"), addresses(SCRATCH.copies[0], 65_535 * 8 * 4));
    assert_eq!(starts(&before, "source"), addresses(A, 65_535 * 8 * 5 * 4));
}

#[test]
fn maps_describe_what_the_kernel_reads() {
    let m = 65_535 * 4 + 3;
    let mapped = plan(&MAPPED, m, 17, 8);
    let maps = mapped.maps([A, B, C], &SCRATCH);
    let [a_box, b_box] = MAPPED.maps.unwrap();
    let a = |address, rows| TensorMap { address, rows, columns: 8, ld: 8, copied: a_box };
    let b = TensorMap { address: SCRATCH.copies[1], rows: 8, columns: 17, ld: 20, copied: b_box };
    assert_eq!(maps, [a(A, 65_535 * 4), b, a(A + 65_535 * 4 * 8 * 4, 3), b]);
    assert_eq!(mapped.scratch_bytes().maps, 4 * 128);
    let (_, launches) = launches(&mapped);
    let places = |name| launches.iter().map(|launch| argument(launch, name)).collect::<Vec<_>>();
    assert_eq!(places("a_map"), [0x7000, 0x7100].map(Argument::Address));
    assert_eq!(places("b_map"), [0x7080, 0x7180].map(Argument::Address));
    // Where k is 0 there is no matrix, but a map must have one.
    let empty = plan(&MAPPED, 3, 17, 0).maps([A, B, C], &SCRATCH);
    assert!(empty.iter().all(|map| map.rows > 0 && map.columns > 0 && map.ld > 0 && map.ld % 4 == 0), "{empty:?}");
}

#[test]
fn blocks_that_stream_get_their_workspace() {
    // 3 x 5 tiles and 6 places: 3 are left over, and 6 more are streamed.
    let streams = plan(&STREAMS, 12, 40, 5);
    assert_eq!(streams.scratch_bytes().workspace, 6 * (4 * 8 * 4 + 4));
    let (_, after) = launches(&streams);
    assert_eq!(argument(&after[0], "streamed_tiles"), Argument::U32(9));
    assert_eq!(argument(&after[0], "workspace"), Argument::Address(SCRATCH.workspace));
    assert_eq!(after[0].shape.grid, [15 - 9 + 6, 1, 1]);
    assert_eq!(workspace_bytes(Kernel::Cublas, &Problem::new(4, 4, 4).unwrap(), 3), None);
    assert_eq!(workspace_bytes(Kernel::Step(&STREAMS), &Problem::new(12, 40, 5).unwrap(), 3), Some(6 * 132));
}
