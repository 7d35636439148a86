//! `ptx-emu run --trace`.

use ptx_emu::trace::{State, Trace};
use ptx_emu::{GlobalMemory, Kernel, Launch, Report};

use super::error::Error;
use super::output::print;
use super::selection::Selection;
use super::steps::Writer;

/// Bytes of text that are written at once.
const CHUNK: usize = 1 << 16;

/// Runs the kernel and prints what the selected threads did.
pub fn run(
    kernel: &Kernel,
    memory: &mut GlobalMemory,
    launch: &Launch,
    ptx: &str,
    selection: Selection,
    steps: usize,
) -> Result<Report, Error> {
    selection.check(launch.grid, launch.block).map_err(|why| Error::Usage(format!("--trace: {why}")))?;
    let launched = kernel.trace(memory, launch, steps);
    let (trace, report) = launched.map_err(|error| Error::Usage(error.to_string()))?;
    text(&trace, ptx, selection)?;
    if trace.truncated {
        print(&format!("the trace ends here: more than {steps} instructions; --steps allows more\n"))?;
    }
    Ok(report)
}

fn text(trace: &Trace, ptx: &str, selection: Selection) -> Result<(), Error> {
    let (writer, mut state, mut text, mut last) = (Writer::new(trace, ptx), State::new(trace), String::new(), None);
    for step in &trace.steps {
        let lanes = selection.lanes(trace, step);
        if lanes != 0 {
            if last != Some(step.warp) && !matches!(selection, Selection::Thread(..)) {
                let ([x, y, z], warp) = (step.warp.block, step.warp.warp);
                text += &format!("block ({x}, {y}, {z}), warp {warp}:\n");
            }
            last = Some(step.warp);
            text += &writer.step(step, &state, lanes);
        }
        state.forward(trace);
        if text.len() > CHUNK {
            print(&std::mem::take(&mut text))?;
        }
    }
    print(&text)
}
