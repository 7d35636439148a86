use anyhow::Result;
use gpu_kernels::Step;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Assemble,
    Compare,
}

pub fn block(_step: &Step, content: &str, _mode: Mode) -> Result<String> {
    Ok(content.into())
}
