//! The syntax tree of PTX: what is read, as what, and what is refused.

use ptx_emu::syntax::{Body, Function, Instruction, Module, Statement, parse};

mod bodies;
mod errors;
mod modules;
mod mutation;
mod robustness;

const HEADER: &str = ".version 8.0\n.target sm_90a\n.address_size 64\n";
const SM_80: &str = include_str!("../../../../sgemm/src/modules/sm_80.ptx");
const NVCC_STYLE: &str = include_str!("../../ptx/nvcc_style.ptx");
const TRITON_STYLE: &str = include_str!("../../ptx/triton_style.ptx");
const LLVM_STYLE: &str = include_str!("../../ptx/llvm_style.ptx");

fn module(text: &str) -> Module {
    parse(&format!("{HEADER}{text}")).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn instructions(body: &Body) -> Vec<&Instruction> {
    let mut found = Vec::new();
    for statement in &body.statements {
        if let Statement::Instruction(instruction) = statement {
            found.push(instruction);
        }
    }
    found
}

fn body(function: &Function) -> &Body {
    function.body.as_ref().unwrap()
}
