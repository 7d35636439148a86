//! The syntax tree of PTX: what is read, and what is refused with which message.

use ptx_emu::syntax::{Statement, parse};

const SM_80: &str = include_str!("../../gpu-kernels/ptx/sm_80.ptx");

#[test]
fn the_projects_kernels_are_read() {
    let module = parse(SM_80).unwrap();
    assert_eq!((module.version, module.target.as_str(), module.address_size), ((7, 0), "sm_80", 64));
    assert_eq!(module.functions.len(), 6);
    for function in &module.functions {
        let body = function.body.as_ref().unwrap();
        assert!(body.statements.iter().any(|s| matches!(s, Statement::Instruction(i) if i.opcode == ["ret"])));
    }
}
