//! C's integers as the library's enums: what is none of the constants is refused.

use sgemm::{AccuracyClass, Activation, BiasPer, Determinism, Element, Scalars};

use crate::constants::*;
use crate::status::Failure;

/// The value at that number of a list.
fn pick<T: Copy>(name: &'static str, number: i32, values: &[T]) -> Result<T, Failure> {
    let found = usize::try_from(number).ok().and_then(|index| values.get(index));
    found.copied().ok_or_else(|| {
        let last = values.len().saturating_sub(1);
        Failure::new(SGEMM_INVALID_VALUE, format!("{name} = {number}: there are 0 to {last}"))
    })
}

/// The type of elements.
pub(crate) fn element(name: &'static str, number: sgemm_element_t) -> Result<Element, Failure> {
    pick(name, number, &[Element::F32, Element::F16, Element::Bf16])
}

/// The class of that input.
pub(crate) fn accuracy(number: sgemm_accuracy_t, input: Element) -> Result<AccuracyClass, Failure> {
    use AccuracyClass::{Bf16, F16, Fp32, Fp32Strict, Tf32};
    pick("accuracy", number, &[AccuracyClass::default_of(input), Fp32Strict, Fp32, Tf32, F16, Bf16])
}

/// What bits depend on.
pub(crate) fn determinism(number: sgemm_determinism_t) -> Result<Determinism, Failure> {
    pick("determinism", number, &[Determinism::PerProblem, Determinism::PerElement])
}

/// Where alpha and beta are.
pub(crate) fn scalars(number: sgemm_scalars_t) -> Result<Scalars, Failure> {
    pick("scalars", number, &[Scalars::Host, Scalars::Device])
}

/// The bias.
pub(crate) fn bias(number: sgemm_bias_t) -> Result<Option<BiasPer>, Failure> {
    pick("bias", number, &[None, Some(BiasPer::Row), Some(BiasPer::Column)])
}

/// The activation.
pub(crate) fn activation(number: sgemm_activation_t) -> Result<Activation, Failure> {
    use Activation::{Gelu, GeluTanh, None, Relu};
    pick("activation", number, &[None, Relu, Gelu, GeluTanh])
}
