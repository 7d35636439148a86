//! The emulator behind the book's playground: [`Session::answer`] takes a request as JSON and gives a reply as JSON, in a page as in a
//! test, so that both can be compared letter by letter.
//!
//! A request runs a [`Case`]: memory, launches on it, and which of them is traced. Further requests look at the trace: registers, memory
//! and accesses at a step, and what happened over time.
//!
//! ```
//! let mut session = playground::Session::default();
//! let reply = session.answer(r#"{"do": "kernels", "ptx": ".version 7.0 .target sm_80 .address_size 64 .entry k() { ret; }"}"#);
//! assert!(reply.starts_with(r#"{"kernels":[{"name":"k""#), "{reply}");
//! assert_eq!(session.answer("?"), r#"{"error":"no request: expected value at line 1 column 1"}"#);
//! ```

mod case;
#[cfg(target_arch = "wasm32")]
mod exports;
mod kernels;
mod memory;
mod result;
mod session;
#[cfg(feature = "steps")]
pub mod steps;
mod timeline;
mod view;

pub use case::{Argument, Case, Launch, Map, Memory, Place, Value};
pub use session::Session;
