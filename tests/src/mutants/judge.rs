//! What becomes of a mutant: the rules of kernels' texts, and then host and the contract, which run it in the emulator under all of its
//! checkers.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, OnceLock, PoisonError};

use gpu_kernels::Step;
use host::backend::emulator::EmulatorBackend;
use host::backend::{Backend, Kernel, directed_rounding};
use host::measure::bench::{Timing, compare};
use host::{Error, Operands, Problem, PtxSource};
use serde::{Deserialize, Serialize};
use sgemm::ModuleSource;

use super::{Mutant, Original, implied};
use crate::contract::{self, Case};
use crate::layouts::{self, Emulated, aligned, planned, stream_k, words};
use crate::{fused, rules};

/// The first seed of the contract's cases: a mutant is compared with the kernel that it was made of.
const FIRST_SEED: u64 = 0x5eed;

/// Tables of layouts, each with other combinations of gaps, alignments, batches and epilogues.
const LAYOUTS: usize = 2;

/// What became of a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The emulator does not take it for PTX.
    Invalid,
    /// The rules, host or the contract reject it.
    Killed,
    /// No case executes the instruction: a trap in its place goes unnoticed.
    Unreached,
    /// Every result has the same bits, and no checker complains: the same kernel, as far as that tells. Where it is about an order, its paths
    /// tell that too.
    Equivalent,
    /// It is about an order that is kept by chance, or for another reason: the same bits, and no checker complains.
    Unnoticed,
    /// Some results have other bits, and all pass.
    Escaped,
}

impl Verdict {
    /// Every verdict.
    pub const ALL: [Self; 6] =
        [Self::Invalid, Self::Killed, Self::Unreached, Self::Equivalent, Self::Unnoticed, Self::Escaped];

    /// Whether a person must look at it.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Unreached | Self::Unnoticed | Self::Escaped)
    }
}

/// Judges the mutants of one step. Any thread may use it.
pub struct Judge {
    step: &'static Step,
    /// What host runs.
    shapes: [Problem; 2],
    cases: Vec<Case>,
    threads: usize,
    /// Hashes of what the original makes of the cases.
    known: Mutex<HashMap<usize, u64>>,
    /// Whether the original passes in other layouts.
    checked: OnceLock<Result<(), Error>>,
}

impl Judge {
    /// A judge whose emulators have so many threads each, 0 for as many as there are cores.
    ///
    /// # Errors
    /// A mistake in the table of cases.
    pub fn new(step: &'static Step, threads: usize) -> Result<Self, Error> {
        let tile = step.tile;
        let edge = Problem::new(tile.bm + 3, tile.bn + 5, 2 * tile.bk + 3)?.with_scalars(0.75, -0.5)?;
        let shapes = [Problem::new(2 * tile.bm, 2 * tile.bn, 3 * tile.bk)?.with_seed(1), edge.with_seed(2)];
        let sm_count = crate::emulator(step, PtxSource::BuiltIn, None).device().sm_count;
        let mut cases = contract::cases(step, sm_count, FIRST_SEED)?;
        // From the end, where the cases are that combine factors and leading dimensions: most mistakes show at once.
        cases.reverse();
        Ok(Self { step, shapes, cases, threads, known: Mutex::default(), checked: OnceLock::new() })
    }

    /// The verdict on a mutant, and what says so.
    ///
    /// # Errors
    /// What has nothing to do with the mutant: out of memory.
    pub fn verdict(&self, mutant: &Mutant) -> Result<(Verdict, String), Error> {
        let mut backend = self.backend(&mutant.text);
        if let Err(error) = backend.prepare(Kernel::Step(self.step)) {
            return Ok((Verdict::Invalid, error.to_string()));
        }
        if let Some(complaint) = directed_rounding(&mutant.text) {
            return Ok((Verdict::Killed, format!("host: {complaint}")));
        }
        // Before the rules, so that the reasons tell what host alone rejects.
        for problem in &self.shapes {
            let timing = Timing { warmup: 0, iterations: Some(1) };
            let comparison = compare(&mut backend, &[Kernel::Step(self.step)], problem, timing, &mut |_| ())?;
            if let Some(error) = comparison.failures.first() {
                return Ok((Verdict::Killed, format!("host: {error}")));
            }
        }
        if let Some(complaint) = rules::complaint(&mutant.text) {
            return Ok((Verdict::Killed, format!("rule: {complaint}")));
        }
        let mut other = None;
        for (number, case) in self.cases.iter().enumerate() {
            match contract::outcome(&mut backend, self.step, *case)? {
                Err(failure) => return Ok((Verdict::Killed, format!("{case}: {failure}"))),
                Ok(result) if other.is_none() && hash(&result) != self.known(number)? => other = Some(case),
                Ok(_) => {}
            }
        }
        if let Err(failure) = self.elsewhere(&mutant.text) {
            self.check_original()?;
            return Ok((Verdict::Killed, failure));
        }
        Ok(match other {
            Some(case) => (Verdict::Escaped, format!("{case}: the result has other bits, and passes")),
            None if !self.is_reached(&mutant.trapped)? => (Verdict::Unreached, "no case executes it".into()),
            None if mutant.kind.is_about_order() => {
                match implied::reason(Original::new(self.step)?.text(), mutant.line) {
                    Some(reason) => (Verdict::Equivalent, format!("the same bits: {reason}")),
                    None => (Verdict::Unnoticed, "the same bits".into()),
                }
            }
            None => (Verdict::Equivalent, "the same bits".into()),
        })
    }

    /// Whether a case executes the trap in this text.
    fn is_reached(&self, text: &str) -> Result<bool, Error> {
        let mut backend = self.backend(text);
        for case in &self.cases {
            if contract::outcome(&mut backend, self.step, *case)?.is_err() {
                return Ok(true);
            }
        }
        Ok(self.elsewhere(text).is_err())
    }

    /// Fails where what kills a mutant kills its original too.
    fn check_original(&self) -> Result<(), Error> {
        let checked = self.checked.get_or_init(|| {
            self.elsewhere(Original::new(self.step)?.text())
                .map_err(|reason| Error::Emulator { what: format!("run {} as it is", self.step.slug), reason })
        });
        match checked {
            Ok(()) => Ok(()),
            Err(error) => Err(Error::Emulator { what: "judge mutants".into(), reason: error.to_string() }),
        }
    }

    /// What the contract's matrices, dense and by rows, do not go through: other layouts, batches, epilogues, numbers of splits.
    fn elsewhere(&self, text: &str) -> Result<(), String> {
        let emulated = |sm_count| {
            let source = ModuleSource::of_text("mutant.ptx", text.to_owned());
            Emulated::with_modules(self.step, sm_count, source).map(|emulated| emulated.with_seed(FIRST_SEED))
        };
        let Some(few) = emulated(3) else { return Ok(()) };
        (0..LAYOUTS).try_for_each(|number| layouts::run(self.step, number, &few))?;
        // Steps that share the kernel tell it by the grid to do what the others do not.
        for step in gpu_kernels::runnable().filter(|step| step.kernel == self.step.kernel) {
            aligned::run(step, &few)?;
        }
        stream_k::run(self.step, &few)?;
        words::run(self.step, &few)?;
        if self.step.is_always_fused() {
            fused::run(self.step, &few)?;
        }
        match emulated(132) {
            Some(many) if self.step.may_be_split() => {
                aligned::run(self.step, &many)?;
                planned::run(self.step, &many)
            }
            _ => Ok(()),
        }
    }

    /// The hash of what the original makes of a case.
    fn known(&self, number: usize) -> Result<u64, Error> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hash) = known().get(&number) {
            return Ok(*hash);
        }
        let mut backend = self.backend(Original::new(self.step)?.text());
        let result = contract::outcome(&mut backend, self.step, self.cases[number])?;
        let what = || format!("run {} as it is", self.step.slug);
        let result = result.map_err(|reason| Error::Emulator { what: what(), reason })?;
        Ok(*known().entry(number).or_insert(hash(&result)))
    }

    fn backend(&self, text: &str) -> EmulatorBackend {
        let ptx = PtxSource::File { path: "mutant.ptx".into(), text: text.to_owned() };
        crate::emulator(self.step, ptx, None).with_threads(self.threads)
    }
}

fn hash(result: &Operands) -> u64 {
    let mut hasher = DefaultHasher::new();
    result.c.as_slice().iter().for_each(|element| element.to_bits().hash(&mut hasher));
    hasher.finish()
}
