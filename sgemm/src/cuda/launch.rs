//! Launching kernels: the only place where one is.

use std::ffi::c_void;
use std::ptr;

use cudarc::driver::sys::{
    self, CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue, CUlaunchConfig, CUresult, CUstream,
    CUtensorMap,
};

use super::driver::checked;
use super::module::{Function, RawFunction};
use super::tensor_map::encode;
use crate::Error;
use crate::plan::{LaunchShape, Value};

/// The most arguments of a launch: a persistent kernel with tensor maps, of transposed operands, batches and a fused epilogue has 25.
pub(super) const MAX_ARGUMENTS: usize = 25;

/// An argument as a kernel takes it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Parameter {
    /// CUDA's machines are little-endian: where a value has 8 bytes, its first 4 are those of a 32-bit one.
    Word(u64),
    TensorMap(CUtensorMap),
}

impl Parameter {
    pub(super) fn new(value: Value) -> Result<Self, Error> {
        Ok(match value {
            Value::U32(value) => Self::Word(value.into()),
            Value::U64(value) => Self::Word(value),
            Value::F32(value) => Self::Word(value.to_bits().into()),
            Value::Address(address) => Self::Word(address),
            Value::TensorMap(map) => Self::TensorMap(encode(&map)?),
        })
    }

    fn address(&self) -> *mut c_void {
        match self {
            Self::Word(value) => ptr::from_ref(value).cast_mut().cast(),
            Self::TensorMap(map) => ptr::from_ref(map).cast_mut().cast(),
        }
    }
}

/// Queues a kernel in the stream. `what` completes the sentence "cannot ..." of an error.
///
/// # Errors
/// [`Error::Driver`] where the driver refuses the launch or a tensor map, or there are more than 24 arguments.
///
/// # Safety
/// The function's context is current and the stream is one of it, or null. The kernel has just these parameters, and keeps within
/// the memory that they point to; that memory and the function's module live until the kernel has ended.
pub unsafe fn launch(
    function: Function<'_>,
    shape: &LaunchShape,
    arguments: impl IntoIterator<Item = Value>,
    stream: CUstream,
    what: impl FnOnce() -> String,
) -> Result<(), Error> {
    let parameters = arguments.into_iter().map(Parameter::new).collect::<Result<Vec<_>, _>>()?;
    // SAFETY: upheld by the caller; the module is borrowed.
    unsafe { launch_raw(function.raw(), shape, &parameters, stream, what) }
}

/// As [`launch`], of a function whose module the caller keeps. It allocates nothing.
///
/// # Safety
/// As of [`launch`], and the function's module is loaded.
pub(super) unsafe fn launch_raw(
    function: RawFunction,
    shape: &LaunchShape,
    parameters: &[Parameter],
    stream: CUstream,
    what: impl FnOnce() -> String,
) -> Result<(), Error> {
    // SAFETY: the function belongs to a module that is loaded, the stream is alive, and `parameters` are those of the function, all
    // upheld by the caller. The driver reads what the addresses point to, and has copied it when it returns.
    let driver =
        |config, addresses| unsafe { sys::cuLaunchKernelEx(config, function.handle, addresses, ptr::null_mut()) };
    launch_by(driver, function.is_dependent, shape, parameters, stream, what)
}

/// Has `driver` launch, given the configuration and the addresses of the arguments. All that it is pointed to lives until it returns.
/// What [`is_dependent`](RawFunction::is_dependent) may begin before the kernel ahead of it in the stream has ended; behind anything else
/// than a kernel it begins as others do.
fn launch_by(
    driver: impl FnOnce(*const CUlaunchConfig, *mut *mut c_void) -> CUresult,
    is_dependent: bool,
    shape: &LaunchShape,
    parameters: &[Parameter],
    stream: CUstream,
    what: impl FnOnce() -> String,
) -> Result<(), Error> {
    let mut addresses = [ptr::null_mut(); MAX_ARGUMENTS];
    let Some(places) = addresses.get_mut(..parameters.len()) else {
        return Err(Error::Driver { what: what(), code: format!("more than {MAX_ARGUMENTS} arguments") });
    };
    for (place, parameter) in places.iter_mut().zip(parameters) {
        *place = parameter.address();
    }
    let LaunchShape { grid, block, cluster, dynamic_smem_bytes } = *shape;
    // A device that does not know an attribute must not be given it.
    let given = [
        (cluster != [1; 3]).then(|| {
            let [x, y, z] = cluster;
            let dimension = sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x, y, z };
            attribute(CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, |value| value.clusterDim = dimension)
        }),
        is_dependent.then(|| {
            let id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
            attribute(id, |value| value.programmaticStreamSerializationAllowed = 1)
        }),
    ];
    let mut attributes = given.map(|_| attribute(CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_IGNORE, |_| ()));
    let mut count = 0;
    for (place, attribute) in attributes.iter_mut().zip(given.into_iter().flatten()) {
        *place = attribute;
        count += 1;
    }
    let config = CUlaunchConfig {
        gridDimX: grid[0],
        gridDimY: grid[1],
        gridDimZ: grid[2],
        blockDimX: block[0],
        blockDimY: block[1],
        blockDimZ: block[2],
        sharedMemBytes: dynamic_smem_bytes,
        hStream: stream,
        attrs: attributes.as_mut_ptr(),
        numAttrs: count,
    };
    checked(driver(&raw const config, addresses.as_mut_ptr()), what)
}

/// An attribute of a launch, whose value `set` writes into zeros.
fn attribute(id: CUlaunchAttributeID, set: impl FnOnce(&mut CUlaunchAttributeValue)) -> CUlaunchAttribute {
    let mut value = CUlaunchAttributeValue { pad: [0; 64] };
    set(&mut value);
    CUlaunchAttribute { id, pad: [0; 4], value }
}

#[cfg(test)]
mod tests {
    use std::iter;

    use gpu_kernels::{SUPPORT_KERNELS, Target, runnable};
    use ptx_emu::Module;

    use super::*;
    use crate::plan::{Bindings, Buffer, Buffers, ModuleKind, Plan};
    use crate::{BiasPer, Epilogue, Layout, ModuleSource, Problem};

    const CLUSTER: CUlaunchAttributeID = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    const DEPENDENT: CUlaunchAttributeID = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    const STREAM: CUstream = ptr::without_provenance_mut(0x5000);

    /// What stands for a tensor map, which the driver encodes.
    const MAP: CUtensorMap = CUtensorMap { opaque: [0x0102_0304_0506_0708; 16] };

    /// What is handed to the driver, and the bytes that a kernel must get.
    fn packed(value: Value) -> (Parameter, Vec<u8>) {
        let bytes = match value {
            Value::U32(value) => value.to_le_bytes().to_vec(),
            Value::U64(value) | Value::Address(value) => value.to_le_bytes().to_vec(),
            Value::F32(value) => value.to_le_bytes().to_vec(),
            Value::TensorMap(_) => {
                return (Parameter::TensorMap(MAP), MAP.opaque.iter().flat_map(|word| word.to_le_bytes()).collect());
            }
        };
        (Parameter::new(value).unwrap(), bytes)
    }

    /// Reads as the driver does: from each address as many bytes as the kernel's parameter has.
    fn read(addresses: *mut *mut c_void, sizes: &[usize]) -> Vec<Vec<u8>> {
        let bytes = |(index, size): (usize, &usize)| {
            // SAFETY: there is an address for each parameter, of as many bytes: that is what the test is about, under a sanitizer.
            unsafe { std::slice::from_raw_parts((*addresses.add(index)).cast::<u8>(), *size) }.to_vec()
        };
        sizes.iter().enumerate().map(bytes).collect()
    }

    /// By every step, with what comes before and after it: the sizes are those that its PTX declares.
    #[test]
    fn the_driver_finds_the_bytes_of_each_parameter() {
        let mut launches = 0;
        for step in runnable() {
            let support = Module::parse(&ModuleSource::BuiltIn.support(step.target).unwrap()).unwrap();
            let is_dependent = step.target != Target::Sm80;
            let parse = |entry| Module::parse(&ModuleSource::BuiltIn.module_of(step, entry).unwrap()).unwrap();
            let own: Vec<_> = iter::once(step.kernel).chain(step.fused).map(parse).collect();
            let plain = Problem::new(300, 200, 100).with_elements(step.precision.input(), step.output);
            let layouts =
                plain.with_layouts(Layout::column_major(300), Layout::column_major(100), Layout::row_major(200));
            let bias = Epilogue { bias: Some(BiasPer::Row), ..Epilogue::default() };
            let problems = [layouts, layouts.with_d(Layout::row_major(200)), layouts.with_epilogue(bias)];
            // A step of 16-bit results has no post-pass.
            let plans = problems.into_iter().flat_map(|problem| Plan::new(step, &problem, 132));
            let places = Buffer::PARTS.into_iter().chain([Buffer::A, Buffer::B, Buffer::C, Buffer::D]).zip(1..);
            let addresses =
                places.fold(Buffers::default(), |all, (buffer, place)| all.with(buffer, place * 0x0123_4567_89ab_cd00));
            let bindings = Bindings::new(addresses, 1.5, -0.25);
            for launch in plans.collect::<Vec<_>>().iter().flat_map(Plan::launches) {
                let of_step = own.iter().find_map(|module| module.kernel(launch.kernel).ok());
                let is_own = launch.module == ModuleKind::Step;
                let kernel = of_step.filter(|_| is_own).unwrap_or_else(|| support.kernel(launch.kernel).unwrap());
                let sizes: Vec<_> = kernel.params().iter().map(|parameter| parameter.bytes as usize).collect();
                let given = launch.arguments.iter().map(|(_, argument)| packed(argument.value(&bindings)));
                let (parameters, expected): (Vec<_>, Vec<_>) = given.unzip();
                assert_eq!(sizes.len(), parameters.len(), "{}", launch.kernel);
                let driver = |config: *const CUlaunchConfig, addresses| {
                    // SAFETY: it lives until this returns.
                    let config = unsafe { &*config };
                    assert_eq!([config.gridDimX, config.gridDimY, config.gridDimZ], launch.shape.grid);
                    assert_eq!([config.blockDimX, config.blockDimY, config.blockDimZ], launch.shape.block);
                    assert_eq!((config.sharedMemBytes, config.hStream), (launch.shape.dynamic_smem_bytes, STREAM));
                    // SAFETY: as above, of the attributes that there are.
                    let attributes = unsafe { std::slice::from_raw_parts(config.attrs, config.numAttrs as usize) };
                    let [x, y, z] = launch.shape.cluster;
                    let cluster = (x * y * z > 1).then_some((CLUSTER, [x, y, z]));
                    let dependent = is_dependent.then_some((DEPENDENT, [1, 0, 0]));
                    let expected_attributes: Vec<_> = cluster.into_iter().chain(dependent).collect();
                    let words = |attribute: &CUlaunchAttribute| {
                        // SAFETY: numbers, like all values, and zeros behind those that are shorter.
                        let value = unsafe { attribute.value.clusterDim };
                        (attribute.id, [value.x, value.y, value.z])
                    };
                    assert_eq!(attributes.iter().map(words).collect::<Vec<_>>(), expected_attributes);
                    assert_eq!(read(addresses, &sizes), expected, "{}", launch.kernel);
                    CUresult::CUDA_SUCCESS
                };
                launch_by(driver, is_dependent, &launch.shape, &parameters, STREAM, String::new).unwrap();
                launches += 1;
            }
        }
        assert!(launches > 3 * SUPPORT_KERNELS.len(), "{launches}");
    }

    #[test]
    fn more_arguments_than_there_is_room_for_are_refused() {
        let shape = LaunchShape { grid: [1; 3], block: [1; 3], cluster: [1; 3], dynamic_smem_bytes: 0 };
        let launch = |count: usize| {
            let driver = |_: *const CUlaunchConfig, addresses: *mut *mut c_void| {
                assert_eq!(read(addresses, &vec![8; count]), vec![7_u64.to_le_bytes(); count]);
                CUresult::CUDA_ERROR_INVALID_VALUE
            };
            let parameters = vec![Parameter::Word(7); count];
            launch_by(driver, false, &shape, &parameters, STREAM, || "run x".into()).unwrap_err().to_string()
        };
        assert_eq!(launch(MAX_ARGUMENTS), "cannot run x: CUDA_ERROR_INVALID_VALUE");
        assert_eq!(launch(MAX_ARGUMENTS + 1), format!("cannot run x: more than {MAX_ARGUMENTS} arguments"));
    }
}
