//! What the workspace's tests share.

pub mod contract;
pub mod cpu;
