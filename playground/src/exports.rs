//! What a page calls. Texts pass through two buffers: the page asks for room, writes the request there, and reads the reply.

use std::cell::RefCell;
use std::panic;

use crate::Session;

#[derive(Default)]
struct Page {
    session: Session,
    request: Vec<u8>,
    reply: Vec<u8>,
}

thread_local! {
    static PAGE: RefCell<Page> = RefCell::default();
    /// What a panic said: it is read after the trap that follows it.
    static PANIC: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Room for a request of so many bytes: where it begins.
#[unsafe(no_mangle)]
extern "C" fn request(bytes: usize) -> *mut u8 {
    PAGE.with_borrow_mut(|page| {
        page.request = vec![0; bytes];
        page.request.as_mut_ptr()
    })
}

/// Answers the request: the bytes of the reply.
#[unsafe(no_mangle)]
extern "C" fn answer() -> usize {
    panic::set_hook(Box::new(|panic| PANIC.with_borrow_mut(|text| *text = panic.to_string().into_bytes())));
    PAGE.with_borrow_mut(|page| {
        let request = std::mem::take(&mut page.request);
        page.reply = page.session.answer(&String::from_utf8_lossy(&request)).into_bytes();
        page.reply.len()
    })
}

/// Where the reply begins.
#[unsafe(no_mangle)]
extern "C" fn reply() -> *const u8 {
    PAGE.with_borrow(|page| page.reply.as_ptr())
}

/// The bytes of what a panic said.
#[unsafe(no_mangle)]
extern "C" fn panic_bytes() -> usize {
    PANIC.with_borrow(Vec::len)
}

/// Where that begins.
#[unsafe(no_mangle)]
extern "C" fn panic_text() -> *const u8 {
    PANIC.with_borrow(|text| text.as_ptr())
}
