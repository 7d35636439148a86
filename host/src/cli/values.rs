//! How the values of options are read.

use gpu_kernels::MAX_SIZE;
use sgemm::distributed::{Chunks, Grid};

use super::shape::{DEFAULT_SIZE, Shape};
use crate::AccuracyClass;
use crate::backend::{Op, Order};
use crate::measure::accuracy::Inputs;

/// More launches than this are a slip of the finger.
pub const MAX_LAUNCHES: u32 = 1_000_000;

pub fn size(text: &str) -> Result<u32, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits {
        return Err(format!(
            "'{text}' is not a size: give a whole number of elements, such as {DEFAULT_SIZE}, or three as 64x8192x8192"
        ));
    }
    let size: Option<u32> = text.parse().ok().filter(|size| *size <= MAX_SIZE);
    size.ok_or_else(|| format!("'{text}' is too large: a size is at most {MAX_SIZE}"))
}

/// `N`, `MxNxK`, `ladder` or `growth`.
pub fn shape(text: &str) -> Result<Shape, String> {
    match text.split('x').collect::<Vec<_>>()[..] {
        ["ladder"] => Ok(Shape::Ladder),
        ["growth"] => Ok(Shape::Growth),
        [m, n, k] => Ok(Shape::Exact([size(m)?, size(n)?, size(k)?])),
        _ => Ok(Shape::Square(size(text)?)),
    }
}

pub fn precision(name: &str) -> Result<AccuracyClass, String> {
    let names = || AccuracyClass::ALL.map(AccuracyClass::name).join(", ");
    AccuracyClass::find(name).ok_or_else(|| format!("there is no accuracy class '{name}'; the classes: {}", names()))
}

pub fn inputs(name: &str) -> Result<Inputs, String> {
    let names = || Inputs::ALL.map(Inputs::name).join(", ");
    Inputs::find(name).ok_or_else(|| format!("there are no inputs '{name}'; the kinds: {}", names()))
}

/// `RxC` or `RxCxL`.
pub fn grid(text: &str) -> Result<Grid, String> {
    let grid = match counts(text)?[..] {
        [rows, columns] => Some(Grid { rows, columns, layers: 1 }),
        [rows, columns, layers] => Some(Grid { rows, columns, layers }),
        _ => None,
    };
    grid.ok_or_else(|| format!("'{text}' is no grid: give RxC, such as 2x4, or RxCxL"))
}

/// `MxN`.
pub fn chunks(text: &str) -> Result<Chunks, String> {
    match counts(text)?[..] {
        [m, n] => Ok(Chunks { m, n }),
        _ => Err(format!("'{text}' is no number of pieces along m and n: give MxN, such as 4x8")),
    }
}

/// Numbers from 1 to 65535 with an `x` between them.
fn counts(text: &str) -> Result<Vec<usize>, String> {
    let count = |part: &str| part.parse::<u16>().ok().filter(|count| *count > 0).map(usize::from);
    text.split('x')
        .map(count)
        .collect::<Option<_>>()
        .ok_or_else(|| format!("'{text}': give numbers from 1 to 65535, such as 2x4"))
}

/// `nn`, `nt`, `tn` or `tt`.
pub fn ops(text: &str) -> Result<[Op; 2], String> {
    let found: Option<Vec<_>> = text.split("").filter(|op| !op.is_empty()).map(Op::find).collect();
    found
        .and_then(|ops| ops.try_into().ok())
        .ok_or_else(|| format!("'{text}' is none of nn, nt, tn, tt: give one op for A and one for B"))
}

pub fn order(name: &str) -> Result<Order, String> {
    Order::find(name).ok_or_else(|| format!("'{name}' is neither row nor column"))
}

pub fn factor(text: &str) -> Result<f32, String> {
    let value: Option<f32> = text.parse().ok().filter(|value: &f32| value.is_finite());
    value.ok_or_else(|| format!("'{text}' is not a factor: give a finite number, such as 0.5"))
}
