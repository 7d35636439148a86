//! Managed memory, and what a pointer is to.

use std::ffi::c_void;
use std::mem::zeroed;
use std::ptr;

use cudarc::driver::sys::{self, CUresult};
use cudarc::driver::{CudaContext, CudaSlice, DevicePtr, PushKernelArg};

use super::{emulated, faults, good, one_block, open};

/// Each thread adds its number to a word at a generic address.
const ADD: &str = "
.version 7.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 words)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [words];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.u32 %r2, [%rd3];
    add.s32 %r3, %r2, %r1;
    st.u32 [%rd3], %r3;
    ret;
}";

/// Managed words.
fn managed(words: usize) -> u64 {
    let mut address = 0;
    // SAFETY: a place for an address.
    good(unsafe { sys::cuMemAllocManaged(&raw mut address, 4 * words, 1) });
    address
}

#[test]
fn managed_memory_is_the_hosts_and_the_devices() {
    let Ok(()) = emulated("managed::managed_memory_is_the_hosts_and_the_devices", &["--check"]) else { return };
    let (stream, function) = open(ADD, "add");
    let mut address = managed(64);
    // Memory of the device that is taken later has a lower address, and is found as well.
    let mut other: CudaSlice<u32> = stream.clone_htod(&[7; 64]).unwrap();
    let words: *mut u32 = ptr::with_exposed_provenance_mut(address as usize);
    // SAFETY: 64 words, which no kernel uses meanwhile.
    let read = || (0..64).map(|index| unsafe { words.add(index).read() }).collect::<Vec<u32>>();
    // SAFETY: as above.
    (0..64).for_each(|index| unsafe { words.add(index).write(100 * index as u32) });
    // SAFETY: the kernel takes a pointer to 64 words.
    unsafe {
        stream.launch_builder(&function).arg(&address).launch(one_block(64, 1, 1)).unwrap();
        stream.launch_builder(&function).arg(&mut other).launch(one_block(64, 1, 1)).unwrap();
    }
    stream.synchronize().unwrap();
    assert_eq!(read(), (0..64).map(|index| 101 * index).collect::<Vec<u32>>());
    assert_eq!(stream.clone_dtoh(&other).unwrap(), (7..71).collect::<Vec<u32>>());
    // SAFETY: 64 words on both sides.
    good(unsafe { sys::cuMemcpy(address, other.device_ptr(&stream).0, 256) });
    assert_eq!(read(), (7..71).collect::<Vec<u32>>());
    // SAFETY: 16 words of the 64.
    good(unsafe { sys::cuMemsetD32_v2(address + 64, 5, 16) });
    assert_eq!([15, 16, 31, 32].map(|index| read()[index]), [22, 5, 5, 39]);
    // SAFETY: nothing uses it any more.
    unsafe {
        good(sys::cuMemFree_v2(address));
        assert_eq!(sys::cuMemFree_v2(address), CUresult::CUDA_ERROR_INVALID_VALUE);
        assert_eq!(sys::cuMemAllocManaged(&raw mut address, 0, 1), CUresult::CUDA_ERROR_INVALID_VALUE);
    }
}

#[test]
fn beyond_managed_memory_is_a_fault() {
    let says = "which is right past the end of argument 1, 252 bytes";
    faults("managed::beyond_managed_memory_is_a_fault", says, || {
        let (stream, function) = open(ADD, "add");
        let address = managed(63);
        // SAFETY: a word that is not there: the emulator finds it.
        unsafe { stream.launch_builder(&function).arg(&address).launch(one_block(64, 1, 1)) }.unwrap();
        (stream, function)
    });
}

#[test]
fn a_pointer_says_what_it_is_to() {
    let Ok(()) = emulated("managed::a_pointer_says_what_it_is_to", &[]) else { return };
    let context = CudaContext::new(0).unwrap();
    let stream = context.default_stream();
    for attribute in [
        sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY,
        sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
    ] {
        assert_eq!(context.attribute(attribute).unwrap(), 1);
    }
    let of = |pointer: u64| {
        use sys::CUpointer_attribute as Of;
        let mut attributes = [
            Of::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
            Of::CU_POINTER_ATTRIBUTE_IS_MANAGED,
            Of::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
            Of::CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
            Of::CU_POINTER_ATTRIBUTE_HOST_POINTER,
            Of::CU_POINTER_ATTRIBUTE_RANGE_SIZE,
        ];
        let (mut words, mut wide) = ([9_i32; 3], [9_u64; 3]);
        let mut places: Vec<*mut c_void> = words.iter_mut().map(|word| ptr::from_mut(word).cast()).collect();
        places.extend(wide.iter_mut().map(|word| ptr::from_mut(word).cast::<c_void>()));
        // SAFETY: a place for each attribute, as wide as it is.
        good(unsafe { sys::cuPointerGetAttributes(6, attributes.as_mut_ptr(), places.as_mut_ptr(), pointer) });
        (words, wide)
    };
    let address = managed(64);
    assert_eq!(of(address + 8), ([2, 1, 0], [address + 8, address + 8, 256]));
    let words = stream.clone_htod(&[1_u32; 64]).unwrap();
    let of_device = words.device_ptr(&stream).0;
    assert_eq!(of(of_device), ([2, 0, 0], [of_device, 0, 0]));
    let on_stack = 0_u32;
    assert_eq!(of((&raw const on_stack).expose_provenance() as u64), ([0, 0, -2], [0; 3]), "unknown to the driver");
    let mut word = 0_u32;
    let managed = sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED;
    // SAFETY: a place for a number.
    good(unsafe { sys::cuPointerGetAttribute((&raw mut word).cast(), managed, address) });
    assert_eq!(word, 1);
}

#[test]
fn advice_is_taken_of_managed_memory_only() {
    let Ok(()) = emulated("managed::advice_is_taken_of_managed_memory_only", &[]) else { return };
    let context = CudaContext::new(0).unwrap();
    let stream = context.default_stream();
    let (address, words) = (managed(64), stream.clone_htod(&[1_u32; 64]).unwrap());
    type Older = unsafe extern "C" fn(u64, usize, i32, sys::CUstream) -> CUresult;
    let older = |version: i32| {
        let (name, mut function, none) = (c"cuMemPrefetchAsync".as_ptr(), ptr::null_mut(), ptr::null_mut());
        // SAFETY: a name, and a place for an address; no status is asked for.
        good(unsafe { sys::cuGetProcAddress_v2(name, &raw mut function, version, 0, none) });
        function
    };
    assert_ne!(older(12_000), older(13_000), "its arguments are others since CUDA 12.2");
    // SAFETY: the function of CUDA 12.0 has these arguments.
    let prefetch = unsafe { std::mem::transmute::<*mut c_void, Older>(older(12_000)) };
    let stream = stream.cu_stream();
    // SAFETY: addresses and numbers.
    let to = |address, bytes, device| unsafe { prefetch(address, bytes, device, stream) };
    good(to(address, 256, 0));
    good(to(address + 128, 128, -1));
    assert_eq!(to(address, 257, 0), CUresult::CUDA_ERROR_INVALID_VALUE);
    assert_eq!(to(address, 256, 1), CUresult::CUDA_ERROR_INVALID_DEVICE);
    assert_eq!(to(words.device_ptr(words.stream()).0, 256, 0), CUresult::CUDA_ERROR_INVALID_VALUE);
    // SAFETY: zeros are the first device's number; the kind is set.
    let mut place: sys::CUmemLocation = unsafe { zeroed() };
    place.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    let prefer = sys::CUmem_advise::CU_MEM_ADVISE_SET_PREFERRED_LOCATION;
    // SAFETY: addresses and numbers.
    unsafe {
        good(sys::cuMemPrefetchAsync_v2(address, 256, place, 0, stream));
        good(sys::cuMemAdvise_v2(address, 256, prefer, place));
        place.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_INVALID;
        assert_eq!(sys::cuMemAdvise_v2(address, 256, prefer, place), CUresult::CUDA_ERROR_INVALID_VALUE);
        good(sys::cuMemAdvise_v2(address, 256, sys::CUmem_advise::CU_MEM_ADVISE_SET_READ_MOSTLY, place));
    }
}

#[test]
fn memory_of_the_host_is_mapped_where_it_is() {
    let Ok(()) = emulated("managed::memory_of_the_host_is_mapped_where_it_is", &["--check"]) else { return };
    let (stream, function) = open(ADD, "add");
    // Mapped at once, and when a kernel's address is asked for.
    for flags in [sys::CU_MEMHOSTALLOC_DEVICEMAP, 0] {
        let (mut pointer, mut address) = (ptr::null_mut(), 0);
        // SAFETY: places for two addresses.
        unsafe {
            good(sys::cuMemHostAlloc(&raw mut pointer, 256, flags));
            good(sys::cuMemHostGetDevicePointer_v2(&raw mut address, pointer, 0));
        }
        assert_eq!(address, pointer.addr() as u64);
        let words: *mut u32 = pointer.cast();
        // SAFETY: 64 words, which no kernel uses meanwhile; the kernel takes a pointer to as many.
        unsafe {
            (0..64).for_each(|index| words.add(index).write(100 * index as u32));
            stream.launch_builder(&function).arg(&address).launch(one_block(64, 1, 1)).unwrap();
            stream.synchronize().unwrap();
            assert!((0..64).all(|index| words.add(index).read() == 101 * index as u32));
        }
        let mut kind = 0_u32;
        let attribute = sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
        // SAFETY: a place for the kind; the memory is freed once.
        unsafe {
            good(sys::cuPointerGetAttribute((&raw mut kind).cast(), attribute, address));
            good(sys::cuMemFreeHost(pointer));
            assert_eq!(kind, sys::CUmemorytype::CU_MEMORYTYPE_HOST as u32);
            assert_eq!(sys::cuMemFreeHost(pointer), CUresult::CUDA_ERROR_INVALID_VALUE);
        }
    }
}
