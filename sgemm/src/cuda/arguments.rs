//! What a run reads and writes, borrowed from cudarc.

use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut, SyncOnDrop};
use gpu_kernels::{Ab, Operand};

use super::prepared::PreparedOperand;
use crate::plan::{Address, Bindings, Buffer, Buffers, Plan};
use crate::problem::Given;
use crate::{Error, Scalar};

/// The buffers of a run: whole slices of cudarc, or views that begin anywhere in one. `I` is the type of A and B, `O` that of C, D and
/// bias.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use sgemm::{Problem, cuda::{Arguments, Handle, open}};
/// let context = open(0)?;
/// let stream = context.default_stream();
/// let handle = Handle::new(&context)?;
/// let [a, b] = [stream.clone_htod(&[1.0_f32; 64 * 64])?, stream.clone_htod(&[2.0_f32; 64 * 64])?];
/// let mut c = stream.alloc_zeros::<f32>(64 * 64)?;
/// let gemm = handle.plan(&Problem::new(64, 64, 64))?;
/// let mut workspace = handle.workspace(&stream, gemm.workspace_bytes())?;
/// gemm.run_with(&stream, Arguments::new(1.0, &a, &b, 0.0, &mut c), &mut workspace)?;
/// # Ok(())
/// # }
/// ```
pub struct Arguments<'a, I, O = I> {
    a: &'a dyn DevicePtr<I>,
    b: &'a dyn DevicePtr<I>,
    result: Target<'a, O>,
    bias: Option<&'a dyn DevicePtr<O>>,
    scalars: Factors<'a>,
    prepared: [Option<&'a PreparedOperand<'a, I>>; 2],
}

/// Where the result goes.
enum Target<'a, O> {
    /// Into C.
    InPlace(&'a mut dyn DevicePtrMut<O>),
    /// Into D; C is read, or there is none.
    Apart(Option<&'a dyn DevicePtr<O>>, &'a mut dyn DevicePtrMut<O>),
}

/// alpha and beta.
enum Factors<'a> {
    Host([f32; 2]),
    Device([&'a dyn DevicePtr<f32>; 2]),
}

impl<'a, I: Scalar, O: Scalar> Arguments<'a, I, O> {
    /// C = alpha\*A\*B + beta\*C.
    pub fn new(
        alpha: f32,
        a: &'a dyn DevicePtr<I>,
        b: &'a dyn DevicePtr<I>,
        beta: f32,
        c: &'a mut dyn DevicePtrMut<O>,
    ) -> Self {
        Self {
            a,
            b,
            result: Target::InPlace(c),
            bias: None,
            scalars: Factors::Host([alpha, beta]),
            prepared: [None; 2],
        }
    }

    /// D = alpha\*A\*B + beta\*C, for a [`Problem::with_d`](crate::Problem::with_d). C may be left out where beta is 0.
    pub fn with_d(
        alpha: f32,
        a: &'a dyn DevicePtr<I>,
        b: &'a dyn DevicePtr<I>,
        beta: f32,
        c: Option<&'a dyn DevicePtr<O>>,
        d: &'a mut dyn DevicePtrMut<O>,
    ) -> Self {
        Self {
            a,
            b,
            result: Target::Apart(c, d),
            bias: None,
            scalars: Factors::Host([alpha, beta]),
            prepared: [None; 2],
        }
    }

    /// The same with a bias, for an [`Epilogue`](crate::Epilogue) that has one.
    #[must_use]
    pub fn with_bias(self, bias: &'a dyn DevicePtr<O>) -> Self {
        Self { bias: Some(bias), ..self }
    }

    /// The same with what was prepared in place of A, and of the original of that.
    #[must_use]
    pub fn with_prepared_a(self, a: &'a PreparedOperand<'a, I>) -> Self {
        Self { a: a.original(), prepared: [Some(a), self.prepared[1]], ..self }
    }

    /// The same with what was prepared in place of B, and of the original of that.
    #[must_use]
    pub fn with_prepared_b(self, b: &'a PreparedOperand<'a, I>) -> Self {
        Self { b: b.original(), prepared: [self.prepared[0], Some(b)], ..self }
    }

    /// The same with alpha and beta in device memory, for [`Scalars::Device`](crate::Scalars::Device).
    #[must_use]
    pub fn with_device_scalars(self, alpha: &'a dyn DevicePtr<f32>, beta: &'a dyn DevicePtr<f32>) -> Self {
        Self { scalars: Factors::Device([alpha, beta]), ..self }
    }

    /// Checks types, lengths and contexts, and what is there against what the problem asks for. Says which operands of the kernel
    /// were prepared.
    pub(super) fn check(&self, plan: &Plan, stream: &CudaStream) -> Result<Ab<bool>, Error> {
        let (c, d) = match &self.result {
            Target::InPlace(c) => (Some((c.len(), c.stream())), None),
            Target::Apart(c, d) => (c.map(|c| (c.len(), c.stream())), Some((d.len(), d.stream()))),
        };
        let bias = self.bias.map(|bias| (bias.len(), bias.stream()));
        let (scalars, ignores_c) = match &self.scalars {
            Factors::Host([_, beta]) => (None, *beta == 0.0),
            Factors::Device(factors) => (Some(factors.map(|factor| (factor.len(), factor.stream()))), false),
        };
        let given = Given {
            elements: [I::ELEMENT, O::ELEMENT],
            a: self.a.len(),
            b: self.b.len(),
            c: c.map(|(len, _)| len),
            d: d.map(|(len, _)| len),
            bias: bias.map(|(len, _)| len),
            scalars: scalars.map(|factors| factors.map(|(len, _)| len)),
            ignores_c,
        };
        given.check(plan.problem())?;
        check_context("A", self.a.stream(), stream)?;
        check_context("B", self.b.stream(), stream)?;
        let [alpha, beta] = scalars.map_or([None; 2], |factors| factors.map(Some));
        for (operand, slice) in [("C", c), ("D", d), ("bias", bias), ("alpha", alpha), ("beta", beta)] {
            slice.map_or(Ok(()), |(_, of)| check_context(operand, of, stream))?;
        }
        self.prepared.iter().flatten().try_for_each(|prepared| prepared.check(plan, stream))?;
        Ok(self.are_prepared())
    }

    fn are_prepared(&self) -> Ab<bool> {
        let is_there = |operand| self.prepared.iter().flatten().any(|prepared| prepared.operand() == operand);
        Ab { a: is_there(Operand::A), b: is_there(Operand::B) }
    }

    /// The addresses alone, for nothing that is queued: the stream waits for who writes there, and nobody for the stream.
    pub(super) fn addresses(&mut self, stream: &CudaStream) -> Bindings {
        let (bindings, used) = self.bind(stream);
        used.into_iter().for_each(std::mem::forget);
        bindings
    }

    /// The addresses, in the stream's order, and what has to be dropped after the launches.
    pub(super) fn bind<'b>(&'b mut self, stream: &'b CudaStream) -> (Bindings, [Option<SyncOnDrop<'b>>; 9]) {
        let are_prepared = self.are_prepared();
        let mut addresses = Buffers::default();
        let mut take = |buffer: Buffer, (address, guard): (Address, SyncOnDrop<'b>)| {
            addresses[buffer] = address;
            Some(guard)
        };
        let a = take(Buffer::A, self.a.device_ptr(stream));
        let b = take(Buffer::B, self.b.device_ptr(stream));
        let (c, d) = match &mut self.result {
            Target::InPlace(slice) => (take(Buffer::C, slice.device_ptr_mut(stream)), None),
            Target::Apart(slice, result) => (
                slice.and_then(|slice| take(Buffer::C, slice.device_ptr(stream))),
                take(Buffer::D, result.device_ptr_mut(stream)),
            ),
        };
        let bias = self.bias.and_then(|slice| take(Buffer::Bias, slice.device_ptr(stream)));
        let ([alpha, beta], of_alpha, of_beta) = match &self.scalars {
            Factors::Host(factors) => (*factors, None, None),
            Factors::Device([alpha, beta]) => {
                ([1.0, 0.0], take(Buffer::Alpha, alpha.device_ptr(stream)), take(Buffer::Beta, beta.device_ptr(stream)))
            }
        };
        let mut place = |prepared: Option<&'b PreparedOperand<'_, I>>| {
            let (parts, guard) = prepared?.bind(stream);
            addresses = Bindings::new(addresses, alpha, beta).with_parts(&parts).addresses;
            Some(guard)
        };
        let [prepared_a, prepared_b] = self.prepared.map(&mut place);
        let bindings = Bindings { are_prepared, ..Bindings::new(addresses, alpha, beta) };
        (bindings, [a, b, c, d, bias, of_alpha, of_beta, prepared_a, prepared_b])
    }
}

/// Checks that a slice is of the stream's context.
pub(super) fn check_context(operand: &'static str, of: &CudaStream, stream: &CudaStream) -> Result<(), Error> {
    let (found, expected) = (of.context(), stream.context());
    if found == expected {
        return Ok(());
    }
    Err(Error::WrongDevice { what: operand, found: found.ordinal(), expected: expected.ordinal() })
}
