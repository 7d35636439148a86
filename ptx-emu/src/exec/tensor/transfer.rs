//! Moves the bytes of bulk copies between global and shared memory. Bounds have been checked.

use std::sync::atomic::Ordering::Relaxed;

use crate::exec::state::CHUNK_BYTES;
use crate::memory::{Allocation, Run};

/// Loads a run; `offset_of` gives each chunk's offset in shared memory.
pub(crate) fn get_run(allocation: &Allocation, run: &Run, memory: &mut [u8], offset_of: impl Fn(u32) -> usize) {
    each_chunk(allocation, run, offset_of, |at, offset, bytes| {
        let to = &mut memory[offset..][..bytes];
        if at % 4 == 0 && bytes % 4 == 0 {
            let words = &allocation.words()[at as usize / 4..];
            to.as_chunks_mut().0.iter_mut().zip(words).for_each(|(to, word)| *to = word.load(Relaxed).to_le_bytes());
        } else {
            to.iter_mut().zip(at..).for_each(|(to, at)| *to = allocation.load_u8(at));
        }
    });
}

/// Stores a run; `offset_of` gives each chunk's offset in shared memory.
pub(crate) fn put_run(allocation: &Allocation, run: &Run, memory: &[u8], offset_of: impl Fn(u32) -> usize) {
    each_chunk(allocation, run, offset_of, |at, offset, bytes| {
        let from = &memory[offset..][..bytes];
        if at % 4 == 0 && bytes % 4 == 0 {
            let words = &allocation.words()[at as usize / 4..];
            from.as_chunks()
                .0
                .iter()
                .zip(words)
                .for_each(|(from, word)| word.store(u32::from_le_bytes(*from), Relaxed));
        } else {
            from.iter().zip(at..).for_each(|(from, at)| allocation.store_u8(at, *from));
        }
    });
}

/// Calls `f` with each chunk's offsets in the allocation and in shared memory, and its bytes.
fn each_chunk(
    allocation: &Allocation,
    run: &Run,
    offset_of: impl Fn(u32) -> usize,
    mut f: impl FnMut(u64, usize, usize),
) {
    let start = run.global - allocation.base();
    let mut done = 0;
    while done < run.bytes {
        let offset = run.offset + done;
        let bytes = (CHUNK_BYTES - offset % CHUNK_BYTES).min(run.bytes - done);
        f(start + u64::from(done), offset_of(offset), bytes as usize);
        done += bytes;
    }
}
