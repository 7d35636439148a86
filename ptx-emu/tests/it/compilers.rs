//! PTX as nvcc and Triton write it: it runs, nothing is found, and the results are those of the source.

use half::f16;
use ptx_emu::{AddressMode, Filter, GlobalMemory, Launch, Layering, Module, Pointer, Texture, TextureArray, Type};

const NVCC: &str = include_str!("../compilers/nvcc.ptx");
const TENSOR_CORES: &str = include_str!("../compilers/tensor_cores.ptx");
const LAYERS: &str = include_str!("../compilers/layers.ptx");
const TEXTURES: &str = include_str!("../compilers/textures.ptx");
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
    for (ptx, count) in [(NVCC, 6), (TENSOR_CORES, 2), (TEXTURES, 3), (LAYERS, 4), (TRITON, 1)] {
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

#[test]
fn fragments_of_wmma_go_through_shared_memory() {
    let (m, n, k) = (32usize, 48usize, 64usize);
    let a = |row: usize, i: usize| ((row * 3 + i) % 7) as f32 - 3.0;
    let b = |i: usize, column: usize| ((i * 5 + column) % 9) as f32 - 4.0;
    let halves =
        |values: Vec<f32>| -> Vec<u8> { values.into_iter().flat_map(|x| f16::from_f32(x).to_le_bytes()).collect() };
    let mut memory = GlobalMemory::default();
    let a_bytes = halves((0..m * k).map(|at| a(at / k, at % k)).collect());
    let b_bytes = halves((0..k * n).map(|at| b(at / n, at % n)).collect());
    let (a_at, b_at) = (memory.allocate_bytes(&a_bytes), memory.allocate_bytes(&b_bytes));
    let c = memory.allocate(4 * (m * n) as u64);
    let launch = Launch::new([n as u32 / 16, m as u32 / 16, 1], [32, 1, 1]);
    let launch = launch.argument(a_at.to_le_bytes()).argument(b_at.to_le_bytes()).argument(c.to_le_bytes());
    let launch = launch.argument((n as u32).to_le_bytes()).argument((k as u32).to_le_bytes());
    run(TENSOR_CORES, "wmma_f16", &mut memory, &launch);
    let sum = |row, column| (0..k).map(|i| a(row, i) * b(i, column)).sum::<f32>() * 0.5;
    let expected: Vec<f32> = (0..m * n).map(|at| sum(at / n, at % n)).collect();
    assert_eq!(read_floats(&mut memory, c), expected);
}

#[test]
fn bytes_are_multiplied_by_columns() {
    let mut memory = GlobalMemory::default();
    let (a, b) = (|row: i32, k: i32| row * 7 - k * 11 - 20, |k: i32, column: i32| k * 13 - column * 9);
    let bytes = |values: Vec<i32>| values.into_iter().map(|x| x as u8).collect::<Vec<u8>>();
    let a_at = memory.allocate_bytes(&bytes((0..32 * 16).map(|at| a(at % 32, at / 32)).collect()));
    let b_at = memory.allocate_bytes(&bytes((0..16 * 8).map(|at| b(at % 16, at / 16)).collect()));
    let c = memory.allocate(4 * 32 * 8);
    let launch = Launch::new([1; 3], [32, 1, 1]);
    let launch = launch.argument(a_at.to_le_bytes()).argument(b_at.to_le_bytes()).argument(c.to_le_bytes());
    run(TENSOR_CORES, "wmma_s8", &mut memory, &launch);
    let byte = |x: i32| i32::from(x as i8);
    let element = |row: i32, column: i32| 1 + (0..16).map(|k| byte(a(row, k)) * byte(b(k, column))).sum::<i32>();
    let expected: Vec<u32> = (0..8 * 32).map(|at| element(at % 32, at / 32) as u32).collect();
    assert_eq!(memory.free(c).unwrap(), expected);
}

#[test]
fn an_image_is_halved_by_the_linear_filter() {
    let (width, height) = (10u32, 6u32);
    let mut memory = GlobalMemory::default();
    let texel = |x: u32, y: u32, channel: u32| (x * 16 + y * 3 + channel) as f32;
    let texels = (0..width * height * 4).map(|at| texel(at / 4 % width, at / 4 / width, at % 4));
    let pointer = floats(&mut memory, texels);
    let array = TextureArray::new(pointer, Type::F32, 4, &[width, height]).unwrap();
    let image = memory.create_texture(Texture { filter: Filter::Linear, ..Texture::new(array) }).unwrap();
    let out = memory.allocate(u64::from(width * height * 4));
    let launch = Launch::new([1, 1, 1], [8, 4, 1]).argument(image.to_le_bytes()).argument(out.to_le_bytes());
    let launch = launch.argument((width / 2).to_le_bytes()).argument((height / 2).to_le_bytes());
    run(TEXTURES, "halve", &mut memory, &launch);
    let mean = |x: u32, y: u32, channel| {
        (texel(x, y, channel) + texel(x + 1, y, channel) + texel(x, y + 1, channel) + texel(x + 1, y + 1, channel))
            / 4.0
    };
    let expected: Vec<f32> =
        (0..width * height).map(|at| mean(at / 4 % (width / 2) * 2, at / 4 / (width / 2) * 2, at % 4)).collect();
    assert_eq!(read_floats(&mut memory, out), expected);
}

#[test]
fn textures_of_one_and_three_dimensions_are_looked_up() {
    let mut memory = GlobalMemory::default();
    let table = memory.allocate_bytes(&[5, 0xff, 7, 8, 9, 10]);
    let table = TextureArray::new(table, Type::S8, 1, &[6]).unwrap();
    let table = Texture { address_modes: [AddressMode::Border; 3], ..Texture::new(table) };
    let line = floats(&mut memory, [10.0, 20.0, 30.0, 40.0]);
    let line = Texture {
        filter: Filter::Linear,
        normalized_coordinates: true,
        address_modes: [AddressMode::Wrap; 3],
        ..Texture::new(TextureArray::new(line, Type::F32, 1, &[4]).unwrap())
    };
    let volume = memory.allocate_bytes(&[0, 51, 102, 153, 204, 255, 0, 51]);
    let volume = Texture {
        normalized_values: true,
        ..Texture::new(TextureArray::new(volume, Type::U8, 1, &[2, 2, 2]).unwrap())
    };
    let handles = [table, line, volume].map(|texture| memory.create_texture(texture).unwrap());
    let (indices, values) = (memory.allocate(32), memory.allocate(32));
    let mut launch = Launch::new([1; 3], [8, 1, 1]);
    launch.arguments = handles.iter().chain([&indices, &values]).map(|handle| handle.to_le_bytes().to_vec()).collect();
    run(TEXTURES, "look_up", &mut memory, &launch);
    assert_eq!(
        memory.free(indices).unwrap().into_iter().map(|word| word as i32).collect::<Vec<_>>(),
        [0, 5, -1, 7, 8, 9, 10, 0]
    );
    // Between the last texel and the first, as the texture repeats; then between adjacent ones.
    let lines = [25.0, 15.0, 25.0, 35.0].repeat(2);
    let volume = [0.0f32, 0.2, 0.4, 0.6, 0.8, 1.0, 0.0, 0.2];
    let expected: Vec<f32> = lines.iter().zip(volume).map(|(line, volume): (&f32, f32)| line + volume).collect();
    assert_eq!(read_floats(&mut memory, values), expected);
}

#[test]
fn a_surface_is_transposed_into_another() {
    let mut memory = GlobalMemory::default();
    // Rows are 32 bytes apart; the surface that is written is smaller than the block.
    let from = memory.allocate_words(0..8 * 6);
    let to = memory.allocate_filled(4 * 4 * 5, u32::MAX).unwrap();
    let array = TextureArray::new(from, Type::U8, 4, &[5, 6]).unwrap().with_pitch(32).unwrap();
    let from = memory.create_surface(array);
    let to_surface = memory.create_surface(TextureArray::new(to, Type::U8, 4, &[4, 5]).unwrap());
    let launch = Launch::new([1; 3], [6, 6, 1]).argument(from.to_le_bytes()).argument(to_surface.to_le_bytes());
    run(TEXTURES, "transpose", &mut memory, &launch);
    let expected: Vec<u32> = (0..5).flat_map(|x| (0..4).map(move |y| 8 * y + x)).collect();
    assert_eq!(memory.free(to).unwrap(), expected);
}

#[test]
fn a_layer_is_filtered_alone() {
    let mut memory = GlobalMemory::default();
    let (width, height, layers) = (4, 3, 3);
    // Linear in each coordinate: between texels lies what the formula gives there.
    let texel = |x: f32, y: f32, layer: u32, channel: f32| 100.0 * layer as f32 + 10.0 * y + x + channel / 2.0;
    let images = floats(
        &mut memory,
        (0..layers * height * width * 2).map(|at| {
            let (channel, x, y) = (at % 2, at / 2 % width, at / 2 / width % height);
            texel(x as f32, y as f32, at / 2 / width / height, channel as f32)
        }),
    );
    let lines = floats(&mut memory, (0..layers * width).map(|at| (1 << at) as f32));
    let layered = |pointer: Pointer, channels: u32, extent: &[u32]| {
        let array = TextureArray::new(pointer, Type::F32, channels, extent).unwrap();
        Texture { filter: Filter::Linear, ..Texture::new(array.with_layering(Layering::Layered).unwrap()) }
    };
    let textures = [layered(lines, 1, &[width, layers]), layered(images, 2, &[width, height, layers])];
    let handles = textures.map(|texture| memory.create_texture(texture).unwrap());
    // One layer more than there are: it is read as the last.
    let (of_lines, of_images) = (memory.allocate(4 * 3 * 4), memory.allocate(4 * 2 * 3 * 8));
    let mut launch = Launch::new([1; 3], [3, 2, 4]);
    launch.arguments = handles.iter().chain([&of_lines, &of_images]).map(|word| word.to_le_bytes().to_vec()).collect();
    run(LAYERS, "sample_layers", &mut memory, &launch);
    let threads = (0..4 * 2 * 3).map(|at| (at % 3, at / 3 % 2, (at / 6).min(2)));
    let expected = threads
        .flat_map(|(x, y, layer)| [0.0, 1.0].map(|channel| texel(x as f32 + 0.5, y as f32 + 0.25, layer, channel)));
    assert_eq!(read_floats(&mut memory, of_images), expected.collect::<Vec<_>>());
    let expected = [0, 1, 2, 4, 5, 6, 8, 9, 10, 8, 9, 10].map(|at| (1 << at) as f32);
    assert_eq!(read_floats(&mut memory, of_lines), expected);
}

#[test]
fn a_direction_leads_to_a_texel_of_a_cube() {
    let mut memory = GlobalMemory::default();
    // Each texel its own number: 4 to a face, 24 to a cube.
    let cubemap = |memory: &mut GlobalMemory, faces: u32, layering| {
        let texels = memory.allocate_words(0..4 * faces);
        let array = TextureArray::new(texels, Type::S32, 1, &[2, 2, faces]).unwrap();
        memory.create_texture(Texture::new(array.with_layering(layering).unwrap())).unwrap()
    };
    let cube = cubemap(&mut memory, 6, Layering::Cubemap);
    let cubes = cubemap(&mut memory, 12, Layering::LayeredCubemap);
    // To the upper left of each face and to its lower right, seen from inside: the right of +x is -z, and up is +y, but for the faces above
    // and below.
    let directions: [[f32; 3]; 12] = [
        [2.0, 1.0, 1.0],
        [2.0, -1.0, -1.0],
        [-2.0, 1.0, -1.0],
        [-2.0, -1.0, 1.0],
        [-1.0, 2.0, -1.0],
        [1.0, 2.0, 1.0],
        [-1.0, -2.0, 1.0],
        [1.0, -2.0, -1.0],
        [-1.0, 1.0, 2.0],
        [1.0, -1.0, 2.0],
        [1.0, 1.0, -2.0],
        [-1.0, -1.0, -2.0],
    ];
    let directions = floats(&mut memory, directions.into_iter().flatten());
    let [of_cube, of_cubes] = [(); 2].map(|()| memory.allocate(12 * 4));
    let mut launch = Launch::new([1; 3], [12, 1, 1]);
    launch.arguments = [cube, cubes, directions, of_cube, of_cubes].map(|word| word.to_le_bytes().to_vec()).into();
    run(LAYERS, "look_around", &mut memory, &launch);
    let expected: Vec<u32> = (0..6).flat_map(|face| [4 * face, 4 * face + 3]).collect();
    assert_eq!(memory.free(of_cube).unwrap(), expected);
    let layered: Vec<u32> = expected.iter().zip(0..).map(|(texel, thread)| texel + thread % 2 * 24).collect();
    assert_eq!(memory.free(of_cubes).unwrap(), layered);
}

#[test]
fn four_texels_are_gathered_counterclockwise() {
    let mut memory = GlobalMemory::default();
    // The second of two components is ten times the number of the texel.
    let texels = memory.allocate_bytes(&(0..12u8).flat_map(|at| [255, 10 * at]).collect::<Vec<_>>());
    let image = Texture::new(TextureArray::new(texels, Type::U8, 2, &[4, 3]).unwrap());
    let image = memory.create_texture(image).unwrap();
    let places = floats(&mut memory, [1.0, 1.0, 2.75, 1.5, 2.498_05, 2.0, 0.0, 0.0]);
    let gathered = memory.allocate(4 * 16);
    let launch = Launch::new([1; 3], [4, 1, 1]).argument(image.to_le_bytes());
    let launch = launch.argument(places.to_le_bytes()).argument(gathered.to_le_bytes());
    run(LAYERS, "gather", &mut memory, &launch);
    let expected = [[40, 50, 10, 0], [100, 110, 70, 60], [100, 110, 70, 60], [0, 0, 0, 0]];
    assert_eq!(memory.free(gathered).unwrap(), expected.concat());
}

#[test]
fn layers_of_surfaces_are_reversed() {
    let mut memory = GlobalMemory::default();
    let halves: Vec<u8> = (0..6 * 3u16).flat_map(u16::to_le_bytes).collect();
    let lines = memory.allocate_bytes(&halves);
    let turned = memory.allocate(halves.len() as u64);
    let images = memory.allocate_words(0..3 * 3 * 6 * 2);
    let cube = memory.allocate(3 * 3 * 6 * 8);
    let surface = |memory: &mut GlobalMemory, pointer, ty, channels, extent: &[u32], layering| {
        let array = TextureArray::new(pointer, ty, channels, extent).unwrap();
        memory.create_surface(array.with_layering(layering).unwrap())
    };
    let handles = [
        surface(&mut memory, lines, Type::S16, 1, &[3, 6], Layering::Layered),
        surface(&mut memory, turned, Type::S16, 1, &[3, 6], Layering::Layered),
        surface(&mut memory, images, Type::U32, 2, &[3, 3, 6], Layering::Layered),
        surface(&mut memory, cube, Type::U32, 2, &[3, 3, 6], Layering::Cubemap),
    ];
    let mut launch = Launch::new([1; 3], [3, 3, 6]);
    launch.arguments = handles.iter().map(|handle| handle.to_le_bytes().to_vec()).collect();
    run(LAYERS, "reverse_layers", &mut memory, &launch.argument(6i32.to_le_bytes()));
    let expected: Vec<u16> = (0..6).rev().flat_map(|layer| 3 * layer..3 * layer + 3).collect();
    assert_eq!(memory.read(turned).unwrap(), expected.into_iter().flat_map(u16::to_le_bytes).collect::<Vec<_>>());
    let expected: Vec<u32> = (0..6).rev().flat_map(|layer| 18 * layer..18 * layer + 18).collect();
    assert_eq!(memory.free(cube).unwrap(), expected);
}
