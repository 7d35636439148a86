//! Arrays, textures and surfaces.

use std::mem::{MaybeUninit, zeroed};
use std::ptr;

use cudarc::driver::sys::{self, CUarray, CUarray_format as Format, CUmemorytype as MemoryType, CUresult};
use cudarc::driver::{CudaContext, DevicePtr, PushKernelArg};

use super::{emulated, good, one_block, open};

/// Kernels whose source stands beside them.
const LAYERS: &str = include_str!("../../../ptx-emu/tests/compilers/layers.ptx");
const TEXTURES: &str = include_str!("../../../ptx-emu/tests/compilers/textures.ptx");

fn create([width, height, depth]: [usize; 3], format: Format, channels: u32, flags: u32) -> Result<CUarray, CUresult> {
    let descriptor = sys::CUDA_ARRAY3D_DESCRIPTOR {
        Width: width,
        Height: height,
        Depth: depth,
        Format: format,
        NumChannels: channels,
        Flags: flags,
    };
    let mut array = ptr::null_mut();
    // SAFETY: a place for a handle, and a description of an array.
    let status = unsafe { sys::cuArray3DCreate_v2(&raw mut array, &raw const descriptor) };
    (status == CUresult::CUDA_SUCCESS).then_some(array).ok_or(status)
}

/// A copy from the first side to the second, of which nothing is said yet.
fn copy(from: MemoryType, to: MemoryType, size: [usize; 3]) -> sys::CUDA_MEMCPY3D {
    let mut copy = MaybeUninit::<sys::CUDA_MEMCPY3D>::zeroed();
    // SAFETY: zeros are what all other fields are to be, null pointers among them; the two enumerations are set.
    let copy = unsafe {
        let fields = copy.as_mut_ptr();
        (&raw mut (*fields).srcMemoryType).write(from);
        (&raw mut (*fields).dstMemoryType).write(to);
        copy.assume_init()
    };
    sys::CUDA_MEMCPY3D { WidthInBytes: size[0], Height: size[1], Depth: size[2], ..copy }
}

/// An array with these contents, without gaps.
fn filled<T>(extent: [usize; 3], format: Format, channels: u32, flags: u32, texels: &[T]) -> CUarray {
    let array = create(extent, format, channels, flags).unwrap();
    let [width, height, depth] = extent.map(|extent| extent.max(1));
    let row = size_of_val(texels) / (height * depth);
    assert!(row.is_multiple_of(width));
    let side = (MemoryType::CU_MEMORYTYPE_HOST, MemoryType::CU_MEMORYTYPE_ARRAY);
    let copy = sys::CUDA_MEMCPY3D {
        srcHost: texels.as_ptr().cast(),
        dstArray: array,
        ..copy(side.0, side.1, [row, height, depth])
    };
    // SAFETY: as many bytes as the texels have.
    good(unsafe { sys::cuMemcpy3D_v2(&raw const copy) });
    array
}

fn of_array(array: CUarray) -> sys::CUDA_RESOURCE_DESC {
    // SAFETY: zeros are of the kind that is an array, whose handle is set.
    let mut resource: sys::CUDA_RESOURCE_DESC = unsafe { zeroed() };
    resource.res.array.hArray = array;
    resource
}

/// A texture of that address mode and filter, by their numbers.
fn texture(
    resource: &sys::CUDA_RESOURCE_DESC,
    mode: sys::CUaddress_mode,
    filter: sys::CUfilter_mode,
    flags: u32,
) -> u64 {
    // SAFETY: zeros are of enumerations that have them, and of numbers.
    let zeros: sys::CUDA_TEXTURE_DESC = unsafe { zeroed() };
    let sampling = sys::CUDA_TEXTURE_DESC { addressMode: [mode; 3], filterMode: filter, flags, ..zeros };
    let mut object = 0;
    // SAFETY: a place for a handle, and descriptions.
    good(unsafe { sys::cuTexObjectCreate(&raw mut object, resource, &raw const sampling, ptr::null()) });
    object
}

use sys::CUaddress_mode::{CU_TR_ADDRESS_MODE_CLAMP as CLAMP, CU_TR_ADDRESS_MODE_WRAP as WRAP};
use sys::CUfilter_mode::{CU_TR_FILTER_MODE_LINEAR as LINEAR, CU_TR_FILTER_MODE_POINT as POINT};

fn surface(array: CUarray) -> Result<u64, CUresult> {
    let (mut object, resource) = (0, of_array(array));
    // SAFETY: a place for a handle, and a description.
    let status = unsafe { sys::cuSurfObjectCreate(&raw mut object, &raw const resource) };
    (status == CUresult::CUDA_SUCCESS).then_some(object).ok_or(status)
}

#[test]
fn layers_are_copied_and_filtered() {
    let Ok(()) = emulated("arrays::layers_are_copied_and_filtered", &["--check"]) else { return };
    let (stream, function) = open(LAYERS, "sample_layers");
    let layered = sys::CUDA_ARRAY3D_LAYERED;
    let lines = filled([4, 0, 3], Format::CU_AD_FORMAT_FLOAT, 1, layered, &[1_f32, 2.0, 4.0, 8.0].repeat(3));
    // Rows of 4 texels, 5 apart; 3 rows to a layer, 4 apart.
    let texel = |x: f32, y: f32, layer: usize, channel: f32| 100.0 * layer as f32 + 10.0 * y + x + channel / 2.0;
    let mut image = vec![[f32::NAN; 2]; 5 * 4 * 3];
    for (at, texels) in image.iter_mut().enumerate().filter(|(at, _)| at % 5 < 4 && at / 5 % 4 < 3) {
        *texels = [0.0, 1.0].map(|channel| texel((at % 5) as f32, (at / 5 % 4) as f32, at / 20, channel));
    }
    let images = create([4, 3, 3], Format::CU_AD_FORMAT_FLOAT, 2, layered).unwrap();
    let to = copy(MemoryType::CU_MEMORYTYPE_HOST, MemoryType::CU_MEMORYTYPE_ARRAY, [32, 3, 3]);
    let source = image.as_ptr().cast();
    let to = sys::CUDA_MEMCPY3D { srcHost: source, srcPitch: 40, srcHeight: 4, dstArray: images, ..to };
    // SAFETY: rows, and their layers, lie as far apart as it says.
    good(unsafe { sys::cuMemcpy3D_v2(&raw const to) });
    let [of_lines, of_images] = [lines, images].map(|array| texture(&of_array(array), CLAMP, LINEAR, 0));
    let mut line = stream.alloc_zeros::<f32>(9).unwrap();
    let mut samples = stream.alloc_zeros::<f32>(3 * 2 * 3 * 2).unwrap();
    let mut launch = stream.launch_builder(&function);
    launch.arg(&of_lines).arg(&of_images).arg(&mut line).arg(&mut samples);
    // SAFETY: two handles, and memory for as many results as there are threads.
    unsafe { launch.launch(one_block(3, 2, 3)) }.unwrap();
    assert_eq!(stream.clone_dtoh(&line).unwrap(), [1.0, 2.0, 4.0].repeat(3));
    let threads = (0..3 * 2 * 3).map(|at| (at % 3, at / 3 % 2, at / 6));
    let between = |(x, y, layer)| [0.0, 1.0].map(|channel| texel(x as f32 + 0.5, y as f32 + 0.25, layer, channel));
    assert_eq!(stream.clone_dtoh(&samples).unwrap(), threads.flat_map(between).collect::<Vec<_>>());

    // Two texels of the last row of the last layer.
    let mut part = [[0_f32; 2]; 2];
    let from = copy(MemoryType::CU_MEMORYTYPE_ARRAY, MemoryType::CU_MEMORYTYPE_HOST, [16, 1, 1]);
    let host = part.as_mut_ptr().cast();
    let from = sys::CUDA_MEMCPY3D { srcArray: images, srcXInBytes: 16, srcY: 2, srcZ: 2, dstHost: host, ..from };
    let beyond = sys::CUDA_MEMCPY3D { srcXInBytes: 24, ..from };
    // SAFETY: 16 bytes of the host's.
    unsafe {
        assert_eq!(sys::cuMemcpy3D_v2(&raw const beyond), CUresult::CUDA_ERROR_INVALID_VALUE, "beyond its row");
        good(sys::cuMemcpy3D_v2(&raw const from));
    }
    assert_eq!(part, [2.0, 3.0].map(|x| [0.0, 1.0].map(|channel| texel(x, 2.0, 2, channel))));
    // SAFETY: nothing uses them any more.
    unsafe {
        good(sys::cuTexObjectDestroy(of_lines));
        good(sys::cuArrayDestroy(lines));
        assert_eq!(sys::cuTexObjectDestroy(of_lines), CUresult::CUDA_ERROR_INVALID_VALUE);
        assert_eq!(sys::cuArrayDestroy(lines), CUresult::CUDA_ERROR_INVALID_HANDLE);
    }
}

#[test]
fn cubes_and_gathered_texels() {
    let Ok(()) = emulated("arrays::cubes_and_gathered_texels", &["--check"]) else { return };
    let (stream, function) = open(LAYERS, "look_around");
    let cubemap = sys::CUDA_ARRAY3D_CUBEMAP;
    let cube = filled([1, 1, 6], Format::CU_AD_FORMAT_SIGNED_INT32, 1, cubemap, &[0, 1, 2, 3, 4, 5]);
    let faces: Vec<i32> = (10..22).collect();
    let cubes = filled([1, 1, 12], Format::CU_AD_FORMAT_SIGNED_INT32, 1, cubemap | sys::CUDA_ARRAY3D_LAYERED, &faces);
    let [cube, cubes] = [cube, cubes].map(|array| texture(&of_array(array), CLAMP, POINT, 0));
    let axes =
        [[1_f32, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -1.0]];
    let directions = stream.clone_htod(axes.as_flattened()).unwrap();
    let [mut of_cube, mut of_cubes] = [(); 2].map(|()| stream.alloc_zeros::<i32>(6).unwrap());
    let mut launch = stream.launch_builder(&function);
    launch.arg(&cube).arg(&cubes).arg(&directions).arg(&mut of_cube).arg(&mut of_cubes);
    // SAFETY: two handles, six directions, and memory for six results each.
    unsafe { launch.launch(one_block(6, 1, 1)) }.unwrap();
    assert_eq!(stream.clone_dtoh(&of_cube).unwrap(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(stream.clone_dtoh(&of_cubes).unwrap(), [10, 17, 12, 19, 14, 21], "every second thread's is the second");

    // Two rows of memory, whose second component is gathered.
    let (stream, function) = open(LAYERS, "gather");
    let mut rows = [0_u8; 64 + 6];
    for (texel, at) in [0, 2, 4, 64, 66, 68].into_iter().zip(1_u8..) {
        rows[texel..texel + 2].copy_from_slice(&[99, at]);
    }
    let rows = stream.clone_htod(&rows).unwrap();
    // SAFETY: zeros are what all other fields are to be; the kind and its fields are set.
    let mut resource: sys::CUDA_RESOURCE_DESC = unsafe { zeroed() };
    resource.resType = sys::CUresourcetype::CU_RESOURCE_TYPE_PITCH2D;
    resource.res.pitch2D.devPtr = rows.device_ptr(&stream).0;
    resource.res.pitch2D.format = Format::CU_AD_FORMAT_UNSIGNED_INT8;
    resource.res.pitch2D.numChannels = 2;
    resource.res.pitch2D.width = 3;
    resource.res.pitch2D.height = 2;
    resource.res.pitch2D.pitchInBytes = 64;
    let image = texture(&resource, WRAP, POINT, sys::CU_TRSF_READ_AS_INTEGER);
    let places = stream.clone_htod(&[2_f32, 1.0, 0.0, 1.0]).unwrap();
    let mut texels = stream.alloc_zeros::<i32>(8).unwrap();
    // SAFETY: a handle, two places, and memory for four texels each.
    unsafe { stream.launch_builder(&function).arg(&image).arg(&places).arg(&mut texels).launch(one_block(2, 1, 1)) }
        .unwrap();
    assert_eq!(stream.clone_dtoh(&texels).unwrap(), [5, 6, 3, 2, 4, 4, 1, 1], "what cannot repeat is clamped");
}

#[test]
fn surfaces_and_plain_textures() {
    let Ok(()) = emulated("arrays::surfaces_and_plain_textures", &["--check"]) else { return };
    let (stream, function) = open(LAYERS, "reverse_layers");
    let [layered, cubemap, stored] =
        [sys::CUDA_ARRAY3D_LAYERED, sys::CUDA_ARRAY3D_CUBEMAP, sys::CUDA_ARRAY3D_SURFACE_LDST];
    let (short, word) = (Format::CU_AD_FORMAT_SIGNED_INT16, Format::CU_AD_FORMAT_UNSIGNED_INT32);
    let lines = filled([2, 0, 6], short, 1, layered | stored, &(0..12_i16).collect::<Vec<_>>());
    let turned = filled([2, 0, 6], short, 1, layered | stored, &[-1_i16; 12]);
    let images = filled([2, 2, 6], word, 2, layered | stored, &(0..48_u32).collect::<Vec<_>>());
    let cube = create([2, 2, 6], word, 2, cubemap | stored).unwrap();
    let handles = [lines, turned, images, cube].map(|array| surface(array).unwrap());
    let unfit = create([2, 2, 6], word, 2, cubemap).unwrap();
    assert_eq!(surface(unfit), Err(CUresult::CUDA_ERROR_INVALID_VALUE), "not made for stores");
    let mut launch = stream.launch_builder(&function);
    for handle in &handles {
        launch.arg(handle);
    }
    // SAFETY: four handles and a number.
    unsafe { launch.arg(&6_i32).launch(one_block(2, 2, 6)) }.unwrap();
    let (mut line, mut faces) = ([0_i16; 12], [0_u32; 48]);
    let from = copy(MemoryType::CU_MEMORYTYPE_ARRAY, MemoryType::CU_MEMORYTYPE_HOST, [16, 2, 6]);
    let from = sys::CUDA_MEMCPY3D { srcArray: cube, dstHost: faces.as_mut_ptr().cast(), ..from };
    // SAFETY: as many bytes as the arrays of the host have.
    unsafe {
        good(sys::cuMemcpyAtoH_v2(line.as_mut_ptr().cast(), turned, 0, 24));
        assert_eq!(sys::cuMemcpyAtoH_v2(line.as_mut_ptr().cast(), turned, 4, 24), CUresult::CUDA_ERROR_INVALID_VALUE);
        good(sys::cuMemcpy3D_v2(&raw const from));
    }
    assert_eq!(line, [10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1]);
    assert_eq!(faces.to_vec(), (0..6).rev().flat_map(|face| 8 * face..8 * face + 8).collect::<Vec<u32>>());

    let (stream, function) = open(TEXTURES, "look_up");
    let bytes = stream.clone_htod(&[5_i8, -1, 7, 8, 9, 10]).unwrap();
    // SAFETY: zeros are what all other fields are to be; the kind and its fields are set.
    let mut resource: sys::CUDA_RESOURCE_DESC = unsafe { zeroed() };
    resource.resType = sys::CUresourcetype::CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear.devPtr = bytes.device_ptr(&stream).0;
    resource.res.linear.format = Format::CU_AD_FORMAT_SIGNED_INT8;
    resource.res.linear.numChannels = 1;
    resource.res.linear.sizeInBytes = 6;
    let table = texture(&resource, CLAMP, POINT, sys::CU_TRSF_READ_AS_INTEGER);
    let line = create([4, 0, 0], Format::CU_AD_FORMAT_FLOAT, 1, 0).unwrap();
    // SAFETY: 16 bytes.
    good(unsafe { sys::cuMemcpyHtoA_v2(line, 0, [10_f32, 20.0, 30.0, 40.0].as_ptr().cast(), 16) });
    let line = texture(&of_array(line), WRAP, LINEAR, sys::CU_TRSF_NORMALIZED_COORDINATES);
    let volume = filled([2, 2, 2], Format::CU_AD_FORMAT_UNSIGNED_INT8, 1, 0, &[0_u8, 51, 102, 153, 204, 255, 0, 51]);
    let volume = texture(&of_array(volume), CLAMP, POINT, 0);
    let (mut indices, mut values) = (stream.alloc_zeros::<i32>(8).unwrap(), stream.alloc_zeros::<f32>(8).unwrap());
    let mut launch = stream.launch_builder(&function);
    launch.arg(&table).arg(&line).arg(&volume).arg(&mut indices).arg(&mut values);
    // SAFETY: three handles, and memory for a result of each thread.
    unsafe { launch.launch(one_block(8, 1, 1)) }.unwrap();
    assert_eq!(stream.clone_dtoh(&indices).unwrap(), [0, 5, -1, 7, 8, 9, 10, 0], "beyond its ends is 0");
    let expected = [25.0, 15.2, 25.4, 35.6, 25.8, 16.0, 25.0, 35.2];
    assert_eq!(stream.clone_dtoh(&values).unwrap(), expected, "between texels, and up to 1");
}

#[test]
fn arrays_have_limits() {
    let Ok(()) = emulated("arrays::arrays_have_limits", &[]) else { return };
    let _context = CudaContext::new(0).unwrap();
    let (layered, cubemap) = (sys::CUDA_ARRAY3D_LAYERED, sys::CUDA_ARRAY3D_CUBEMAP);
    let status = |extent, flags| create(extent, Format::CU_AD_FORMAT_UNSIGNED_INT8, 1, flags).err();
    for (extent, flags) in
        [([1 << 17, 0, 0], 0), ([1, 1 << 16, 0], 0), ([1, 1, 2048], layered), ([1, 1, 2046], layered | cubemap)]
    {
        assert_eq!(status(extent, flags), None, "{extent:?}");
    }
    for (extent, flags) in [
        ([(1 << 17) + 1, 0, 0], 0),
        ([1, (1 << 16) + 1, 0], 0),
        ([1, 1, 2049], layered),
        ([1, 1, 2052], layered | cubemap),
        ([0, 0, 0], 0),
        ([4, 0, 4], 0),
        ([4, 4, 5], cubemap),
    ] {
        assert_eq!(status(extent, flags), Some(CUresult::CUDA_ERROR_INVALID_VALUE), "{extent:?}");
    }
    let array = create([4, 0, 5], Format::CU_AD_FORMAT_HALF, 2, layered).unwrap();
    let mut descriptor = MaybeUninit::<sys::CUDA_ARRAY3D_DESCRIPTOR>::uninit();
    // SAFETY: a place for a description, which is there after success.
    let it = unsafe {
        good(sys::cuArray3DGetDescriptor_v2(descriptor.as_mut_ptr(), array));
        descriptor.assume_init()
    };
    assert_eq!([it.Width, it.Height, it.Depth], [4, 0, 5]);
    assert_eq!((it.Format, it.NumChannels, it.Flags), (Format::CU_AD_FORMAT_HALF, 2, layered));
}
