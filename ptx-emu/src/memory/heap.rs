//! The device's heap: what `malloc` gives to a kernel, and `free` takes back. It lasts from launch to launch.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::window;

/// Bytes of the heap: CUDA's default `cudaLimitMallocHeapSize`.
pub(super) const HEAP_BYTES: u64 = 8 << 20;

/// Alignment of what `malloc` gives, and bytes between two pieces of it, so that an access past the end is found.
const ALIGNMENT: u64 = 16;

/// A piece of the heap.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chunk {
    pub base: u64,
    pub bytes: u64,
    pub is_free: bool,
}

/// The pieces given so far, by address; behind the last one all is free.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    chunks: Mutex<BTreeMap<u64, Chunk>>,
}

impl Heap {
    fn chunks(&self) -> MutexGuard<'_, BTreeMap<u64, Chunk>> {
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// So many bytes, as long as possible none that were used before; 0 if there are none.
    pub(crate) fn allocate(&self, bytes: u64) -> u64 {
        let (mut chunks, bytes) = (self.chunks(), bytes.max(1));
        let end = chunks.last_key_value().map_or(window::DEVICE_HEAP, |(_, last)| end_of(last));
        let room = window::DEVICE_HEAP + HEAP_BYTES - end;
        let base = if bytes <= room.saturating_sub(ALIGNMENT) {
            end
        } else {
            let Some(base) = freed_run(&chunks, bytes) else { return 0 };
            let end = base.saturating_add(bytes);
            chunks.retain(|start, chunk| *start >= end + ALIGNMENT || end_of(chunk) <= base);
            base
        };
        chunks.insert(base, Chunk { base, bytes, is_free: false });
        base
    }

    /// Takes a piece back. The error says what is wrong with the address.
    pub(crate) fn free(&self, address: u64) -> Result<(), String> {
        match self.chunks().get_mut(&address) {
            _ if address == 0 => Ok(()),
            Some(Chunk { is_free, .. }) if !*is_free => {
                *is_free = true;
                Ok(())
            }
            Some(_) => Err(format!("frees {address:#x}, which was freed before")),
            None => Err(format!("frees {address:#x}, which is no address that `malloc` gave")),
        }
    }

    /// The piece at or before an address.
    pub(crate) fn find(&self, address: u64) -> Option<Chunk> {
        self.chunks().range(..=address).next_back().map(|(_, chunk)| *chunk)
    }

    /// Whether all of these bytes are in one piece that is not free.
    pub(crate) fn holds(&self, address: u64, bytes: u64) -> bool {
        let chunk = self.find(address).filter(|chunk| !chunk.is_free);
        chunk.is_some_and(|chunk| address - chunk.base + bytes <= chunk.bytes)
    }
}

/// Where the next piece may begin.
fn end_of(chunk: &Chunk) -> u64 {
    (chunk.base + chunk.bytes).next_multiple_of(ALIGNMENT) + ALIGNMENT
}

/// The first run of freed pieces with room for so many bytes.
fn freed_run(chunks: &BTreeMap<u64, Chunk>, bytes: u64) -> Option<u64> {
    let mut run: Option<u64> = None;
    for chunk in chunks.values() {
        run = run.filter(|_| chunk.is_free).or(chunk.is_free.then_some(chunk.base));
        if let Some(start) = run.filter(|start| bytes <= end_of(chunk) - ALIGNMENT - start) {
            return Some(start);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_freed_is_given_again_when_nothing_else_is_left() {
        let heap = Heap::default();
        let half = HEAP_BYTES / 2 - 64;
        let [a, b] = [heap.allocate(half), heap.allocate(half)];
        assert!(a != 0 && b >= a + half + ALIGNMENT && a % ALIGNMENT == 0);
        assert_eq!(heap.allocate(half), 0);
        assert!(heap.holds(a + half - 4, 4) && !heap.holds(a + half - 3, 4) && !heap.holds(b - 1, 1));
        assert_eq!((heap.free(a), heap.free(0)), (Ok(()), Ok(())));
        assert!(heap.free(a).is_err() && heap.free(b + 16).is_err() && !heap.holds(a, 1));
        let [c, d] = [heap.allocate(half / 2), heap.allocate(half)];
        assert!(c != 0 && c < b || d == 0, "{c:#x} {d:#x}");
        assert!(heap.free(b).is_ok());
        assert!(heap.allocate(half) != 0);
    }
}
