//! Modules, their kernels, and launches of these.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_void};
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use cudarc::driver::sys::CUresult;
use ptx_emu::device::Device;
use ptx_emu::model::predict;
use ptx_emu::occupancy::{Resources, estimate_registers};
use ptx_emu::{FindingKind, Kernel, Rank, Report};

use crate::attribute::SHARED_BYTES;
use crate::machine::Machine;
use crate::status::{Answer, require, say};

/// Blocks that a cluster may have without asking.
const PORTABLE_CLUSTER_BLOCKS: u32 = 8;

/// Lines of findings of a launch that are shown.
const SHOWN: usize = 10;

/// A module.
pub struct Code {
    pub module: ptx_emu::Module,
    /// Handles of the functions that were asked for, by name.
    pub functions: BTreeMap<String, usize>,
}

/// A kernel, and what it is allowed.
#[derive(Clone)]
pub struct Function {
    pub kernel: Arc<Kernel>,
    pub name: Arc<CStr>,
    /// The handle of its module.
    pub module: usize,
    pub most_dynamic_shared_bytes: u32,
    pub may_have_large_clusters: bool,
}

/// A launch.
pub struct Launch {
    kernel: Arc<Kernel>,
    launch: ptx_emu::Launch,
}

impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.kernel.name(), self.launch.grid)
    }
}

impl Function {
    pub fn new(module: usize, kernel: Kernel) -> Answer<Self> {
        let name = CString::new(kernel.name()).map_err(|_| CUresult::CUDA_ERROR_INVALID_PTX)?;
        Ok(Self {
            kernel: Arc::new(kernel),
            name: name.into(),
            module,
            most_dynamic_shared_bytes: SHARED_BYTES,
            may_have_large_clusters: false,
        })
    }

    /// A launch of it: sizes are those of `ptx_emu::Launch`.
    pub fn launch(&self, machine: &Machine, sizes: ptx_emu::Launch) -> Answer<Launch> {
        require(!sizes.grid.contains(&0) && !sizes.block.contains(&0))?;
        if sizes.dynamic_shared_bytes > self.most_dynamic_shared_bytes {
            say(&format!(
                "{}: {} bytes of dynamic shared memory, where {} are allowed (cuFuncSetAttribute)",
                self.kernel.name(),
                sizes.dynamic_shared_bytes,
                self.most_dynamic_shared_bytes
            ));
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let cluster = sizes.cluster.into_iter().fold(1, u32::saturating_mul);
        if cluster > PORTABLE_CLUSTER_BLOCKS && !self.may_have_large_clusters {
            return Err(CUresult::CUDA_ERROR_INVALID_CLUSTER_SIZE);
        }
        let launch = ptx_emu::Launch { checks: machine.checks, sm_count: machine.device.sm_count, ..sizes };
        Ok(Launch { kernel: Arc::clone(&self.kernel), launch })
    }

    /// The arguments, from the pointers to them.
    ///
    /// # Safety
    /// There is a pointer for each of the kernel's parameters, to as many bytes as it has.
    pub unsafe fn arguments(&self, pointers: *mut *mut c_void) -> Answer<Vec<Vec<u8>>> {
        let parameters = self.kernel.params();
        if pointers.is_null() {
            return if parameters.is_empty() { Ok(Vec::new()) } else { Err(CUresult::CUDA_ERROR_INVALID_VALUE) };
        }
        let argument = |(index, parameter): (usize, &ptx_emu::ParamInfo)| {
            // SAFETY: upheld by the caller.
            let pointer = unsafe { pointers.add(index).read() }.cast::<u8>();
            if pointer.is_null() {
                return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
            }
            // SAFETY: as above.
            Ok(unsafe { std::slice::from_raw_parts(pointer, parameter.bytes as usize) }.to_vec())
        };
        parameters.iter().enumerate().map(argument).collect()
    }

    /// The arguments, from a buffer that has them as the kernel's parameters lie.
    pub fn arguments_of(&self, buffer: &[u8]) -> Answer<Vec<Vec<u8>>> {
        let argument = |parameter: &ptx_emu::ParamInfo| {
            let (first, bytes) = (parameter.offset as usize, parameter.bytes as usize);
            buffer.get(first..first + bytes).map(<[u8]>::to_vec).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
        };
        self.kernel.params().iter().map(argument).collect()
    }
}

impl Launch {
    /// Runs the kernel, and lets the device's time go on by what is predicted for it. As on a GPU, not this call but one that waits
    /// for it says what the kernel did wrong.
    pub fn run(&self, machine: &mut Machine) -> Answer {
        let Self { kernel, launch } = self;
        let report = kernel.launch(&mut machine.memory, launch).map_err(|error| {
            say(&error.to_string());
            CUresult::CUDA_ERROR_INVALID_VALUE
        })?;
        let _ = io::stdout().write_all(report.output.as_bytes()); // a closed pipe is no error of the kernel's
        let threads = launch.block.into_iter().product();
        let resources = resources(kernel, machine.device, threads, launch.dynamic_shared_bytes);
        if let Some(prediction) = predict(machine.device, &report.counters, report.blocks, &resources) {
            machine.now_ms += prediction.time_ms;
        }
        machine.pending = verdict(kernel, &report);
        Ok(())
    }
}

/// What a block of so many threads takes of an SM.
pub fn resources(kernel: &Kernel, device: &Device, threads: u32, dynamic_shared_bytes: u32) -> Resources {
    let registers = estimate_registers(device, kernel.live_registers(), threads, kernel.bounds());
    Resources { threads, registers, shared_bytes: kernel.shared_bytes().saturating_add(dynamic_shared_bytes) }
}

/// What a report amounts to, having said what was found.
fn verdict(kernel: &Kernel, report: &Report) -> Option<CUresult> {
    let found: Vec<_> = report.fault.iter().chain(&report.findings).collect();
    found.iter().take(SHOWN).for_each(|finding| say(&format!("{}: {finding}", kernel.name())));
    if found.len() > SHOWN {
        say(&format!("{}: {} findings more", kernel.name(), found.len() - SHOWN));
    }
    // Warnings and remarks do not fail a launch.
    let first = found.iter().find(|finding| finding.rank == Rank::Error)?;
    Some(match first.kind {
        FindingKind::OutOfBounds => CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
        FindingKind::Assertion => CUresult::CUDA_ERROR_ASSERT,
        FindingKind::Misaligned => CUresult::CUDA_ERROR_MISALIGNED_ADDRESS,
        FindingKind::Runaway | FindingKind::Deadlock => CUresult::CUDA_ERROR_LAUNCH_TIMEOUT,
        _ => CUresult::CUDA_ERROR_LAUNCH_FAILED,
    })
}
