//! Loads, stores, atomics, textures and `cp.async`: bounds-checked, counted, shown to the race checkers.

mod access;
mod atomic;
mod bounds;
mod copy;
mod data;
mod request;
mod shared;
mod texture;

pub(crate) use atomic::replace;
pub(crate) use data::{get, get_bytes, load, put, put_bytes, read, write};
pub(crate) use request::Request;
pub(crate) use shared::shared;
