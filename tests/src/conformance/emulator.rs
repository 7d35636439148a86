//! Runs cases in the emulator.

use ptx_emu::{GlobalMemory, Launch, Module};

use super::inputs::BLOCK;
use super::{Case, Columns, masked, ptx};

/// Runs one case on rows of inputs.
///
/// # Errors
/// What the emulator does not know, or holds against the code.
pub fn run(case: &Case, inputs: &Columns) -> Result<Columns, String> {
    let text = ptx::module(std::slice::from_ref(case));
    let kernel = Module::parse(&text).and_then(|module| module.kernel(&ptx::entry(0)));
    let kernel = kernel.map_err(|error| error.to_string())?;
    let rows = inputs.first().map_or(BLOCK, Vec::len);
    let mut memory = GlobalMemory::default();
    let mut arguments = Vec::new();
    for index in 0..3 {
        let zeros = vec![0; rows];
        let column = inputs.get(index).unwrap_or(&zeros);
        arguments.push(memory.allocate_bytes(&bytes(column)));
    }
    let out = memory.allocate_bytes(&vec![0; 8 * rows * case.results.len().max(1)]);
    arguments.push(out);
    let mut launch = Launch::new([(rows / BLOCK) as u32, 1, 1], [BLOCK as u32, 1, 1]);
    launch.arguments = arguments.iter().map(|pointer| pointer.to_le_bytes().to_vec()).collect();
    launch.arguments.push((rows as u32).to_le_bytes().to_vec());
    let report = kernel.launch(&mut memory, &launch).map_err(|error| error.to_string())?;
    if let Some(finding) = report.fault.iter().chain(&report.findings).next() {
        return Err(format!("{finding}"));
    }
    let bytes = memory.read(out).ok_or("the results are gone")?;
    Ok(columns(case, &bytes, rows))
}

/// Values as the 8 bytes each that a kernel reads.
#[must_use]
pub fn bytes(column: &[u64]) -> Vec<u8> {
    column.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// The results out of the bytes that a kernel wrote.
#[must_use]
pub fn columns(case: &Case, bytes: &[u8], rows: usize) -> Columns {
    let value =
        |bytes: &[u8], bits| masked(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)), bits);
    let columns = bytes.chunks(8 * rows).zip(&case.results);
    columns.map(|(column, bits)| column.chunks(8).map(|bytes| value(bytes, *bits)).collect()).collect()
}
