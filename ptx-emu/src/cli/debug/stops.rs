//! Breakpoints and watchpoints.

use ptx_emu::Kernel;
use ptx_emu::trace::{State, Step, Trace};

use super::command::{Condition, Operator, Spot};
use super::place::Place;
use crate::cli::steps::each;

/// What a launch is stopped for.
pub enum Stop {
    Break { number: usize, spot: Spot, instructions: Vec<bool>, condition: Option<Compare> },
    Watch { number: usize, place: Place },
}

/// A condition whose register is known.
pub struct Compare {
    text: String,
    registers: Vec<u32>,
    operator: Operator,
    value: String,
}

impl Stop {
    pub fn number(&self) -> usize {
        match self {
            Self::Break { number, .. } | Self::Watch { number, .. } => *number,
        }
    }

    /// A line of `info breakpoints`.
    pub fn text(&self) -> String {
        match self {
            Self::Break { number, spot, condition, .. } => {
                let condition = condition.as_ref().map_or(String::new(), |compare| format!(" if {}", compare.text));
                let spot = match spot {
                    Spot::Line(line) => format!("line {line}"),
                    Spot::Source(file, line) => format!("{file}:{line}"),
                };
                format!("{number}: {spot}{condition}")
            }
            Self::Watch { number, place } => {
                format!(
                    "{number}: writes to {}, {} bytes of {} memory at {:#x}",
                    place.name, place.bytes, place.space, place.address
                )
            }
        }
    }

    /// A breakpoint. Of a line of the PTX without an instruction, the next one is meant.
    pub fn at(
        number: usize,
        spot: Spot,
        condition: Option<Condition>,
        trace: &Trace,
        kernel: &Kernel,
    ) -> Result<Self, String> {
        let lines = trace.instructions.iter().map(|instruction| instruction.line);
        let (spot, instructions) = match spot {
            Spot::Line(line) => {
                let next = lines.clone().filter(|at| *at >= line).min();
                let line = next.ok_or_else(|| format!("the kernel has no instruction from line {line} on"))?;
                (Spot::Line(line), lines.map(|at| at == line).collect())
            }
            Spot::Source(file, line) => {
                let is_there = |at: u32| {
                    let frames = kernel.source(at);
                    frames.iter().any(|frame| frame.line == line && ends_with(frame.file, &file))
                };
                let there: Vec<bool> = lines.map(is_there).collect();
                if !there.contains(&true) {
                    return Err(format!("no instruction comes from {file}:{line}, as far as the compiler says"));
                }
                // The first of those that follow each other.
                let begins = |index: usize| there[index] && (index == 0 || !there[index - 1]);
                let instructions = (0..there.len()).map(begins).collect();
                (Spot::Source(file, line), instructions)
            }
        };
        let condition = condition.map(|condition| Compare::new(condition, trace)).transpose()?;
        Ok(Self::Break { number, spot, instructions, condition })
    }

    /// The lanes of a step that a breakpoint stops, of those that execute it; `state` is before it.
    pub fn stops(&self, step: &Step, state: &State, trace: &Trace) -> u32 {
        match self {
            Self::Break { instructions, condition, .. } if instructions[step.instruction as usize] => match condition {
                None => step.active,
                Some(compare) => compare.holds(step, state, trace),
            },
            _ => 0,
        }
    }

    /// Whether the step alone tells that it does not stop there.
    pub fn passes(&self, step: &Step) -> bool {
        match self {
            Self::Break { instructions, .. } => !instructions[step.instruction as usize] || step.active == 0,
            Self::Watch { place, .. } => !step.accesses.iter().any(|access| place.is_written_by(step.warp, access)),
        }
    }
}

/// Whether a path is that file, or ends with it after a separator.
fn ends_with(path: &str, file: &str) -> bool {
    path.strip_suffix(file).is_some_and(|before| before.is_empty() || before.ends_with(['/', '\\']))
}

impl Compare {
    fn new(condition: Condition, trace: &Trace) -> Result<Self, String> {
        let Condition { register, operator, value } = condition;
        let named = trace.registers.iter().enumerate().filter(|(_, named)| *named.name == *register);
        let registers: Vec<u32> = named.map(|(index, _)| index as u32).collect();
        if registers.is_empty() {
            return Err(format!("the kernel has no register {register}"));
        }
        let sign = match operator {
            Operator::Equal => "==",
            Operator::NotEqual => "!=",
            Operator::Less => "<",
            Operator::LessEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterEqual => ">=",
        };
        let compare = Self { text: format!("{register} {sign} {value}"), registers, operator, value };
        if compare.sides(trace, compare.registers[0], 0).is_none() {
            return Err(format!("'{}' is no value of {register}", compare.value));
        }
        Ok(compare)
    }

    /// The lanes that execute the step and whose register compares so.
    fn holds(&self, step: &Step, state: &State, trace: &Trace) -> u32 {
        let holds = |lane: &u32| {
            self.registers.iter().any(|&register| {
                let value = state.register(step.warp, register, *lane);
                let ordering = value.and_then(|value| self.sides(trace, register, value)).flatten();
                ordering.is_some_and(|ordering| match self.operator {
                    Operator::Equal => ordering.is_eq(),
                    Operator::NotEqual => ordering.is_ne(),
                    Operator::Less => ordering.is_lt(),
                    Operator::LessEqual => ordering.is_le(),
                    Operator::Greater => ordering.is_gt(),
                    Operator::GreaterEqual => ordering.is_ge(),
                })
            })
        };
        each(step.active).filter(holds).fold(0, |mask, lane| mask | 1 << lane)
    }

    /// How the register's value compares with the number; `None` inside where one is NaN, outside where the text is no number. Numbers
    /// with a point are floating-point ones, and those with a sign are signed.
    fn sides(&self, trace: &Trace, register: u32, value: u128) -> Option<Option<std::cmp::Ordering>> {
        let ty = trace.registers[register as usize].ty;
        let bits = ty.bits().min(64);
        if let Some(number) = super::place::number(&self.value).filter(|_| !ty.is_float()) {
            return Some(Some((value as u64).cmp(&number)));
        }
        if let (Ok(number), false) = (self.value.parse::<i64>(), ty.is_float()) {
            let value = (value as u64) << (64 - bits);
            return Some(Some((value as i64 >> (64 - bits)).cmp(&number)));
        }
        let number: f64 = self.value.parse().ok()?;
        let value = if bits == 64 { f64::from_bits(value as u64) } else { f64::from(f32::from_bits(value as u32)) };
        Some(value.partial_cmp(&number))
    }
}
