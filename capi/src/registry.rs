//! Which handles and plans there are. C holds numbers in the shape of pointers, which nothing is read through.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use crate::constants::SGEMM_INVALID_HANDLE;
use crate::status::Failure;

/// The next number. No number is given twice, of whichever registry: one that was destroyed stays unknown, and a plan is no handle.
static NEXT: AtomicUsize = AtomicUsize::new(FIRST);

/// Not 0, which is C's null.
const FIRST: usize = 1;

/// What is alive, by its number.
pub(crate) struct Registry<T> {
    what: &'static str,
    alive: LazyLock<RwLock<HashMap<usize, Arc<T>>>>,
}

impl<T> Registry<T> {
    /// An empty one; `what` is what messages call its values.
    pub const fn new(what: &'static str) -> Self {
        Self { what, alive: LazyLock::new(RwLock::default) }
    }

    /// Keeps a value, and gives its number.
    pub fn insert(&self, value: T) -> usize {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        self.alive.write().unwrap_or_else(PoisonError::into_inner).insert(number, Arc::new(value));
        number
    }

    /// The value of that number. It lives on while it is used, whoever destroys it meanwhile.
    pub fn get(&self, number: usize) -> Result<Arc<T>, Failure> {
        let alive = self.alive.read().unwrap_or_else(PoisonError::into_inner);
        alive.get(&number).cloned().ok_or_else(|| self.unknown(number))
    }

    /// Forgets the value of that number, and gives it back, so that it is dropped outside of the lock.
    pub fn remove(&self, number: usize) -> Result<Arc<T>, Failure> {
        let removed = self.alive.write().unwrap_or_else(PoisonError::into_inner).remove(&number);
        removed.ok_or_else(|| self.unknown(number))
    }

    fn unknown(&self, number: usize) -> Failure {
        let what = self.what;
        let text =
            if number == 0 { format!("the {what} is null") } else { format!("this is no {what}, or it was destroyed") };
        Failure::new(SGEMM_INVALID_HANDLE, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_alive_is_found() {
        static NUMBERS: Registry<i32> = Registry::new("number");
        static LETTERS: Registry<char> = Registry::new("letter");
        let (seven, a) = (NUMBERS.insert(7), LETTERS.insert('a'));
        assert_eq!((*NUMBERS.get(seven).unwrap(), *LETTERS.get(a).unwrap()), (7, 'a'));
        assert_eq!(NUMBERS.get(a).unwrap_err().message, "this is no number, or it was destroyed");
        assert_eq!(NUMBERS.get(0).unwrap_err().message, "the number is null");
        let held = NUMBERS.get(seven).unwrap();
        assert_eq!(*NUMBERS.remove(seven).unwrap(), 7);
        assert_eq!(*held, 7);
        assert_eq!(NUMBERS.remove(seven).unwrap_err().status, SGEMM_INVALID_HANDLE);
        assert_ne!(NUMBERS.insert(8), seven);
    }
}
