//! The operands in emulated memory.

use gpu_kernels::Step;
use sgemm::emulator::{DeviceMemory, POISON};
use sgemm::plan::{Address, Buffer, Buffers, Plan};

use crate::verify::matrix::{GUARD, Shape};
use crate::{Error, Matrix, Operands, Problem};

/// A matrix in emulated memory, laid out as [`Matrix`]: guard band, rows, guard band.
struct EmulatedMatrix {
    address: Address,
    shape: Shape,
}

impl EmulatedMatrix {
    fn upload(matrix: &Matrix, memory: &mut DeviceMemory) -> Self {
        Self { address: memory.allocate_words(matrix.words().iter().copied()), shape: matrix.shape() }
    }

    fn download(&self, memory: &mut DeviceMemory) -> Result<Matrix, Error> {
        Ok(Matrix::from_words(self.shape, memory.free(self.address)?))
    }

    /// Where element (0, 0) lies.
    fn interior(&self) -> Address {
        self.address + u64::from(self.shape.element.bytes()) * GUARD as Address
    }
}

/// A, B and C in emulated memory.
pub(super) struct EmulatedOperands {
    pub(super) memory: DeviceMemory,
    a: EmulatedMatrix,
    b: EmulatedMatrix,
    c: EmulatedMatrix,
    workspace: Option<Workspace>,
}

/// What a step has beside the operands, on its problem: where the parts are, and their bytes.
struct Workspace {
    step: &'static Step,
    problem: Problem,
    parts: Buffers<Address>,
    bytes: Buffers<u64>,
}

impl EmulatedOperands {
    /// Copies the operands, guard bands included.
    pub(super) fn upload(operands: &Operands) -> Self {
        let mut memory = DeviceMemory::default();
        let [a, b, c] =
            [&operands.a, &operands.b, &operands.c].map(|matrix| EmulatedMatrix::upload(matrix, &mut memory));
        Self { memory, a, b, c, workspace: None }
    }

    /// Moves the operands out, guard bands included.
    pub(super) fn download(mut self) -> Result<Operands, Error> {
        Ok(Operands {
            a: self.a.download(&mut self.memory)?,
            b: self.b.download(&mut self.memory)?,
            c: self.c.download(&mut self.memory)?,
        })
    }

    /// Makes C what it was before anything ran, and poisons what the last step has beside the operands, but for its flags.
    pub(super) fn restore(&mut self, c: &Matrix) -> Result<(), Error> {
        if c.shape() != self.c.shape {
            return Err(other_problem());
        }
        self.memory.write(self.c.address, bytemuck::cast_slice(&c.words()))?;
        let Some(Workspace { parts, bytes, .. }) = &self.workspace else { return Ok(()) };
        for part in Buffer::PARTS.into_iter().filter(|part| *part != Buffer::Flags && bytes[*part] > 0) {
            let poison: Vec<u8> = POISON.to_le_bytes().into_iter().cycle().take(bytes[part] as usize).collect();
            self.memory.write(parts[part], &poison)?;
        }
        Ok(())
    }

    /// Frees what the last step had beside the operands.
    pub(super) fn forget_workspace(&mut self) -> Result<(), Error> {
        Ok(self.workspace.take().map_or(Ok(()), |workspace| self.memory.free_parts(&workspace.parts))?)
    }

    /// Where A, B and C begin, and the parts of the workspace: those of the last run, if this step was the last to run on this problem.
    pub(super) fn addresses(
        &mut self,
        step: &'static Step,
        problem: &Problem,
        plan: &Plan,
    ) -> Result<Buffers<Address>, Error> {
        let is_known = |known: &&Workspace| known.step == step && known.problem == *problem;
        let parts = match self.workspace.as_ref().filter(is_known) {
            Some(workspace) => workspace.parts,
            None => {
                self.forget_workspace()?;
                let parts = self.memory.allocate_parts(plan)?;
                self.workspace = Some(Workspace { step, problem: *problem, parts, bytes: *plan.part_bytes() });
                parts
            }
        };
        // BLAS does not read C where beta is 0: not even to multiply it by 0.
        self.memory.global().forbid_loads((!problem.reads_c()).then_some(self.c.address));
        let [a, b, c] = [&self.a, &self.b, &self.c].map(EmulatedMatrix::interior);
        Ok(parts.with(Buffer::A, a).with(Buffer::B, b).with(Buffer::C, c))
    }
}

/// The operands of this problem, or an error where none were uploaded or those of another problem.
pub(super) fn uploaded<'a>(
    operands: Option<&'a mut EmulatedOperands>,
    problem: &Problem,
) -> Result<&'a mut EmulatedOperands, Error> {
    let operands = operands.ok_or_else(missing)?;
    problem.validate()?;
    if [&operands.a, &operands.b, &operands.c].map(|matrix| matrix.shape) != problem.shapes() {
        return Err(other_problem());
    }
    Ok(operands)
}

/// There are no operands.
pub(super) fn missing() -> Error {
    unusable("none were uploaded, or they were downloaded since")
}

fn other_problem() -> Error {
    unusable("those that were uploaded belong to another problem")
}

fn unusable(reason: &str) -> Error {
    Error::Emulator { what: "use the operands".into(), reason: reason.into() }
}
