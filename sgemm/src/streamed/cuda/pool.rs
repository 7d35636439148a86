//! Copies within the host's memory by several threads: one alone is slower than PCIe.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::Error;

/// Lines that are copied: `lines` of `bytes` bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lines {
    pub from: *const u8,
    pub from_pitch: usize,
    pub to: *mut u8,
    pub to_pitch: usize,
    pub bytes: usize,
    pub lines: usize,
}

/// Threads that copy. Several callers may share them.
pub(super) struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    has_jobs: Condvar,
}

struct State {
    jobs: VecDeque<(Lines, Arc<Latch>)>,
    is_closed: bool,
}

// SAFETY: the pointers are read and written by one thread at a time, that which took the job; `Pool::copy` keeps what they point to
// until it is done.
unsafe impl Send for State {}

/// Jobs of a caller that are not done yet.
#[derive(Default)]
pub(super) struct Latch {
    left: Mutex<usize>,
    is_done: Condvar,
}

impl Pool {
    /// So many threads.
    pub fn new(threads: usize) -> Result<Self, Error> {
        // As many jobs as two callers have at once: no allocation after this.
        let state = State { jobs: VecDeque::with_capacity(2 * threads.max(1)), is_closed: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), has_jobs: Condvar::new() });
        let mut pool = Self { shared, threads: Vec::new() };
        for _ in 0..threads.max(1) {
            let shared = Arc::clone(&pool.shared);
            let thread = std::thread::Builder::new().name("sgemm-copy".into()).spawn(move || shared.work());
            pool.threads.push(thread.map_err(no_thread)?);
        }
        Ok(pool)
    }

    /// Copies all lines, and returns when that is done. The latch is the caller's own.
    ///
    /// # Safety
    /// All lines can be read, and written where they go, and nobody else writes to them or reads the target meanwhile.
    pub unsafe fn copy(&self, lines: &Lines, latch: &Arc<Latch>) {
        let parts = lines.parts(self.threads.len());
        *lock(&latch.left) = parts.len();
        {
            let mut state = lock(&self.shared.state);
            parts.for_each(|part| state.jobs.push_back((part, Arc::clone(latch))));
        }
        self.shared.has_jobs.notify_all();
        let mut left = lock(&latch.left);
        while *left > 0 {
            left = latch.is_done.wait(left).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        lock(&self.shared.state).is_closed = true;
        self.shared.has_jobs.notify_all();
        for thread in self.threads.drain(..) {
            // A thread only copies, and so does not panic.
            drop(thread.join());
        }
    }
}

impl Shared {
    fn work(&self) {
        while let Some((lines, latch)) = self.next() {
            // SAFETY: upheld by the caller of `Pool::copy`, which waits for this.
            unsafe { lines.copy() };
            let mut left = lock(&latch.left);
            *left -= 1;
            if *left == 0 {
                latch.is_done.notify_all();
            }
        }
    }

    fn next(&self) -> Option<(Lines, Arc<Latch>)> {
        let mut state = lock(&self.state);
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.is_closed {
                return None;
            }
            state = self.has_jobs.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Lines {
    /// The other way.
    pub fn reversed(self) -> Self {
        let (from_pitch, to_pitch) = (self.to_pitch, self.from_pitch);
        Self { from: self.to, from_pitch, to: self.from.cast_mut(), to_pitch, ..self }
    }

    /// About equal parts, at most `count`: of the lines, or of each of them where there are few.
    fn parts(self, count: usize) -> impl ExactSizeIterator<Item = Self> {
        let by_lines = self.lines >= count;
        let whole = if by_lines { self.lines } else { self.bytes };
        let count = count.clamp(1, whole.max(1));
        (0..count).map(move |part| {
            let [first, end] = [whole * part / count, whole * (part + 1) / count];
            let (from, to) = if by_lines { (first * self.from_pitch, first * self.to_pitch) } else { (first, first) };
            Self {
                from: self.from.wrapping_add(from),
                to: self.to.wrapping_add(to),
                bytes: if by_lines { self.bytes } else { end - first },
                lines: if by_lines { end - first } else { self.lines },
                ..self
            }
        })
    }

    /// # Safety
    /// As of [`Pool::copy`].
    unsafe fn copy(&self) {
        for line in 0..self.lines {
            let from = self.from.wrapping_add(line * self.from_pitch);
            let to = self.to.wrapping_add(line * self.to_pitch);
            // SAFETY: upheld by the caller: each line can be read there, and written there, and they do not overlap, since one of the two
            // is a buffer of our own.
            unsafe { std::ptr::copy_nonoverlapping(from, to, self.bytes) };
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn no_thread(error: std::io::Error) -> Error {
    Error::Driver { what: "start a thread".into(), code: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of any form arrive whole, and nothing else is touched, with two callers at once.
    #[test]
    fn lines_arrive_whole() {
        let pool = Pool::new(3).unwrap();
        let check = |bytes: usize, lines: usize| {
            let source: Vec<u8> = (0..(bytes + 5) * lines + 1).map(|index| (index % 251) as u8).collect();
            let mut target = vec![255; (bytes + 2) * lines + 1];
            let latch = Arc::default();
            let (from, to) = (source.as_ptr(), target.as_mut_ptr());
            let all = Lines { from, from_pitch: bytes + 5, to, to_pitch: bytes + 2, bytes, lines };
            // SAFETY: both have as many lines, which nobody else uses.
            unsafe { pool.copy(&all, &latch) };
            for (index, byte) in target.iter().enumerate() {
                let (line, within) = (index / (bytes + 2), index % (bytes + 2));
                let expected = if line < lines && within < bytes { source[line * (bytes + 5) + within] } else { 255 };
                assert_eq!(*byte, expected, "{bytes} x {lines}: {index}");
            }
        };
        std::thread::scope(|scope| {
            for first in [0, 1] {
                scope.spawn(move || {
                    for bytes in (first..40).step_by(2) {
                        (0..9).for_each(|lines| check(bytes, lines));
                    }
                });
            }
        });
    }
}
