//! Runs a case: findings, counters, results, and the trace.

use ptx_emu::spec::value;
use ptx_emu::trace::Trace;
use ptx_emu::{Checks, Counters, Finding, GlobalMemory, Kernel, Launch, Module, Rank, Report};
use serde::Serialize;

use crate::case::Case;
use crate::memory::{Filled, Piece};

/// Elements of a result that are shown.
const SHOWN: usize = 64;

/// Instructions of a block at most: what a page has patience for.
const MAX_INSTRUCTIONS: u64 = 20_000_000;

/// A case that ran.
pub(crate) struct Ran {
    pub trace: Trace,
    pub filled: Filled,
    pub reply: Reply,
}

/// What a page gets.
#[derive(Serialize)]
pub(crate) struct Reply {
    kernel: String,
    /// Whether the checkers found nothing but remarks.
    is_clean: bool,
    findings: Vec<Found>,
    printed: String,
    blocks: u64,
    counters: Counters,
    /// None after a fault.
    results: Vec<Output>,
    trace: Traced,
}

/// A finding.
#[derive(Serialize)]
struct Found {
    kind: &'static str,
    rank: &'static str,
    line: u32,
    other: Option<u32>,
    instruction: String,
    thread: [u32; 3],
    block: [u32; 3],
    what: String,
}

/// Memory that a kernel wrote.
#[derive(Serialize)]
struct Output {
    name: String,
    ty: &'static str,
    elements: u64,
    /// The first of them.
    values: Vec<String>,
    /// FNV-1a of all bytes, in hexadecimal.
    digest: String,
}

/// A trace's outline: what a page needs to go through it.
#[derive(Serialize)]
struct Traced {
    /// Whether there was more than the limit.
    is_truncated: bool,
    warps: Vec<Warp>,
    /// Of each step, the index of its warp.
    step_warps: Vec<usize>,
    /// Of each step, its line.
    step_lines: Vec<u32>,
    /// Names of registers.
    registers: Vec<String>,
}

#[derive(Serialize)]
struct Warp {
    block: [u32; 3],
    warp: u32,
}

/// Runs a case. Where the trace does not hold all of the launch, the report is that of another run without one.
pub(crate) fn run(case: &Case) -> Result<Ran, String> {
    let modules = case.modules.iter().map(|text| Module::parse(text)).collect::<Result<Vec<_>, _>>();
    let modules = modules.map_err(|error| error.to_string())?;
    let (filled, report, trace) = launches(case, &modules, true)?;
    let trace = trace.ok_or_else(|| format!("there is no launch {}", case.traced))?;
    let (filled, report) = if trace.truncated {
        let (filled, report, _) = launches(case, &modules, false)?;
        (filled, report)
    } else {
        (filled, report)
    };
    let report = report.ok_or_else(|| format!("there is no launch {}", case.traced))?;
    let reply = reply(case, &filled, report, &trace);
    Ok(Ran { trace, filled, reply })
}

/// Runs the launches on fresh memory, up to a fault. The report and the trace are those of the launch that is looked at.
fn launches(case: &Case, modules: &[Module], traces: bool) -> Result<(Filled, Option<Report>, Option<Trace>), String> {
    let mut filled = Filled::new(case)?;
    let (mut report, mut trace) = (None, None);
    for (index, launch) in case.launches.iter().enumerate() {
        let module = modules.get(launch.module).ok_or_else(|| format!("there is no module {}", launch.module))?;
        let kernel = module.kernel(&launch.kernel).map_err(|error| error.to_string())?;
        let is_it = index == case.traced;
        let request = Launch {
            cluster: launch.cluster,
            dynamic_shared_bytes: launch.shared_bytes,
            arguments: filled.arguments(&kernel, &launch.arguments)?,
            checks: if is_it && case.checks { Checks::ALL } else { Checks { memory: true, ..Checks::NONE } },
            threads: 1,
            max_instructions: MAX_INSTRUCTIONS,
            ..Launch::new(launch.grid, launch.block)
        };
        let of_launch = if is_it && traces {
            let (traced, report) = traced(&kernel, &mut filled.memory, &request, case.limit)?;
            trace = Some(traced);
            report
        } else {
            kernel.launch(&mut filled.memory, &request).map_err(|error| error.to_string())?
        };
        match &of_launch.fault {
            Some(fault) if !is_it => return Err(format!("{}, which is launched beside it: {fault}", launch.kernel)),
            fault => {
                let stops = fault.is_some() || of_launch.stopped;
                if is_it {
                    report = Some(of_launch);
                }
                if stops {
                    break;
                }
            }
        }
    }
    Ok((filled, report, trace))
}

fn traced(
    kernel: &Kernel,
    memory: &mut GlobalMemory,
    launch: &Launch,
    limit: usize,
) -> Result<(Trace, Report), String> {
    kernel.trace(memory, launch, limit).map_err(|error| error.to_string())
}

fn reply(case: &Case, filled: &Filled, report: Report, trace: &Trace) -> Reply {
    let warps = trace.warps();
    let index_of = |step: &ptx_emu::trace::Step| warps.iter().position(|warp| *warp == step.warp).unwrap_or_default();
    let results = match report.fault {
        Some(_) => Vec::new(),
        None => filled.pieces.iter().filter(|piece| piece.is_output).map(|piece| output(piece, filled)).collect(),
    };
    Reply {
        kernel: case.launches.get(case.traced).map(|launch| launch.kernel.clone()).unwrap_or_default(),
        is_clean: report.is_clean(),
        findings: report.findings.iter().chain(&report.fault).map(found).collect(),
        results,
        blocks: report.blocks_run,
        trace: Traced {
            is_truncated: trace.truncated,
            step_warps: trace.steps.iter().map(index_of).collect(),
            step_lines: trace.steps.iter().map(|step| step.line).collect(),
            registers: trace.registers.iter().map(|register| register.name.to_string()).collect(),
            warps: warps.iter().map(|id| Warp { block: id.block, warp: id.warp }).collect(),
        },
        printed: report.output,
        counters: report.counters,
    }
}

fn found(finding: &Finding) -> Found {
    let Finding { kind, rank, line, instruction, other, thread, what } = finding;
    Found {
        kind: kind.name(),
        rank: Rank::name(*rank),
        line: *line,
        other: *other,
        instruction: instruction.clone(),
        thread: thread.thread,
        block: thread.block,
        what: what.clone(),
    }
}

fn output(piece: &Piece, filled: &Filled) -> Output {
    let bytes = filled.memory.read(piece.pointer).unwrap_or_default();
    let text = |element: &[u8]| {
        let mut bits = [0; 8];
        bits[..element.len()].copy_from_slice(element);
        value::format(piece.ty, u64::from_le_bytes(bits))
    };
    let digest = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    Output {
        name: piece.name.clone(),
        ty: piece.ty.name(),
        elements: piece.elements,
        values: bytes.chunks_exact(piece.ty.bytes() as usize).take(SHOWN).map(text).collect(),
        digest: format!("{digest:016x}"),
    }
}
