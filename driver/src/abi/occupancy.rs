//! Occupancy, from the estimate of registers.

use std::ffi::{c_int, c_uint};

use cudarc::driver::sys::{CUfunction, CUresult};
use ptx_emu::occupancy::Occupancy;

use super::functions;
use super::pointers::Out;
use crate::attribute::{MAX_THREADS, shared_bytes_on_request};
use crate::code::resources;
use crate::machine::in_context;
use crate::status::Answer;

/// Threads of a warp.
const WARP: u32 = 32;

/// Blocks of a function that an SM has resident.
fn resident(function: CUfunction, threads: u32, dynamic_shared_bytes: usize) -> Answer<u32> {
    let mut machine = in_context()?;
    let device = machine.device;
    let shared = u32::try_from(dynamic_shared_bytes).map_err(|_| CUresult::CUDA_ERROR_INVALID_VALUE)?;
    let of = resources(&machine.function(function)?.kernel, device, threads, shared);
    Ok(Occupancy::new(device, &of).blocks)
}

/// Most blocks of an SM, as a number of the interface.
fn active(blocks: Out<c_int>, function: CUfunction, threads: c_int, dynamic_shared_bytes: usize) -> Answer {
    let threads =
        u32::try_from(threads).ok().filter(|threads| *threads > 0).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    blocks.put(resident(function, threads, dynamic_shared_bytes)? as c_int)
}

type SharedBytesOf = Option<unsafe extern "C" fn(c_int) -> usize>;

/// The size of block that has most warps resident, and the blocks that then fill the device.
fn potential(
    least_grid: Out<c_int>,
    block: Out<c_int>,
    function: CUfunction,
    shared_bytes_of: SharedBytesOf,
    shared_bytes: usize,
    limit: c_int,
) -> Answer {
    let limit = if limit > 0 { (limit as u32).min(MAX_THREADS) } else { MAX_THREADS };
    let sizes = (1..=limit / WARP).rev().map(|warps| warps * WARP);
    let warps = |threads: u32| {
        // SAFETY: a function that the program gave for this.
        let bytes = shared_bytes_of.map_or(shared_bytes, |of| unsafe { of(threads as c_int) });
        Ok((resident(function, threads, bytes)? * threads, threads))
    };
    let all = sizes.map(warps).collect::<Answer<Vec<_>>>()?;
    let (most, threads) = all.into_iter().max().ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    least_grid.put((most / threads * in_context()?.device.sm_count) as c_int)?;
    block.put(threads as c_int)
}

functions! {
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks: Out<c_int>, function: CUfunction, threads: c_int, shared_bytes: usize) {
        active(blocks, function, threads, shared_bytes)
    }
    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: Out<c_int>, function: CUfunction, threads: c_int, shared_bytes: usize, _flags: c_uint,
    ) {
        active(blocks, function, threads, shared_bytes)
    }
    fn cuOccupancyMaxPotentialBlockSize(
        least_grid: Out<c_int>, block: Out<c_int>, function: CUfunction, shared_bytes_of: SharedBytesOf, shared_bytes: usize,
        limit: c_int,
    ) {
        potential(least_grid, block, function, shared_bytes_of, shared_bytes, limit)
    }
    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        least_grid: Out<c_int>, block: Out<c_int>, function: CUfunction, shared_bytes_of: SharedBytesOf, shared_bytes: usize,
        limit: c_int, _flags: c_uint,
    ) {
        potential(least_grid, block, function, shared_bytes_of, shared_bytes, limit)
    }
    fn cuOccupancyAvailableDynamicSMemPerBlock(bytes: Out<usize>, function: CUfunction, blocks: c_int, _threads: c_int) {
        let mut machine = in_context()?;
        let device = machine.device;
        let own = machine.function(function)?.kernel.shared_bytes();
        let each = device.shared_bytes / u32::try_from(blocks).ok().filter(|blocks| *blocks > 0).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        let reserved = device.shared_bytes - shared_bytes_on_request(device);
        bytes.put(each.saturating_sub(own + reserved) as usize)
    }
}
