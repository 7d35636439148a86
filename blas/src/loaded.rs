//! Where functions are among the libraries that the process has loaded.

use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use libc::dl_phdr_info;

/// What tells this library, and a copy under another name, from a BLAS.
const OWN: &CStr = c"sgemm_blas_version";

/// A symbol that comes behind this library in the loader's order; null where none does.
pub fn behind(name: &CStr) -> *mut c_void {
    in_order(libc::RTLD_NEXT, name).unwrap_or(ptr::null_mut())
}

/// A symbol that the loader would give the program; null where there is none.
pub fn ahead(name: &CStr) -> *mut c_void {
    in_order(libc::RTLD_DEFAULT, name).unwrap_or(ptr::null_mut())
}

/// A symbol of a library that was loaded for others alone, as Python loads its modules with the BLAS that they are linked to: the loader's
/// order does not have it.
pub fn apart(name: &CStr) -> Option<*mut c_void> {
    Library::all().into_iter().find_map(|library| {
        let found = library.symbol(name)?;
        // The library stays open: what was found in it is kept.
        std::mem::forget(library);
        Some(found)
    })
}

/// How many libraries have been loaded so far: where it has not changed, nothing new can be found.
pub fn count() -> u64 {
    unsafe extern "C" fn first(info: *mut dl_phdr_info, _size: usize, count: *mut c_void) -> c_int {
        // SAFETY: the loader gives a description, and `count` is the atomic below.
        unsafe { (*count.cast::<AtomicU64>()).store((*info).dlpi_adds, Ordering::Relaxed) };
        1
    }
    let count = AtomicU64::new(0);
    // SAFETY: the function reads what the loader gives it, and writes to `count`, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw const count).cast_mut().cast()) };
    count.into_inner()
}

fn in_order(from: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name ends with a zero, and the handle is one of the loader's own.
    let found = unsafe { libc::dlsym(from, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// A library that is open as long as this is there, whoever else closes it.
struct Library(*mut c_void);

impl Library {
    /// All but the program, and those like this one: two of them would call each other for ever.
    fn all() -> Vec<Self> {
        unsafe extern "C" fn each(info: *mut dl_phdr_info, _size: usize, names: *mut c_void) -> c_int {
            // SAFETY: the loader gives a description with a name that ends with a zero, and `names` is the vector below.
            unsafe { (*names.cast::<Vec<CString>>()).push(CStr::from_ptr((*info).dlpi_name).to_owned()) };
            0
        }
        let mut names: Vec<CString> = Vec::new();
        // SAFETY: the function reads what the loader gives it, and adds to `names`, which outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut names).cast()) };
        let open = |name: &CString| {
            // SAFETY: the name ends with a zero. A library that is open already is not loaded, but kept.
            let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
            (!handle.is_null()).then_some(Self(handle))
        };
        let named = names.iter().filter(|name| !name.is_empty());
        named.filter_map(open).filter(|library| library.symbol(OWN).is_none()).collect()
    }

    /// A symbol of it, or of the libraries that it is linked to.
    fn symbol(&self, name: &CStr) -> Option<*mut c_void> {
        in_order(self.0, name)
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: it was opened once for this.
        unsafe { libc::dlclose(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_libraries_have_is_found() {
        assert!(count() > 0);
        assert_eq!(apart(c"strlen"), Some(ahead(c"strlen")));
        assert_eq!(apart(c"there_is_no_such_function"), None);
        assert!(behind(c"there_is_no_such_function").is_null());
    }
}
