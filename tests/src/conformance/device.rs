//! Runs cases on a GPU.

use host::Error;
use host::backend::cuda::PtxRunner;

use super::data::{Recorded, Recording, sets};
use super::emulator::{bytes, columns};
use super::inputs::BLOCK;
use super::{Case, Family, ptx};

/// Runs every case of a family on device 0.
///
/// # Errors
/// Where the driver does not compile the kernels, or a kernel fails.
pub fn record(family: &Family) -> Result<Recording, Error> {
    let runner = PtxRunner::new(0, &ptx::module(&family.cases))?;
    let (inputs, set_of) = sets(&family.cases);
    let run = |(index, (case, set)): (usize, (&Case, usize))| -> Result<Recorded, Error> {
        let set_of_inputs = &inputs[set];
        let rows = set_of_inputs.rows();
        let zeros = vec![0; 8 * rows];
        let column = |index: usize| set_of_inputs.columns.get(index).map_or(zeros.clone(), |column| bytes(column));
        let out = vec![0; 8 * rows * case.results.len().max(1)];
        let mut buffers = [column(0), column(1), column(2), out];
        let grid = [(rows / BLOCK) as u32, 1, 1];
        runner.run(&ptx::entry(index), grid, [BLOCK as u32, 1, 1], &mut buffers, rows as u32)?;
        let results = columns(case, &buffers[3], rows);
        Ok(Recorded { name: case.name.clone(), code: case.code.clone(), set, results })
    };
    let cases = family.cases.iter().zip(set_of).enumerate().map(run).collect::<Result<_, _>>()?;
    Ok(Recording { inputs: inputs.into_iter().map(|set| set.columns).collect(), cases })
}
