//! Which calls are left alone: those within another, and those of a forked child.

use std::cell::Cell;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether [`is_child`]: a GPU cannot be used there, nor a lock that a thread may have held.
static FORKED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether a call of this thread is under way: those within it are cuBLAS's own.
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// A call that is under way.
pub struct Outermost;

impl Outermost {
    /// `None` within another call, and in a forked child.
    pub fn enter() -> Option<Self> {
        static AT_FORK: Once = Once::new();
        if FORKED.load(Ordering::Relaxed) || IS_INSIDE.replace(true) {
            return None;
        }
        AT_FORK.call_once(|| {
            // SAFETY: the function only writes to an atomic.
            let _ = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        });
        Some(Self)
    }
}

impl Drop for Outermost {
    fn drop(&mut self) {
        IS_INSIDE.set(false);
    }
}

unsafe extern "C" fn in_child() {
    FORKED.store(true, Ordering::Relaxed);
}

/// Whether this is a child of a process that used this library.
pub fn is_child() -> bool {
    FORKED.load(Ordering::Relaxed)
}
