//! How long work is asked to end early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Error;

/// A flag that ends long work as soon as it is raised. Its clones are one and the same flag.
///
/// ```
/// use host::backend::{BackendChoice, Options, open};
/// use host::measure::kernels;
/// use host::{Error, Kernel, Operands, Problem, Stop};
///
/// let stop = Stop::default();
/// let options = Options { stop: stop.clone(), ..Options::default() };
/// let mut backend = open(BackendChoice::Emulator, options)?.backend;
/// let problem = Problem::new(64, 64, 64)?;
/// backend.upload(&Operands::random(&problem)?)?;
/// stop.raise(); // as another thread would, or a handler of Ctrl-C
/// let result = backend.run(Kernel::Step(kernels::find("naive")?), &problem);
/// assert!(matches!(result, Err(Error::Interrupted)));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks everything that looks at it to end. Returns whether that was asked before.
    pub fn raise(&self) -> bool {
        self.0.swap(true, Ordering::AcqRel)
    }

    /// Whether it was raised.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Fails once it was raised.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn check(&self) -> Result<(), Error> {
        if self.is_raised() { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// The flag itself, for those who know nothing of this crate.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}
