//! What a module has.

use ptx_emu::{Module, ParamInfo};
use serde::Serialize;

/// A kernel, as a form asks for its launch.
#[derive(Serialize)]
pub(crate) struct Described {
    name: String,
    /// Why it cannot run, if so.
    error: Option<String>,
    params: Vec<Param>,
    /// Threads that `.reqntid` or `.maxntid` names.
    block: Option<[u32; 3]>,
    shared_bytes: u32,
}

#[derive(Serialize)]
struct Param {
    ty: &'static str,
    bytes: u32,
}

/// The kernels of a module.
pub(crate) fn of(ptx: &str) -> Result<Vec<Described>, String> {
    let module = Module::parse(ptx).map_err(|error| error.to_string())?;
    let described = |name: &str| match module.kernel(name) {
        Ok(kernel) => Described {
            name: name.to_owned(),
            error: None,
            params: kernel
                .params()
                .iter()
                .map(|ParamInfo { ty, bytes, .. }| Param { ty: ty.name(), bytes: *bytes })
                .collect(),
            block: kernel.bounds().required_threads.or(kernel.bounds().max_threads),
            shared_bytes: kernel.shared_bytes(),
        },
        Err(error) => Described {
            name: name.to_owned(),
            error: Some(error.to_string()),
            params: Vec::new(),
            block: None,
            shared_bytes: 0,
        },
    };
    Ok(module.kernels().map(described).collect())
}
