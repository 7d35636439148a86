//! The functions of the interface, by sections of its reference.

mod absent;
mod context;
mod copy;
mod device;
mod entry;
mod event;
mod execution;
mod graph;
mod graph_node;
mod library;
mod memory;
mod module;
mod occupancy;
mod pointers;
mod stream;
mod tensor_map;
mod texture;
mod unified;

pub use absent::*;
pub use context::*;
pub use copy::*;
pub use device::*;
pub use entry::*;
pub use event::*;
pub use execution::*;
pub use graph::*;
pub use graph_node::*;
pub use library::*;
pub use memory::*;
pub use module::*;
pub use occupancy::*;
pub use stream::*;
pub use tensor_map::*;
pub use texture::*;
pub use unified::*;

/// Defines functions of the interface: each returns what its body answers. `find` gives one of them by its name.
macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $ty:ty),* $(,)?) $body:block)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "`, as NVIDIA's reference has it.")]
            #[allow(non_snake_case)]
            #[unsafe(no_mangle)]
            pub extern "C" fn $name($($argument: $ty),*) -> cudarc::driver::sys::CUresult {
                crate::status::answer(|| $body)
            }
        )*

        /// The address of one of these functions.
        pub(super) fn find(name: &str) -> Option<*const ()> {
            $(if name == stringify!($name) {
                return Some($name as *const ());
            })*
            None
        }
    };
}
use functions;
