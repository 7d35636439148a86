//! Loads, stores, atomics and `cp.async`: bounds-checked, counted, shown to the race checkers.

mod access;
mod atomic;
mod bounds;
mod copy;
mod data;
mod request;
mod shared;

pub(crate) use atomic::replace;
pub(crate) use data::{get_bytes, load, put_bytes};
pub(crate) use request::Request;
pub(crate) use shared::shared;
