//! Which functions of a module call which: those that call themselves, and those that a pointer may lead to.

use std::collections::{HashMap, HashSet};

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use super::names;
use crate::syntax::{Body, Function, FunctionKind, Initial, Module, Operand, Statement, Symbol};

/// The operands of a call: results, what is called, arguments. Each list may be missing, and a prototype may follow.
pub(super) fn parts(operands: &[Operand]) -> Option<(&[Operand], &Operand, &[Operand])> {
    let (returns, rest) = match operands {
        [Operand::List(returns), rest @ ..] => (returns.as_slice(), rest),
        rest => (&[][..], rest),
    };
    match rest {
        [callee, Operand::List(params), ..] => Some((returns, callee, params)),
        [callee] | [callee, Operand::Label(_)] => Some((returns, callee, &[])),
        _ => None,
    }
}

/// The name of a function that is called by its name.
pub(super) fn name_of(callee: &Operand) -> Option<&str> {
    match callee {
        Operand::Symbol { symbol: Symbol::Module(name), offset: 0 } => Some(name),
        _ => None,
    }
}

pub(super) fn is_call(statement: &Statement) -> bool {
    matches!(statement, Statement::Instruction(instruction) if instruction.opcode[0] == "call")
}

/// The calls that a kernel may make.
#[derive(Default)]
pub(super) struct CallGraph<'a> {
    /// The module's functions, by name.
    pub functions: HashMap<&'a str, &'a Function>,
    /// Those that call themselves, directly or through others.
    pub recursive: HashSet<&'a str>,
    /// Those that a pointer may lead to, if the kernel or what it calls has a call through one.
    pub pointed_to: Vec<&'a Function>,
}

impl<'a> CallGraph<'a> {
    pub(super) fn new(module: &'a Module, kernel: &'a Body) -> Self {
        // Most kernels call nothing, and a module may have thousands of them.
        if !kernel.statements.iter().any(is_call) {
            return Self::default();
        }
        let functions: HashMap<&str, &Function> =
            module.functions.iter().map(|function| (function.name.as_str(), function)).collect();
        let (mut graph, mut nodes, mut pointed_to) = (DiGraph::new(), HashMap::new(), None);
        let mut waiting: Vec<(Option<NodeIndex>, &'a Body)> = vec![(None, kernel)];
        let mut reach = |function: &'a Function, graph: &mut DiGraph<&'a str, ()>, waiting: &mut Vec<_>| {
            *nodes.entry(function.name.as_str()).or_insert_with(|| {
                let node = graph.add_node(function.name.as_str());
                waiting.extend(function.body.as_ref().map(|body| (Some(node), body)));
                node
            })
        };
        while let Some((from, body)) = waiting.pop() {
            for callee in callees(body) {
                let Some(name) = name_of(callee) else {
                    pointed_to.get_or_insert_with(|| {
                        let pointed_to = pointed_to_in(module);
                        pointed_to.iter().for_each(|function| _ = reach(function, &mut graph, &mut waiting));
                        pointed_to
                    });
                    continue;
                };
                let Some(function) = functions.get(name) else { continue };
                let node = reach(function, &mut graph, &mut waiting);
                if let Some(from) = from {
                    graph.add_edge(from, node, ());
                }
            }
        }
        let is_loop = |nodes: &&Vec<NodeIndex>| nodes.len() > 1 || graph.contains_edge(nodes[0], nodes[0]);
        let components = kosaraju_scc(&graph);
        let recursive = components.iter().filter(is_loop).flatten().map(|node| graph[*node]).collect();
        Self { functions, recursive, pointed_to: pointed_to.unwrap_or_default() }
    }
}

/// What a body calls: names, and registers that hold addresses.
fn callees(body: &Body) -> impl Iterator<Item = &Operand> {
    body.statements.iter().filter(|statement| is_call(statement)).filter_map(|statement| match statement {
        Statement::Instruction(instruction) => parts(&instruction.operands).map(|(_, callee, _)| callee),
        _ => None,
    })
}

/// The module's functions whose address is taken: in a variable's initial value, or by an instruction.
fn pointed_to_in(module: &Module) -> Vec<&Function> {
    let mut named: HashSet<&str> = HashSet::new();
    for initial in module.variables.iter().flat_map(|variable| &variable.initial) {
        if let Initial::Address { symbol, .. } = initial {
            named.insert(symbol);
        }
    }
    let bodies = module.functions.iter().filter_map(|function| function.body.as_ref());
    bodies.for_each(|body| names::add_taken(body, &mut named));
    let is_one = |function: &&Function| {
        function.kind == FunctionKind::Device && function.body.is_some() && named.contains(function.name.as_str())
    };
    module.functions.iter().filter(is_one).collect()
}
