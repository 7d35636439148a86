//! NCCL's library: loaded once, at run time.

use std::error::Error as _;
use std::ffi::CStr;
use std::fmt;
use std::sync::OnceLock;

use libloading::Library as Shared;

use super::sys::{self, Status};
use crate::Error;

/// The names that it is loaded by: that of packages, and that of toolkits for development.
const NAMES: [&str; 2] = ["libnccl.so.2", "libnccl.so"];

/// The oldest version: the first with `ncclMemAlloc`; `ncclCommSplit` and non-blocking communicators are older.
const OLDEST: Version = Version(21900);

/// The first with symmetric windows.
pub const WINDOWS: Version = Version(22700);

/// The first whose AllGather can use copy engines.
pub const COPY_ENGINES: Version = Version(22800);

/// A version as NCCL counts: 22809 is 2.28.9, and 2804 was 2.8.4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub i32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let major = if self.0 < 10_000 { 1000 } else { 10_000 };
        write!(f, "{}.{}.{}", self.0 / major, self.0 % major / 100, self.0 % 100)
    }
}

/// The functions that are used.
#[derive(Debug)]
pub struct Library {
    pub version: Version,
    pub get_unique_id: sys::GetUniqueId,
    pub get_error_string: sys::GetErrorString,
    pub get_last_error: sys::GetLastError,
    pub init_rank: sys::InitRank,
    pub split: sys::Split,
    pub finalize: sys::OfComm,
    pub destroy: sys::OfComm,
    pub abort: sys::OfComm,
    pub async_error: sys::AskComm,
    pub count: sys::AskComm,
    pub user_rank: sys::AskComm,
    pub all_gather: sys::AllGather,
    pub reduce_scatter: sys::Reduce,
    pub all_reduce: sys::Reduce,
    pub mem_alloc: sys::MemAlloc,
    pub mem_free: sys::MemFree,
    /// `None` before 2.27.
    pub windows: Option<(sys::Register, sys::Deregister)>,
}

impl Library {
    /// The library, which is loaded at the first call and stays: its threads outlive communicators.
    ///
    /// # Errors
    /// [`Error::NoNccl`], [`Error::NcclTooOld`].
    pub fn get() -> Result<&'static Self, Error> {
        static LOADED: OnceLock<Result<Library, Error>> = OnceLock::new();
        LOADED.get_or_init(|| Self::load(&NAMES)).as_ref().map_err(Clone::clone)
    }

    fn load(names: &[&str]) -> Result<Self, Error> {
        let mut reason = String::new();
        for name in names {
            // SAFETY: loads NCCL, and runs only what NVIDIA's library does when it is loaded.
            match unsafe { Shared::new(*name) } {
                Ok(shared) => return Self::of(shared),
                // That of the first name: packages install it so.
                Err(error) if reason.is_empty() => {
                    let of_loader = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                    reason = one_line(&of_loader);
                }
                Err(_) => {}
            }
        }
        Err(Error::NoNccl { reason })
    }

    fn of(shared: Shared) -> Result<Self, Error> {
        let version: sys::GetVersion = function(&shared, c"ncclGetVersion")?;
        let mut found = 0;
        // SAFETY: `found` is a place to write an int to. What it returns for that, it always does.
        unsafe { version(&raw mut found) };
        let version = Version(found);
        check(version)?;
        let library = Self {
            version,
            get_unique_id: function(&shared, c"ncclGetUniqueId")?,
            get_error_string: function(&shared, c"ncclGetErrorString")?,
            get_last_error: function(&shared, c"ncclGetLastError")?,
            init_rank: function(&shared, c"ncclCommInitRankConfig")?,
            split: function(&shared, c"ncclCommSplit")?,
            finalize: function(&shared, c"ncclCommFinalize")?,
            destroy: function(&shared, c"ncclCommDestroy")?,
            abort: function(&shared, c"ncclCommAbort")?,
            async_error: function(&shared, c"ncclCommGetAsyncError")?,
            count: function(&shared, c"ncclCommCount")?,
            user_rank: function(&shared, c"ncclCommUserRank")?,
            all_gather: function(&shared, c"ncclAllGather")?,
            reduce_scatter: function(&shared, c"ncclReduceScatter")?,
            all_reduce: function(&shared, c"ncclAllReduce")?,
            mem_alloc: function(&shared, c"ncclMemAlloc")?,
            mem_free: function(&shared, c"ncclMemFree")?,
            windows: if version >= WINDOWS {
                let register = function(&shared, c"ncclCommWindowRegister")?;
                Some((register, function(&shared, c"ncclCommWindowDeregister")?))
            } else {
                None
            },
        };
        // Never unloaded: the functions are valid as long as the process lives.
        std::mem::forget(shared);
        Ok(library)
    }

    /// What a status means: NCCL's words, on one line.
    pub fn text(&self, status: Status) -> String {
        // SAFETY: NCCL returns a constant string for any number.
        let text = unsafe { (self.get_error_string)(status) };
        if text.is_null() {
            return format!("status {status}");
        }
        // SAFETY: as above, and it ends with a zero.
        one_line(&unsafe { CStr::from_ptr(text) }.to_string_lossy())
    }
}

fn check(version: Version) -> Result<(), Error> {
    if version < OLDEST {
        return Err(Error::NcclTooOld { found: version.to_string(), oldest: OLDEST.to_string() });
    }
    Ok(())
}

/// The function of that name, as the type that `T` is.
fn function<T: Copy>(shared: &Shared, name: &CStr) -> Result<T, Error> {
    // SAFETY: `T` is the type that `sys` gives for the name, as in `nccl.h`; the library is never unloaded once one of them is kept.
    let symbol = unsafe { shared.get::<T>(name.to_bytes_with_nul()) };
    symbol.map(|symbol| *symbol).map_err(|_| Error::NoNccl { reason: format!("it has no {}", name.to_string_lossy()) })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_and_formatted() {
        assert_eq!(Version(22809).to_string(), "2.28.9");
        assert_eq!(Version(2804).to_string(), "2.8.4");
        assert_eq!(check(OLDEST), Ok(()));
        let error = check(Version(21805)).unwrap_err();
        assert_eq!(error.to_string(), "cannot use NCCL 2.18.5: install 2.19.0 or later");
    }

    #[test]
    fn a_missing_library_is_one_line() {
        let error = Library::load(&["libnccl-that-nobody-has.so.2", "libneither.so"]).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("NCCL (libnccl.so.2) cannot be loaded: libnccl-that-nobody-has.so.2: "), "{text}");
        assert!(
            text.ends_with("; install it, or name its folder in LD_LIBRARY_PATH") && !text.contains('\n'),
            "{text}"
        );
    }

    /// As of one that is there, but is not NCCL.
    #[test]
    fn a_missing_function_is_named() {
        let error = Library::load(&["libc.so.6"]).unwrap_err();
        assert!(matches!(&error, Error::NoNccl { reason } if reason == "it has no ncclGetVersion"), "{error}");
    }
}
