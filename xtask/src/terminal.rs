//! Lines on standard output and standard error. A reader that has gone, as `head` does, is no reason to leave work undone; colours
//! reach terminals alone.

use std::fmt::Arguments;
use std::io::Write;

/// Prints a line, as `println!` does.
macro_rules! say {
    ($($text:tt)*) => { $crate::terminal::print(format_args!($($text)*)) };
}

/// Prints a line to standard error, as `eprintln!` does.
macro_rules! complain {
    ($($text:tt)*) => { $crate::terminal::print_error(format_args!($($text)*)) };
}

/// Prints a line, whether or not anybody reads it.
pub fn print(text: Arguments<'_>) {
    let _ = writeln!(anstream::stdout(), "{text}");
}

/// Prints a line to standard error, whether or not anybody reads it.
pub fn print_error(text: Arguments<'_>) {
    let _ = writeln!(anstream::stderr(), "{text}");
}
