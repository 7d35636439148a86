//! The tests of ptx-emu as its users see it, in one executable: `cargo test -p ptx-emu --test it`.

mod asynchronous;
mod bounds;
mod calls;
mod cli;
mod clusters;
mod compilers;
mod counters;
mod debugger;
mod known_bugs;
mod launch_file;
mod mma;
mod printing;
mod programs;
mod robust;
mod source_lines;
mod stopping;
mod suppressions;
mod syntax;
mod tensor;
mod tensormap;
mod textures;
mod trace;
mod variables;
mod waiting;
mod wgmma;
