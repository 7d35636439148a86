//! Nodes of graphs that a program adds one by one.

use std::sync::Arc;

use cudarc::driver::sys::{
    CUDA_HOST_NODE_PARAMS_st, CUDA_KERNEL_NODE_PARAMS_st, CUDA_MEMCPY3D_st, CUDA_MEMSET_NODE_PARAMS_st, CUcontext,
    CUgraph, CUgraphExec, CUgraphNode, CUresult,
};
use ptx_emu::Launch;

use super::copy::described;
use super::execution::prepare;
use super::functions;
use super::pointers::{In, Out};
use crate::capture::Node;
use crate::copy::Fill;
use crate::handles::fresh;
use crate::machine::in_context;
use crate::operation::Operation;
use crate::status::{Answer, require, unsupported};

/// Adds a node behind those that it depends on.
fn add(
    node: Out<CUgraphNode>,
    graph: CUgraph,
    dependencies: In<CUgraphNode>,
    count: usize,
    operation: Operation,
) -> Answer {
    let dependencies = dependencies.all(count)?;
    let mut machine = in_context()?;
    let graph = machine.graphs.get_mut(graph)?;
    require(dependencies.iter().all(|before| graph.has(before.addr())))?;
    let number = fresh();
    graph.edges.extend(dependencies.iter().map(|before| (before.addr(), number)));
    graph.nodes.push(Node { number, operation: Arc::new(operation) });
    node.put(std::ptr::without_provenance_mut(number))
}

/// Adds dependencies between nodes, in pairs.
fn depend(graph: CUgraph, from: Vec<CUgraphNode>, to: Vec<CUgraphNode>) -> Answer {
    let pairs: Vec<_> = from.into_iter().zip(to).map(|(from, to)| (from.addr(), to.addr())).collect();
    let mut machine = in_context()?;
    let graph = machine.graphs.get_mut(graph)?;
    require(pairs.iter().all(|(from, to)| from != to && graph.has(*from) && graph.has(*to)))?;
    graph.edges.extend(pairs);
    Ok(())
}

/// A launch. What newer versions have behind these parameters names kernels of libraries, which are absent.
fn kernel(parameters: In<CUDA_KERNEL_NODE_PARAMS_st>) -> Answer<Operation> {
    let it = parameters.get()?;
    let sizes = Launch::new([it.gridDimX, it.gridDimY, it.gridDimZ], [it.blockDimX, it.blockDimY, it.blockDimZ]);
    let [arguments, extra] = [it.kernelParams, it.extra].map(|pointer| In::at(pointer.expose_provenance()));
    prepare(it.func, Launch { dynamic_shared_bytes: it.sharedMemBytes, ..sizes }, arguments, extra)
}

/// A copy.
fn copy(parameters: In<CUDA_MEMCPY3D_st>) -> Answer<Operation> {
    Ok(Operation::Copy(described(&parameters.get()?)?))
}

fn fill(parameters: In<CUDA_MEMSET_NODE_PARAMS_st>) -> Answer<Operation> {
    let it = parameters.get()?;
    require([1, 2, 4].contains(&it.elementSize))?;
    if it.height != 1 {
        return Err(unsupported("a memset of several rows as a node of a graph"));
    }
    let element = it.elementSize as usize;
    Ok(Operation::Fill(Fill { address: it.dst, value: it.value, element, count: it.width as u64 }))
}

fn call(parameters: In<CUDA_HOST_NODE_PARAMS_st>) -> Answer<Operation> {
    let it = parameters.get()?;
    let function = it.fn_.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    Ok(Operation::Call { function, argument: it.userData.expose_provenance() })
}

/// Replaces a node of an executable graph.
fn replace(executable: CUgraphExec, node: CUgraphNode, operation: Operation) -> Answer {
    let mut machine = in_context()?;
    let nodes = &mut machine.executables.get_mut(executable)?.nodes;
    let found = nodes.iter_mut().find(|known| known.number == node.addr());
    let found = found.filter(|known| known.operation.node_type() == operation.node_type());
    found.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?.operation = Arc::new(operation);
    Ok(())
}

functions! {
    fn cuGraphAddKernelNode(
        node: Out<CUgraphNode>, graph: CUgraph, before: In<CUgraphNode>, count: usize, parameters: In<CUDA_KERNEL_NODE_PARAMS_st>,
    ) {
        add(node, graph, before, count, kernel(parameters)?)
    }
    fn cuGraphAddKernelNode_v2(
        node: Out<CUgraphNode>, graph: CUgraph, before: In<CUgraphNode>, count: usize, parameters: In<CUDA_KERNEL_NODE_PARAMS_st>,
    ) {
        add(node, graph, before, count, kernel(parameters)?)
    }
    fn cuGraphAddMemcpyNode(
        node: Out<CUgraphNode>, graph: CUgraph, before: In<CUgraphNode>, count: usize, parameters: In<CUDA_MEMCPY3D_st>,
        _context: CUcontext,
    ) {
        add(node, graph, before, count, copy(parameters)?)
    }
    fn cuGraphAddMemsetNode(
        node: Out<CUgraphNode>, graph: CUgraph, before: In<CUgraphNode>, count: usize,
        parameters: In<CUDA_MEMSET_NODE_PARAMS_st>, _context: CUcontext,
    ) {
        add(node, graph, before, count, fill(parameters)?)
    }
    fn cuGraphAddHostNode(
        node: Out<CUgraphNode>, graph: CUgraph, before: In<CUgraphNode>, count: usize, parameters: In<CUDA_HOST_NODE_PARAMS_st>,
    ) {
        add(node, graph, before, count, call(parameters)?)
    }
    fn cuGraphAddEmptyNode(node: Out<CUgraphNode>, graph: CUgraph, before: In<CUgraphNode>, count: usize) {
        add(node, graph, before, count, Operation::Nothing)
    }
    fn cuGraphAddChildGraphNode(node: Out<CUgraphNode>, graph: CUgraph, before: In<CUgraphNode>, count: usize, child: CUgraph) {
        let child = in_context()?.graphs.get(child)?.ordered().ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        add(node, graph, before, count, Operation::Graph(child.nodes.into_iter().map(|node| node.operation).collect()))
    }
    fn cuGraphAddDependencies(graph: CUgraph, from: In<CUgraphNode>, to: In<CUgraphNode>, count: usize) {
        depend(graph, from.all(count)?, to.all(count)?)
    }
    fn cuGraphAddDependencies_v2(
        graph: CUgraph, from: In<CUgraphNode>, to: In<CUgraphNode>, _edges: In<u8>, count: usize,
    ) {
        depend(graph, from.all(count)?, to.all(count)?)
    }
    fn cuGraphExecKernelNodeSetParams(executable: CUgraphExec, node: CUgraphNode, parameters: In<CUDA_KERNEL_NODE_PARAMS_st>) {
        replace(executable, node, kernel(parameters)?)
    }
    fn cuGraphExecKernelNodeSetParams_v2(executable: CUgraphExec, node: CUgraphNode, parameters: In<CUDA_KERNEL_NODE_PARAMS_st>) {
        replace(executable, node, kernel(parameters)?)
    }
}
