//! The registry is the only list of steps; this keeps it in order.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use gpu_kernels::spec::persistent_rows;
use gpu_kernels::{
    Ab, Coord, Element, Extent, MAX_SIZE, Operand, STEPS, SUPPORT_KERNELS, Schedule, Split, Step, Target, Tile, align,
    finish, transpose,
};

/// Static shared memory that a block may have on every device. CUDA C++ Programming Guide, "Technical Specifications
/// per Compute Capability".
const MAX_STATIC_SMEM_BYTES: u32 = 48 * 1024;

/// Shared memory that a block may have in all on the devices of each target, likewise.
fn max_smem_bytes(target: Target) -> u32 {
    match target {
        Target::Sm80 => 163 * 1024,
        Target::Sm90a | Target::Sm100 => 227 * 1024,
    }
}

/// The most blocks of a cluster, where a kernel asks for it.
const MAX_CLUSTER_BLOCKS: u32 = 16;

fn for_each_step(check: impl Fn(&Step)) {
    assert!(!STEPS.is_empty());
    STEPS.iter().for_each(check);
}

/// For what is true of variants, too.
fn for_each_runnable(check: impl Fn(&Step)) {
    gpu_kernels::runnable().for_each(check);
}

fn steps_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../gpu-kernels/src/steps")
}

/// `2d-tiling` is the module `tiling_2d`: a Rust name cannot begin with a digit.
fn module_name(slug: &str) -> String {
    let mut words: Vec<_> = slug.split('-').collect();
    if slug.starts_with(|c: char| c.is_ascii_digit()) {
        words.rotate_left(1);
    }
    words.join("_")
}

#[test]
fn names_are_unique() {
    let runnable = || gpu_kernels::runnable();
    let slugs: HashSet<_> = runnable().map(|step| step.slug).collect();
    // A kernel may see from its grid in which of two ways it is tiled.
    let kernels: HashSet<_> = runnable().map(|step| (step.kernel, step.tile.bm, step.tile.bn)).collect();
    assert_eq!((slugs.len(), kernels.len()), (runnable().count(), runnable().count()));
    for (group, _) in host::measure::kernels::GROUPS {
        assert!(!slugs.contains(group), "{group} is a word of the command line");
    }
}

#[test]
fn variants_are_named_after_their_step_and_are_its_kind() {
    for_each_step(|step| {
        for variant in step.variants {
            let slug = variant.slug;
            assert!(slug.strip_prefix(step.slug).is_some_and(|rest| rest.starts_with('/')), "{slug}");
            assert!(variant.variants.is_empty() && variant.base == step.base, "{slug}");
            assert_eq!(variant.target, step.target, "{slug}");
            // Those for matrices of 16 bits take one kind of these or the other, and are named after it.
            let input = variant.precision.input();
            if input == Element::F32 {
                assert!(variant.kernel.starts_with(step.kernel), "{slug}: {}", variant.kernel);
                assert_eq!((variant.precision, variant.output), (step.precision, step.output), "{slug}");
            } else {
                let names = format!("{}_{}", module_name(step.slug), input.name());
                assert!(variant.kernel.starts_with(&names), "{slug}: {}", variant.kernel);
            }
        }
    });
}

#[test]
fn slugs_are_lower_case_words() {
    for_each_step(|step| {
        let word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        assert!(step.slug.split('-').all(word), "{}", step.slug);
        let name = module_name(step.slug);
        let kernel = match step.precision.input() {
            Element::F32 => format!("sgemm_{name}"),
            element => format!("{name}_{}", element.name()),
        };
        assert_eq!(step.kernel, kernel);
    });
}

#[test]
fn each_step_is_a_file_in_the_ladders_order() {
    let mut files: Vec<_> = std::fs::read_dir(steps_folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|file| file != "mod.rs")
        .collect();
    files.sort();
    let expected = STEPS.iter().zip(1..).map(|(step, i)| format!("{i:02}_{}.rs", module_name(step.slug)));
    assert_eq!(files, expected.collect::<Vec<_>>());
}

#[test]
fn each_base_comes_earlier() {
    assert_eq!(STEPS[0].base, None);
    for (i, step) in STEPS.iter().enumerate().skip(1) {
        let base = step.base.unwrap_or_else(|| panic!("{} has no base", step.slug));
        assert!(STEPS[..i].iter().any(|earlier| earlier.slug == base), "{} is based on {base}", step.slug);
    }
}

#[test]
fn each_step_says_what_it_is_and_where_from() {
    for_each_step(|step| {
        for text in [step.summary, step.source] {
            assert!(!text.is_empty() && !text.contains('\n') && text == text.trim(), "{}: {text:?}", step.slug);
        }
    });
}

#[test]
fn blocks_can_be_launched() {
    for_each_runnable(|step| {
        let Step { slug, target, smem_bytes, dynamic_smem_bytes, .. } = *step;
        assert!((1..=1024).contains(&step.threads()), "{slug}");
        assert_eq!(step.threads() % 32, 0, "{slug}: not whole warps");
        assert!(smem_bytes <= MAX_STATIC_SMEM_BYTES, "{slug}");
        assert!(smem_bytes + dynamic_smem_bytes <= max_smem_bytes(target), "{slug}");
    });
}

#[test]
fn clusters_and_maps_are_where_devices_have_them() {
    for_each_runnable(|step| {
        let Step { slug, cluster, target, maps, .. } = *step;
        assert!((1..=MAX_CLUSTER_BLOCKS).contains(&cluster.iter().product()), "{slug}: a cluster of {cluster:?}");
        let needs_hopper = cluster != [1; 3] || maps.is_some();
        assert!(!needs_hopper || !target.runs_on(8, 0), "{slug}: clusters and tensor maps are there from 9.0 on");
        for copied in maps.into_iter().flat_map(Ab::into_array) {
            assert!(
                (1..=256).contains(&copied.extent.rows) && (1..=256).contains(&copied.extent.cols),
                "{slug}: {copied:?}"
            );
            let row_bytes = copied.extent.cols * copied.element.bytes();
            assert_eq!(row_bytes % 16, 0, "{slug}: rows of a box are made of 16 bytes");
            assert!(!copied.swizzled || row_bytes <= 128, "{slug}: swizzled rows have at most 128 bytes");
        }
        match step.schedule {
            Schedule::DataParallel => {}
            Schedule::SerialSplitK { splits } => assert!(splits > 0 && cluster == [1; 3], "{slug}"),
            Schedule::PlannedSplitK { blocks_per_sm, reduction_k, .. } => {
                assert!(
                    blocks_per_sm > 0 && cluster == [1; 3],
                    "{slug}: the plan says of how many blocks a cluster is"
                );
                assert_eq!(reduction_k == 0, step.multicasts, "{slug}: tiles say what a reduction takes, or it does");
            }
            Schedule::SplitK { splits } => assert!(splits > 0 && splits % cluster[2] == 0, "{slug}"),
            Schedule::StreamK { blocks_per_sm, .. } => assert!(blocks_per_sm > 0 && cluster == [1; 3], "{slug}"),
            Schedule::Persistent { group } => {
                assert_eq!(cluster, [group.count(), 1, 1], "{slug}: the grid has one dimension");
            }
            Schedule::PersistentBatch { blocks_per_sm, band_rows } => {
                let pairs = if step.multicasts { 2 } else { 1 };
                assert!(blocks_per_sm > 0 && band_rows.is_multiple_of(pairs) && cluster == [1; 3], "{slug}");
            }
        }
    });
}

#[test]
fn prepasses_can_be_launched_and_align_what_maps_describe() {
    for_each_runnable(|step| {
        for prepass in step.prepasses {
            assert!((1..=1024).contains(&prepass.threads), "{}", prepass.kernel);
            assert!(prepass.tile.count() > 0 && prepass.shared_rows != Some(0), "{}", prepass.kernel);
            assert!(prepass.shared_rows.is_none() || step.target == Target::Sm90a, "{}: a cluster", prepass.kernel);
            assert!(!(prepass.transposes && prepass.only_unaligned), "{}: sometimes transposed", prepass.kernel);
        }
        let splits: Vec<_> = step.prepasses.iter().filter(|prepass| prepass.split.is_some()).collect();
        assert!([0, 2].contains(&splits.len()), "{}: one operand is split, the other is not", step.slug);
        for prepass in splits {
            let Split { element, chunk } = prepass.split.unwrap();
            assert_eq!(chunk * element.bytes(), 64, "{}", prepass.kernel);
            assert!(step.maps.is_some() && !prepass.only_unaligned, "{}", prepass.kernel);
            assert_eq!(prepass.transposes, prepass.operand == Operand::B, "{}", prepass.kernel);
            // A block has whole rows of A or whole columns of B, that no slab cuts.
            let Extent { rows, cols } = prepass.tile;
            let along_k = if prepass.operand == Operand::A { cols } else { rows };
            assert!(along_k >= MAX_SIZE, "{}", prepass.kernel);
        }
        let maps = step.maps.map(Ab::into_array);
        for (operand, index) in [(Operand::A, 0), (Operand::B, 1)] {
            if let Some(maps) = maps {
                let split = step.prepasses.iter().find(|prepass| prepass.operand == operand).and_then(|it| it.split);
                let element = split.map_or(step.precision.input(), |split| split.element);
                assert_eq!(maps[index].element, element, "{}: {operand:?}", step.slug);
            }
            let mut of_operand = step.prepasses.iter().filter(|prepass| prepass.operand == operand);
            assert!(
                of_operand.next().is_some() || step.maps.is_none(),
                "{}: {operand:?} may not be aligned",
                step.slug
            );
            assert!(of_operand.next().is_none(), "{}: {operand:?} is rewritten twice", step.slug);
        }
    });
}

#[test]
fn support_kernels_are_all_that_a_step_may_be_launched_with() {
    let elements = [Element::F32, Element::F16, Element::Bf16];
    let of_operand = |operand| {
        let prepasses = elements.map(|element| [align(operand, element), transpose(operand, element)]);
        let prepasses = prepasses.as_flattened().to_vec();
        assert!(prepasses.iter().all(|prepass| prepass.operand == operand && prepass.split.is_none()));
        prepasses
    };
    let prepasses = [Operand::A, Operand::B].into_iter().flat_map(of_operand).map(|prepass| prepass.kernel);
    let postpasses = elements.map(finish).map(|postpass| postpass.kernel);
    let of_steps = gpu_kernels::runnable().flat_map(|step| step.prepasses).filter(|prepass| prepass.split.is_none());
    let expected: HashSet<_> = prepasses.chain(postpasses).chain(of_steps.map(|prepass| prepass.kernel)).collect();
    assert_eq!(HashSet::from(SUPPORT_KERNELS), expected);
    assert_eq!(SUPPORT_KERNELS.len(), expected.len(), "one is listed twice");
    for postpass in elements.map(finish) {
        let Extent { rows, cols } = postpass.tile;
        assert!((1..=1024).contains(&postpass.threads), "{}", postpass.kernel);
        assert_eq!(postpass.grid(Extent { rows: 2 * rows + 1, cols: 3 * cols }), [9, 1, 1], "{}", postpass.kernel);
    }
}

#[test]
fn threads_cover_the_tile_exactly() {
    for_each_runnable(|step| {
        let Tile { bm, bn, bk, tm, tn } = step.tile;
        assert!([bm, bn, bk, tm, tn].iter().all(|&size| size > 0), "{}", step.slug);
        assert_eq!((bm % tm, bn % tn), (0, 0), "{}", step.slug);
        let computing = (bm / tm) * (bn / tn);
        // Beside those that compute there may be warps that only copy, by tensor maps; or threads share a tile's k as blocks do.
        let copying = step.threads() - computing;
        let share_k = step.is_planned() && step.threads().is_multiple_of(computing);
        assert!(copying == 0 || share_k || step.maps.is_some() && copying % 32 == 0, "{}", step.slug);
    });
}

#[test]
fn grids_cover_the_result() {
    for_each_runnable(|step| {
        let Tile { bm, bn, .. } = step.tile;
        for (m, n, sm_count) in [(2 * bm, 3 * bn, 1), (2 * bm + 1, 3 * bn - 1, 1), (5 * bm, 2 * bn, 4), (bm, bn, 132)] {
            // As many blocks that persist as there are tiles have one each.
            let sm_count = if step.persists() { u32::MAX } else { sm_count };
            let [x, y, z] = step.grid(m, n, 1, sm_count);
            let stream_k = step.stream_k_tiles(m, n, sm_count);
            let blocks = (0..y).flat_map(|y| (0..x).map(move |x| [x, y, 0]));
            let own: Vec<_> = blocks.filter_map(|block| step.tile_of(block, m, n, stream_k)).collect();
            let shared = (0..stream_k.tiles).map(|index| step.tile_at(index, n));
            let tiles: Vec<_> = own.into_iter().chain(shared).collect();
            let distinct: HashSet<_> = tiles.iter().copied().collect();
            assert_eq!(tiles.len(), distinct.len(), "{}: a tile is computed twice", step.slug);
            let (rows, columns) = (m.div_ceil(bm), n.div_ceil(bn));
            let missing = (0..rows).flat_map(|row| (0..columns).map(move |col| Coord { row, col }));
            assert_eq!(missing.filter(|tile| !distinct.contains(tile)).count(), 0, "{}", step.slug);
            let splits = if let Schedule::SplitK { splits } = step.schedule { splits } else { step.cluster[2] };
            assert_eq!(z, splits, "{}", step.slug);
        }
        if let Schedule::Persistent { group } = step.schedule {
            let cluster = group.count();
            assert!(persistent_rows(bm).is_multiple_of(group.rows), "{}", step.slug);
            let of_few = |sm_count| step.grid(20 * bm, 20 * bn, 1, sm_count);
            assert_eq!([1, 8 * cluster].map(of_few), [[cluster, 1, 1], [8 * cluster, 1, 1]], "{}", step.slug);
        }
        assert!(step.grid(0, 1, 1, 1).contains(&0) && step.grid(1, 0, 1, 1).contains(&0), "{}", step.slug);
    });
}
