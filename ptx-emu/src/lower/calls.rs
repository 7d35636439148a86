//! Calls: most are inlined. A function that calls itself, or that a pointer may lead to, is called at run time, with its
//! parameters, results and variables in a frame of its own.

use super::call_graph::{name_of, parts};
use super::flatten::{Callee, Flattener};
use super::rename::Frame;
use super::{LowerError, Unsupported, shortened};
use crate::syntax::{
    Address, AddressBase, Body, Function, FunctionKind, Guard, Instruction, LabelId, Operand, Param, Register,
    RegisterId, Statement, Symbol, SyntaxError, VariableId,
};
use crate::types::{Space, Type};

/// Calls within calls, at most: inlining recurses.
const MAX_DEPTH: usize = 256;

/// The special register with the address of a function's frame, by a name that no text can have.
pub(super) const FRAME: &str = "frame pointer";

/// A failed call: the call itself, or an instruction in the callee.
pub(super) enum CallError {
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

impl CallError {
    pub(super) fn at(self, instruction: &Instruction) -> LowerError {
        match self {
            Self::Here(error) => LowerError::new(instruction, error),
            Self::Inside(error) => error,
        }
    }
}

/// The operand of a variable in memory as an address.
pub(super) fn address_of(symbol: &Symbol, offset: i64) -> Operand {
    Operand::Address(Address { base: AddressBase::Symbol(symbol.clone()), offset, coordinates: vec![] })
}

impl<'a> Flattener<'a> {
    pub(super) fn call(&mut self, call: &Instruction) -> Result<(), CallError> {
        let Some((returns, callee, params)) = parts(&call.operands) else {
            return Err(Unsupported::new("a function's name is expected").into());
        };
        let Some(name) = name_of(callee) else { return self.call_pointer(call, returns, callee, params) };
        if self.built_in(call, name, returns, params)? {
            return Ok(());
        }
        let function = self.calls.functions.get(name).copied();
        let function = function.filter(|function| function.kind == FunctionKind::Device);
        if let Some(SyntaxError { line, message }) = function.and_then(|function| function.error.clone()) {
            return Err(LowerError { line, instruction: shortened(name), reason: message }.into());
        }
        let Some((function, body)) = function.and_then(|function| Some((function, function.body.as_ref()?))) else {
            return Err(
                Unsupported::new(format!("the function `{}` is not defined in this module", shortened(name))).into()
            );
        };
        if (function.params.len(), function.returns.len()) != (params.len(), returns.len()) {
            return Err(
                Unsupported::new(format!("`{}` takes or returns another number of values", shortened(name))).into()
            );
        }
        if self.calls.recursive.contains(name) {
            let entry = self.entry(function);
            let passed = self.variables(call, params, &function.params, true)?;
            let results = self.variables(call, returns, &function.returns, false)?;
            self.call_at_run_time(call, &results, Operand::Label(entry), passed, returns);
            return Ok(());
        }
        if self.depth >= MAX_DEPTH {
            return Err(Unsupported::new(format!("calls nest deeper than {MAX_DEPTH}")).into());
        }
        self.inline(call, function, body, returns, params)
    }

    /// Inlines the called function's body.
    fn inline(
        &mut self,
        call: &Instruction,
        function: &'a Function,
        body: &'a Body,
        returns: &[Operand],
        params: &[Operand],
    ) -> Result<(), CallError> {
        let end = self.new_label();
        let skip = call.guard.map(|guard| (guard, self.new_label()));
        if let Some((guard, skip)) = skip {
            let guard = Guard { negate: !guard.negate, ..guard };
            self.push(call.line, Some(guard), &["bra"], vec![Operand::Label(skip)]);
        }
        let registers = self.out.body.registers.len() as u32;
        let passed = self.pass(call, &function.params, params, registers);
        let frame = Frame { params: Some(&passed), returns, end: Some(end), ..Frame::default() };
        self.depth += 1;
        self.splice(body, &frame)?;
        self.depth -= 1;
        self.out.body.statements.push(Statement::Label(end));
        for (formal, actual) in function.returns.iter().zip(returns) {
            if let Some(register) = formal.register {
                let from = Operand::Register(RegisterId(registers + register.0));
                self.push(call.line, None, &["mov", formal.ty.name()], vec![actual.clone(), from]);
            }
        }
        if let Some((_, skip)) = skip {
            self.out.body.statements.push(Statement::Label(skip));
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
                passed.push(self.stored(call, formal, actual));
            }
        }
        passed
    }

    /// A new variable that holds a value.
    fn stored(&mut self, call: &Instruction, formal: &Param, value: &Operand) -> Operand {
        let symbol = self.new_variable(formal, call.line);
        let operands = vec![address_of(&symbol, 0), value.clone()];
        self.push(call.line, None, &["st", "param", formal.ty.name()], operands);
        Operand::Symbol { symbol, offset: 0 }
    }

    /// A call through a pointer: all functions whose address is taken, and which take and return as many bytes, may be called.
    fn call_pointer(
        &mut self,
        call: &Instruction,
        returns: &[Operand],
        callee: &Operand,
        params: &[Operand],
    ) -> Result<(), CallError> {
        let Operand::Register(_) = callee else {
            return Err(Unsupported::new("the name of a function or a register is expected").into());
        };
        let passed = self.variables(call, params, &self.formals(params)?, true)?;
        let results = self.variables(call, returns, &self.formals(returns)?, false)?;
        let bytes = |operands: &[Operand]| operands.iter().map(|operand| self.bytes(operand)).collect::<Vec<_>>();
        let signature = (bytes(&passed), bytes(&results));
        let bytes = |params: &[Param]| params.iter().map(|param| u64::from(param.bytes)).collect::<Vec<_>>();
        let has_signature = |function: &&Function| (bytes(&function.params), bytes(&function.returns)) == signature;
        let functions: Vec<&Function> = self.calls.pointed_to.iter().copied().filter(has_signature).collect();
        functions.into_iter().for_each(|function| _ = self.entry(function));
        self.call_at_run_time(call, &results, callee.clone(), passed, returns);
        Ok(())
    }

    /// Parameters of the registers' types. Variables stand for themselves.
    fn formals(&self, actuals: &[Operand]) -> Result<Vec<Param>, Unsupported> {
        let formal = |actual: &Operand| {
            let ty = match actual {
                Operand::Register(id) => self.out.body.registers[id.0 as usize].ty,
                Operand::Symbol { .. } => Type::B8,
                _ => return Err(Unsupported::new("a call through a pointer takes variables and registers")),
            };
            Ok(Param { name: String::new(), ty, bytes: ty.bytes(), align: ty.bytes(), register: None })
        };
        actuals.iter().map(formal).collect()
    }

    fn bytes(&self, variable: &Operand) -> u64 {
        match variable {
            Operand::Symbol { symbol: Symbol::Local(id), .. } => self.out.body.variables[id.0 as usize].bytes,
            _ => 0,
        }
    }

    /// The variables of a call at run time: those that are given, and new ones for registers and numbers, which hold them if
    /// they are arguments.
    fn variables(
        &mut self,
        call: &Instruction,
        given: &[Operand],
        formals: &[Param],
        are_arguments: bool,
    ) -> Result<Vec<Operand>, Unsupported> {
        let variable = |(formal, given): (&Param, &Operand)| match given {
            Operand::Symbol { symbol: Symbol::Local(id), offset: 0 }
                if self.out.body.variables[id.0 as usize].space == Space::Local =>
            {
                Ok(given.clone())
            }
            Operand::Symbol { .. } => Err(Unsupported::new("it takes and returns variables in .param, and registers")),
            _ if are_arguments => Ok(self.stored(call, formal, given)),
            _ => Ok(Operand::Symbol { symbol: self.new_variable(formal, call.line), offset: 0 }),
        };
        formals.iter().zip(given).map(variable).collect()
    }

    /// Leaves a call in the body, of a label or a register.
    fn call_at_run_time(
        &mut self,
        call: &Instruction,
        results: &[Operand],
        callee: Operand,
        params: Vec<Operand>,
        returns: &[Operand],
    ) {
        let operands = vec![Operand::List(results.to_vec()), callee, Operand::List(params)];
        self.push(call.line, call.guard, &["call"], operands);
        for (result, to) in results.iter().zip(returns) {
            if let (Operand::Register(id), Operand::Symbol { symbol, .. }) = (to, result) {
                let ty = self.out.body.registers[id.0 as usize].ty;
                self.push(call.line, call.guard, &["ld", "param", ty.name()], vec![to.clone(), address_of(symbol, 0)]);
            }
        }
    }

    /// Where a function's code begins, which will follow.
    fn entry(&mut self, function: &'a Function) -> LabelId {
        if let Some(entry) = self.entries.get(function.name.as_str()) {
            return *entry;
        }
        let entry = self.new_label();
        self.entries.insert(&function.name, entry);
        self.waiting.push_back((function, entry));
        entry
    }

    /// Adds the code of all functions that are called at run time.
    pub(super) fn callees(&mut self, line: u32) -> Result<(), LowerError> {
        if !self.waiting.is_empty() {
            self.push(line, None, &["exit"], vec![]);
        }
        self.is_in_frame = true;
        while let Some((function, entry)) = self.waiting.pop_front() {
            let start = self.out.body.variables.len();
            let variable = |param| Operand::Symbol { symbol: self.new_variable(param, function.line), offset: 0 };
            let mut variables: Vec<Operand> = function.params.iter().chain(&function.returns).map(variable).collect();
            self.out.body.statements.push(Statement::Label(entry));
            let registers = self.out.body.registers.len() as u32;
            let returns = variables.split_off(function.params.len());
            self.move_registers(function, &function.params, &variables, registers, "ld");
            let end = self.new_label();
            let frame = Frame { params: Some(&variables), returns: &returns, end: Some(end), ..Frame::default() };
            if let Some(body) = &function.body {
                self.splice(body, &frame)?;
            }
            self.out.body.statements.push(Statement::Label(end));
            self.move_registers(function, &function.returns, &returns, registers, "st");
            self.push(function.line, None, &["ret"], vec![]);
            self.out.functions.push(Callee {
                name: function.name.clone(),
                entry,
                variables: start..self.out.body.variables.len(),
                params: function.params.len(),
                returns: function.returns.len(),
            });
        }
        Ok(())
    }

    /// Loads the parameters of a function that are registers, or stores its results that are.
    fn move_registers(
        &mut self,
        function: &Function,
        formals: &[Param],
        variables: &[Operand],
        registers: u32,
        opcode: &str,
    ) {
        for (formal, variable) in formals.iter().zip(variables) {
            let (Some(id), Operand::Symbol { symbol, .. }) = (formal.register, variable) else { continue };
            let mut operands = vec![Operand::Register(RegisterId(registers + id.0)), address_of(symbol, 0)];
            if opcode == "st" {
                operands.reverse();
            }
            self.push(function.line, None, &[opcode, "param", formal.ty.name()], operands);
        }
    }

    /// Replaces addresses of variables that lie in the frame by a register that holds them.
    pub(super) fn addresses_in_frame(&mut self, instruction: &mut Instruction) {
        for operand in &mut instruction.operands {
            let Operand::Symbol { symbol: Symbol::Local(VariableId(id)), .. } = operand else { continue };
            if self.out.body.variables[*id as usize].space == Space::Local {
                self.out.body.registers.push(Register { name: FRAME.into(), ty: Type::B64 });
                let register = Operand::Register(RegisterId(self.out.body.registers.len() as u32 - 1));
                let offset = std::mem::replace(operand, register.clone());
                let operands = vec![register, Operand::Special(FRAME.into()), offset];
                self.push(instruction.line, None, &["add", "u64"], operands);
            }
        }
    }
}
