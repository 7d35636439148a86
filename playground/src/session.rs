//! A page's conversation with the emulator.

use ptx_emu::trace::{State, Trace, WarpId};
use serde::{Deserialize, Serialize};

use crate::case::Case;
use crate::memory::Filled;
use crate::result::{self, Ran};
use crate::{kernels, timeline, view};

/// What a page asks for.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
enum Request {
    /// The kernels of a module.
    Kernels { ptx: String },
    /// Runs a case, and keeps its trace.
    Run(Box<Case>),
    /// What a step of the trace does, and the warps around it.
    Step {
        step: usize,
        /// Registers to show besides those of the instruction.
        #[serde(default)]
        watched: Vec<String>,
    },
    /// What happened over time.
    Timeline,
}

/// The last case that ran.
#[derive(Default)]
pub struct Session {
    last: Option<Last>,
}

/// A trace, and where in it the page is.
pub(crate) struct Last {
    pub trace: Trace,
    pub state: State,
    pub filled: Filled,
    /// The warps, in order.
    pub warps: Vec<WarpId>,
}

impl Session {
    /// Answers a request: a reply, or `{"error": ...}` with one line that says what is wrong.
    pub fn answer(&mut self, request: &str) -> String {
        let reply = match serde_json::from_str(request) {
            Ok(request) => self.reply(request),
            Err(error) => Err(format!("no request: {error}")),
        };
        reply.unwrap_or_else(|error| json(&Refused { error }).unwrap_or_default())
    }

    fn reply(&mut self, request: Request) -> Result<String, String> {
        match request {
            Request::Kernels { ptx } => json(&Kernels { kernels: kernels::of(&ptx)? }),
            Request::Run(case) => {
                self.last = None;
                let Ran { trace, filled, reply } = result::run(&case)?;
                let (state, warps) = (State::new(&trace), trace.warps());
                self.last = Some(Last { trace, state, filled, warps });
                json(&reply)
            }
            Request::Step { step, watched } => {
                let last = self.last.as_mut().ok_or("nothing has run")?;
                json(&view::step(last, step, &watched)?)
            }
            Request::Timeline => json(&timeline::of(self.last.as_ref().ok_or("nothing has run")?)),
        }
    }
}

#[derive(Serialize)]
struct Refused {
    error: String,
}

#[derive(Serialize)]
struct Kernels {
    kernels: Vec<kernels::Described>,
}

fn json(reply: &impl Serialize) -> Result<String, String> {
    serde_json::to_string(reply).map_err(|error| error.to_string())
}
