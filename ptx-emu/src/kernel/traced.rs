//! Tracing a launch.

use super::{Error, Kernel, Report};
use crate::exec::Recording;
use crate::launch::{Blocks, Launch};
use crate::memory::GlobalMemory;
use crate::program::Program;
use crate::trace::{Description, Instruction, Region, Register, Trace, Variable};

impl Kernel {
    /// Runs the kernel on one thread, and records at most `limit` instructions of its warps. It runs as a launch with `threads: 1`
    /// does; of a grid, all blocks run.
    ///
    /// A trace takes about 0.5 KiB for each instruction, and holds a copy of global memory. Where there are more instructions than
    /// the limit, the launch is stopped, and `memory` is left as it was then, which may be later than the trace's end.
    ///
    /// # Errors
    /// Those of [`Kernel::launch`].
    pub fn trace(&self, memory: &mut GlobalMemory, launch: &Launch, limit: usize) -> Result<(Trace, Report), Error> {
        let launch = &Launch { threads: 1, blocks: Blocks::All, ..launch.clone() };
        let (_, cluster) = self.check(launch)?;
        memory.map_module(&self.program.image);
        let description = Description {
            instructions: instructions(&self.program),
            registers: registers(&self.program),
            variables: variables(&self.program),
            grid: launch.grid,
            block: launch.block,
            cluster,
            shared_bytes: self.program.shared_bytes_with(launch.dynamic_shared_bytes),
            local_bytes: self.program.local_bytes,
            global: memory.contents().map(|(base, bytes)| Region { base, bytes }).collect(),
        };
        let (report, recording) = self.run(memory, launch, Some(Recording::new(limit)))?;
        let (steps, truncated) = recording.map(Recording::finish).unwrap_or_default();
        Ok((Trace::new(steps, truncated, description), report))
    }
}

fn instructions(program: &Program) -> Vec<Instruction> {
    let described = |(pc, instruction): (usize, &crate::program::Instruction)| Instruction {
        line: instruction.line,
        mnemonic: instruction.mnemonic.clone(),
        reads: program.names.reads(pc).into(),
        writes: program.names.writes(pc).into(),
    };
    program.instructions.iter().enumerate().map(described).collect()
}

fn registers(program: &Program) -> Vec<Register> {
    let registers = program.names.registers.iter();
    registers.map(|register| Register { name: register.name.clone(), ty: register.ty }).collect()
}

fn variables(program: &Program) -> Vec<Variable> {
    let variables = program.names.variables.iter();
    let described = |variable: &crate::program::NamedVariable| Variable {
        name: variable.name.clone(),
        space: variable.space,
        address: variable.address,
        bytes: variable.bytes,
    };
    variables.map(described).collect()
}
