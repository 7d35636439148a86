//! What happened over time: barriers, mbarriers, copies.

use ptx_emu::Space;
use ptx_emu::trace::{AsyncCopy, CopyKind, Event, Step};
use serde::Serialize;

use crate::session::Last;
use crate::view::name;

/// Marks and bars at most: more cannot be told apart.
const MOST: usize = 20_000;

/// What happened, by rows.
#[derive(Serialize)]
pub(crate) struct Timeline {
    rows: Vec<String>,
    /// Things that last.
    bars: Vec<Bar>,
    /// Things that happen at a step.
    marks: Vec<Mark>,
    is_cut: bool,
}

/// From a step to another, or to the end.
#[derive(Serialize)]
struct Bar {
    row: usize,
    from: usize,
    to: Option<usize>,
    kind: &'static str,
    text: String,
}

#[derive(Serialize)]
struct Mark {
    row: usize,
    step: usize,
    kind: &'static str,
    text: String,
}

/// The timeline of the last case: a row for each warp, where it waits and arrives; one for each mbarrier, with its phases; one for each
/// stage that bulk copies write, or one for the other copies of a warp.
pub(crate) fn of(last: &Last) -> Timeline {
    let of_warps = last.warps.iter().map(|id| format!("warp {} of block {}", id.warp, block(id.block)));
    let mut rows = Rows { names: of_warps.collect() };
    let (mut bars, mut marks): (Vec<Bar>, Vec<Mark>) = (Vec::new(), Vec::new());
    for (step, Step { warp, events, waiting, lanes, .. }) in last.trace.steps.iter().enumerate() {
        let row = last.warps.iter().position(|id| id == warp).unwrap_or_default();
        if *waiting != 0 {
            let to = last.trace.next_of(*warp, step + 1);
            bars.push(Bar {
                row,
                from: step,
                to,
                kind: "wait",
                text: format!("waits, {} lanes", waiting.count_ones()),
            });
        }
        if *lanes != u32::MAX && marks.last().is_none_or(|mark| mark.kind != "divergence" || mark.row != row) {
            let text = format!("{} of 32 lanes", lanes.count_ones());
            marks.push(Mark { row, step, kind: "divergence", text });
        }
        for event in events {
            let Some(text) = sentence(event, last) else { continue };
            match event {
                Event::CopyIssued(copy) => {
                    bars.push(Bar { row: rows.of(&stage(copy, last)), from: step, to: None, kind: "copy", text });
                }
                Event::CopyCompleted(copy) => {
                    let row = rows.of(&stage(copy, last));
                    let open = bars.iter_mut().find(|bar| bar.row == row && bar.kind == "copy" && bar.to.is_none());
                    if let Some(bar) = open {
                        bar.to = Some(step);
                    }
                }
                Event::MbarrierInit { block, address, .. } | Event::MbarrierCompleted { block, address, .. } => {
                    let row = rows.of(&mbarrier(*block, *address, last));
                    let (kind, name) = match event {
                        Event::MbarrierCompleted { parity, .. } if parity % 2 == 0 => {
                            ("odd phase", "phase of parity 1")
                        }
                        _ => ("even phase", "phase of parity 0"),
                    };
                    if let Some(bar) = bars.iter_mut().rev().find(|bar| bar.row == row && bar.to.is_none()) {
                        bar.to = Some(step);
                    }
                    bars.push(Bar { row, from: step, to: None, kind, text: name.to_owned() });
                    marks.push(Mark { row, step, kind: "mbarrier", text });
                }
                Event::MbarrierArrived { block, address, .. } => {
                    marks.push(Mark { row: rows.of(&mbarrier(*block, *address, last)), step, kind: "arrival", text });
                }
                Event::MbarrierTested { lanes, complete, .. } if lanes != complete => {
                    let to = last.trace.next_of(*warp, step + 1);
                    bars.push(Bar { row, from: step, to, kind: "wait", text });
                }
                Event::BarrierArrived { .. } | Event::ClusterArrived { .. } => {
                    marks.push(Mark { row, step, kind: "arrival", text });
                }
                Event::BarrierCompleted { .. } | Event::ClusterCompleted => {
                    marks.push(Mark { row, step, kind: "barrier", text });
                }
                Event::Found(_) => marks.push(Mark { row, step, kind: "finding", text }),
                _ => {}
            }
        }
    }
    let is_cut = bars.len() > MOST || marks.len() > MOST;
    bars.truncate(MOST);
    marks.truncate(MOST);
    Timeline { rows: rows.names, bars, marks, is_cut }
}

struct Rows {
    names: Vec<String>,
}

impl Rows {
    /// The row of that name, added where there is none.
    fn of(&mut self, name: &str) -> usize {
        self.names.iter().position(|row| row == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        })
    }
}

fn mbarrier(of: [u32; 3], address: u64, last: &Last) -> String {
    format!("mbarrier {}, block {}", name(last, Space::Shared, address), block(of))
}

/// Where a copy goes to: the stage of a ring, or the warp that waits for it.
fn stage(copy: &AsyncCopy, last: &Last) -> String {
    match copy.kind {
        CopyKind::Async => format!("cp.async of warp {}, block {}", copy.warp.warp, block(copy.warp.block)),
        CopyKind::BulkLoad => format!("TMA to {}, block {}", name(last, Space::Shared, copy.shared), block(copy.block)),
        CopyKind::BulkStore => {
            format!("TMA from {}, block {}", name(last, Space::Shared, copy.shared), block(copy.block))
        }
    }
}

fn block([x, y, z]: [u32; 3]) -> String {
    if z == 0 { format!("({x}, {y})") } else { format!("({x}, {y}, {z})") }
}

/// An event in words; `None` where the registers say it.
pub(crate) fn sentence(event: &Event, last: &Last) -> Option<String> {
    let shared = |address: &u64| name(last, Space::Shared, *address);
    let copied = |copy: &AsyncCopy| {
        let from =
            copy.global.map_or_else(|| "beyond the matrix".to_owned(), |global| name(last, Space::Global, global));
        let to = shared(&copy.shared);
        let [from, to] = if copy.kind == CopyKind::BulkStore { [to, from] } else { [from, to] };
        format!("{} bytes from {from} to {to}", copy.bytes)
    };
    Some(match event {
        Event::BarrierArrived { id, arrived, expected, waits } => {
            let end = if *waits { "and waits" } else { "and goes on" };
            format!("arrives at barrier {id}, where {arrived} of {expected} threads are, {end}")
        }
        Event::BarrierCompleted { id } => format!("barrier {id} completes: all who wait there go on"),
        Event::ClusterArrived { arrived, expected } => {
            format!("arrives at the cluster's barrier, where {arrived} of {expected} threads are")
        }
        Event::ClusterCompleted => "the cluster's barrier completes".to_owned(),
        Event::MbarrierInit { address, count, .. } => {
            format!("mbarrier {} expects {count} arrivals in each phase", shared(address))
        }
        Event::MbarrierArrived { address, pending, bytes, .. } => {
            format!("mbarrier {}: {pending} arrivals and {bytes} bytes are pending", shared(address))
        }
        Event::MbarrierCompleted { address, parity, .. } => {
            format!("mbarrier {} completes its phase of parity {parity}", shared(address))
        }
        Event::MbarrierTested { address, lanes, complete, .. } => {
            let is = if lanes == complete { "complete" } else { "not yet complete" };
            format!("asks mbarrier {}: the phase is {is}", shared(address))
        }
        Event::CopyIssued(copy) => format!("a copy begins: {}", copied(copy)),
        Event::CopyCompleted(copy) => format!("a copy of line {} is complete: {}", copy.line, copied(copy)),
        Event::Exited { lanes } => format!("{} lanes end", lanes.count_ones()),
        Event::Resumed { lanes } => format!("{} lanes go on", lanes.count_ones()),
        Event::Found(finding) => finding.to_string(),
    })
}
