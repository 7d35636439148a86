//! Control flow: successors, basic blocks, and the order in which diverged lanes run.

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use super::{LowerError, Unsupported};
use crate::program::Pc;
use crate::syntax::{Body, Instruction, LabelId, Operand, Statement};

/// A body with labels resolved to instruction indices. The last index is the end of the body, where lanes exit.
pub(super) struct Flow<'a> {
    /// By instruction; the end has none.
    pub code: Vec<&'a Instruction>,
    labels: Vec<Option<Pc>>,
    branch_targets: Vec<(LabelId, &'a [LabelId])>,
    /// The basic blocks.
    pub blocks: Vec<Block>,
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
    pub(super) fn new(body: &'a Body) -> Result<Self, LowerError> {
        let mut flow =
            Flow { code: vec![], labels: vec![None; body.labels.len()], branch_targets: vec![], blocks: vec![] };
        for statement in &body.statements {
            match statement {
                Statement::Label(label) => flow.labels[label.0 as usize] = Some(flow.code.len()),
                Statement::Instruction(instruction) => flow.code.push(instruction),
                Statement::BranchTargets { name, targets } => flow.branch_targets.push((*name, targets)),
            }
        }
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

    /// The targets of `brx.idx`.
    pub(super) fn targets(&self, operand: Option<&Operand>) -> Result<Vec<Pc>, Unsupported> {
        let list = match operand {
            Some(Operand::Label(label)) => self.branch_targets.iter().find(|(name, _)| name == label),
            _ => None,
        };
        let (_, targets) = list.ok_or_else(|| Unsupported::new("a list of branch targets is expected"))?;
        targets.iter().map(|label| self.target(Some(&Operand::Label(*label)))).collect()
    }

    /// The successors of an instruction.
    fn successors(&self, pc: Pc) -> Result<Vec<Pc>, LowerError> {
        let instruction = self.code[pc];
        let failed = |error: Unsupported| LowerError::new(instruction, error);
        let mut next = match instruction.opcode[0].as_str() {
            "bra" => vec![self.target(instruction.operands.first()).map_err(failed)?],
            "brx" => self.targets(instruction.operands.get(1)).map_err(failed)?,
            "exit" | "trap" => vec![],
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
        (is_leader[0], is_leader[end]) = (true, true);
        let jumps =
            |instruction: &Instruction| matches!(instruction.opcode[0].as_str(), "bra" | "brx" | "exit" | "trap");
        for pc in (0..end).filter(|&pc| jumps(self.code[pc])) {
            is_leader[pc + 1] = true;
            for next in self.successors(pc)? {
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
    /// F. Bourdoncle, "Efficient chaotic iteration strategies with widenings", 1993: a weak topological order.
    fn order(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.blocks.len());
        // Pending components, the next one last, each with its entry block.
        let mut waiting: Vec<Vec<usize>> = vec![(0..self.blocks.len()).collect()];
        let mut is_head = vec![false; self.blocks.len()];
        while let Some(blocks) = waiting.pop() {
            match blocks[..] {
                [block] => order.push(block),
                _ => waiting.extend(self.components(&blocks, &mut is_head)),
            }
        }
        order
    }

    /// The strongly connected components of these blocks, in reverse topological order. Edges to the head of a loop are
    /// ignored, so a loop decomposes at the second visit.
    fn components(&self, blocks: &[usize], is_head: &mut [bool]) -> Vec<Vec<usize>> {
        let mut graph = DiGraph::<usize, ()>::new();
        let mut node_of = vec![None; self.blocks.len()];
        for &block in blocks {
            node_of[block] = Some(graph.add_node(block));
        }
        for &block in blocks {
            let targets = self.blocks[block].successors.iter().filter(|&&next| !is_head[next]);
            for target in targets.filter_map(|&next| node_of[next]) {
                graph.add_edge(node_of[block].unwrap_or_default(), target, ());
            }
        }
        let mut components: Vec<Vec<usize>> = kosaraju_scc(&graph)
            .into_iter()
            .map(|nodes| nodes.into_iter().map(|node: NodeIndex| graph[node]).collect())
            .collect();
        for component in components.iter_mut().filter(|component| component.len() > 1) {
            component.sort_unstable();
            let enters = |&&block: &&usize| {
                self.blocks
                    .iter()
                    .enumerate()
                    .any(|(from, other)| other.successors.contains(&block) && component.binary_search(&from).is_err())
            };
            let head = component.iter().find(enters).or(component.first()).copied();
            if let Some(head) = head {
                is_head[head] = true;
            }
        }
        components
    }
}
