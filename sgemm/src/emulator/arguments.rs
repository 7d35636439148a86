//! What a run reads and writes, in the host's memory.

use super::memory::DeviceMemory;
use crate::plan::{Bindings, Buffer, Buffers};
use crate::problem::Given;
use crate::scalar::{bytes, bytes_mut};
use crate::{Error, Problem, Scalar};

/// The buffers of a run, as [`cuda::Arguments`](crate::cuda::Arguments) has them, in the host's memory.
pub struct Arguments<'a, I, O = I> {
    a: &'a [I],
    b: &'a [I],
    c: Option<&'a [O]>,
    result: &'a mut [O],
    is_apart: bool,
    bias: Option<&'a [O]>,
    factors: [f32; 2],
    are_on_device: bool,
}

impl<'a, I: Scalar, O: Scalar> Arguments<'a, I, O> {
    /// C = alpha\*A\*B + beta\*C.
    pub fn new(alpha: f32, a: &'a [I], b: &'a [I], beta: f32, c: &'a mut [O]) -> Self {
        let factors = [alpha, beta];
        Self { a, b, c: None, result: c, is_apart: false, bias: None, factors, are_on_device: false }
    }

    /// D = alpha\*A\*B + beta\*C, for a [`Problem::with_d`]. C may be left out where beta is 0.
    pub fn with_d(alpha: f32, a: &'a [I], b: &'a [I], beta: f32, c: Option<&'a [O]>, d: &'a mut [O]) -> Self {
        let factors = [alpha, beta];
        Self { a, b, c, result: d, is_apart: true, bias: None, factors, are_on_device: false }
    }

    /// The same with a bias, for an [`Epilogue`](crate::Epilogue) that has one.
    #[must_use]
    pub fn with_bias(self, bias: &'a [O]) -> Self {
        Self { bias: Some(bias), ..self }
    }

    /// The same with alpha and beta in the device's memory, for [`Scalars::Device`](crate::Scalars::Device).
    #[must_use]
    pub fn with_device_scalars(self) -> Self {
        Self { are_on_device: true, ..self }
    }

    pub(super) fn check(&self, problem: &Problem) -> Result<(), Error> {
        let result = self.result.len();
        let given = Given {
            elements: [I::ELEMENT, O::ELEMENT],
            a: self.a.len(),
            b: self.b.len(),
            c: if self.is_apart { self.c.map(<[O]>::len) } else { Some(result) },
            d: self.is_apart.then_some(result),
            bias: self.bias.map(<[O]>::len),
            scalars: self.are_on_device.then_some([1; 2]),
            ignores_c: self.factors[1] == 0.0 && !self.are_on_device,
        };
        given.check(problem)
    }

    /// Copies all of it into emulated memory: A and B at addresses aligned to no more than the problem says, the others to as much as
    /// their slices are.
    pub(super) fn upload(&self, problem: &Problem, memory: &mut DeviceMemory) -> Result<Bindings, Error> {
        let mut addresses = Buffers::default();
        // Memory is allocated at multiples of more than `WIDE`.
        let mut place = |buffer, elements: &[u8], alignment: usize| {
            let before = if alignment < WIDE { alignment } else { 0 } as u64;
            let address = memory.allocate(before + elements.len() as u64)? + before;
            addresses[buffer] = address;
            memory.write(address, elements)
        };
        place(Buffer::A, bytes(self.a), problem.alignment.a)?;
        place(Buffer::B, bytes(self.b), problem.alignment.b)?;
        place(self.result_buffer(), bytes(self.result), alignment(self.result))?;
        if let Some(c) = self.c {
            place(Buffer::C, bytes(c), alignment(c))?;
        }
        if let Some(bias) = self.bias {
            place(Buffer::Bias, bytes(bias), alignment(bias))?;
        }
        let [alpha, beta] = self.factors;
        place(Buffer::Alpha, &alpha.to_le_bytes(), size_of::<f32>())?;
        place(Buffer::Beta, &beta.to_le_bytes(), size_of::<f32>())?;
        // Of factors in device memory, the plan knows nothing.
        let [alpha, beta] = if self.are_on_device { [f32::NAN; 2] } else { self.factors };
        Ok(Bindings::new(addresses, alpha, beta))
    }

    /// Copies the result back.
    pub(super) fn download(&mut self, bindings: &Bindings, memory: &DeviceMemory) -> Result<(), Error> {
        let address = bindings.addresses[self.result_buffer()];
        memory.read(address, bytes_mut(self.result))
    }

    fn result_buffer(&self) -> Buffer {
        if self.is_apart { Buffer::D } else { Buffer::C }
    }
}

/// The alignment from which on none matters any more, in bytes.
const WIDE: usize = 16;

/// What the slice's address is a multiple of, up to [`WIDE`].
fn alignment<T>(slice: &[T]) -> usize {
    1 << slice.as_ptr().addr().trailing_zeros().min(WIDE.trailing_zeros())
}
