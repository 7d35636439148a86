//! Operands that are rewritten once and read many times.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut, SyncOnDrop};
use gpu_kernels::Operand;

use super::arguments::check_context;
use super::driver::failed;
use super::gemm::Gemm;
use super::loaded::Loaded;
use crate::plan::{Bindings, Buffer, Buffers, Plan, Preparation};
use crate::{Error, Scalar};

/// A or B as a kernel reads it: aligned, transposed or split. It borrows the original, which does not change meanwhile: a kernel of
/// split operands computes in f32 what cannot be split.
pub struct PreparedOperand<'a, I> {
    original: &'a dyn DevicePtr<I>,
    memory: CudaSlice<u8>,
    preparation: Preparation,
}

impl<'a, I: Scalar> PreparedOperand<'a, I> {
    pub(super) fn new(
        gemm: &Gemm,
        loaded: &Loaded,
        stream: &Arc<CudaStream>,
        source: Buffer,
        original: &'a dyn DevicePtr<I>,
    ) -> Result<Self, Error> {
        gemm.handle().check_context("stream", stream.context())?;
        let problem = gemm.problem();
        if problem.input != I::ELEMENT {
            let (takes, found) = ([problem.input, problem.output], [I::ELEMENT, problem.output]);
            return Err(Error::Elements { kernel: "the plan", takes, found });
        }
        let [a, b, ..] = problem.extents()?;
        let (operand, least) = if source == Buffer::A { ("A", a) } else { ("B", b) };
        check_context(operand, original.stream(), stream)?;
        let elements = original.len();
        if elements < least {
            return Err(Error::ShortBuffer { operand, elements, least });
        }
        let Some(preparation) = gemm.plan().preparation(source) else {
            return Err(Error::Prepared { operand });
        };
        check_shared(gemm.plan(), source, operand)?;
        let preparation = preparation.clone();
        let bytes = usize::try_from(preparation.bytes().total_bytes()).unwrap_or(usize::MAX);
        let what = || format!("prepare {operand}");
        // SAFETY: nothing is read there that the pre-passes have not written.
        let memory = unsafe { stream.alloc(bytes.max(1)) }.map_err(|error| failed(what(), error))?;
        let mut prepared = Self { original, memory, preparation };
        stream.context().bind_to_thread().map_err(|error| failed(what(), error))?;
        {
            let (address, _read) = original.device_ptr(stream);
            let (at, _written) = prepared.memory.device_ptr_mut(stream);
            let addresses = prepared.preparation.bytes().at(at).with(source, address);
            // SAFETY: the context is the handle's, and current. The original was found long enough; the memory has the bytes of the
            // preparation. Both are ordered before what else uses them, by the guards.
            unsafe {
                loaded.prepare(
                    stream.cu_stream(),
                    prepared.preparation.operand,
                    &Bindings::new(addresses, 1.0, 0.0),
                )?;
            }
        }
        Ok(prepared)
    }

    /// Bytes that it takes beside the original.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.memory.len() as u64
    }

    /// Bytes of the original.
    #[must_use]
    pub fn original_bytes(&self) -> u64 {
        self.original.num_bytes() as u64
    }

    pub(super) fn original(&self) -> &'a dyn DevicePtr<I> {
        self.original
    }

    /// What the kernel takes it as.
    pub(super) fn operand(&self) -> Operand {
        self.preparation.operand
    }

    /// Checks that the plan would prepare it so.
    pub(super) fn check(&self, plan: &Plan, stream: &CudaStream) -> Result<(), Error> {
        let source = self.preparation.source;
        let operand = if source == Buffer::A { "A" } else { "B" };
        check_context(operand, self.memory.stream(), stream)?;
        check_shared(plan, source, operand)?;
        if plan.preparation(source) == Some(&self.preparation) { Ok(()) } else { Err(Error::Prepared { operand }) }
    }

    pub(super) fn bind<'b>(&'b self, stream: &'b CudaStream) -> (Buffers<u64>, SyncOnDrop<'b>) {
        let (at, guard) = self.memory.device_ptr(stream);
        (self.preparation.bytes().at(at), guard)
    }
}

/// Checks that all problems of a batch read the same operand.
fn check_shared(plan: &Plan, source: Buffer, operand: &'static str) -> Result<(), Error> {
    let batch = plan.problem().batch;
    let stride = if source == Buffer::A { batch.a } else { batch.b };
    if batch.count > 1 && stride > 0 { Err(Error::Prepared { operand }) } else { Ok(()) }
}
