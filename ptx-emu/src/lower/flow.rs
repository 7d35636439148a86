//! Where control goes: places, successors, basic blocks, and the order in which diverged lanes are run.

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use super::{LowerError, Unsupported};
use crate::program::Pc;
use crate::syntax::{Body, Instruction, LabelId, Operand, Statement};

/// A body with its labels resolved to places. The last place is the end of the body, where lanes exit.
pub(super) struct Flow<'a> {
    /// By place; the end has none.
    pub code: Vec<&'a Instruction>,
    labels: Vec<Option<Pc>>,
    branch_targets: Vec<(LabelId, &'a [LabelId])>,
    /// The basic blocks.
    pub blocks: Vec<Block>,
}

/// Instructions that run one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    pub first: Pc,
    /// One past the last.
    pub end: Pc,
    /// Blocks that may come next.
    pub successors: Vec<usize>,
    /// The block's place in the order: see [`Flow::order`].
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
        for (place, block) in order.into_iter().enumerate() {
            flow.blocks[block].order = place as u32;
        }
        Ok(flow)
    }

    /// The place of a label.
    pub(super) fn place(&self, operand: Option<&Operand>) -> Result<Pc, Unsupported> {
        let label = match operand {
            Some(Operand::Label(label)) => self.labels[label.0 as usize],
            _ => None,
        };
        label.ok_or_else(|| Unsupported::new("a label is expected"))
    }

    /// The places of `brx.idx`'s list.
    pub(super) fn places(&self, operand: Option<&Operand>) -> Result<Vec<Pc>, Unsupported> {
        let list = match operand {
            Some(Operand::Label(label)) => self.branch_targets.iter().find(|(name, _)| name == label),
            _ => None,
        };
        let (_, targets) = list.ok_or_else(|| Unsupported::new("a list of branch targets is expected"))?;
        targets.iter().map(|label| self.place(Some(&Operand::Label(*label)))).collect()
    }

    /// Where control may go from a place, when the instruction there has run.
    fn successors(&self, pc: Pc) -> Result<Vec<Pc>, LowerError> {
        let instruction = self.code[pc];
        let failed = |error: Unsupported| LowerError::new(instruction, error);
        let mut next = match instruction.opcode[0].as_str() {
            "bra" => vec![self.place(instruction.operands.first()).map_err(failed)?],
            "brx" => self.places(instruction.operands.get(1)).map_err(failed)?,
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

    /// The blocks in an order in which each comes after those that lead to it, but for the edges that go back to the
    /// head of a loop, and in which the blocks of a loop stand together. Diverged lanes that are run in this order, the
    /// earliest first, meet again as soon as they can: whoever leaves a loop waits behind it.
    ///
    /// F. Bourdoncle, "Efficient chaotic iteration strategies with widenings", 1993: a weak topological order.
    fn order(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.blocks.len());
        // Components that wait, the next one last; each with the block through which it is entered.
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

    /// The strongly connected components of these blocks, the last in topological order first. Edges that lead to the
    /// head of a loop no longer count: a loop falls apart when it is taken up for the second time.
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
