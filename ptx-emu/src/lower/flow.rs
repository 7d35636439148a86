//! Control flow: successors, basic blocks, and the order in which diverged lanes run.

use std::collections::HashMap;

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use super::flatten::Callee;
use super::{LowerError, Unsupported};
use crate::program::Pc;
use crate::syntax::{Body, Instruction, LabelId, Operand, Statement};

/// Targets of all branches of a kernel, at most: each `brx` has a list of its own.
const MAX_TARGETS: usize = 1 << 22;

/// Blocks and edges that may be visited to order the blocks: loops within loops are visited again.
const MAX_VISITS: usize = 1 << 24;

/// A body with labels resolved to instruction indices. The last index is the end of the body, where lanes exit.
pub(super) struct Flow<'a> {
    /// By instruction; the end has none.
    pub code: Vec<&'a Instruction>,
    labels: Vec<Option<Pc>>,
    branch_targets: HashMap<LabelId, &'a [LabelId]>,
    /// The basic blocks.
    pub blocks: Vec<Block>,
    /// Where the kernel's code begins, and that of the functions that it calls at run time.
    pub entries: Vec<Pc>,
}

/// A basic block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    pub first: Pc,
    /// One past the last.
    pub end: Pc,
    /// Successors.
    pub successors: Vec<usize>,
    /// The block's rank: see [`Flow::order`].
    pub order: u32,
}

impl<'a> Flow<'a> {
    pub(super) fn new(body: &'a Body, functions: &[Callee]) -> Result<Self, LowerError> {
        let (code, branch_targets, blocks) = Default::default();
        let mut flow = Flow { code, labels: vec![None; body.labels.len()], branch_targets, blocks, entries: vec![0] };
        for statement in &body.statements {
            match statement {
                Statement::Label(label) => flow.labels[label.0 as usize] = Some(flow.code.len()),
                Statement::Instruction(instruction) => flow.code.push(instruction),
                Statement::BranchTargets { name, targets } => drop(flow.branch_targets.insert(*name, targets)),
            }
        }
        flow.entries.extend(functions.iter().filter_map(|function| flow.labels[function.entry.0 as usize]));
        flow.find_blocks()?;
        let order = flow.order();
        for (rank, block) in order.into_iter().enumerate() {
            flow.blocks[block].order = rank as u32;
        }
        Ok(flow)
    }

    /// The instruction index of a label.
    pub(super) fn target(&self, operand: Option<&Operand>) -> Result<Pc, Unsupported> {
        let label = match operand {
            Some(Operand::Label(label)) => self.labels[label.0 as usize],
            _ => None,
        };
        label.ok_or_else(|| Unsupported::new("a label is expected"))
    }

    /// The blocks where the code of the kernel and of functions begins.
    pub(super) fn entry_blocks(&self) -> impl Iterator<Item = usize> {
        self.entries.iter().map(|entry| self.blocks.partition_point(|block| block.first < *entry))
    }

    /// The targets of `brx.idx`.
    pub(super) fn targets(&self, operand: Option<&Operand>) -> Result<Vec<Pc>, Unsupported> {
        let list = match operand {
            Some(Operand::Label(label)) => self.branch_targets.get(label),
            _ => None,
        };
        let targets = list.ok_or_else(|| Unsupported::new("a list of branch targets is expected"))?;
        targets.iter().map(|label| self.target(Some(&Operand::Label(*label)))).collect()
    }

    /// The successors of an instruction.
    fn successors(&self, pc: Pc) -> Result<Vec<Pc>, LowerError> {
        let instruction = self.code[pc];
        let failed = |error: Unsupported| LowerError::new(instruction, error);
        let mut next = match instruction.opcode[0].as_str() {
            "bra" => vec![self.target(instruction.operands.first()).map_err(failed)?],
            "brx" => self.targets(instruction.operands.get(1)).map_err(failed)?,
            "exit" | "trap" | "ret" => vec![],
            _ => return Ok(vec![pc + 1]),
        };
        if instruction.guard.is_some() {
            next.push(pc + 1);
        }
        Ok(next)
    }

    fn find_blocks(&mut self) -> Result<(), LowerError> {
        let end = self.code.len();
        let mut is_leader = vec![false; end + 1];
        is_leader[end] = true;
        self.entries.iter().for_each(|&entry| is_leader[entry] = true);
        // After a call, lanes that were in different functions reconverge.
        const JUMPS: [&str; 6] = ["bra", "brx", "exit", "trap", "call", "ret"];
        let jumps = |instruction: &Instruction| JUMPS.contains(&instruction.opcode[0].as_str());
        let mut targets = 0;
        for pc in (0..end).filter(|&pc| jumps(self.code[pc])) {
            is_leader[pc + 1] = true;
            let successors = self.successors(pc)?;
            targets += successors.len();
            if targets > MAX_TARGETS {
                let error = Unsupported::new(format!("the kernel's branches have more than {MAX_TARGETS} targets"));
                return Err(LowerError::new(self.code[pc], error));
            }
            for next in successors {
                is_leader[next] = true;
            }
        }
        let leaders: Vec<Pc> = (0..=end).filter(|&pc| is_leader[pc]).collect();
        let block_at = |pc: Pc| leaders.partition_point(|&leader| leader < pc);
        for (index, &first) in leaders.iter().enumerate() {
            let block_end = leaders.get(index + 1).copied().unwrap_or(first);
            let next = if first == end { vec![] } else { self.successors(block_end - 1)? };
            let successors = next.into_iter().map(block_at).collect();
            self.blocks.push(Block { first, end: block_end, successors, order: 0 });
        }
        Ok(())
    }

    /// Orders the blocks so that each follows its predecessors, except for loop back edges, and loops are contiguous.
    /// Diverged lanes that run in this order, the earliest first, reconverge as early as possible: lanes that leave a
    /// loop wait after it.
    ///
    /// F. Bourdoncle, "Efficient chaotic iteration strategies with widenings", 1993: a weak topological order. Loops that
    /// nest so deeply that it would take long keep the order of the text.
    fn order(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.blocks.len());
        // Pending components, the next one last, each with its entry block.
        let mut waiting: Vec<Vec<usize>> = vec![(0..self.blocks.len()).collect()];
        let mut loops = Loops::new(&self.blocks);
        while let Some(blocks) = waiting.pop() {
            match blocks[..] {
                [block] => order.push(block),
                _ if loops.visits > MAX_VISITS => order.extend(blocks),
                _ => waiting.extend(loops.components(&blocks)),
            }
        }
        order
    }
}

/// The decomposition of the blocks into loops.
struct Loops<'f> {
    blocks: &'f [Block],
    predecessors: Vec<Vec<usize>>,
    is_head: Vec<bool>,
    /// The node of a block in the graph at hand.
    node_of: Vec<Option<NodeIndex>>,
    visits: usize,
}

impl<'f> Loops<'f> {
    fn new(blocks: &'f [Block]) -> Self {
        let mut predecessors = vec![vec![]; blocks.len()];
        for (from, block) in blocks.iter().enumerate() {
            block.successors.iter().for_each(|&next| predecessors[next].push(from));
        }
        let count = blocks.len();
        Self { blocks, predecessors, is_head: vec![false; count], node_of: vec![None; count], visits: 0 }
    }

    /// The strongly connected components of these blocks, in reverse topological order. Edges to the head of a loop are
    /// ignored, so a loop decomposes at the second visit.
    fn components(&mut self, blocks: &[usize]) -> Vec<Vec<usize>> {
        let mut graph = DiGraph::<usize, ()>::new();
        for &block in blocks {
            self.node_of[block] = Some(graph.add_node(block));
        }
        for &block in blocks {
            let successors = &self.blocks[block].successors;
            self.visits += 1 + successors.len();
            let targets = successors.iter().filter(|&&next| !self.is_head[next]);
            for target in targets.filter_map(|&next| self.node_of[next]) {
                graph.add_edge(self.node_of[block].unwrap_or_default(), target, ());
            }
        }
        blocks.iter().for_each(|&block| self.node_of[block] = None);
        let mut components: Vec<Vec<usize>> = kosaraju_scc(&graph)
            .into_iter()
            .map(|nodes| nodes.into_iter().map(|node: NodeIndex| graph[node]).collect())
            .collect();
        for component in components.iter_mut().filter(|component| component.len() > 1) {
            component.sort_unstable();
            let is_outside = |from: &usize| component.binary_search(from).is_err();
            let enters = |&&block: &&usize| self.predecessors[block].iter().any(is_outside);
            let head = component.iter().find(enters).or(component.first()).copied();
            if let Some(head) = head {
                self.is_head[head] = true;
            }
        }
        components
    }
}
