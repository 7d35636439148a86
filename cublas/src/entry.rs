//! How an entry point is declared.

/// Declares entry points under cuBLAS's names: the arguments that each takes, its library, and what it offers to compute of them, or what
/// it does beside the call of the library's own function.
macro_rules! functions {
    ($library:path; $($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) => $offered:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As of cuBLAS's function of that name.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, clippy::too_many_arguments, reason = "cuBLAS's")]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $crate::abi::Status {
            static NEXT: $crate::next::Next = match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => $crate::next::Next::new(&$library, name),
                Err(_) => unreachable!(),
            };
            // SAFETY: the type is that of the function, and the arguments are the program's own.
            let next = || unsafe {
                match NEXT.get::<unsafe extern "C" fn($($type),*) -> $crate::abi::Status>() {
                    Some(next) => next($($argument),*),
                    None => $crate::abi::NOT_INITIALIZED,
                }
            };
            // SAFETY: upheld by the caller.
            $crate::route::attempt(stringify!($name), || unsafe { $offered }, next)
        }
    )*};
}

/// Declares functions that change what cuBLAS does not tell: each is called, and where it succeeded, what it did is noted.
macro_rules! watched {
    ($library:path; $($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) => $note:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As of cuBLAS's function of that name.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, reason = "cuBLAS's")]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $crate::abi::Status {
            static NEXT: $crate::next::Next = match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => $crate::next::Next::new(&$library, name),
                Err(_) => unreachable!(),
            };
            // SAFETY: the type is that of the function, and the arguments are the program's own.
            let status = unsafe {
                match NEXT.get::<unsafe extern "C" fn($($type),*) -> $crate::abi::Status>() {
                    Some(next) => next($($argument),*),
                    None => $crate::abi::NOT_INITIALIZED,
                }
            };
            if status == $crate::abi::SUCCESS {
                $crate::route::watch(|| $note);
            }
            status
        }
    )*};
}

pub(crate) use {functions, watched};
