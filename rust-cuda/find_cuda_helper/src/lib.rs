//! What the build script of `cust` calls, doing nothing.
//!
//! The released `find_cuda_helper` 0.2.0 searches for a CUDA toolkit, fails without one, and makes the linker search its
//! folders. Nothing here links CUDA (the `cust_raw` beside this crate loads the driver at run time), so there is nothing
//! to find. It takes the released one's place by the `[patch]` in the workspace's manifest, and goes together with
//! `cust_raw`: when a release of `cust` loads the driver at run time.
#![no_std]

/// Would tell Cargo where CUDA's libraries are; there is nothing to tell.
pub fn include_cuda() {}
