//! Counters of kernels whose source says what they must be: sectors of 32 bytes, and wavefronts of shared memory's 32 banks.

use std::time::Duration;

use ptx_emu::{Blocks, Class, Counters, GlobalMemory, Grouping, Launch, Module};

const KERNELS: &str = include_str!("../counted/kernels.ptx");

/// Counters of a launch, on which all checkers are silent.
fn counters(kernel: &str, memory: &mut GlobalMemory, launch: &Launch) -> Counters {
    let kernel =
        Module::parse(KERNELS).and_then(|module| module.kernel(kernel)).unwrap_or_else(|error| panic!("{error}"));
    let report = kernel.launch(memory, launch).unwrap_or_else(|error| panic!("{error}"));
    assert!(report.is_clean(), "{:?} {:?}", report.fault, report.findings);
    report.counters
}

/// Tiles of 32x32 that a transposed matrix has in each direction.
const TILES: u32 = 2;
/// Warps of a transpose that load, and that store: one for each row of a tile.
const ROWS: u64 = (TILES * TILES * 32) as u64;

fn transpose(kernel: &str) -> Counters {
    let (mut memory, n) = (GlobalMemory::default(), TILES * 32);
    let (input, output) = (memory.allocate_words(0..n * n), memory.allocate(4 * u64::from(n * n)));
    let launch = Launch::new([TILES, TILES, 1], [32, 8, 1]);
    let launch = launch.argument(input.to_le_bytes()).argument(output.to_le_bytes()).argument(n.to_le_bytes());
    let counters = counters(kernel, &mut memory, &launch);
    let result = memory.free(output).unwrap();
    assert!((0..n * n).all(|i| result[(i % n * n + i / n) as usize] == i));
    counters
}

#[test]
fn a_naive_transpose_stores_one_element_to_a_sector() {
    let counters = transpose("transpose_naive");
    let (loads, stores) = (counters.global_loads, counters.global_stores);
    assert_eq!((loads.requests, loads.sectors, loads.bytes), (ROWS, 4 * ROWS, 128 * ROWS));
    assert_eq!((stores.requests, stores.sectors, stores.bytes), (ROWS, 32 * ROWS, 128 * ROWS));
}

#[test]
fn a_tile_makes_both_sides_contiguous_and_padding_avoids_the_bank_conflicts() {
    // A column of 32 words to a row lies in one bank; of 33 words to a row, in all of them.
    for (kernel, wavefronts) in [("transpose_tile", 32), ("transpose_padded", 1)] {
        let counters = transpose(kernel);
        for accesses in [counters.global_loads, counters.global_stores] {
            assert_eq!((accesses.requests, accesses.sectors, accesses.bytes), (ROWS, 4 * ROWS, 128 * ROWS), "{kernel}");
        }
        let (loads, stores) = (counters.shared_loads, counters.shared_stores);
        assert_eq!((stores.requests, stores.wavefronts, stores.bytes), (ROWS, ROWS, 128 * ROWS), "{kernel}");
        assert_eq!((loads.requests, loads.wavefronts, loads.bytes), (ROWS, wavefronts * ROWS, 128 * ROWS), "{kernel}");
    }
}

#[test]
fn a_reduction_leaves_one_word_of_each_warp() {
    const BLOCKS: u64 = 4;
    let mut memory = GlobalMemory::default();
    let (input, output) = (memory.allocate_words([1f32.to_bits(); 256 * BLOCKS as usize]), memory.allocate(4));
    let launch = Launch::new([BLOCKS as u32, 1, 1], [256, 1, 1]);
    let launch = launch.argument(input.to_le_bytes()).argument(output.to_le_bytes());
    let counters = counters("reduce", &mut memory, &launch);
    assert_eq!(memory.free(output).unwrap(), [(256.0 * BLOCKS as f32).to_bits()]);

    // Eight warps of 32 floats; one of them goes on with eight, and adds one word to the result.
    let (loads, stores) = (counters.global_loads, counters.global_stores);
    assert_eq!((loads.requests, loads.sectors, loads.bytes), (8 * BLOCKS, 4 * 8 * BLOCKS, 1024 * BLOCKS));
    assert_eq!((stores.requests, stores.sectors, stores.bytes), (BLOCKS, BLOCKS, 4 * BLOCKS));
    assert_eq!(counters.shuffles, (8 * 5 + 3) * BLOCKS);
    let (loads, stores) = (counters.shared_loads, counters.shared_stores);
    assert_eq!((stores.requests, stores.wavefronts, stores.bytes), (8 * BLOCKS, 8 * BLOCKS, 4 * 8 * BLOCKS));
    assert_eq!((loads.requests, loads.wavefronts, loads.bytes), (BLOCKS, BLOCKS, 32 * BLOCKS));
    assert_eq!(counters.barriers, 8 * BLOCKS);
}

#[test]
fn a_histogram_conflicts_where_its_bins_share_a_bank() {
    // Byte i of thread t: one bin to each bank, and all bins in one bank.
    let spread = counters_of_histogram(|thread| u32::from_le_bytes([thread % 32; 4]));
    let crowded = counters_of_histogram(|thread| u32::from_le_bytes([thread % 8 * 32; 4]));
    // Zeros and counts, one warp each, one wavefront each; four additions of each warp.
    for (counters, wavefronts) in [(&spread, 1), (&crowded, 8)] {
        let stores = counters.shared_stores;
        assert_eq!((stores.requests, stores.bytes), (8 + 4 * 8, 128 * (8 + 4 * 8)));
        assert_eq!(stores.wavefronts, 8 + 4 * 8 * wavefronts);
        assert_eq!((counters.shared_loads.requests, counters.shared_loads.wavefronts), (8, 8));
        assert_eq!((counters.global_loads.sectors, counters.global_stores.sectors), (4 * 8, 4 * 8));
        assert_eq!(counters.instructions[&Class::Barrier], 2 * 8);
    }
}

/// Counters of one block's histogram of what each thread reads.
fn counters_of_histogram(bytes: impl Fn(u8) -> u32) -> Counters {
    let mut memory = GlobalMemory::default();
    let (input, bins) = (memory.allocate_words((0..=255).map(&bytes)), memory.allocate(1024));
    let launch = Launch::new([1; 3], [256, 1, 1]).argument(input.to_le_bytes()).argument(bins.to_le_bytes());
    let counters = counters("histogram", &mut memory, &launch);
    let mut expected = vec![0; 256];
    (0..=255).flat_map(|thread| bytes(thread).to_le_bytes()).for_each(|byte| expected[usize::from(byte)] += 1);
    assert_eq!(memory.free(bins).unwrap(), expected);
    counters
}

/// Of 256 threads, 200 have an element of x and of y: the last of the blocks has fewer sectors than the others.
#[test]
fn counters_are_those_of_any_number_of_host_threads() {
    let kernel = Module::parse(include_str!("../ptx/saxpy.ptx")).unwrap().kernel("saxpy").unwrap();
    let some = Blocks::Sample { budget: Duration::ZERO, seed: 1, grouping: Grouping::Clusters };
    for (blocks, sectors) in [(Blocks::All, Some(2 * 200 / 8)), (some, None)] {
        let counters = |threads: usize| {
            let mut memory = GlobalMemory::default();
            let [x, y] = [1.0f32; 2].map(|fill| memory.allocate_words([fill.to_bits(); 200]));
            let launch = Launch { blocks, threads, ..Launch::new([16, 1, 1], [16, 1, 1]) };
            let launch = launch.argument(200u32.to_le_bytes()).argument(2.0f32.to_le_bytes());
            let launch = launch.argument(x.to_le_bytes()).argument(y.to_le_bytes());
            kernel.launch(&mut memory, &launch).unwrap().counters
        };
        let expected = counters(1);
        assert!(sectors.is_none_or(|sectors| expected.block_sectors == sectors), "{}", expected.block_sectors);
        for threads in [2, 3, 8] {
            assert_eq!(format!("{:?}", counters(threads)), format!("{expected:?}"), "{threads} threads, {blocks:?}");
        }
    }
}
