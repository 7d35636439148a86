//! What the command line says about a launch, ready to run.

use ptx_emu::{Kernel, Launch};

use super::args::LaunchArgs;
use super::arguments::{Arguments, constant};
use super::error::Error;
use super::input::Source;

/// A kernel with its launch, and the memory of its arguments.
pub struct Ready {
    pub source: Source,
    pub kernel: Kernel,
    pub arguments: Arguments,
    pub launch: Launch,
}

impl Ready {
    /// Reads the PTX, and makes the arguments.
    pub fn new(args: &LaunchArgs) -> Result<Self, Error> {
        let source = Source::read(&args.file)?;
        let kernel = source.kernel(args.entry.as_deref())?;
        let mut arguments = Arguments::new(&kernel, &args.arguments, args.seed)?;
        let mut launch = Launch {
            cluster: args.cluster,
            dynamic_shared_bytes: args.shared,
            arguments: std::mem::take(&mut arguments.bytes),
            checks: args.check,
            max_instructions: args.max_instructions,
            ..Launch::new(args.grid, args.block)
        };
        for (index, (name, spec)) in args.constants.iter().enumerate() {
            launch = launch.constant(name, &constant(spec, args.seed.wrapping_add(index as u64))?);
        }
        Ok(Self { source, kernel, arguments, launch })
    }
}
