//! The operands in emulated memory.

use gpu_kernels::{Ab, Element, Step, TENSOR_MAP_BYTES, TmaBox};
use ptx_emu::{GlobalMemory, Pointer, Swizzle, Type};
use sgemm::Abc;
use sgemm::plan::{Plan, TensorMap, Workspace};

use crate::backend::POISON;
use crate::verify::matrix::{GUARD, Shape};
use crate::{Error, Matrix, Operands, Problem};

/// A matrix in emulated memory, laid out as [`Matrix`]: guard band, rows, guard band.
struct EmulatedMatrix {
    pointer: Pointer,
    shape: Shape,
}

impl EmulatedMatrix {
    fn upload(matrix: &Matrix, memory: &mut GlobalMemory) -> Self {
        Self { pointer: memory.allocate_words(matrix.words().iter().copied()), shape: matrix.shape() }
    }

    fn download(&self, memory: &mut GlobalMemory) -> Option<Matrix> {
        Some(Matrix::from_words(self.shape, memory.free(self.pointer)?))
    }

    /// Where element (0, 0) lies.
    fn interior(&self) -> Pointer {
        self.pointer + u64::from(self.shape.element.bytes()) * GUARD as Pointer
    }
}

/// A, B and C in emulated memory.
pub(super) struct EmulatedOperands {
    pub(super) memory: GlobalMemory,
    a: EmulatedMatrix,
    b: EmulatedMatrix,
    c: EmulatedMatrix,
    /// What a step has beside them, on its problem.
    workspace: Option<(&'static Step, Problem, Workspace<Pointer>)>,
}

impl EmulatedOperands {
    /// Copies the operands, guard bands included.
    pub(super) fn upload(operands: &Operands) -> Self {
        let mut memory = GlobalMemory::default();
        let [a, b, c] =
            [&operands.a, &operands.b, &operands.c].map(|matrix| EmulatedMatrix::upload(matrix, &mut memory));
        Self { memory, a, b, c, workspace: None }
    }

    /// Moves the operands out, guard bands included.
    pub(super) fn download(mut self) -> Option<Operands> {
        Some(Operands {
            a: self.a.download(&mut self.memory)?,
            b: self.b.download(&mut self.memory)?,
            c: self.c.download(&mut self.memory)?,
        })
    }

    /// Where A, B and C begin.
    pub(super) fn addresses(&self) -> Abc<Pointer> {
        Abc { a: self.a.interior(), b: self.b.interior(), c: self.c.interior() }
    }

    /// Frees what the last step had beside the operands.
    pub(super) fn forget_workspace(&mut self) {
        if let Some((_, _, Workspace { copies: Ab { a, b }, reduction })) = self.workspace.take() {
            for pointer in [a, b, reduction] {
                self.memory.free(pointer);
            }
        }
    }

    /// The memory that a step takes beside the operands: that of its last run, if it was the last to run.
    pub(super) fn workspace(&mut self, step: &'static Step, problem: &Problem, plan: &Plan) -> Workspace<Pointer> {
        if let Some((_, _, workspace)) =
            self.workspace.as_ref().filter(|(known, of, _)| *known == step && of == problem)
        {
            return *workspace;
        }
        self.forget_workspace();
        let bytes = plan.parts();
        let copy = |memory: &mut GlobalMemory, bytes: u64| {
            if bytes == 0 { 0 } else { memory.allocate_words((0..bytes.div_ceil(4)).map(|_| POISON)) }
        };
        let workspace = Workspace {
            copies: bytes.copies.map(|bytes| copy(&mut self.memory, bytes)),
            reduction: if bytes.reduction == 0 { 0 } else { self.memory.allocate(bytes.reduction) },
        };
        self.workspace = Some((step, *problem, workspace));
        workspace
    }
}

/// A tensor map as the emulator reads it.
pub(super) fn encode(map: &TensorMap) -> Result<[u8; TENSOR_MAP_BYTES], Error> {
    let swizzle = match map.tma_box.swizzle_bytes() {
        0 => Swizzle::None,
        32 => Swizzle::Bytes32,
        64 => Swizzle::Bytes64,
        _ => Swizzle::Bytes128,
    };
    let dims = [map.columns.into(), map.rows.into()];
    let TmaBox { element, extent, .. } = map.tma_box;
    let strides = [u64::from(map.ld) * u64::from(element.bytes())];
    let copied = [extent.cols, extent.rows];
    let element = match element {
        Element::F32 => Type::F32,
        Element::F16 => Type::F16,
        Element::Bf16 => Type::Bf16,
    };
    let map = ptx_emu::TensorMap::new(element, map.address, &dims, &strides, &copied, swizzle);
    map.map(|map| map.encode()).map_err(|error| unusable(&error.to_string()))
}

/// The operands of this problem, or an error where none were uploaded or those of another problem.
pub(super) fn uploaded<'a>(
    operands: Option<&'a mut EmulatedOperands>,
    problem: &Problem,
) -> Result<&'a mut EmulatedOperands, Error> {
    let operands = operands.ok_or_else(missing)?;
    problem.validate()?;
    if [&operands.a, &operands.b, &operands.c].map(|matrix| matrix.shape) != problem.shapes() {
        return Err(unusable("those that were uploaded belong to another problem"));
    }
    Ok(operands)
}

/// There are no operands.
pub(super) fn missing() -> Error {
    unusable("none were uploaded, or they were downloaded since")
}

fn unusable(reason: &str) -> Error {
    Error::Emulator { what: "use the operands".into(), reason: reason.into() }
}
