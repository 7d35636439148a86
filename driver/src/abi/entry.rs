//! `cuGetProcAddress`, by which newer programs find the other functions.

use std::ffi::{c_int, c_void};

use cudarc::driver::sys::CUresult;

use super::pointers::{In, Out, Text};
use super::{
    context, copy, device, event, execution, functions, graph, graph_node, library, memory, module, occupancy, stream,
    tensor_map, texture, unified,
};
use crate::status::unsupported;

/// Versions of a function, the newest last.
const VERSIONS: [&str; 5] = ["", "_v2", "_v3", "_v4", "_ptsz"];

/// Functions that an older one, of other arguments, stands beside, and the version of CUDA that brought them.
const SINCE: [(&str, c_int); 2] = [("cuMemAdvise_v2", 12_020), ("cuMemPrefetchAsync_v2", 12_020)];

/// Of `CUdriverProcAddressQueryResult`.
const FOUND: c_int = 0;
const NOT_FOUND: c_int = 1;

fn find_any(name: &str, version: c_int) -> Option<*const ()> {
    let sections = [
        context::find,
        copy::find,
        device::find,
        event::find,
        execution::find,
        graph::find,
        graph_node::find,
        library::find,
        memory::find,
        module::find,
        occupancy::find,
        stream::find,
        tensor_map::find,
        texture::find,
        unified::find,
        find,
    ];
    let of = |name: &str| sections.iter().find_map(|find| find(name));
    let is_newer = |name: &str| SINCE.iter().any(|(newer, since)| *newer == name && version < *since);
    let names = VERSIONS.iter().rev().map(|suffix| format!("{name}{suffix}"));
    names.filter(|name| !is_newer(name)).find_map(|name| of(&name))
}

fn get(symbol: Text, function: Out<*const c_void>, version: c_int, status: Out<c_int>) -> crate::status::Answer {
    let found = find_any(&symbol.get()?, version);
    status.put_if_asked(if found.is_some() { FOUND } else { NOT_FOUND });
    function.put(found.unwrap_or(std::ptr::null()).cast())?;
    found.map(drop).ok_or(CUresult::CUDA_ERROR_NOT_FOUND)
}

functions! {
    fn cuGetProcAddress_v2(symbol: Text, function: Out<*const c_void>, version: c_int, _flags: u64, status: Out<c_int>) {
        get(symbol, function, version, status)
    }
    fn cuGetExportTable(_table: Out<*const c_void>, _id: In<u8>) {
        Err(unsupported("what the CUDA runtime asks of the driver"))
    }
}
