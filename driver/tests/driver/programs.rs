//! Kernels, contexts, captures, graphs and modules.

use std::ffi::{CStr, CString, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUgraphInstantiate_flags, CUresult, CUstreamCaptureMode};
use cudarc::driver::{CudaContext, CudaModule, CudaSlice, DevicePtr, DevicePtrMut, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use ptx_emu::device::Device;

use super::{emulated, faults, good, one_block};

/// Each thread doubles one word, and those of block 1 a word that is not there.
const DOUBLE: &str = "
.version 7.0
.target sm_80
.address_size 64
.visible .entry double(.param .u64 words)
{
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [words];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mad.lo.s32 %r3, %r2, 1048576, %r1;
    mul.wide.u32 %rd2, %r3, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r4, [%rd3];
    add.s32 %r5, %r4, %r4;
    st.global.u32 [%rd3], %r5;
    ret;
}";

fn open() -> (Arc<CudaContext>, Arc<CudaModule>) {
    let context = CudaContext::new(0).unwrap();
    let module = context.load_module(Ptx::from_src(DOUBLE)).unwrap();
    (context, module)
}

#[test]
fn a_kernel_runs_and_takes_the_modelled_time() {
    let Ok(()) = emulated("programs::a_kernel_runs_and_takes_the_modelled_time", &["--check", "--device", "a100"])
    else {
        return;
    };
    let (context, module) = open();
    assert!(context.name().unwrap().starts_with("NVIDIA A100") && Device::is_emulated(&context.name().unwrap()));
    assert_eq!(context.compute_capability().unwrap(), (8, 0));
    let (stream, function) = (context.new_stream().unwrap(), module.load_function("double").unwrap());
    let mut words = stream.clone_htod(&(0..64).collect::<Vec<u32>>()).unwrap();
    let timed = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
    let start = stream.record_event(timed).unwrap();
    // SAFETY: the kernel takes a pointer to 64 words.
    unsafe { stream.launch_builder(&function).arg(&mut words).launch(one_block(64, 1, 1)) }.unwrap();
    let end = stream.record_event(timed).unwrap();
    let ms = start.elapsed_ms(&end).unwrap();
    assert!(ms > 0.0 && ms < 0.1, "{ms} ms");
    assert_eq!(stream.clone_dtoh(&words).unwrap(), (0..64).map(|word| 2 * word).collect::<Vec<u32>>());
    assert!(module.load_function("triple").is_err());
    assert!(context.load_module(Ptx::from_src("no PTX")).is_err());
}

#[test]
fn a_fault_is_said_and_ends_the_context() {
    faults("programs::a_fault_is_said_and_ends_the_context", "double: out of bounds: line 15", || {
        let (context, module) = open();
        let (stream, function) = (context.new_stream().unwrap(), module.load_function("double").unwrap());
        let mut words = stream.alloc_zeros::<u32>(64).unwrap();
        let two_blocks = LaunchConfig { grid_dim: (2, 1, 1), ..one_block(64, 1, 1) };
        // SAFETY: what block 1 accesses is not there: the emulator finds it.
        unsafe { stream.launch_builder(&function).arg(&mut words).launch(two_blocks) }.unwrap();
        (stream, words)
    });
}

#[test]
fn a_reset_ends_the_primary_context_and_what_is_in_it() {
    let Ok(()) = emulated("programs::a_reset_ends_the_primary_context_and_what_is_in_it", &[]) else { return };
    let (context, module) = open();
    let words = context.default_stream().clone_htod(&[1_u32; 64]).unwrap();
    let address = words.device_ptr(words.stream()).0;
    let id = |of| {
        let mut id = 0;
        // SAFETY: a place for a number; the driver says where the context is none.
        assert_eq!(unsafe { sys::cuCtxGetId(of, &raw mut id) }, CUresult::CUDA_SUCCESS);
        id
    };
    let first = id(context.cu_ctx());
    assert_eq!(id(ptr::null_mut()), first, "null stands for the current context");
    let (mut flags, mut is_active) = (0, 1);
    // SAFETY: places for numbers; nothing is used any more that was made before.
    unsafe {
        assert_eq!(sys::cuDevicePrimaryCtxReset_v2(0), CUresult::CUDA_SUCCESS);
        assert_eq!(sys::cuDevicePrimaryCtxGetState(0, &raw mut flags, &raw mut is_active), CUresult::CUDA_SUCCESS);
    }
    assert_eq!(is_active, 0);
    let again = CudaContext::new(0).unwrap();
    assert_eq!(again.cu_ctx(), context.cu_ctx(), "where the former one was");
    assert_ne!(id(again.cu_ctx()), first, "but another one");
    assert!(module.load_function("double").is_err());
    // SAFETY: the driver says that it is not allocated.
    assert_eq!(unsafe { sys::cuMemFree_v2(address) }, CUresult::CUDA_ERROR_INVALID_VALUE);
    std::process::exit(0); // dropping what is gone is no part of this
}

#[test]
fn a_capture_becomes_a_graph_and_forbids_what_may_wait() {
    let Ok(()) = emulated("programs::a_capture_becomes_a_graph_and_forbids_what_may_wait", &["--check"]) else {
        return;
    };
    let (context, module) = open();
    // cudarc's own events between streams would be recorded in the capture.
    // SAFETY: all that follows is in one stream.
    unsafe { context.disable_event_tracking() };
    let (stream, function) = (context.new_stream().unwrap(), module.load_function("double").unwrap());
    let mut words = stream.clone_htod(&[1_u32; 64]).unwrap();
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
    let flags = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    stream.begin_capture(mode).unwrap();
    // SAFETY: the kernel takes a pointer to 64 words.
    unsafe { stream.launch_builder(&function).arg(&mut words).launch(one_block(64, 1, 1)) }.unwrap();
    let graph = stream.end_capture(flags).unwrap().expect("a graph");
    (0..3).for_each(|_| graph.launch().unwrap());
    assert_eq!(stream.clone_dtoh(&words).unwrap(), [8; 64], "recorded, and done three times");

    stream.begin_capture(mode).unwrap();
    let mut address = 0;
    // SAFETY: a place for an address.
    let allocated = unsafe { sys::cuMemAlloc_v2(&raw mut address, 64) };
    assert_eq!(allocated, CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_eq!(stream.end_capture(flags).err().unwrap().0, CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

#[test]
fn functions_are_found_by_name_and_what_is_missing_says_so() {
    let name = "programs::functions_are_found_by_name_and_what_is_missing_says_so";
    let text = match emulated(name, &[]) {
        Ok(()) => {
            let _context = CudaContext::new(0).unwrap();
            let find = |name: &CStr| {
                let mut function: *mut c_void = ptr::null_mut();
                // SAFETY: a name, and a place for an address; no status is asked for.
                let status =
                    unsafe { sys::cuGetProcAddress_v2(name.as_ptr(), &raw mut function, 13_000, 0, ptr::null_mut()) };
                (status, function.is_null())
            };
            assert_eq!(find(c"cuMemAlloc"), (CUresult::CUDA_SUCCESS, false));
            assert_eq!(find(c"cuNothing"), (CUresult::CUDA_ERROR_NOT_FOUND, true));
            let (mut address, mut word) = (0, 0_u32);
            // SAFETY: a place for an address, and memory.
            let status = unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut address, (&raw mut word).cast(), 0) };
            assert_eq!(status, CUresult::CUDA_ERROR_NOT_SUPPORTED);
            return;
        }
        Err(text) => text,
    };
    assert!(text.is_none_or(|text| text.contains("ptx-emu: mapped memory of the program's own is not emulated")));
}

#[test]
fn a_kernel_of_a_library_is_launched() {
    let Ok(()) = emulated("programs::a_kernel_of_a_library_is_launched", &["--check"]) else { return };
    let context = CudaContext::new(0).unwrap();
    let stream = context.default_stream();
    let mut words = stream.clone_htod(&(0..64).collect::<Vec<u32>>()).unwrap();
    let code = CString::new(DOUBLE).unwrap();
    let (mut library, mut kernel, mut first, mut function) =
        (ptr::null_mut(), ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    let (mut name, mut count, mut threads) = (ptr::null(), 0, 0);
    let most = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
    // SAFETY: text and names with a NUL, and places for what is asked for; the kernel takes a pointer to 64 words.
    unsafe {
        let text = code.as_ptr().cast();
        let [null, none] = [ptr::null_mut(), ptr::null_mut()];
        good(sys::cuLibraryLoadData(&raw mut library, text, ptr::null_mut(), null, 0, ptr::null_mut(), none, 0));
        good(sys::cuLibraryGetKernelCount(&raw mut count, library));
        good(sys::cuLibraryEnumerateKernels(&raw mut first, 1, library));
        good(sys::cuLibraryGetKernel(&raw mut kernel, library, c"double".as_ptr()));
        good(sys::cuKernelGetFunction(&raw mut function, kernel));
        good(sys::cuKernelGetName(&raw mut name, kernel));
        good(sys::cuKernelGetAttribute(&raw mut threads, most, kernel, 0));
        assert_eq!((count, first, CStr::from_ptr(name), threads), (1, kernel, c"double", 1024));
        let missing = sys::cuLibraryGetKernel(&raw mut first, library, c"triple".as_ptr());
        assert_eq!(missing, CUresult::CUDA_ERROR_NOT_FOUND);
        // A kernel stands for its function.
        for function in [function, kernel.cast()] {
            let mut address = words.device_ptr_mut(&stream).0;
            let mut arguments = [(&raw mut address).cast::<c_void>()];
            let stream = stream.cu_stream();
            good(sys::cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, stream, arguments.as_mut_ptr(), ptr::null_mut()));
        }
        good(sys::cuLibraryUnload(library));
        assert_eq!(sys::cuKernelGetName(&raw mut name, kernel), CUresult::CUDA_ERROR_INVALID_HANDLE);
    }
    assert_eq!(stream.clone_dtoh(&words).unwrap(), (0..64).map(|word| 4 * word).collect::<Vec<u32>>());
}

#[test]
fn graphs_are_built_node_by_node() {
    let Ok(()) = emulated("programs::graphs_are_built_node_by_node", &["--check"]) else { return };
    let (context, module) = open();
    // SAFETY: all that follows is in one stream.
    unsafe { context.disable_event_tracking() };
    let (stream, function) = (context.new_stream().unwrap(), module.load_function("double").unwrap());
    let [words, copied] = [(); 2].map(|()| stream.alloc_zeros::<u32>(64).unwrap());
    let address = |words: &CudaSlice<u32>| words.device_ptr(&stream).0;
    let good = |status: CUresult| assert_eq!(status, CUresult::CUDA_SUCCESS);
    let [doubled, other] = [&words, &copied].map(address);
    let mut arguments = [(&raw const doubled).cast_mut().cast::<c_void>()];
    let mut kernel = sys::CUDA_KERNEL_NODE_PARAMS {
        func: function.cu_function(),
        gridDimX: 1,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 64,
        blockDimY: 1,
        blockDimZ: 1,
        kernelParams: arguments.as_mut_ptr(),
        // SAFETY: null pointers, and zeros, are what the others are to be.
        ..unsafe { std::mem::zeroed() }
    };
    let memset =
        sys::CUDA_MEMSET_NODE_PARAMS { dst: doubled, pitch: 0, value: 3, elementSize: 4, width: 64, height: 1 };
    let mut copy = MaybeUninit::<sys::CUDA_MEMCPY3D>::zeroed();
    // SAFETY: zeros are what all other fields are to be, null pointers among them; the two enumerations are set.
    let copy = unsafe {
        let fields = copy.as_mut_ptr();
        (&raw mut (*fields).srcMemoryType).write(sys::CUmemorytype::CU_MEMORYTYPE_DEVICE);
        (&raw mut (*fields).dstMemoryType).write(sys::CUmemorytype::CU_MEMORYTYPE_DEVICE);
        copy.assume_init()
    };
    let copy =
        sys::CUDA_MEMCPY3D { srcDevice: doubled, dstDevice: other, WidthInBytes: 256, Height: 1, Depth: 1, ..copy };
    let (mut graph, mut executable, none) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    let [mut launched, mut filled, mut moved] = [ptr::null_mut(); 3];
    // SAFETY: places for handles, and parameters that are read at once; what they point to is there.
    unsafe {
        good(sys::cuGraphCreate(&raw mut graph, 0));
        good(sys::cuGraphAddKernelNode_v2(&raw mut launched, graph, ptr::null(), 0, &raw const kernel));
        good(sys::cuGraphAddMemcpyNode(&raw mut moved, graph, &raw const launched, 1, &raw const copy, none));
        good(sys::cuGraphAddMemsetNode(&raw mut filled, graph, ptr::null(), 0, &raw const memset, none));
        good(sys::cuGraphAddDependencies_v2(graph, &raw const filled, &raw const launched, ptr::null(), 1));
        good(sys::cuGraphInstantiateWithFlags(&raw mut executable, graph, 0));
        good(sys::cuGraphLaunch(executable, stream.cu_stream()));
    }
    assert_eq!(
        stream.clone_dtoh(&copied).unwrap(),
        [6; 64],
        "filled, doubled and copied, although added in another order"
    );

    let mut others = [(&raw const other).cast_mut().cast::<c_void>()];
    kernel.kernelParams = others.as_mut_ptr();
    // SAFETY: as above.
    unsafe {
        good(sys::cuGraphExecKernelNodeSetParams_v2(executable, launched, &raw const kernel));
        good(sys::cuGraphLaunch(executable, stream.cu_stream()));
        let wrong = sys::cuGraphExecKernelNodeSetParams_v2(executable, filled, &raw const kernel);
        assert_eq!(wrong, CUresult::CUDA_ERROR_INVALID_VALUE, "it is no kernel");
        good(sys::cuGraphAddDependencies_v2(graph, &raw const moved, &raw const filled, ptr::null(), 1));
        let circle = sys::cuGraphInstantiateWithFlags(&raw mut executable, graph, 0);
        assert_eq!(circle, CUresult::CUDA_ERROR_INVALID_VALUE, "each node waits for another");
    }
    assert_eq!(stream.clone_dtoh(&words).unwrap(), [3; 64]);
    assert_eq!(stream.clone_dtoh(&copied).unwrap(), [3; 64], "doubled before it was copied to");
}

/// Each thread multiplies one number by a constant, and counts itself.
const SCALE: &str = include_str!("../../../ptx-emu/tests/ptx/variables.ptx");

#[test]
fn variables_are_kept_between_launches() {
    let Ok(()) = emulated("programs::variables_are_kept_between_launches", &["--check"]) else { return };
    let context = CudaContext::new(0).unwrap();
    let stream = context.new_stream().unwrap();
    let modules = [(); 2].map(|()| context.load_module(Ptx::from_src(SCALE)).unwrap());
    for (module, factor) in modules.iter().zip([3.0_f32, 5.0]) {
        let mut constant = module.get_global("factor", &stream).unwrap();
        assert_eq!(constant.len(), 4);
        stream.memcpy_htod(&factor.to_le_bytes(), &mut constant).unwrap();
    }
    let count = |module: &Arc<CudaModule>| {
        let bytes = stream.clone_dtoh(&module.get_global("scaled", &stream).unwrap()).unwrap();
        u32::from_le_bytes(bytes.try_into().unwrap())
    };
    let mut values = stream.clone_htod(&[1_f32; 64]).unwrap();
    for module in [&modules[0], &modules[0], &modules[1]] {
        let function = module.load_function("scale").unwrap();
        // SAFETY: the kernel takes a pointer to so many floats.
        unsafe { stream.launch_builder(&function).arg(&mut values).arg(&64_u32).launch(one_block(64, 1, 1)) }.unwrap();
    }
    assert_eq!(stream.clone_dtoh(&values).unwrap(), [45.0; 64], "each module has its own constant");
    assert_eq!(modules.each_ref().map(count), [128, 64]);
    let table = stream.clone_dtoh(&modules[0].get_global("table", &stream).unwrap()).unwrap();
    assert_eq!(table.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect::<Vec<_>>(), [10, 20, 30, 40]);
    let mut zeroed = modules[0].get_global("scaled", &stream).unwrap();
    stream.memset_zeros(&mut zeroed).unwrap();
    assert_eq!(modules.each_ref().map(count), [0, 64]);
    let none = modules[0].get_global("none", &stream);
    assert_eq!(none.err().unwrap().0, CUresult::CUDA_ERROR_NOT_FOUND);
    let [first, second] = modules;
    drop(first);
    assert_eq!(count(&second), 64, "the other module is gone, this one is not");
}
