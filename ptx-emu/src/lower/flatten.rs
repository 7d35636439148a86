//! Inlines all calls of a kernel.

use std::collections::HashMap;

use super::{LowerError, Unsupported, shortened, size};
use crate::syntax::{
    Address, AddressBase, Body, Function, FunctionKind, Guard, Instruction, LabelId, Module, Operand, Param, Register,
    RegisterId, Statement, Symbol, Variable, VariableId,
};
use crate::types::{Space, Type};

/// The size of a body after inlining, at most: far more than any kernel has, and a bound for call trees that grow
/// exponentially.
const MAX_SIZE: usize = 8_000_000;

/// Calls within calls, at most: inlining recurses.
const MAX_DEPTH: usize = 256;

/// The device's functions behind CUDA's `assert` and `printf`, which no module defines; and the instructions that calls of them become.
pub(super) const ASSERTFAIL: &str = "__assertfail";
pub(super) const VPRINTF: &str = "vprintf";

/// The body of `kernel`, without calls. `.param` variables of calls become local ones.
pub(super) fn flatten(module: &Module, kernel: &Function) -> Result<Body, LowerError> {
    // Most kernels call nothing, and a module may have thousands of them.
    let is_call = |statement: &Statement| matches!(statement, Statement::Instruction(i) if i.opcode[0] == "call");
    let calls = kernel.body.iter().any(|body| body.statements.iter().any(is_call));
    let functions = module.functions.iter().filter(|_| calls).map(|function| (function.name.as_str(), function));
    let functions = functions.collect();
    let mut flattener = Flattener { kernel, functions, out: Body::default(), path: vec![&kernel.name], size: 0 };
    if let Some(body) = &kernel.body {
        flattener.splice(body, &Frame { params: None, returns: &[], end: None, ..Frame::default() })?;
    }
    Ok(flattener.out)
}

struct Flattener<'a> {
    kernel: &'a Function,
    functions: HashMap<&'a str, &'a Function>,
    out: Body,
    /// The functions that are being inlined, outermost first.
    path: Vec<&'a str>,
    /// What was added to `out` so far: see [`size`].
    size: usize,
}

/// How one inlined body is renamed: offsets of its indices, and what replaces its parameters.
#[derive(Default)]
struct Frame<'f> {
    registers: u32,
    variables: u32,
    labels: u32,
    /// The caller's arguments; `None` in the kernel itself.
    params: Option<&'f [Operand]>,
    returns: &'f [Operand],
    /// Target of `ret`; `None` in the kernel itself.
    end: Option<LabelId>,
}

impl<'a> Flattener<'a> {
    fn splice(&mut self, body: &'a Body, frame: &Frame<'_>) -> Result<(), LowerError> {
        let frame = &Frame {
            registers: self.out.registers.len() as u32,
            variables: self.out.variables.len() as u32,
            labels: self.out.labels.len() as u32,
            ..*frame
        };
        self.grow(size::of_declarations(body))?;
        self.out.registers.extend_from_slice(&body.registers);
        self.out.variables.extend(body.variables.iter().cloned().map(local_param));
        self.out.labels.extend_from_slice(&body.labels);
        for statement in &body.statements {
            self.grow(size::of_statement(statement))?;
            let statement = match statement {
                Statement::Label(label) => Statement::Label(frame.label(*label)),
                Statement::BranchTargets { name, targets } => Statement::BranchTargets {
                    name: frame.label(*name),
                    targets: targets.iter().map(|label| frame.label(*label)).collect(),
                },
                Statement::Instruction(instruction) => {
                    let renamed = frame.instruction(instruction);
                    match instruction.opcode[0].as_str() {
                        "call" => {
                            self.call(&renamed).map_err(|error| LowerError::at(instruction, error))?;
                            continue;
                        }
                        "ret" => Statement::Instruction(frame.ret(renamed)),
                        _ => Statement::Instruction(renamed),
                    }
                }
            };
            self.out.statements.push(statement);
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

    /// Inlines the called function's body.
    fn call(&mut self, call: &Instruction) -> Result<(), CallError> {
        let (returns, name, params) = parts(&call.operands)?;
        match (name, params, returns) {
            (ASSERTFAIL, [message, file, line, function, _], []) => {
                let arguments = [(message, Type::U64), (file, Type::U64), (function, Type::U64), (line, Type::U32)];
                self.built_in(call, ASSERTFAIL, &arguments);
                return Ok(());
            }
            (VPRINTF, [format, arguments], [count]) => {
                self.built_in(call, VPRINTF, &[(format, Type::U64), (arguments, Type::U64)]);
                if let Operand::Symbol { symbol, offset } = count {
                    let address =
                        Address { base: AddressBase::Symbol(symbol.clone()), offset: *offset, coordinates: vec![] };
                    self.push(
                        call.line,
                        call.guard,
                        &["st", "param", "b32"],
                        vec![Operand::Address(address), Operand::Integer(0)],
                    );
                }
                return Ok(());
            }
            _ => {}
        }
        let function = self.functions.get(name).copied().filter(|function| function.kind == FunctionKind::Device);
        let Some((function, body)) = function.and_then(|function| Some((function, function.body.as_ref()?))) else {
            return Err(
                Unsupported::new(format!("the function `{}` is not defined in this module", shortened(name))).into()
            );
        };
        if self.path.contains(&function.name.as_str()) {
            return Err(Unsupported::new(format!("`{}` calls itself, which is not supported", shortened(name))).into());
        }
        if self.path.len() > MAX_DEPTH {
            return Err(Unsupported::new(format!("calls nest deeper than {MAX_DEPTH}")).into());
        }
        if (function.params.len(), function.returns.len()) != (params.len(), returns.len()) {
            return Err(
                Unsupported::new(format!("`{}` takes or returns another number of values", shortened(name))).into()
            );
        }
        let end = self.new_label();
        let skip = call.guard.map(|guard| (guard, self.new_label()));
        if let Some((guard, skip)) = skip {
            let guard = Guard { negate: !guard.negate, ..guard };
            self.push(call.line, Some(guard), &["bra"], vec![Operand::Label(skip)]);
        }
        let registers = self.out.registers.len() as u32;
        let passed = self.pass(call, &function.params, params, registers);
        let frame = Frame { params: Some(&passed), returns, end: Some(end), ..Frame::default() };
        self.path.push(&function.name);
        self.splice(body, &frame)?;
        self.path.pop();
        self.out.statements.push(Statement::Label(end));
        for (formal, actual) in function.returns.iter().zip(returns) {
            if let Some(register) = formal.register {
                let from = Operand::Register(RegisterId(registers + register.0));
                self.push(call.line, None, &["mov", formal.ty.name()], vec![actual.clone(), from]);
            }
        }
        if let Some((_, skip)) = skip {
            self.out.statements.push(Statement::Label(skip));
        }
        Ok(())
    }

    /// What replaces each parameter in the called body: the variable passed, or a new one that holds the value passed.
    /// Register parameters, which the body numbers from `registers` on, are assigned.
    fn pass(&mut self, call: &Instruction, formals: &[Param], actuals: &[Operand], registers: u32) -> Vec<Operand> {
        let mut passed = Vec::new();
        for (formal, actual) in formals.iter().zip(actuals) {
            let is_variable = matches!(actual, Operand::Symbol { .. });
            if let Some(register) = formal.register {
                // The body's registers are added later; their indices are known.
                let to = Operand::Register(RegisterId(registers + register.0));
                self.push(call.line, None, &["mov", formal.ty.name()], vec![to, actual.clone()]);
                passed.push(Operand::Sink);
            } else if is_variable {
                passed.push(actual.clone());
            } else {
                let symbol = self.new_variable(formal, call.line);
                let address = Address { base: AddressBase::Symbol(symbol.clone()), offset: 0, coordinates: vec![] };
                let operands = vec![Operand::Address(address), actual.clone()];
                self.push(call.line, None, &["st", "param", formal.ty.name()], operands);
                passed.push(Operand::Symbol { symbol, offset: 0 });
            }
        }
        passed
    }

    /// A function that the device has and no module defines: its arguments go to an instruction of our own.
    fn built_in(&mut self, call: &Instruction, name: &str, arguments: &[(&Operand, Type)]) {
        let operands = arguments.iter().map(|(argument, ty)| {
            let Operand::Symbol { symbol, offset } = argument else { return (*argument).clone() };
            self.out.registers.push(Register { name: name.to_owned(), ty: *ty });
            let register = Operand::Register(RegisterId(self.out.registers.len() as u32 - 1));
            let address = Address { base: AddressBase::Symbol(symbol.clone()), offset: *offset, coordinates: vec![] };
            self.push(
                call.line,
                call.guard,
                &["ld", "param", ty.name()],
                vec![register.clone(), Operand::Address(address)],
            );
            register
        });
        let operands = operands.collect();
        self.push(call.line, call.guard, &[name], operands);
    }

    fn new_label(&mut self) -> LabelId {
        self.out.labels.push(String::new());
        LabelId(self.out.labels.len() as u32 - 1)
    }

    fn new_variable(&mut self, param: &Param, line: u32) -> Symbol {
        self.out.variables.push(Variable {
            name: param.name.clone(),
            space: Space::Local,
            bytes: param.bytes.into(),
            align: param.align,
            initial: vec![],
            is_extern: false,
            line,
        });
        Symbol::Local(VariableId(self.out.variables.len() as u32 - 1))
    }

    fn push(&mut self, line: u32, guard: Option<Guard>, opcode: &[&str], operands: Vec<Operand>) {
        let opcode = opcode.iter().map(|part| (*part).to_owned()).collect();
        self.out.statements.push(Statement::Instruction(Instruction { guard, opcode, operands, line }));
    }
}

/// A failed call: the call itself, or an instruction in the callee.
enum CallError {
    Here(Unsupported),
    Inside(LowerError),
}

impl From<Unsupported> for CallError {
    fn from(error: Unsupported) -> Self {
        Self::Here(error)
    }
}

impl From<LowerError> for CallError {
    fn from(error: LowerError) -> Self {
        Self::Inside(error)
    }
}

impl LowerError {
    fn at(instruction: &Instruction, error: CallError) -> Self {
        match error {
            CallError::Here(Unsupported { reason }) => Self::new(instruction, Unsupported { reason }),
            CallError::Inside(error) => error,
        }
    }
}

/// `call (returns), name, (params)`: each list may be missing.
fn parts(operands: &[Operand]) -> Result<(&[Operand], &str, &[Operand]), Unsupported> {
    let (returns, rest) = match operands {
        [Operand::List(returns), rest @ ..] => (returns.as_slice(), rest),
        rest => (&[][..], rest),
    };
    let (callee, params) = match rest {
        [callee] => (callee, &[][..]),
        [callee, Operand::List(params), ..] => (callee, params.as_slice()),
        _ => return Err(Unsupported::new("a function's name is expected")),
    };
    match callee {
        Operand::Symbol { symbol: Symbol::Module(name), offset: 0 } => Ok((returns, name, params)),
        _ => Err(Unsupported::new("a call through a pointer is not supported")),
    }
}

/// Variables that carry parameters of calls belong to the thread, as local ones do.
fn local_param(variable: Variable) -> Variable {
    let space = if variable.space == Space::Param { Space::Local } else { variable.space };
    Variable { space, ..variable }
}

impl Frame<'_> {
    fn register(&self, id: RegisterId) -> RegisterId {
        RegisterId(self.registers + id.0)
    }

    fn label(&self, id: LabelId) -> LabelId {
        LabelId(self.labels + id.0)
    }

    fn instruction(&self, instruction: &Instruction) -> Instruction {
        Instruction {
            guard: instruction.guard.map(|guard| Guard { register: self.register(guard.register), ..guard }),
            opcode: instruction.opcode.clone(),
            operands: instruction.operands.iter().map(|operand| self.operand(operand)).collect(),
            line: instruction.line,
        }
    }

    /// `ret`: to the end of the inlined body, or out of the kernel.
    fn ret(&self, instruction: Instruction) -> Instruction {
        match self.end {
            None => Instruction { opcode: vec!["exit".into()], ..instruction },
            Some(end) => Instruction { opcode: vec!["bra".into()], operands: vec![Operand::Label(end)], ..instruction },
        }
    }

    fn operand(&self, operand: &Operand) -> Operand {
        let all = |operands: &[Operand]| operands.iter().map(|operand| self.operand(operand)).collect();
        match operand {
            Operand::Register(id) => Operand::Register(self.register(*id)),
            Operand::Not(id) => Operand::Not(self.register(*id)),
            Operand::Label(id) => Operand::Label(self.label(*id)),
            Operand::Vector(operands) => Operand::Vector(all(operands)),
            Operand::List(operands) => Operand::List(all(operands)),
            Operand::Pair(a, b) => Operand::Pair(Box::new(self.operand(a)), Box::new(self.operand(b))),
            Operand::Symbol { symbol, offset } => {
                let (symbol, more) = self.symbol(symbol);
                Operand::Symbol { symbol, offset: offset + more }
            }
            Operand::Address(address) => {
                let (base, more) = match &address.base {
                    AddressBase::Register(id) => (AddressBase::Register(self.register(*id)), 0),
                    AddressBase::Immediate => (AddressBase::Immediate, 0),
                    AddressBase::Symbol(symbol) => {
                        let (symbol, more) = self.symbol(symbol);
                        (AddressBase::Symbol(symbol), more)
                    }
                };
                let coordinates = all(&address.coordinates);
                Operand::Address(Address { base, offset: address.offset + more, coordinates })
            }
            Operand::Special(_) | Operand::Integer(_) | Operand::Single(_) | Operand::Double(_) | Operand::Sink => {
                operand.clone()
            }
        }
    }

    /// The symbol in the flattened body, and an offset in bytes.
    fn symbol(&self, symbol: &Symbol) -> (Symbol, i64) {
        let passed = match (symbol, self.params) {
            (Symbol::Local(id), _) => return (Symbol::Local(VariableId(self.variables + id.0)), 0),
            (Symbol::Param(index), Some(params)) => params.get(*index),
            (Symbol::Return(index), Some(_)) => self.returns.get(*index),
            _ => None,
        };
        match passed {
            Some(Operand::Symbol { symbol, offset }) => (symbol.clone(), *offset),
            _ => (symbol.clone(), 0),
        }
    }
}
