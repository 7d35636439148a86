//! A product over several GPUs, as data.

use std::path::PathBuf;
use std::time::Duration;

use sgemm::distributed::Launched;

use super::WARMUP;
use crate::cli::launcher::is_started_by_host;
use crate::cli::{args, effects};
use crate::measure::bench::Timing;
use crate::measure::together::Wanted;
use crate::{AccuracyClass, Error};

/// A product over several GPUs.
#[derive(Debug, Clone)]
pub struct Together {
    /// Who this process is.
    pub role: Role,
    /// What the kernels must meet.
    pub class: AccuracyClass,
    /// How it is to be distributed.
    pub wanted: Wanted,
    /// How it is timed.
    pub timing: Timing,
    /// How long ranks wait for each other, beyond the predicted time.
    pub deadline: Duration,
    /// Where the picture of the last run goes.
    pub timeline: Option<PathBuf>,
}

/// Who a process is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// It starts so many ranks, or emulates them.
    First(usize),
    /// A rank.
    Rank(Launched),
}

impl Together {
    /// What the command line and the environment ask for; `None` where one GPU does what is asked for.
    ///
    /// # Errors
    /// Where options do not go together.
    pub(super) fn new(args: &args::Measure, launched: Option<Launched>) -> Result<Option<Self>, Error> {
        let args::Together { gpus, grid, block, chunks, deadline, timeline } = &args.together;
        // A launcher's only process is like one that no launcher started.
        let launched = launched.filter(|launched| launched.ranks > 1 || is_started_by_host());
        let role = match (gpus.map(usize::from), launched) {
            (None, None) => return check_alone(&args.together).map(|()| None),
            (Some(gpus), None) => Role::First(gpus),
            (Some(asked), Some(Launched { ranks, .. })) if asked != ranks => {
                return Err(Error::OtherRanks { asked, ranks });
            }
            (_, Some(launched)) => Role::Rank(launched),
        };
        check_apart(args)?;
        effects::check_measure(args)?;
        let wanted = Wanted { grid: *grid, block: *block, chunks: *chunks };
        wanted.check(role.ranks())?;
        Ok(Some(Self {
            role,
            class: args.precision.unwrap_or_default(),
            wanted,
            timing: Timing { warmup: args.warmup.unwrap_or(WARMUP), iterations: args.iterations },
            deadline: Duration::from_secs((*deadline).into()),
            timeline: timeline.clone(),
        }))
    }
}

impl Role {
    /// Ranks in all.
    pub const fn ranks(&self) -> usize {
        match self {
            Self::First(ranks) => *ranks,
            Self::Rank(launched) => launched.ranks,
        }
    }
}

/// Fails where an option is given that only several GPUs have.
fn check_alone(args: &args::Together) -> Result<(), Error> {
    let given = [
        ("--grid", args.grid.is_some()),
        ("--block", args.block.is_some()),
        ("--chunks", args.chunks.is_some()),
        ("--timeline", args.timeline.is_some()),
    ];
    let stray = given.into_iter().find(|(_, is_given)| *is_given);
    stray.map_or(Ok(()), |(option, _)| Err(Error::OneGpu { option }))
}

/// Fails where an option is given that only one GPU has.
fn check_apart(args: &args::Measure) -> Result<(), Error> {
    let chosen = "the kernel of each local product is chosen for its shape";
    let given = [
        ("--kernel", !args.kernel.is_empty(), chosen),
        ("--tuned", args.tuned.is_some(), chosen),
        ("--ptx", args.common.ptx.is_some(), chosen),
        ("--quick", args.quick, "give --size and --iterations"),
        ("--graphs", args.graphs, "collectives are queued one by one"),
        ("--full", args.emulator.full, "every block runs in any case"),
        ("--same-device-as", args.same_device_as.is_some(), "rows of one GPU are compared"),
        (
            "--device",
            args.backend.device.ordinal.is_some(),
            "each rank has a device; CUDA_VISIBLE_DEVICES says which ones",
        ),
    ];
    let stray = given.into_iter().find(|(_, is_given, _)| *is_given);
    stray.map_or(Ok(()), |(option, _, reason)| Err(Error::NotTogether { option, reason }))
}
