//! The tests of ptx-emu as its users see it, in one executable: `cargo test -p ptx-emu --test it`.

mod asynchronous;
mod bounds;
mod cli;
mod clusters;
mod compilers;
mod debugger;
mod printing;
mod programs;
mod robust;
mod source_lines;
mod stopping;
mod syntax;
mod tensor;
mod trace;
mod waiting;
mod wgmma;
