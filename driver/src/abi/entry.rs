//! `cuGetProcAddress`, by which newer programs find the other functions.

use std::ffi::{c_int, c_void};

use cudarc::driver::sys::CUresult;

use super::pointers::{In, Out, Text};
use super::{
    context, device, event, execution, functions, graph, graph_node, memory, module, occupancy, stream, tensor_map,
};
use crate::status::unsupported;

/// Versions of a function, the newest last.
const VERSIONS: [&str; 5] = ["", "_v2", "_v3", "_v4", "_ptsz"];

/// Of `CUdriverProcAddressQueryResult`.
const FOUND: c_int = 0;
const NOT_FOUND: c_int = 1;

fn find_any(name: &str) -> Option<*const ()> {
    let sections = [
        context::find,
        device::find,
        event::find,
        execution::find,
        graph::find,
        graph_node::find,
        memory::find,
        module::find,
        occupancy::find,
        stream::find,
        tensor_map::find,
        find,
    ];
    let of = |name: &str| sections.iter().find_map(|find| find(name));
    VERSIONS.iter().rev().find_map(|version| of(&format!("{name}{version}")))
}

fn get(symbol: Text, function: Out<*const c_void>, status: Out<c_int>) -> crate::status::Answer {
    let found = find_any(&symbol.get()?);
    status.put_if_asked(if found.is_some() { FOUND } else { NOT_FOUND });
    function.put(found.unwrap_or(std::ptr::null()).cast())?;
    found.map(drop).ok_or(CUresult::CUDA_ERROR_NOT_FOUND)
}

functions! {
    fn cuGetProcAddress_v2(symbol: Text, function: Out<*const c_void>, _version: c_int, _flags: u64, status: Out<c_int>) {
        get(symbol, function, status)
    }
    fn cuGetExportTable(_table: Out<*const c_void>, _id: In<u8>) {
        Err(unsupported("what the CUDA runtime asks of the driver"))
    }
}
