//! What a device and a kernel answer about themselves.

use cudarc::driver::sys::{CUdevice_attribute as Of, CUfunction_attribute as OfKernel};
use ptx_emu::device::Device;

use crate::code::{Function, resources};

/// Threads of a block at most.
pub const MAX_THREADS: u32 = 1024;

/// Shared memory that a block may have without asking, and what the driver keeps of each block's, in bytes.
pub const SHARED_BYTES: u32 = 48 << 10;
const RESERVED_SHARED_BYTES: u32 = 1 << 10;

/// Least and greatest priority of streams.
pub const PRIORITIES: [i32; 2] = [0, -5];

/// A multiple of which every allocation begins at, in bytes.
const ALLOCATION_ALIGNMENT: u32 = 256;

/// The greatest extents of arrays, textures and surfaces, the same on all devices since compute capability 8.0. CUDA C++ Programming Guide, "Technical
/// Specifications per Compute Capability".
const ARRAY_LIMITS: &[(Of, u32)] = &[
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH, 128 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH, 32 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS, 2 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH, 1 << 28),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH, 128 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT, 64 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH, 32 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT, 32 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS, 2 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH, 32 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT, 32 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH, 128 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT, 65_000),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH, 2_097_120),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH, 16 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT, 16 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH, 16 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE, 8 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE, 8 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE, 32 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH, 32 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH, 32 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS, 2046),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH, 32 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH, 32 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS, 2 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH, 128 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT, 64 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH, 32 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT, 32 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS, 2 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH, 16 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT, 16 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH, 16 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH, 32 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH, 32 << 10),
    (Of::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS, 2046),
];

/// Dynamic and static shared memory that a block may ask for, in bytes.
pub fn shared_bytes_on_request(device: &Device) -> u32 {
    device.shared_bytes - RESERVED_SHARED_BYTES
}

/// A device attribute by its number; 0 of what it has not, or what has no meaning here.
pub fn of_device(device: &Device, attribute: i32) -> i32 {
    let (major, minor) = device.compute_capability;
    let is = |known: Of| attribute == known as i32;
    let table: &[(Of, u32)] = &[
        (Of::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, MAX_THREADS),
        (Of::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, MAX_THREADS),
        (Of::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, MAX_THREADS),
        (Of::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64),
        (Of::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, i32::MAX as u32),
        (Of::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, u16::MAX.into()),
        (Of::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, u16::MAX.into()),
        (Of::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, SHARED_BYTES),
        (Of::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, shared_bytes_on_request(device)),
        (Of::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, device.shared_bytes),
        (Of::CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, RESERVED_SHARED_BYTES),
        (Of::CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 64 << 10),
        (Of::CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32),
        (Of::CU_DEVICE_ATTRIBUTE_MAX_PITCH, i32::MAX as u32),
        (Of::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, device.registers),
        (Of::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, device.registers),
        (Of::CU_DEVICE_ATTRIBUTE_CLOCK_RATE, device.clock_mhz * 1000),
        (Of::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device.sm_count),
        (Of::CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1),
        (Of::CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 1),
        (Of::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1),
        (Of::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device.l2_bytes as u32),
        (Of::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, device.threads),
        (Of::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, device.blocks),
        (Of::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, major),
        (Of::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, minor),
        (Of::CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1),
        (Of::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1),
        (Of::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1),
        (Of::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1),
        (Of::CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, ALLOCATION_ALIGNMENT),
        (Of::CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32),
        (Of::CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, ALLOCATION_ALIGNMENT),
        (Of::CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, (major >= 9).into()),
        (Of::CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, (major >= 9).into()),
    ];
    table
        .iter()
        .chain(ARRAY_LIMITS)
        .find(|(known, _)| is(*known))
        .map_or(0, |(_, value)| i32::try_from(*value).unwrap_or(i32::MAX))
}

/// A kernel's attribute by its number; `None` of those that are not known. Registers are estimated.
pub fn of_kernel(device: &Device, function: &Function, attribute: i32) -> Option<i32> {
    let kernel = &function.kernel;
    let threads = kernel.bounds().required_threads.or(kernel.bounds().max_threads).map(|sides| sides.iter().product());
    let threads = threads.unwrap_or(MAX_THREADS).min(MAX_THREADS);
    let (major, minor) = device.compute_capability;
    let is = |known: OfKernel| attribute == known as i32;
    let value = if is(OfKernel::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) {
        threads
    } else if is(OfKernel::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) {
        kernel.shared_bytes()
    } else if is(OfKernel::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES) {
        kernel.local_bytes()
    } else if is(OfKernel::CU_FUNC_ATTRIBUTE_NUM_REGS) {
        resources(kernel, device, threads, 0).registers
    } else if is(OfKernel::CU_FUNC_ATTRIBUTE_PTX_VERSION) || is(OfKernel::CU_FUNC_ATTRIBUTE_BINARY_VERSION) {
        major * 10 + minor
    } else if is(OfKernel::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        function.most_dynamic_shared_bytes
    } else if is(OfKernel::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
        function.may_have_large_clusters.into()
    } else if (0..OfKernel::CU_FUNC_ATTRIBUTE_MAX as i32).contains(&attribute) {
        0
    } else {
        return None;
    };
    Some(value as i32)
}
