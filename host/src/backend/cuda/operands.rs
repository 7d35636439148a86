//! The operands in device memory.

use cust::memory::{DeviceBuffer, DevicePointer, mem_get_info};

use super::failure::Context as _;
use crate::matrix::{GUARD, Shape};
use crate::{Error, Matrix, Operands, Problem};

/// The driver gives memory out in pages of this size.
const PAGE_BYTES: u64 = 2 << 20;

/// A matrix in device memory, laid out as [`Matrix`]: guard band, rows, guard band.
struct DeviceMatrix {
    buffer: DeviceBuffer<f32>,
    shape: Shape,
}

impl DeviceMatrix {
    fn upload(name: &str, matrix: &Matrix) -> Result<Self, Error> {
        let buffer = DeviceBuffer::from_slice(matrix.as_slice()).context(format!("copy {name} to the device"))?;
        Ok(Self { buffer, shape: matrix.shape() })
    }

    fn download(&self, name: &str) -> Result<Matrix, Error> {
        let buffer = self.buffer.as_host_vec().context(format!("copy {name} from the device"))?;
        Ok(Matrix::from_buffer(self.shape, buffer))
    }

    /// Where element (0, 0) lies.
    fn interior(&self) -> DevicePointer<f32> {
        self.buffer.as_device_ptr().wrapping_add(GUARD)
    }
}

/// A, B and C in device memory.
pub(super) struct DeviceOperands {
    a: DeviceMatrix,
    b: DeviceMatrix,
    c: DeviceMatrix,
}

impl DeviceOperands {
    /// Allocates device memory for the operands and copies them there, guard bands included.
    pub(super) fn upload(operands: &Operands) -> Result<Self, Error> {
        let Operands { a, b, c } = operands;
        let bytes = |matrix: &Matrix| (size_of_val(matrix.as_slice()) as u64).next_multiple_of(PAGE_BYTES);
        let needed = bytes(a) + bytes(b) + bytes(c);
        let (available, _) = mem_get_info().context("ask for free device memory")?;
        let available = available as u64;
        if needed > available {
            return Err(Error::OutOfMemory { needed, available });
        }
        Ok(Self {
            a: DeviceMatrix::upload("A", a)?,
            b: DeviceMatrix::upload("B", b)?,
            c: DeviceMatrix::upload("C", c)?,
        })
    }

    /// Copies the operands back, guard bands included.
    pub(super) fn download(&self) -> Result<Operands, Error> {
        Ok(Operands { a: self.a.download("A")?, b: self.b.download("B")?, c: self.c.download("C")? })
    }
}

/// The operands, or an error where none were uploaded.
pub(super) fn uploaded(operands: Option<&DeviceOperands>) -> Result<&DeviceOperands, Error> {
    let missing = || Error::Cuda { what: "use the operands".into(), reason: "none were uploaded".into() };
    operands.ok_or_else(missing)
}

/// A problem together with its operands in device memory, whose shapes are the problem's: what a launch needs.
pub(super) struct Gemm<'a> {
    operands: &'a DeviceOperands,
    /// The sizes and factors, checked by [`Problem::validate`].
    pub(super) problem: Problem,
}

impl<'a> Gemm<'a> {
    /// Checks that the operands are those of the problem.
    pub(super) fn new(operands: Option<&'a DeviceOperands>, problem: &Problem) -> Result<Self, Error> {
        let operands = uploaded(operands)?;
        problem.validate()?;
        if [&operands.a, &operands.b, &operands.c].map(|matrix| matrix.shape) != problem.shapes() {
            let reason = "those that were uploaded belong to another problem".into();
            return Err(Error::Cuda { what: "use the operands".into(), reason });
        }
        Ok(Self { operands, problem: *problem })
    }

    /// Where A's row `row` begins. From row 0 on, m * lda elements can be read.
    pub(super) fn a(&self, row: u32) -> DevicePointer<f32> {
        self.operands.a.interior().wrapping_add(row as usize * self.problem.lda as usize)
    }

    /// Where B begins. From there on, k * ldb elements can be read.
    pub(super) fn b(&self) -> DevicePointer<f32> {
        self.operands.b.interior()
    }

    /// Where C's row `row` begins. From row 0 on, m * ldc elements can be read and written.
    pub(super) fn c(&self, row: u32) -> DevicePointer<f32> {
        self.operands.c.interior().wrapping_add(row as usize * self.problem.ldc as usize)
    }
}
