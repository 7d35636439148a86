//! The tests of ptx-emu as its users see it, in one executable: `cargo test -p ptx-emu --test it`.

mod asynchronous;
mod bounds;
mod cli;
mod clusters;
mod compilers;
mod launch_file;
mod printing;
mod programs;
mod robust;
mod source_lines;
mod stopping;
mod suppressions;
mod syntax;
mod tensor;
mod variables;
mod waiting;
mod wgmma;
