//! The end of a communicator, which may hang.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::distributed::nccl::library::Library;
use crate::distributed::nccl::sys::NcclComm;
use crate::distributed::patience::Patience;

/// How long the end of a communicator may take. After that it is left as it is: the process ends soon.
pub const END: Duration = Duration::from_secs(5);

/// One that has begun, and takes as long as NCCL does.
pub struct Ending(mpsc::Receiver<()>, Patience);

/// A communicator on its way to another thread.
struct Raw(NcclComm);

// SAFETY: any thread may use a communicator, and the one that gives it away uses it no more.
unsafe impl Send for Raw {}

impl Ending {
    /// Does that in a thread of its own.
    pub fn begin(
        library: &'static Library,
        raw: NcclComm,
        act: impl FnOnce(&'static Library, NcclComm) + Send + 'static,
    ) -> Option<Self> {
        let raw = Raw(raw);
        let (done, is_done) = mpsc::channel();
        let thread = thread::Builder::new().name("nccl-end".into()).spawn(move || {
            let raw = raw;
            act(library, raw.0);
            let _ = done.send(());
        });
        thread.ok().map(|_| Self(is_done, Patience::new(END)))
    }

    /// Waits for it, and not for ever.
    pub fn wait(self) {
        let _ = self.0.recv_timeout(self.1.left());
    }
}
