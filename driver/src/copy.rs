//! Copies between the host's memory and the device's, and what fills the latter.

use std::slice;

use cudarc::driver::sys::CUresult;
use ptx_emu::GlobalMemory;

use crate::status::{Answer, require};

/// Where rows of bytes begin, and how far apart.
#[derive(Debug, Clone, Copy)]
pub struct Rows {
    /// In the host's memory or the device's: an address is in one of them only, since nothing of a process lies where the emulator's
    /// memory does, but for managed memory, which is both.
    pub address: u64,
    pub pitch: u64,
    /// Bytes from the first row of a slice to that of the next.
    pub slice: u64,
}

impl Rows {
    /// One row, however long.
    pub fn one(address: u64) -> Self {
        Self { address, pitch: 0, slice: 0 }
    }
}

/// A copy of so many bytes of so many rows of so many slices.
#[derive(Debug, Clone, Copy)]
pub struct Copy {
    pub to: Rows,
    pub from: Rows,
    pub bytes: u64,
    pub rows: u64,
    pub slices: u64,
}

impl Copy {
    /// # Safety
    /// What is not the device's memory is the host's, readable or writable as it is used.
    pub unsafe fn run(&self, memory: &mut GlobalMemory) -> Answer {
        let bytes = usize::try_from(self.bytes).map_err(|_| CUresult::CUDA_ERROR_INVALID_VALUE)?;
        if bytes == 0 {
            return Ok(());
        }
        let mut row = Vec::new();
        row.try_reserve_exact(bytes).map_err(|_| CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
        row.resize(bytes, 0);
        for (slice, index) in (0..self.slices).flat_map(|slice| (0..self.rows).map(move |row| (slice, row))) {
            let [from, to] = [self.from, self.to].map(|rows| {
                let before = slice.wrapping_mul(rows.slice).wrapping_add(index.wrapping_mul(rows.pitch));
                rows.address.wrapping_add(before)
            });
            // SAFETY: upheld by the caller.
            unsafe {
                read(memory, from, &mut row)?;
                write(memory, to, &row)?;
            }
        }
        Ok(())
    }
}

/// Whether an address is one of the device's.
pub fn is_of_device(memory: &GlobalMemory, address: u64) -> bool {
    memory.read_into(address, &mut [0])
}

unsafe fn read(memory: &GlobalMemory, from: u64, bytes: &mut [u8]) -> Answer {
    if !is_of_device(memory, from) {
        let from = host(from)?;
        // SAFETY: the host's memory, upheld by the caller; `bytes` is ours.
        unsafe { from.copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
        return Ok(());
    }
    require(memory.read_into(from, bytes))
}

unsafe fn write(memory: &mut GlobalMemory, to: u64, bytes: &[u8]) -> Answer {
    if !is_of_device(memory, to) {
        let to = host(to)?;
        // SAFETY: as in `read`.
        unsafe { slice::from_raw_parts_mut(to, bytes.len()) }.copy_from_slice(bytes);
        return Ok(());
    }
    require(memory.write(to, bytes))
}

/// A pointer of the program's.
fn host(address: u64) -> Answer<*mut u8> {
    let pointer: *mut u8 = usize::try_from(address).map_or(std::ptr::null_mut(), std::ptr::with_exposed_provenance_mut);
    if pointer.is_null() { Err(CUresult::CUDA_ERROR_INVALID_VALUE) } else { Ok(pointer) }
}

/// Elements of the device's memory that become one value.
#[derive(Debug, Clone, Copy)]
pub struct Fill {
    pub address: u64,
    /// The value, in the first of its four bytes.
    pub value: u32,
    /// Bytes of an element: 1, 2 or 4.
    pub element: usize,
    pub count: u64,
}

impl Fill {
    pub fn run(&self, memory: &mut GlobalMemory) -> Answer {
        let element = &self.value.to_le_bytes()[..self.element];
        let count = usize::try_from(self.count).map_err(|_| CUresult::CUDA_ERROR_INVALID_VALUE)?;
        require(self.address.is_multiple_of(self.element as u64))?;
        require(memory.write(self.address, &element.repeat(count)))
    }
}
