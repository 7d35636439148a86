//! The operands in device memory.

use cust::memory::{CopyDestination, DeviceBuffer, mem_get_info};
use sgemm::plan::OPERAND_ALIGNMENT;

use super::failure::Context as _;
use super::raw;
use crate::verify::matrix::{GUARD, Shape};
use crate::{Error, Matrix, Operands, Problem};

const _: () = assert!(
    (GUARD * 2).is_multiple_of(OPERAND_ALIGNMENT as usize),
    "matrices of any elements begin where kernels read them"
);

/// The driver gives memory out in pages of this size.
const PAGE_BYTES: u64 = 2 << 20;

/// A matrix in device memory, laid out as [`Matrix`]: guard band, rows, guard band.
struct DeviceMatrix {
    buffer: DeviceBuffer<u32>,
    shape: Shape,
}

impl DeviceMatrix {
    fn upload(name: &str, matrix: &Matrix) -> Result<Self, Error> {
        let buffer = DeviceBuffer::from_slice(&matrix.words()).context(format!("copy {name} to the device"))?;
        Ok(Self { buffer, shape: matrix.shape() })
    }

    /// Copies a matrix of the same shape over it, in the order of the stream: that waits for the copy.
    fn overwrite(&mut self, name: &str, matrix: &Matrix) -> Result<(), Error> {
        let words = matrix.words();
        if self.shape != matrix.shape() || self.buffer.len() != words.len() {
            return Err(other_problem());
        }
        self.buffer.copy_from(&*words).context(format!("copy {name} to the device"))
    }

    fn download(&self, name: &str) -> Result<Matrix, Error> {
        let buffer = self.buffer.as_host_vec().context(format!("copy {name} from the device"))?;
        Ok(Matrix::from_words(self.shape, buffer))
    }

    /// Where element (0, 0) lies.
    fn interior(&self) -> u64 {
        raw::address(&self.buffer) + u64::from(self.shape.element.bytes()) * GUARD as u64
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
        let bytes = |matrix: &Matrix| matrix.as_slice().len() as u64 * u64::from(matrix.element().bytes());
        check_memory([a, b, c].map(bytes))?;
        Ok(Self {
            a: DeviceMatrix::upload("A", a)?,
            b: DeviceMatrix::upload("B", b)?,
            c: DeviceMatrix::upload("C", c)?,
        })
    }

    /// Makes C what it was before anything ran, guard bands included.
    pub(super) fn restore_c(&mut self, c: &Matrix) -> Result<(), Error> {
        self.c.overwrite("C", c)
    }

    /// Copies the operands back, guard bands included.
    pub(super) fn download(&self) -> Result<Operands, Error> {
        Ok(Operands { a: self.a.download("A")?, b: self.b.download("B")?, c: self.download_c()? })
    }

    /// Where the rows of A, B and C begin.
    pub(super) fn addresses(&self) -> [u64; 3] {
        [&self.a, &self.b, &self.c].map(DeviceMatrix::interior)
    }

    /// Copies C back.
    pub(super) fn download_c(&self) -> Result<Matrix, Error> {
        self.c.download("C")
    }
}

/// Fails where the device has no room for buffers of so many bytes each.
pub(super) fn check_memory(buffers: impl IntoIterator<Item = u64>) -> Result<(), Error> {
    let pages = buffers.into_iter().map(|bytes| bytes.checked_next_multiple_of(PAGE_BYTES).unwrap_or(u64::MAX));
    let needed = pages.fold(0, u64::saturating_add);
    let (available, _) = mem_get_info().context("ask for free device memory")?;
    let available = available as u64;
    if needed > available { Err(Error::OutOfMemory { needed, available }) } else { Ok(()) }
}

/// The operands, or an error where none were uploaded.
pub(super) fn uploaded(operands: Option<&DeviceOperands>) -> Result<&DeviceOperands, Error> {
    operands.ok_or_else(missing)
}

/// There are no operands.
pub(super) fn missing() -> Error {
    unusable("none were uploaded")
}

fn other_problem() -> Error {
    unusable("those that were uploaded belong to another problem")
}

fn unusable(reason: &str) -> Error {
    Error::Cuda { what: "use the operands".into(), reason: reason.into() }
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
            return Err(other_problem());
        }
        Ok(Self { operands, problem: *problem })
    }

    /// Where A, B and C begin. From there on, m * lda and k * ldb elements can be read, and m * ldc read and written.
    pub(super) fn addresses(&self) -> [u64; 3] {
        self.operands.addresses()
    }
}
