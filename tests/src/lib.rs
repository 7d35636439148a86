//! What the workspace's tests share.

pub mod conformance;
pub mod contract;
pub mod cpu;
