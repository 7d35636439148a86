//! Runs on the host's memory: element by element to a device's memory, and back. What lies between the elements is others', who may be
//! writing there.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use sgemm::Error;
use sgemm::cuda::Gemm;
use sgemm::cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, DriverError};
use sgemm::emulator::{DeviceMemory, Emulator};
use sgemm::plan::{Buffer, Buffers, OPERAND_ALIGNMENT, Plan};

use crate::cuda::failed;
use crate::operands::sgemm_arguments_t;
use crate::plan::{Planned, Runner};
use crate::problem::View;
use crate::status::Failure;

/// A matrix of the caller's.
struct Staged {
    buffer: Buffer,
    view: View,
    start: *const c_void,
    is_read: bool,
}

impl Staged {
    /// Its bytes over the whole batch, gaps included.
    fn bytes(&self) -> usize {
        self.view.pieces().map(|(first, bytes)| first + bytes).max().unwrap_or(0)
    }

    /// The bytes, zeros where nothing is or nothing is read.
    ///
    /// # Safety
    /// Where it is read, its elements are there.
    unsafe fn gather(&self) -> Result<Vec<u8>, Failure> {
        let (mut image, bytes) = (Vec::new(), self.bytes());
        image.try_reserve_exact(bytes).map_err(|_| Error::OutOfMemory { bytes: bytes as u64 })?;
        image.resize(bytes, 0);
        for (first, bytes) in self.view.pieces().filter(|_| self.is_read) {
            // SAFETY: upheld by the caller: these bytes are elements.
            let piece = unsafe { std::slice::from_raw_parts(self.start.cast::<u8>().add(first), bytes) };
            image[first..first + bytes].copy_from_slice(piece);
        }
        Ok(image)
    }
}

/// Writes the elements of an image to where they belong.
///
/// # Safety
/// The elements are there, and nothing else uses them.
unsafe fn scatter(image: &[u8], view: View, start: *mut c_void) {
    for (first, bytes) in view.pieces() {
        let piece = &image[first..first + bytes];
        // SAFETY: upheld by the caller.
        unsafe { ptr::copy_nonoverlapping(piece.as_ptr(), start.cast::<u8>().add(first), bytes) };
    }
}

/// The caller's matrices that are there, and which of them has the result.
fn staged(planned: &Planned, arguments: &sgemm_arguments_t) -> Result<(Vec<Staged>, Buffer), Failure> {
    let reads = arguments.reads(&planned.problem);
    let [a, b, c, d] = planned.problem.views()?;
    let [.., bias] = planned.plan().problem().extents()?;
    let is_apart = planned.problem.has_d != 0;
    let factor = View::vector(1, size_of::<f32>());
    let matrices = arguments.pointers().map(|(buffer, start)| {
        let (view, is_read) = match buffer {
            Buffer::A => (a, reads.inputs),
            Buffer::B => (b, reads.inputs),
            Buffer::C => (c, reads.c),
            Buffer::Bias => (View::vector(bias, d.element_bytes), true),
            Buffer::D => (d, false),
            _ => (factor, true),
        };
        Staged { buffer, view, start, is_read }
    });
    let given = matrices.into_iter().filter(|staged| !staged.start.is_null()).collect();
    Ok((given, if is_apart { Buffer::D } else { Buffer::C }))
}

/// What a pointer of the host's stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    /// The host's memory, at any address.
    Host,
    /// An emulated device's: aligned as the problem says, or refused.
    Device,
}

/// Runs a plan on matrices in the host's memory. It returns when it is done.
///
/// # Safety
/// The arguments passed their check. At their addresses, apart from the workspace's, are the elements of the plan's problem, in the host's
/// memory; nothing else writes to them, or reads the result's.
pub(crate) unsafe fn run(planned: &Planned, arguments: &sgemm_arguments_t, memory: Memory) -> Result<(), Failure> {
    if planned.plan().problem().is_empty() {
        return Ok(());
    }
    let (matrices, result) = staged(planned, arguments)?;
    // SAFETY: upheld by the caller.
    let images = || matrices.iter().map(|staged| Ok((staged, unsafe { staged.gather() }?)));
    let image = match &planned.runner {
        Runner::Emulator(emulator, plan) => emulated(emulator, plan, arguments, (images(), memory), result)?,
        Runner::Cuda(context, gemm) => on_gpu(context, gemm, arguments, images(), result)?,
    };
    if let Some(target) = matrices.iter().find(|staged| staged.buffer == result) {
        // SAFETY: upheld by the caller: the result's memory may be written.
        unsafe { scatter(&image, target.view, target.start.cast_mut()) };
    }
    Ok(())
}

/// Runs a plan in the emulator: the bytes of the result.
fn emulated<'a>(
    emulator: &Emulator,
    plan: &Plan,
    arguments: &sgemm_arguments_t,
    (images, kind): (impl Iterator<Item = Result<(&'a Staged, Vec<u8>), Failure>>, Memory),
    result: Buffer,
) -> Result<Vec<u8>, Failure> {
    let mut memory = DeviceMemory::default();
    let mut addresses = Buffers::default();
    let mut image = Vec::new();
    for image_of in images {
        let (staged, bytes) = image_of?;
        let before = match kind {
            Memory::Host => 0,
            // As far from a multiple of the alignment as the caller's, so that a wrong one is found.
            Memory::Device => staged.start.addr() as u64 % OPERAND_ALIGNMENT,
        };
        let address = memory.allocate(before + bytes.len() as u64)? + before;
        // Otherwise it stays as it is allocated: all of it is NaN.
        if staged.is_read {
            memory.write(address, &bytes)?;
        }
        addresses[staged.buffer] = address;
        if staged.buffer == result {
            image = bytes;
        }
    }
    let bindings = arguments.bind(addresses).with_parts(&memory.allocate_parts(plan)?);
    emulator.run_raw(plan, &bindings, &mut memory)?;
    memory.read(addresses[result], &mut image)?;
    Ok(image)
}

/// Runs a plan on a GPU, on copies of the operands there: the bytes of the result.
fn on_gpu<'a>(
    context: &Arc<CudaContext>,
    gemm: &Gemm,
    arguments: &sgemm_arguments_t,
    images: impl Iterator<Item = Result<(&'a Staged, Vec<u8>), Failure>>,
    result: Buffer,
) -> Result<Vec<u8>, Failure> {
    let what = |error: DriverError| failed("copy matrices", error.0);
    let stream = context.default_stream();
    let place = |slice: &CudaSlice<u8>, stream: &CudaStream| slice.device_ptr(stream).0;
    let bytes = usize::try_from(gemm.plan().workspace_bytes()).unwrap_or(usize::MAX).max(1);
    // SAFETY: no kernel reads what it has not written there, and flags are cleared.
    let workspace = unsafe { stream.alloc::<u8>(bytes) }.map_err(what)?;
    let mut addresses = gemm.plan().part_bytes().at(place(&workspace, &stream));
    let (mut image, mut kept) = (Vec::new(), Vec::new());
    for image_of in images {
        let (staged, mut bytes) = image_of?;
        let length = bytes.len();
        // The driver copies nothing that is empty.
        bytes.resize(length.max(1), 0);
        let slice = stream.clone_htod(&bytes).map_err(what)?;
        addresses[staged.buffer] = place(&slice, &stream);
        if staged.buffer == result {
            image = bytes;
        }
        kept.push((staged.buffer, slice));
    }
    // SAFETY: the stream is the context's own, which the caller made current. The slices have the bytes that problem and plan ask for, and
    // live until the stream was synchronised.
    unsafe { gemm.run_raw(stream.cu_stream(), &arguments.bind(addresses)) }?;
    if let Some((_, slice)) = kept.iter().find(|(buffer, _)| *buffer == result) {
        stream.memcpy_dtoh(slice, &mut image).map_err(what)?;
    }
    stream.synchronize().map_err(what)?;
    Ok(image)
}
