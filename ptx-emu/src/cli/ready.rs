//! What the command line says about a launch, ready to run.

use ptx_emu::{GlobalMemory, Kernel, Launch};

use super::args::LaunchArgs;
use super::arguments;
use super::buffers::Results;
use super::error::Error;
use super::input::Source;

/// A kernel with its launch, the memory of its arguments and variables, and what comes out of it.
pub struct Ready {
    pub source: Source,
    pub kernel: Kernel,
    pub memory: GlobalMemory,
    pub results: Results,
    pub launch: Launch,
}

impl Ready {
    /// Reads the PTX, makes the arguments, and sets the variables.
    pub fn new(args: &LaunchArgs) -> Result<Self, Error> {
        let (mut memory, mut results) = (GlobalMemory::default(), Results::default());
        let source = Source::load(&args.file, &mut memory)?;
        let kernel = source.kernel(args.entry.as_deref())?;
        let launch = Launch {
            cluster: args.cluster,
            dynamic_shared_bytes: args.shared,
            arguments: arguments::make(&kernel, &args.arguments, args.seed, &mut memory, &mut results)?,
            checks: args.check,
            max_instructions: args.max_instructions,
            ..Launch::new(args.grid, args.block)
        };
        for (index, (name, spec)) in args.variables.iter().enumerate() {
            let variable = source.variable(name)?;
            let set = results.set(&mut memory, variable, spec, args.seed.wrapping_add(index as u64));
            set.map_err(|error| error.at(&format!("variable '{name}={}'", spec.text)))?;
        }
        Ok(Self { source, kernel, memory, results, launch })
    }
}
