//! Makes one body of a kernel: calls are inlined, and the functions for which that cannot be done follow its code.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use super::call_graph::CallGraph;
use super::rename::{Frame, local_param};
use super::{LowerError, shortened, size};
use crate::syntax::{
    Body, Function, Guard, Instruction, LabelId, Module, Operand, Param, Statement, Symbol, Variable, VariableId,
};
use crate::types::Space;

/// The size of a body after inlining, at most: far more than any kernel has, and a bound for call trees that grow
/// exponentially.
const MAX_SIZE: usize = 8_000_000;

/// A kernel's body without calls by name, but for those of `functions`. `.param` variables of calls become local ones.
#[derive(Default)]
pub(super) struct Flat {
    pub body: Body,
    /// Functions that are called at run time: they call themselves, or pointers may lead to them.
    pub functions: Vec<Callee>,
}

/// A function whose code follows the kernel's.
pub(super) struct Callee {
    pub name: String,
    pub entry: LabelId,
    /// Its variables, which lie in its frame: first its parameters, then its results.
    pub variables: Range<usize>,
    pub params: usize,
    pub returns: usize,
}

/// The body of `kernel`, and of all that it calls.
pub(super) fn flatten<'a>(module: &'a Module, kernel: &'a Function) -> Result<Flat, LowerError> {
    let Some(body) = &kernel.body else { return Ok(Flat::default()) };
    let calls = CallGraph::new(module, body);
    let (out, waiting, entries) = Default::default();
    let mut flattener = Flattener { kernel, calls, out, waiting, entries, depth: 0, is_in_frame: false, size: 0 };
    flattener.splice(body, &Frame { params: None, returns: &[], end: None, ..Frame::default() })?;
    flattener.callees(kernel.line)?;
    Ok(flattener.out)
}

pub(super) struct Flattener<'a> {
    kernel: &'a Function,
    pub calls: CallGraph<'a>,
    pub out: Flat,
    /// Functions that are called and not in `out` yet.
    pub waiting: VecDeque<(&'a Function, LabelId)>,
    /// Where their code begins, of all that are called at run time.
    pub entries: HashMap<&'a str, LabelId>,
    /// How many functions are being inlined.
    pub depth: usize,
    /// Whether variables lie in a frame, as those of a function that is called at run time.
    pub is_in_frame: bool,
    /// What was added to `out` so far: see [`size`].
    size: usize,
}

impl<'a> Flattener<'a> {
    pub(super) fn splice(&mut self, body: &'a Body, frame: &Frame<'_>) -> Result<(), LowerError> {
        let frame = &Frame {
            registers: self.out.body.registers.len() as u32,
            variables: self.out.body.variables.len() as u32,
            labels: self.out.body.labels.len() as u32,
            ..*frame
        };
        self.grow(size::of_declarations(body))?;
        self.out.body.registers.extend_from_slice(&body.registers);
        self.out.body.variables.extend(body.variables.iter().cloned().map(local_param));
        self.out.body.labels.extend_from_slice(&body.labels);
        for statement in &body.statements {
            self.grow(size::of_statement(statement))?;
            let statement = match statement {
                Statement::Label(label) => Statement::Label(frame.label(*label)),
                Statement::BranchTargets { name, targets } => Statement::BranchTargets {
                    name: frame.label(*name),
                    targets: targets.iter().map(|label| frame.label(*label)).collect(),
                },
                Statement::Instruction(instruction) => {
                    let mut renamed = frame.instruction(instruction);
                    match instruction.opcode[0].as_str() {
                        "call" => {
                            self.call(&renamed).map_err(|error| error.at(instruction))?;
                            continue;
                        }
                        "ret" => Statement::Instruction(frame.ret(renamed)),
                        _ => {
                            if self.is_in_frame {
                                self.addresses_in_frame(&mut renamed);
                            }
                            Statement::Instruction(renamed)
                        }
                    }
                }
            };
            self.out.body.statements.push(statement);
        }
        Ok(())
    }

    fn grow(&mut self, by: usize) -> Result<(), LowerError> {
        self.size = self.size.saturating_add(by);
        if self.size <= MAX_SIZE {
            return Ok(());
        }
        let reason = "with its calls inlined, it is larger than any kernel".to_owned();
        Err(LowerError { line: self.kernel.line, instruction: shortened(&self.kernel.name), reason })
    }

    pub(super) fn new_label(&mut self) -> LabelId {
        self.out.body.labels.push(String::new());
        LabelId(self.out.body.labels.len() as u32 - 1)
    }

    pub(super) fn new_variable(&mut self, param: &Param, line: u32) -> Symbol {
        self.out.body.variables.push(Variable {
            name: param.name.clone(),
            space: Space::Local,
            bytes: param.bytes.into(),
            align: param.align,
            initial: vec![],
            is_extern: false,
            line,
        });
        Symbol::Local(VariableId(self.out.body.variables.len() as u32 - 1))
    }

    pub(super) fn push(&mut self, line: u32, guard: Option<Guard>, opcode: &[&str], operands: Vec<Operand>) {
        let opcode = opcode.iter().map(|part| (*part).to_owned()).collect();
        self.out.body.statements.push(Statement::Instruction(Instruction { guard, opcode, operands, line }));
    }
}
