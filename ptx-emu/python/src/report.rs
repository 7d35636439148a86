//! What a launch did.

use std::sync::Arc;

use ptx_emu::device::DEVICES;
use ptx_emu::model::predict;
use ptx_emu::occupancy::{Resources, estimate_registers};
use ptx_emu::{Launch, device};
use pyo3::prelude::*;

use crate::error;

/// A finding of the checkers, or the fault that ended a launch.
#[pyclass(frozen, get_all)]
pub struct Finding {
    /// Such as `race` or `out of bounds`.
    kind: &'static str,
    /// `error`, `warning` or `remark`.
    rank: &'static str,
    /// The line of the PTX, counted from 1, and that of the other instruction involved.
    line: u32,
    other_line: Option<u32>,
    instruction: String,
    /// x, y, z of the thread in its block, and of the block in the grid.
    thread: [u32; 3],
    block: [u32; 3],
    what: String,
    /// Where the line comes from, the innermost call first: file, line, column and function.
    source: Vec<(String, u32, u32, Option<String>)>,
    text: String,
}

#[pymethods]
impl Finding {
    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("<Finding {}>", self.text)
    }
}

/// The report of a launch.
#[pyclass(frozen)]
pub struct Report {
    kernel: Arc<ptx_emu::Kernel>,
    launch: Launch,
    report: ptx_emu::Report,
}

impl Report {
    pub fn new(kernel: Arc<ptx_emu::Kernel>, launch: Launch, report: ptx_emu::Report) -> Self {
        Self { kernel, launch, report }
    }

    fn finding(&self, finding: &ptx_emu::Finding) -> Finding {
        let owned = |text: &str| text.to_owned();
        let frames = self.kernel.source(finding.line);
        Finding {
            kind: finding.kind.name(),
            rank: finding.rank.name(),
            line: finding.line,
            other_line: finding.other,
            instruction: finding.instruction.clone(),
            thread: finding.thread.thread,
            block: finding.thread.block,
            what: finding.what.clone(),
            source: frames.iter().map(|f| (f.file.to_owned(), f.line, f.column, f.function.map(owned))).collect(),
            text: finding.to_string(),
        }
    }
}

#[pymethods]
impl Report {
    /// What the checkers found, by line.
    #[getter]
    fn findings(&self) -> Vec<Finding> {
        self.report.findings.iter().map(|finding| self.finding(finding)).collect()
    }

    /// The fault that ended the launch early, if one did.
    #[getter]
    fn fault(&self) -> Option<Finding> {
        self.report.fault.as_ref().map(|fault| self.finding(fault))
    }

    /// Whether there is nothing but remarks.
    #[getter]
    fn is_clean(&self) -> bool {
        self.report.is_clean()
    }

    /// What the kernel printed.
    #[getter]
    fn output(&self) -> &str {
        &self.report.output
    }

    #[getter]
    fn blocks(&self) -> u64 {
        self.report.blocks
    }

    #[getter]
    fn blocks_run(&self) -> u64 {
        self.report.blocks_run
    }

    /// The counters, as JSON.
    fn counters_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.report.counters).map_err(error)
    }

    /// The time that the launch would take on a device, in milliseconds, as modelled; `None` where a block does not fit it.
    fn time_ms(&self, device: &str) -> PyResult<Option<f64>> {
        let found = device::Device::find(device);
        let device = found.ok_or_else(|| {
            let known = DEVICES.map(|device| device.slug).join(", ");
            error(format!("there is no device '{device}'; it is one of {known}"))
        })?;
        let Launch { block, dynamic_shared_bytes, .. } = self.launch;
        let threads = block.into_iter().product();
        let registers = estimate_registers(device, self.kernel.live_registers(), threads, self.kernel.bounds());
        let shared_bytes = self.kernel.shared_bytes().saturating_add(dynamic_shared_bytes);
        let resources = Resources { threads, registers, shared_bytes };
        let predicted = predict(device, &self.report.counters, self.report.blocks, &resources);
        Ok(predicted.map(|prediction| prediction.time_ms))
    }
}
