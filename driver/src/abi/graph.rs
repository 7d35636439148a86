//! Graphs, which captures make, or programs node by node.

use std::ffi::c_uint;
use std::sync::Arc;

use cudarc::driver::sys::{CUgraph, CUgraphExec, CUgraphNode, CUresult, CUstream};

use super::functions;
use super::pointers::{In, Out};
use crate::capture::{Graph, submit};
use crate::machine::in_context;
use crate::operation::Operation;
use crate::status::Answer;

/// Of `CUgraphInstantiate_flags`: what exclude each other, and all.
const AUTO_FREE_ON_LAUNCH: u64 = 1;
const DEVICE_LAUNCH: u64 = 4;
const ALL_FLAGS: u64 = 15;

fn instantiate(executable: Out<CUgraphExec>, graph: CUgraph, flags: u64) -> Answer {
    let excluding = AUTO_FREE_ON_LAUNCH | DEVICE_LAUNCH;
    if flags & !ALL_FLAGS != 0 || flags & excluding == excluding {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let mut guard = in_context()?;
    let machine = &mut *guard;
    let graph = machine.graphs.get(graph)?.ordered().ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    executable.put(machine.executables.insert(graph))
}

functions! {
    fn cuGraphCreate(graph: Out<CUgraph>, _flags: c_uint) {
        graph.put(in_context()?.graphs.insert(Graph::default()))
    }
    fn cuGraphDestroy(graph: CUgraph) {
        in_context()?.graphs.remove(graph).map(drop)
    }
    fn cuGraphGetNodes(graph: CUgraph, nodes: Out<CUgraphNode>, count: Out<usize>) {
        let machine = in_context()?;
        let all = &machine.graphs.get(graph)?.nodes;
        if !nodes.is_null() {
            let room = count.get()?;
            nodes.put_all(all.iter().take(room).map(|node| std::ptr::without_provenance_mut(node.number)))?;
        }
        count.put(all.len())
    }
    fn cuGraphNodeGetType(node: CUgraphNode, of: Out<c_uint>) {
        let mut machine = in_context()?;
        let mut nodes = machine.graphs.values_mut().flat_map(|graph| &graph.nodes);
        let found = nodes.find(|known| known.number == node.addr()).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
        of.put(found.operation.node_type())
    }
    fn cuGraphInstantiateWithFlags(executable: Out<CUgraphExec>, graph: CUgraph, flags: u64) {
        instantiate(executable, graph, flags)
    }
    fn cuGraphInstantiate_v2(executable: Out<CUgraphExec>, graph: CUgraph, _node: Out<CUgraphNode>, _log: Out<u8>, _bytes: usize) {
        instantiate(executable, graph, 0)
    }
    fn cuGraphInstantiateWithParams(executable: Out<CUgraphExec>, graph: CUgraph, _parameters: In<u8>) {
        instantiate(executable, graph, 0)
    }
    fn cuGraphUpload(executable: CUgraphExec, _stream: CUstream) {
        in_context()?.executables.get(executable).map(drop)
    }
    fn cuGraphLaunch(executable: CUgraphExec, stream: CUstream) {
        let machine = in_context()?;
        let nodes = &machine.executables.get(executable)?.nodes;
        let operations = nodes.iter().map(|node| Arc::clone(&node.operation)).collect();
        drop(machine);
        submit(stream, Operation::Graph(operations))
    }
    fn cuGraphExecDestroy(executable: CUgraphExec) {
        in_context()?.executables.remove(executable).map(drop)
    }
}
