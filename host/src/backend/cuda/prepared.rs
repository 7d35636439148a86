//! What a step needs on the device for one problem, made before anything is timed.

use cudarc::driver::sys::{
    self, CUtensorMap, CUtensorMapDataType, CUtensorMapFloatOOBfill, CUtensorMapInterleave, CUtensorMapL2promotion,
    CUtensorMapSwizzle,
};
use cust::memory::DeviceBuffer;
use gpu_kernels::{Element, MapBox, Step};

use super::device::{self, CudaVersion};
use super::failure::Context as _;
use super::graph::Graph;
use super::operands::{Gemm, check_memory};
use crate::backend::plan::{Launch, POISON, Plan, Scratch, TensorMap};
use crate::{Error, Problem};

/// The first CUDA version with tensor maps.
const TENSOR_MAPS: CudaVersion = CudaVersion(12000);

/// The launches of a step on one problem, and the memory that they use beside the operands.
pub(super) struct Prepared {
    step: &'static Step,
    problem: Problem,
    pub(super) launches: Vec<Launch>,
    /// All of these in one, where that is wanted.
    pub(super) graph: Option<Graph>,
    _scratch: Scratch<Option<DeviceBuffer<u32>>>,
}

impl Prepared {
    /// Allocates and fills the memory. What is prepared must not be launched once the operands are gone.
    pub(super) fn new(step: &'static Step, gemm: &Gemm, sm_count: u32) -> Result<Self, Error> {
        let plan = Plan::new(step, &gemm.problem, sm_count)?;
        let bytes = plan.scratch_bytes();
        check_memory([bytes.copies[0], bytes.copies[1], bytes.workspace, bytes.maps])?;
        let what = || format!("allocate the workspace of {}", step.slug);
        let allocate = |bytes: u64, word: u32| -> Result<Option<DeviceBuffer<u32>>, Error> {
            if bytes == 0 {
                return Ok(None);
            }
            let mut buffer = DeviceBuffer::zeroed(bytes.div_ceil(4) as usize).context(what())?;
            if word != 0 {
                buffer.set_32(word).context(what())?;
            }
            Ok(Some(buffer))
        };
        let mut scratch = Scratch {
            copies: [allocate(bytes.copies[0], POISON)?, allocate(bytes.copies[1], POISON)?],
            workspace: allocate(bytes.workspace, 0)?,
            maps: None,
        };
        let operands = gemm.addresses();
        let maps = plan.maps(operands, &addresses(&scratch)).iter().map(encode).collect::<Result<Vec<_>, _>>()?;
        if !maps.is_empty() {
            scratch.maps = Some(DeviceBuffer::from_slice(&maps.concat()).context(what())?);
        }
        let addresses = addresses(&scratch);
        let mut launches = plan.prepasses(operands, &addresses);
        launches.extend(plan.launches(operands, &addresses));
        Ok(Self { step, problem: gemm.problem, launches, graph: None, _scratch: scratch })
    }

    /// Whether it is for this step and problem.
    pub(super) fn is_for(&self, step: &Step, problem: &Problem) -> bool {
        self.step == step && self.problem == *problem
    }
}

fn addresses(scratch: &Scratch<Option<DeviceBuffer<u32>>>) -> Scratch<u64> {
    let address = |buffer: &Option<DeviceBuffer<u32>>| buffer.as_ref().map_or(0, |b| b.as_device_ptr().as_raw());
    let Scratch { copies: [a, b], workspace, maps } = scratch;
    Scratch { copies: [address(a), address(b)], workspace: address(workspace), maps: address(maps) }
}

/// A tensor map as the copy engine reads it.
fn encode(map: &TensorMap) -> Result<[u32; 32], Error> {
    device::require(TENSOR_MAPS)?;
    let mut encoded = CUtensorMap { opaque: [0; 16] };
    let size = [u64::from(map.columns), u64::from(map.rows)];
    let MapBox { element, rows, columns, .. } = map.copied;
    let row_bytes = [u64::from(map.ld) * u64::from(element.bytes())];
    let copied = [columns, rows];
    let element = match element {
        Element::F32 => CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
        Element::F16 => CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
        Element::Bf16 => CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
    };
    let steps = [1, 1];
    let swizzle = match map.copied.swizzle_bytes() {
        0 => CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
        32 => CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_32B,
        64 => CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_64B,
        _ => CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
    };
    // SAFETY: the arrays have as many elements as the tensor has dimensions, 2, or one fewer for the strides; the function
    // reads them and writes the map. It does not touch the memory that the map describes.
    let status = unsafe {
        sys::cuTensorMapEncodeTiled(
            &raw mut encoded,
            element,
            2,
            std::ptr::without_provenance_mut(map.address as usize),
            size.as_ptr(),
            row_bytes.as_ptr(),
            copied.as_ptr(),
            steps.as_ptr(),
            CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
            swizzle,
            CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
            CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
    };
    status.result().context(format!("describe a matrix for the tensor copy engine ({map:?})"))?;
    Ok(std::array::from_fn(|i| (encoded.opaque[i / 2] >> (32 * (i % 2))) as u32))
}
