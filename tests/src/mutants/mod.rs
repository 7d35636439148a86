//! Kernels with one mistake each, made of the committed ones: whether host and the contract detect it in the emulator.
//!
//! A mutant is determined by its step, a seed and a number. A kind of change is drawn first, then an instruction: rare ones are as likely
//! as common ones.

pub mod campaign;
mod changes;
pub mod implied;
mod judge;
mod statements;

use gpu_kernels::Step;
use host::{Error, PtxSource};
use rand::seq::IndexedRandom;
use rand::{SeedableRng, rngs::StdRng};

pub use changes::Kind;
pub use judge::{Judge, Verdict};
pub use statements::{Statement, statements};

/// How often a change is drawn for one mutant, until one applies.
const DRAWS: u32 = 1000;

/// The kernels of a step, as text.
pub struct Original {
    step: &'static Step,
    text: String,
    statements: Vec<Statement>,
    /// The kinds that apply, each with the instructions that it applies to.
    places: Vec<(Kind, Vec<usize>)>,
}

/// A change of one instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutant {
    /// Its kind.
    pub kind: Kind,
    /// The line, counted from 1.
    pub line: usize,
    /// The instruction.
    pub before: String,
    /// What stands there instead; empty where it is gone.
    pub after: String,
    /// The module's text with the change.
    pub text: String,
    /// The same with a trap in place of the instruction.
    pub trapped: String,
}

impl Original {
    /// The built-in kernels of a step.
    ///
    /// # Errors
    /// Where the module has not the step's kernel.
    pub fn new(step: &'static Step) -> Result<Self, Error> {
        let own = PtxSource::BuiltIn.module(step)?;
        let text = with_companions(&own, step)?;
        let own: Vec<bool> = own.lines().map(|line| !line.is_empty()).collect();
        let mut statements = statements(&text);
        statements.retain(|statement| own[statement.line - 1]);
        let mut rng = StdRng::seed_from_u64(0);
        let mut places = Vec::new();
        for kind in Kind::ALL {
            let applies = |number: &usize| kind.change(&statements, *number, &mut rng).is_some();
            places.push((kind, (0..statements.len()).filter(applies).collect::<Vec<_>>()));
        }
        places.retain(|(_, numbers)| !numbers.is_empty());
        Ok(Self { step, text, statements, places })
    }

    /// The step.
    #[must_use]
    pub fn step(&self) -> &'static Step {
        self.step
    }

    /// Its module.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The mutant of that seed and number; `None` where none was found.
    #[must_use]
    pub fn mutant(&self, seed: u64, number: u32) -> Option<Mutant> {
        let name = self.step.slug.bytes().fold(seed, |sum, byte| sum.wrapping_mul(0x100_0000_01b3) ^ u64::from(byte));
        let mut rng = StdRng::seed_from_u64(name.wrapping_add(u64::from(number) << 32));
        for _ in 0..DRAWS {
            let (kind, places) = self.places.choose(&mut rng)?;
            let place = *places.choose(&mut rng)?;
            if let Some(after) = kind.change(&self.statements, place, &mut rng) {
                return Some(self.replace(*kind, &self.statements[place], after));
            }
        }
        None
    }

    fn replace(&self, kind: Kind, statement: &Statement, after: String) -> Mutant {
        // All lines keep their numbers.
        let lines = "\n".repeat(self.text[statement.place.clone()].matches('\n').count());
        let with = |instruction: &str| {
            let mut text = self.text.clone();
            let end = if instruction.is_empty() { statement.place.end + 1 } else { statement.place.end };
            text.replace_range(statement.place.start..end, &format!("{instruction}{lines}"));
            text
        };
        // Where the predicate is what was changed, reaching it counts.
        let is_of_predicate = matches!(kind, Kind::Predicate | Kind::Guard);
        let trap = if is_of_predicate { "trap".into() } else { format!("{} trap", statement.guard) };
        let (text, trapped) = (with(&after), with(trap.trim()));
        Mutant { kind, line: statement.line, before: statement.text(), after, text, trapped }
    }
}

/// The step's own module with what else its plans launch: kernels that align operands or finish D, and its kernel with an epilogue.
/// Lines keep their numbers.
fn with_companions(own: &str, step: &Step) -> Result<String, Error> {
    let modules = PtxSource::BuiltIn.modules();
    let support = modules.support(step.target)?;
    let fused = modules.module_of(step, step.fused.unwrap_or(step.kernel))?;
    let lines = own.lines().zip(support.lines().zip(fused.lines()));
    let lines = lines.map(|(own, (support, fused))| [own, support, fused].into_iter().find(|line| !line.is_empty()));
    Ok(lines.flat_map(|line| [line.unwrap_or_default(), "\n"]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutant_differs_in_one_instruction_and_is_the_same_again() {
        let step = gpu_kernels::find("vectorized").unwrap();
        let original = Original::new(step).unwrap();
        let mut kinds = std::collections::BTreeSet::new();
        for number in 0..200 {
            let mutant = original.mutant(7, number).unwrap();
            assert_eq!(Some(&mutant), original.mutant(7, number).as_ref());
            let lines = original.text.lines().zip(mutant.text.lines());
            let changed: Vec<_> =
                lines.zip(1..).filter(|((one, other), _)| one != other).map(|(_, line)| line).collect();
            assert_eq!(changed, [mutant.line], "{mutant:?}");
            kinds.insert(mutant.kind);
        }
        assert!(kinds.len() > 7, "{kinds:?}");
        assert_ne!(original.mutant(7, 0), original.mutant(8, 0));
    }
}
