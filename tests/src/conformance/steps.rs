//! The steps of the ladder: C as the hardware computes it, to the last bit.

use gpu_kernels::{STEPS, Step};
use host::backend::{Backend, Kernel};
use host::{Error, Operands, Problem};

/// How the file begins.
const MAGIC: &[u8; 8] = b"GEMCONF1";

/// What each step is run on: odd sizes and whole tiles, with and without beta.
///
/// # Errors
/// None; the sizes are sizes.
pub fn problems() -> Result<Vec<Problem>, Error> {
    Ok(vec![
        Problem::new(70, 90, 33)?.with_seed(1),
        Problem::new(128, 128, 24)?.with_seed(2).with_scalars(1.5, -0.5)?,
        Problem::new(33, 65, 129)?.with_seed(3).with_scalars(-0.75, 1.0)?,
    ])
}

/// The name of the data file.
pub const FILE: &str = "steps.bin";

/// C, row by row, without what lies around it.
fn interior(operands: &Operands) -> Vec<u32> {
    (0..operands.c.rows()).flat_map(|row| operands.c.row(row)).map(|element| element.to_bits()).collect()
}

/// Runs a step on a GPU or in the emulator.
///
/// # Errors
/// Where the backend does not run it, or holds something against the kernel.
pub fn run(backend: &mut dyn Backend, step: &'static Step, problem: &Problem) -> Result<Vec<u32>, Error> {
    let kernel = Kernel::Step(step);
    let problem = problem.for_kernel(kernel)?;
    backend.prepare(kernel)?;
    backend.upload(&Operands::random(&problem)?)?;
    backend.run(kernel, &problem)?;
    Ok(interior(&backend.download()?))
}

/// What the device computes, for each step and problem. Steps that compute the same share it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recording {
    /// The step's slug, the problem's place in [`problems`], the place of C in `results`.
    pub runs: Vec<(String, usize, usize)>,
    /// Elements of C, as bits.
    pub results: Vec<Vec<u32>>,
}

impl Recording {
    /// Runs every step that the device runs on every problem.
    ///
    /// # Errors
    /// Where the device does not run one.
    pub fn new(backend: &mut dyn Backend) -> Result<Self, Error> {
        let mut recording = Self::default();
        let (major, minor) = backend.device().compute_capability;
        for step in STEPS.iter().filter(|step| step.target.runs_on(major, minor)) {
            for (index, problem) in problems()?.iter().enumerate() {
                let c = run(backend, step, problem)?;
                let place = recording.results.iter().position(|known| *known == c);
                let place = place.unwrap_or_else(|| {
                    recording.results.push(c);
                    recording.results.len() - 1
                });
                recording.runs.push((step.slug.to_owned(), index, place));
            }
        }
        Ok(recording)
    }

    /// What was recorded of that step and problem.
    #[must_use]
    pub fn c(&self, step: &Step, problem: usize) -> Option<&[u32]> {
        let run = self.runs.iter().find(|(slug, index, _)| slug == step.slug && *index == problem)?;
        self.results.get(run.2).map(Vec::as_slice)
    }

    /// The file's bytes: magic, the number of runs and each run's slug in 16 bytes, problem and place, then the number of
    /// results and each one's length and elements; all numbers are little-endian `u32`.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let put = |number: usize, bytes: &mut Vec<u8>| bytes.extend((number as u32).to_le_bytes());
        put(self.runs.len(), &mut bytes);
        for (slug, problem, place) in &self.runs {
            let mut name = slug.clone().into_bytes();
            name.resize(16, 0);
            bytes.extend(name);
            put(*problem, &mut bytes);
            put(*place, &mut bytes);
        }
        put(self.results.len(), &mut bytes);
        for result in &self.results {
            put(result.len(), &mut bytes);
            bytes.extend(result.iter().flat_map(|bits| bits.to_le_bytes()));
        }
        bytes
    }

    /// Reads the file's bytes; `None` where they are none of this kind.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let mut take = |count: usize| {
            let (taken, left) = rest.split_at_checked(count)?;
            rest = left;
            Some(taken)
        };
        let number = |bytes: &[u8]| Some(u32::from_le_bytes(bytes.try_into().ok()?) as usize);
        let mut recording = Self::default();
        for _ in 0..number(take(4)?)? {
            let name = String::from_utf8_lossy(take(16)?).trim_end_matches('\0').to_owned();
            recording.runs.push((name, number(take(4)?)?, number(take(4)?)?));
        }
        for _ in 0..number(take(4)?)? {
            let count = number(take(4)?)?;
            let elements = take(count.checked_mul(4)?)?.as_chunks().0;
            recording.results.push(elements.iter().map(|bits| u32::from_le_bytes(*bits)).collect());
        }
        Some(recording)
    }
}
