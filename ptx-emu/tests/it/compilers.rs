//! PTX as nvcc and Triton write it: it runs, nothing is found, and the results are those of the source.

use ptx_emu::{GlobalMemory, Launch, Module, Pointer};

const NVCC: &str = include_str!("../compilers/nvcc.ptx");
const TRITON: &str = include_str!("../compilers/triton.ptx");

/// Runs a kernel, on whose launch all checkers are silent.
fn run(ptx: &str, kernel: &str, memory: &mut GlobalMemory, launch: &Launch) {
    let module = Module::parse(ptx).unwrap_or_else(|error| panic!("{error}"));
    let kernel = module.kernel(kernel).unwrap_or_else(|error| panic!("{error}"));
    let report = kernel.launch(memory, launch).unwrap_or_else(|error| panic!("{error}"));
    assert!(report.is_clean(), "{:?} {:?}", report.fault, report.findings);
}

fn floats(memory: &mut GlobalMemory, values: impl IntoIterator<Item = f32>) -> Pointer {
    memory.allocate_words(values.into_iter().map(f32::to_bits))
}

fn read_floats(memory: &mut GlobalMemory, pointer: Pointer) -> Vec<f32> {
    memory.free(pointer).unwrap().into_iter().map(f32::from_bits).collect()
}

#[test]
fn every_kernel_can_be_run() {
    for (ptx, count) in [(NVCC, 6), (TRITON, 1)] {
        let module = Module::parse(ptx).unwrap();
        assert_eq!(module.kernels().count(), count);
        for name in module.kernels() {
            module.kernel(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}

#[test]
fn shuffles_and_atomics_add_up() {
    let mut memory = GlobalMemory::default();
    let (x, y) = (floats(&mut memory, (0..10_000).map(|i| (i % 10) as f32)), floats(&mut memory, [0.0]));
    let launch = Launch::new([4, 1, 1], [256, 1, 1]);
    let launch = launch.argument(x.to_le_bytes()).argument(y.to_le_bytes()).argument(10_000i32.to_le_bytes());
    run(NVCC, "reduce_shfl", &mut memory, &launch);
    assert_eq!(read_floats(&mut memory, y), [45_000.0]);
}

#[test]
fn bytes_are_counted_in_shared_memory() {
    let mut memory = GlobalMemory::default();
    let bytes: Vec<u8> = (0..6000u32).map(|i| (i * i % 251) as u8).collect();
    let (x, h) = (memory.allocate_bytes(&bytes), memory.allocate(4 * 256));
    let launch = Launch::new([3, 1, 1], [128, 1, 1]);
    let launch = launch.argument(x.to_le_bytes()).argument(h.to_le_bytes()).argument(6000i32.to_le_bytes());
    run(NVCC, "histogram", &mut memory, &launch);
    let mut expected = vec![0; 256];
    bytes.iter().for_each(|&byte| expected[usize::from(byte)] += 1);
    assert_eq!(memory.free(h).unwrap(), expected);
}

#[test]
fn arrays_indexed_at_run_time_lie_in_local_memory() {
    let (mut memory, n) = (GlobalMemory::default(), 100u32);
    let (a, c) = (memory.allocate_words(0..n), memory.allocate(4 * u64::from(n)));
    let launch = Launch::new([2, 1, 1], [64, 1, 1]);
    let launch = launch.argument(a.to_le_bytes()).argument(c.to_le_bytes()).argument(n.to_le_bytes());
    run(NVCC, "local_array", &mut memory, &launch);
    let expected = (0..n).map(|i| {
        let buf: Vec<u32> = (0..64).map(|j| (i + j) % n).collect();
        (0..64).map(|j| buf[(j * 7 + i) as usize & 63] * j).sum::<u32>()
    });
    assert_eq!(memory.free(c).unwrap(), expected.collect::<Vec<_>>());
}

#[test]
fn dynamic_shared_memory_turns_a_block_around() {
    let mut memory = GlobalMemory::default();
    let x = floats(&mut memory, (0..256).map(|i| i as f32));
    let launch = Launch { dynamic_shared_bytes: 512, ..Launch::new([2, 1, 1], [32, 1, 1]) };
    let launch = launch.argument(x.to_le_bytes()).argument(7i32.to_le_bytes());
    run(NVCC, "dyn", &mut memory, &launch);
    let result = read_floats(&mut memory, x);
    assert_eq!((result[..4].to_vec(), result[252]), (vec![124.0, 125.0, 126.0, 127.0], 128.0));
}

#[test]
fn a_switch_goes_each_way() {
    let mut memory = GlobalMemory::default();
    let (a, c) = (memory.allocate_words(0..64), memory.allocate(4 * 64));
    let launch = Launch::new([1, 1, 1], [64, 1, 1]);
    let launch = launch.argument(a.to_le_bytes()).argument(c.to_le_bytes()).argument(64i32.to_le_bytes());
    run(NVCC, "switcher", &mut memory, &launch);
    let expected = (0..64i32).map(|v| match v & 15 {
        0 => v * 3,
        1 => v / 7,
        2 => v % 11,
        3 => v.count_ones() as i32,
        4 => v.leading_zeros() as i32,
        5 => v.reverse_bits(),
        6 => v.trailing_zeros() as i32 + 1,
        7 => v.min(3),
        8 => v ^ 0x55,
        9 => v << 3,
        10 => v >> 2,
        // __byte_perm(v, v, 0x3210 + v % 4): the lowest byte is byte v % 4, of bytes 1 to 3 the rest.
        11 => (v & !0xff) | (v >> (8 * (v % 4)) & 0xff),
        _ => -v,
    });
    let got: Vec<i32> = memory.free(c).unwrap().into_iter().map(|word| word as i32).collect();
    assert_eq!(got, expected.collect::<Vec<_>>());
}

#[test]
fn tritons_softmax_is_one() {
    let (mut memory, rows, n) = (GlobalMemory::default(), 3u32, 500u32);
    let value = |i: u32| ((i * 37 % 101) as f32) / 25.0 - 2.0;
    let (o, x) = (memory.allocate(4 * u64::from(rows * n)), floats(&mut memory, (0..rows * n).map(value)));
    let null = 0u64.to_le_bytes();
    let launch = Launch::new([rows, 1, 1], [128, 1, 1]).argument(o.to_le_bytes()).argument(x.to_le_bytes());
    let launch = launch.argument(n.to_le_bytes()).argument(n.to_le_bytes()).argument(null).argument(null);
    run(TRITON, "softmax", &mut memory, &Launch { dynamic_shared_bytes: 1024, ..launch });
    let result = read_floats(&mut memory, o);
    for row in 0..rows {
        let exponentials = (0..n).map(|i| f64::from(value(row * n + i)).exp());
        let sum: f64 = exponentials.clone().sum();
        for (i, exponential) in exponentials.enumerate() {
            let got = f64::from(result[(row * n) as usize + i]);
            assert!((got - exponential / sum).abs() <= 1e-6 * exponential / sum, "row {row}, column {i}: {got}");
        }
    }
}
