//! Algorithms of cublasLt that the program has configured itself: these are asked for, other than those that its heuristic chose.

use std::collections::HashSet;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

/// `cublasLtMatmulAlgo_t`: what it holds is cublasLt's own, and programs copy it.
type Algorithm = [u64; 8];

/// Most of them that are told apart: beyond, every algorithm counts as configured.
const MOST: usize = 4096;

/// Whether there is any: no call pays for what hardly a program does.
static IS_ANY: AtomicBool = AtomicBool::new(false);

static CONFIGURED: RwLock<Option<HashSet<Algorithm>>> = RwLock::new(None);

/// The program has set an attribute of an algorithm.
///
/// # Safety
/// It is cublasLt's structure.
pub unsafe fn configure(algorithm: *const c_void) {
    // SAFETY: upheld by the caller.
    let algorithm = unsafe { algorithm.cast::<Algorithm>().read_unaligned() };
    let mut configured = CONFIGURED.write().unwrap_or_else(PoisonError::into_inner);
    let configured = configured.get_or_insert_default();
    if configured.len() < MOST {
        configured.insert(algorithm);
    }
    IS_ANY.store(true, Ordering::Release);
}

/// Whether the program has configured the algorithm; none at all is cublasLt's choice.
///
/// # Safety
/// It is null, or cublasLt's structure.
pub unsafe fn is_configured(algorithm: *const c_void) -> bool {
    if algorithm.is_null() || !IS_ANY.load(Ordering::Acquire) {
        return false;
    }
    // SAFETY: upheld by the caller.
    let algorithm = unsafe { algorithm.cast::<Algorithm>().read_unaligned() };
    let configured = CONFIGURED.read().unwrap_or_else(PoisonError::into_inner);
    configured.as_ref().is_some_and(|all| all.len() >= MOST || all.contains(&algorithm))
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;

    #[test]
    fn algorithms_are_known_by_what_they_hold() {
        let (set, same, other): (Algorithm, Algorithm, Algorithm) = ([7; 8], [7; 8], [8; 8]);
        // SAFETY: it has the structure's bytes.
        let is_configured = |algorithm: &Algorithm| unsafe { is_configured(ptr::from_ref(algorithm).cast()) };
        assert!(!is_configured(&set));
        // SAFETY: as above.
        unsafe { configure(ptr::from_ref(&set).cast()) };
        assert_eq!([&same, &other].map(is_configured), [true, false]);
        // SAFETY: it is null.
        assert!(!unsafe { super::is_configured(ptr::null()) });
        for number in 0..MOST as u64 {
            // SAFETY: as above.
            unsafe { configure(ptr::from_ref(&[number, 1, 1, 1, 1, 1, 1, 1]).cast()) };
        }
        assert!(is_configured(&other), "too many to tell");
    }
}
