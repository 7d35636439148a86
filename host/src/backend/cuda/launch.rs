//! Launching kernels: the only place where one is.

use std::ffi::c_void;

use cudarc::driver::sys::{self, CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue, CUlaunchConfig};
use cust::function::Function;
use cust::stream::Stream;
use gpu_kernels::Step;

use super::cublas::Cublas;
use super::failure::Context as _;
use super::graph::Graph;
use super::module::Modules;
use super::operands::Gemm;
use super::prepared::Prepared;
use crate::Error;
use crate::backend::plan::{self, Argument, Shape};
use crate::baseline::Baseline;

/// A kernel with the operands that it is to work on.
pub(super) enum Launch<'a> {
    /// The kernels of a step, in order: pre-passes, and its own for each slab.
    Step(&'static Step, Vec<(Function<'a>, &'a plan::Launch)>),
    /// The same, recorded.
    Graph(&'static Step, &'a Graph),
    Cublas(&'a Cublas, &'static Baseline, Gemm<'a>),
}

impl<'a> Launch<'a> {
    /// The launches of a step that was prepared.
    pub(super) fn of_step(step: &'static Step, modules: &'a Modules, prepared: &'a Prepared) -> Result<Self, Error> {
        if let Some(graph) = &prepared.graph {
            return Ok(Self::Graph(step, graph));
        }
        let with_function = |launch: &'a plan::Launch| Ok((modules.function(step, launch.kernel)?, launch));
        Ok(Self::Step(step, prepared.launches.iter().map(with_function).collect::<Result<_, Error>>()?))
    }

    /// What an error says was being done.
    pub(super) fn what(&self) -> String {
        match self {
            Self::Step(step, _) | Self::Graph(step, _) => format!("run {}", step.slug),
            Self::Cublas(_, baseline, _) => format!("run {}", baseline.name),
        }
    }

    /// Queues the whole product in the stream; nothing where m or n is 0.
    pub(super) fn enqueue(&self, stream: &Stream) -> Result<(), Error> {
        match self {
            Self::Step(_, launches) => launches.iter().try_for_each(|(function, launch)| {
                let arguments = launch.arguments.iter().map(|(_, argument)| *argument);
                // SAFETY: a step's kernel has the parameters of `Step::arguments`, and a pre-pass those of
                // `PREPASS_ARGUMENTS`; a test compares the plan's arguments with these. The kernel reads the slab's rows x k
                // of A and k x n of B, or the copies of these in memory of `Plan::scratch_bytes`, and reads and writes
                // rows x n of C: since first_row + rows <= m, that lies inside of the m * lda, k * ldb and m * ldc elements
                // that `Gemm` vouched for when the launches were planned. It runs asynchronously, and freeing the memory or
                // unloading the module waits for it.
                unsafe { enqueue(function, &launch.shape, arguments, stream) }.context(self.what())
            }),
            // It was recorded for what is prepared now, and goes with it.
            Self::Graph(_, graph) => graph.launch(stream),
            Self::Cublas(_, _, gemm) if gemm.problem.m == 0 || gemm.problem.n == 0 => Ok(()),
            Self::Cublas(cublas, baseline, gemm) => cublas.gemm(baseline, gemm),
        }
    }
}

/// Queues a kernel in the stream.
///
/// # Safety
/// The kernel has just these parameters, and keeps within the memory that they point to, which lives until it has ended.
pub(super) unsafe fn enqueue(
    function: &Function,
    shape: &Shape,
    arguments: impl Iterator<Item = Argument>,
    stream: &Stream,
) -> Result<(), cudarc::driver::DriverError> {
    // CUDA's machines are little-endian: where a value has 8 bytes, its first 4 are those of a 32-bit one.
    let mut values: Vec<u64> = arguments
        .map(|argument| match argument {
            Argument::U32(value) => value.into(),
            Argument::F32(value) => value.to_bits().into(),
            Argument::Address(address) => address,
        })
        .collect();
    let mut pointers: Vec<*mut c_void> = values.iter_mut().map(|value| (&raw mut *value).cast()).collect();
    let Shape { grid, block, cluster, dynamic_smem_bytes } = *shape;
    let mut value = CUlaunchAttributeValue { pad: [0; 64] };
    let [x, y, z] = cluster;
    value.clusterDim = sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x, y, z };
    let id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    let mut attribute = CUlaunchAttribute { id, pad: [0; 4], value };
    let config = CUlaunchConfig {
        gridDimX: grid[0],
        gridDimY: grid[1],
        gridDimZ: grid[2],
        blockDimX: block[0],
        blockDimY: block[1],
        blockDimZ: block[2],
        sharedMemBytes: dynamic_smem_bytes,
        hStream: stream.as_inner().cast(),
        attrs: &raw mut attribute,
        // Devices without clusters do not know the attribute.
        numAttrs: (cluster != [1; 3]).into(),
    };
    // SAFETY: the stream is alive, the function belongs to a module that is loaded, and there are as many pointers to
    // arguments as it has parameters, by the caller's promise; the driver copies what all of them point to before it returns.
    unsafe {
        let function = function.to_raw().cast();
        sys::cuLaunchKernelEx(&raw const config, function, pointers.as_mut_ptr(), std::ptr::null_mut()).result()
    }
}
