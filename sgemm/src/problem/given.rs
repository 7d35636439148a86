//! What a run was given, against what its problem asks for: the same on a device and in the emulator.

use gpu_kernels::Element;

use super::{Problem, Scalars};
use crate::Error;

/// The buffers of a run: how many elements each has, and of what type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Given {
    /// What A and B are made of, and what C, D and the bias are.
    pub elements: [Element; 2],
    pub a: usize,
    pub b: usize,
    /// `None` where D is another matrix and C was left out.
    pub c: Option<usize>,
    /// `None` where the result goes into C.
    pub d: Option<usize>,
    pub bias: Option<usize>,
    /// alpha and beta, in device memory.
    pub scalars: Option<[usize; 2]>,
    /// Whether beta is known to be 0, so that nobody reads C.
    pub ignores_c: bool,
}

impl Given {
    /// Checks that all is there that the problem asks for, and nothing else, of its types and as long as it reaches.
    pub fn check(&self, problem: &Problem) -> Result<(), Error> {
        let takes = [problem.input, problem.output];
        if takes != self.elements {
            return Err(Error::Elements { kernel: "the plan", takes, found: self.elements });
        }
        let [a, b, c, d, bias] = problem.extents()?;
        let long = |operand, elements: Option<usize>, least| match elements {
            Some(elements) if elements < least => Err(Error::ShortBuffer { operand, elements, least }),
            _ => Ok(()),
        };
        let asks_for = |operand, is_given: bool, is_needed: bool| {
            if is_given == is_needed { Ok(()) } else { Err(Error::Buffers { operand, is_needed }) }
        };
        long("A", Some(self.a), a)?;
        long("B", Some(self.b), b)?;
        asks_for("D", self.d.is_some(), problem.d.is_some())?;
        long("D", self.d, d)?;
        long("C", self.c, c)?;
        if self.c.is_none() && !self.ignores_c {
            return Err(Error::Buffers { operand: "C", is_needed: true });
        }
        asks_for("bias", self.bias.is_some(), problem.epilogue.bias.is_some())?;
        long("bias", self.bias, bias)?;
        asks_for("alpha", self.scalars.is_some(), problem.scalars == Scalars::Device)?;
        long("alpha", self.scalars.map(|[alpha, _]| alpha), 1)?;
        long("beta", self.scalars.map(|[_, beta]| beta), 1)
    }
}

/// Checks that so many runs were given what they need as a group has problems.
pub(crate) fn check_count(problems: usize, given: usize) -> Result<(), Error> {
    if problems == given { Ok(()) } else { Err(Error::GroupCount { problems, given }) }
}
