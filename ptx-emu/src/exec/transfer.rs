//! Moves the bytes of bulk copies between global and shared memory. Whether they are there has been checked.

use std::sync::atomic::Ordering::Relaxed;

use crate::memory::Allocation;
use crate::tensor::Run;

/// Bytes that lie side by side in shared memory whatever the swizzle.
const PIECE: u32 = 16;

/// Loads a run; `place` says where each of its pieces goes.
pub(super) fn get_run(allocation: &Allocation, run: &Run, memory: &mut [u8], place: impl Fn(u32) -> usize) {
    each_piece(allocation, run, place, |at, place, bytes| {
        let to = &mut memory[place..][..bytes];
        if at % 4 == 0 && bytes % 4 == 0 {
            let words = &allocation.words()[at as usize / 4..];
            to.as_chunks_mut().0.iter_mut().zip(words).for_each(|(to, word)| *to = word.load(Relaxed).to_le_bytes());
        } else {
            to.iter_mut().zip(at..).for_each(|(to, at)| *to = allocation.load_u8(at));
        }
    });
}

/// Stores a run; `place` says where each of its pieces comes from.
pub(super) fn put_run(allocation: &Allocation, run: &Run, memory: &[u8], place: impl Fn(u32) -> usize) {
    each_piece(allocation, run, place, |at, place, bytes| {
        let from = &memory[place..][..bytes];
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

/// Calls `f` with each piece's place in the allocation and in shared memory, and its bytes.
fn each_piece(allocation: &Allocation, run: &Run, place: impl Fn(u32) -> usize, mut f: impl FnMut(u64, usize, usize)) {
    let start = run.global - allocation.base();
    let mut done = 0;
    while done < run.bytes {
        let offset = run.offset + done;
        let bytes = (PIECE - offset % PIECE).min(run.bytes - done);
        f(start + u64::from(done), place(offset), bytes as usize);
        done += bytes;
    }
}
