//! The operands in emulated memory.

use ptx_emu::{GlobalMemory, Pointer};

use crate::matrix::{GUARD, Shape};
use crate::{Error, Matrix, Operands, Problem};

/// A matrix in emulated memory, laid out as [`Matrix`]: guard band, rows, guard band.
struct EmulatedMatrix {
    pointer: Pointer,
    shape: Shape,
}

impl EmulatedMatrix {
    fn upload(matrix: &Matrix, memory: &mut GlobalMemory) -> Self {
        let words = matrix.as_slice().iter().map(|element| element.to_bits());
        Self { pointer: memory.allocate_words(words), shape: matrix.shape() }
    }

    fn download(&self, memory: &mut GlobalMemory) -> Option<Matrix> {
        // The buffer itself, not a copy: collecting into the same layout reuses it.
        let buffer = memory.free(self.pointer)?.into_iter().map(f32::from_bits).collect();
        Some(Matrix::from_buffer(self.shape, buffer))
    }

    /// Where row `row` begins.
    fn row(&self, row: u32) -> Pointer {
        self.pointer + (size_of::<f32>() * (GUARD + row as usize * self.shape.ld)) as Pointer
    }
}

/// A, B and C in emulated memory.
pub(super) struct EmulatedOperands {
    pub(super) memory: GlobalMemory,
    a: EmulatedMatrix,
    b: EmulatedMatrix,
    c: EmulatedMatrix,
}

impl EmulatedOperands {
    /// Copies the operands, guard bands included.
    pub(super) fn upload(operands: &Operands) -> Self {
        let mut memory = GlobalMemory::default();
        let [a, b, c] =
            [&operands.a, &operands.b, &operands.c].map(|matrix| EmulatedMatrix::upload(matrix, &mut memory));
        Self { memory, a, b, c }
    }

    /// Moves the operands out, guard bands included.
    pub(super) fn download(mut self) -> Option<Operands> {
        Some(Operands {
            a: self.a.download(&mut self.memory)?,
            b: self.b.download(&mut self.memory)?,
            c: self.c.download(&mut self.memory)?,
        })
    }

    /// Where A's row `row` begins, B, and C's row `row`.
    pub(super) fn rows(&self, row: u32) -> [Pointer; 3] {
        [self.a.row(row), self.b.row(0), self.c.row(row)]
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
