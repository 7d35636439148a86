//! Global memory: bounds-checked allocations, shared by all threads of a grid.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::allocation::{Allocation, Words, words};
use super::heap::{HEAP_BYTES, Heap};
use super::label::Label;
use super::variables::MappedModule;
use super::{TextureObject, window};

/// Alignment of allocations, that of CUDA.
const ALIGNMENT: u64 = 256;

/// Unmapped addresses after each allocation, so that an out-of-bounds access hits none.
const GAP: u64 = 1 << 20;

/// Bytes of the workspace of a launch.
const WORKSPACE_BYTES: usize = 256;

/// Bytes of a kernel's text that are read at most.
const MAX_TEXT: u64 = 400;

/// An address in global memory.
pub type Pointer = u64;

/// A device's global memory.
#[derive(Debug)]
pub struct GlobalMemory {
    /// By address.
    allocations: Vec<Allocation>,
    /// Freed ranges: first address, bytes.
    freed: Vec<(Pointer, u64)>,
    next: Pointer,
    /// What kernels must not read: from an address, and to one.
    unreadable: Option<(Pointer, Pointer)>,
    heap: Option<Heap>,
    /// By handle; those that are gone leave their place.
    pub(super) texture_objects: Vec<Option<TextureObject>>,
    /// Modules whose variables are mapped.
    pub(super) modules: Vec<MappedModule>,
}

/// Why an address is not mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Freed: first address and bytes of the allocation.
    Freed(Pointer, u64),
    /// It is `distance` bytes past the end of an allocation.
    PastEnd { distance: u64, base: Pointer, bytes: u64 },
    /// No allocation is near.
    Nowhere,
}

impl Default for GlobalMemory {
    fn default() -> Self {
        Self {
            allocations: vec![],
            freed: vec![],
            next: window::HEAP,
            unreadable: None,
            heap: None,
            texture_objects: vec![],
            modules: vec![],
        }
    }
}

impl GlobalMemory {
    /// Allocates zeroed memory.
    pub fn allocate(&mut self, bytes: u64) -> Pointer {
        let words = (0..bytes.div_ceil(4)).map(|_| AtomicU32::new(0)).collect();
        self.insert(self.next, bytes, words)
    }

    /// Allocates memory in which each word is this one; `None` if the host has no room for it.
    pub fn allocate_filled(&mut self, bytes: u64, word: u32) -> Option<Pointer> {
        let count = usize::try_from(bytes.div_ceil(4)).ok()?;
        let mut words = Vec::new();
        words.try_reserve_exact(count).ok()?;
        words.extend((0..count).map(|_| AtomicU32::new(word)));
        Some(self.insert(self.next, bytes, words))
    }

    /// Allocates memory with these bytes.
    pub fn allocate_bytes(&mut self, bytes: &[u8]) -> Pointer {
        self.insert(self.next, bytes.len() as u64, words(bytes))
    }

    /// Allocates memory with these words.
    pub fn allocate_words(&mut self, words: impl IntoIterator<Item = u32>) -> Pointer {
        let words: Vec<AtomicU32> = words.into_iter().map(AtomicU32::new).collect();
        self.insert(self.next, 4 * words.len() as u64, words)
    }

    /// Leaves so many more addresses unmapped before the next allocation, as between rows that lie far apart.
    pub fn skip(&mut self, bytes: u64) {
        self.next = (self.next + bytes).next_multiple_of(ALIGNMENT);
    }

    /// Maps the first so many bytes of words that the host has, at the address that they have there; `None`, and nothing is mapped, where
    /// other memory or a window of generic addresses is. Kernels and the host see what either writes, in no order but that of launches.
    pub fn map_host(&mut self, words: &'static [AtomicU32], bytes: u64) -> Option<Pointer> {
        let base = words.as_ptr().addr() as Pointer;
        let end = base.checked_add(bytes)?;
        let next = self.allocations.partition_point(|allocation| allocation.base + allocation.bytes <= base);
        let is_free = self.allocations.get(next).is_none_or(|allocation| end <= allocation.base);
        let is_there = bytes.div_ceil(4) <= words.len() as u64;
        if !is_free || !is_there || bytes == 0 || !window::is_global(base) || !window::is_global(end - 1) {
            return None;
        }
        self.add(Allocation { base, bytes, words: Words::OfHost(words), label: None });
        Some(base)
    }

    /// Says which allocation kernels must not read, if any, as one that holds nothing yet: loads from it are found, which copies to
    /// shared memory are not.
    pub fn forbid_loads(&mut self, pointer: Option<Pointer>) {
        let allocation = pointer.and_then(|pointer| self.find(pointer).ok());
        self.unreadable = allocation.map(|allocation| (allocation.base, allocation.base + allocation.bytes));
    }

    /// Whether kernels must not read there.
    #[inline]
    pub(crate) fn forbids_load(&self, address: Pointer) -> bool {
        self.unreadable.is_some_and(|(start, end)| (start..end).contains(&address))
    }

    /// Says what an allocation is called in messages, and how its elements lie. Without it, it is the argument of the kernel that points
    /// to it. False if there is none at `pointer`.
    pub fn describe(&mut self, pointer: Pointer, label: Label) -> bool {
        let found = self.allocations.iter_mut().find(|allocation| allocation.base == pointer);
        found.map(|allocation| allocation.label = Some(label.into())).is_some()
    }

    /// Maps the zeroed workspace of a launch at its address.
    pub(crate) fn set_workspace(&mut self) {
        self.allocations.retain(|allocation| allocation.base != window::WORKSPACE);
        self.map(window::WORKSPACE, &[0; WORKSPACE_BYTES]);
    }

    /// Maps the heap at its address, if it is not there yet.
    pub(crate) fn set_heap(&mut self) {
        if self.heap.is_none() {
            self.heap = Some(Heap::default());
            self.map(window::DEVICE_HEAP, &vec![0xff; HEAP_BYTES as usize]);
        }
    }

    /// The heap, if a kernel has used it.
    pub(crate) fn heap(&self) -> Option<&Heap> {
        self.heap.as_ref()
    }

    fn map(&mut self, base: Pointer, bytes: &[u8]) {
        self.place(base, bytes);
        self.sort();
    }

    /// Adds an allocation at that address, out of order.
    pub(super) fn place(&mut self, base: Pointer, bytes: &[u8]) {
        let words = Words::Owned(words(bytes));
        self.allocations.push(Allocation { base, bytes: bytes.len() as u64, words, label: None });
    }

    /// Puts allocations in order.
    pub(super) fn sort(&mut self) {
        self.allocations.sort_by_key(|allocation| allocation.base);
    }

    /// Removes the allocations in that range of addresses.
    pub(super) fn drop_range(&mut self, from: Pointer, to: Pointer) {
        self.allocations.retain(|allocation| !(from..to).contains(&allocation.base));
    }

    fn insert(&mut self, base: Pointer, bytes: u64, words: Vec<AtomicU32>) -> Pointer {
        self.next = (base + bytes + GAP).next_multiple_of(ALIGNMENT);
        self.add(Allocation { base, bytes, words: Words::Owned(words), label: None });
        base
    }

    /// Adds an allocation where it belongs.
    fn add(&mut self, allocation: Allocation) {
        let after = self.allocations.partition_point(|other| other.base <= allocation.base);
        self.allocations.insert(after, allocation);
    }

    /// Frees the allocation at `pointer` and returns its words; `None` if there is none, or a variable. A kernel that uses it
    /// afterwards is reported.
    pub fn free(&mut self, pointer: Pointer) -> Option<Vec<u32>> {
        let is_it = |allocation: &Allocation| allocation.base == pointer && !window::is_fixed(pointer);
        let index = self.allocations.iter().position(is_it)?;
        let allocation = self.allocations.remove(index);
        self.freed.push((allocation.base, allocation.bytes));
        Some(match allocation.words {
            Words::Owned(words) => words.into_iter().map(AtomicU32::into_inner).collect(),
            Words::OfHost(words) => words.iter().map(|word| word.load(Relaxed)).collect(),
        })
    }

    /// The bytes of the allocation that begins at `pointer`; `None` if there is none.
    #[must_use]
    pub fn read(&self, pointer: Pointer) -> Option<Vec<u8>> {
        let allocation = self.allocations.iter().find(|allocation| allocation.base == pointer)?;
        let mut bytes: Vec<u8> = allocation.words.iter().flat_map(|word| word.load(Relaxed).to_le_bytes()).collect();
        bytes.truncate(allocation.bytes as usize);
        Some(bytes)
    }

    /// Copies the bytes from `pointer` on, anywhere in an allocation; false, and nothing is copied, if one does not hold all of them.
    #[must_use]
    pub fn read_into(&self, pointer: Pointer, bytes: &mut [u8]) -> bool {
        let Some((allocation, offset)) = self.holding(pointer, bytes.len()) else { return bytes.is_empty() };
        for (byte, at) in bytes.iter_mut().zip(offset..) {
            *byte = allocation.load_u8(at);
        }
        true
    }

    /// The text at `pointer`, as far as it is there, up to a NUL; no more of it than a message needs.
    pub(crate) fn text(&self, pointer: Pointer) -> String {
        let byte = |at: Pointer| self.holding(at, 1).map(|(allocation, offset)| allocation.load_u8(offset));
        let bytes = (pointer..pointer.saturating_add(MAX_TEXT)).map_while(byte).take_while(|byte| *byte != 0);
        String::from_utf8_lossy(&bytes.collect::<Vec<_>>()).into_owned()
    }

    /// Copies the bytes to `pointer`, anywhere in an allocation; false, and nothing is written, if it does not hold all of them.
    #[must_use]
    pub fn write(&mut self, pointer: Pointer, bytes: &[u8]) -> bool {
        let Some((allocation, mut offset)) = self.holding(pointer, bytes.len()) else { return bytes.is_empty() };
        let mut rest = bytes;
        while let Some((byte, after)) = rest.split_first() {
            match rest.split_first_chunk() {
                Some((word, after)) if offset.is_multiple_of(4) => {
                    allocation.words[offset as usize / 4].store(u32::from_le_bytes(*word), Relaxed);
                    (offset, rest) = (offset + 4, after);
                }
                _ => {
                    allocation.store_u8(offset, *byte);
                    (offset, rest) = (offset + 1, after);
                }
            }
        }
        self.written(pointer, bytes.len());
        true
    }

    /// The allocation that holds so many bytes from `pointer` on, and where in it they begin.
    fn holding(&self, pointer: Pointer, bytes: usize) -> Option<(&Allocation, u64)> {
        let allocation = self.find(pointer).ok()?;
        let offset = pointer - allocation.base;
        (bytes as u64 <= allocation.bytes - offset).then_some((allocation, offset))
    }

    /// The first address and the bytes of each allocation, by address.
    pub(crate) fn contents(&self) -> impl Iterator<Item = (Pointer, Vec<u8>)> {
        let bases = self.allocations.iter().map(|allocation| allocation.base);
        bases.filter_map(|base| Some((base, self.read(base)?)))
    }

    /// Bytes allocated in total.
    #[must_use]
    pub fn allocated_bytes(&self) -> u64 {
        self.allocations.iter().map(|allocation| allocation.bytes).sum()
    }

    /// The allocation that contains the address.
    pub(crate) fn find(&self, address: Pointer) -> Result<&Allocation, Missing> {
        let after = self.allocations.partition_point(|allocation| allocation.base <= address);
        let before = after.checked_sub(1).map(|index| &self.allocations[index]);
        if let Some(found) = before.filter(|allocation| address - allocation.base < allocation.bytes) {
            return Ok(found);
        }
        let freed = self.freed.iter().find(|(base, bytes)| address.wrapping_sub(*base) < *bytes);
        match (freed, before) {
            (Some(&(base, bytes)), _) => Err(Missing::Freed(base, bytes)),
            (None, Some(&Allocation { base, bytes, .. })) if address - base - bytes < GAP => {
                Err(Missing::PastEnd { distance: address - base - bytes, base, bytes })
            }
            _ => Err(Missing::Nowhere),
        }
    }
}

impl GlobalMemory {
    /// The first address of the allocation that an address lies in or right behind, or of what was one before it was freed.
    pub(crate) fn allocation_of(&self, address: Pointer) -> Option<Pointer> {
        match self.find(address) {
            Ok(allocation) => Some(allocation.base),
            Err(Missing::Freed(base, _)) => Some(base),
            Err(Missing::PastEnd { distance: 0, base, .. }) => Some(base),
            Err(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lead_to_their_allocation_or_say_why_not() {
        let mut memory = GlobalMemory::default();
        let [a, b] = [memory.allocate(10), memory.allocate_bytes(&[1, 2, 3])];
        assert_eq!(memory.find(a + 9).unwrap().base(), a);
        assert_eq!(memory.find(a + 10).unwrap_err(), Missing::PastEnd { distance: 0, base: a, bytes: 10 });
        assert_eq!(memory.find(b + 2).unwrap().load_u8(2), 3);
        memory.find(b).unwrap().store_u8(1, 9);
        assert_eq!(memory.read(b).unwrap(), [1, 9, 3]);
        assert_eq!(memory.find(0).unwrap_err(), Missing::Nowhere);
        memory.skip(1 << 40);
        let far = memory.allocate(1);
        assert!(far - b > 1 << 40 && memory.find(far).is_ok() && memory.find(far - 1).unwrap_err() == Missing::Nowhere);
        let mut two = [0; 2];
        assert!(memory.read_into(b + 1, &mut two) && two == [9, 3]);
        assert!(!memory.read_into(b + 2, &mut two) && !memory.write(b + 2, &two) && !memory.write(b - 1, &two));
        assert!(memory.write(b, &two) && memory.write(0, &[]));
        assert!(memory.write(a + 3, &[1, 2, 3, 4, 5, 6]));
        assert_eq!(memory.read(a).unwrap(), [0, 0, 0, 1, 2, 3, 4, 5, 6, 0]);
        assert_eq!(memory.read(b).unwrap(), [9, 3, 3]);
        let filled = memory.allocate_filled(6, 0x0403_0201).unwrap();
        assert_eq!(memory.read(filled).unwrap(), [1, 2, 3, 4, 1, 2]);
        assert_eq!(memory.allocate_filled(u64::MAX, 0), None);
        assert_eq!(memory.free(a).unwrap(), [0x0100_0000, 0x0504_0302, 6]);
        assert_eq!(memory.find(a + 4).unwrap_err(), Missing::Freed(a, 10));
    }

    #[test]
    fn memory_of_the_host_is_where_the_host_has_it() {
        let words: &'static [AtomicU32] = Box::leak([1, 2, 3].map(AtomicU32::new).into());
        let mut memory = GlobalMemory::default();
        let before = memory.allocate_words([7]);
        let mapped = memory.map_host(words, 10).unwrap();
        assert_eq!(mapped, words.as_ptr().addr() as Pointer);
        // Wherever that is, memory before and behind it is found.
        let after = memory.allocate_words([8]);
        assert_eq!([before, mapped, after].map(|pointer| memory.read(pointer).unwrap()[0]), [7, 1, 8]);
        words[1].store(9, Relaxed);
        assert!(memory.write(mapped + 8, &[4, 5]) && !memory.write(mapped + 8, &[4, 5, 6]));
        assert_eq!(memory.read(mapped).unwrap(), [1, 0, 0, 0, 9, 0, 0, 0, 4, 5]);
        assert_eq!(words[2].load(Relaxed), 0x0504);
        assert_eq!(memory.map_host(&words[1..], 4), None, "it is mapped");
        assert_eq!(memory.free(mapped).unwrap(), [1, 9, 0x0504]);
        assert_eq!(memory.map_host(words, 13), None, "there are 12 bytes");
        assert!(memory.map_host(&words[1..], 8).is_some());
    }
}
