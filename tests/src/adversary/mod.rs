//! Looks for the inputs on which a split kernel errs most: hill climbing on a model of its arithmetic.

mod model;
mod proven;
mod record;
mod search;

pub use model::{Arithmetic, Guard, SIDE};
pub use proven::proven;
pub use record::Record;
pub use search::{Found, Window, search};

/// The lengths of sums that are searched, and the windows.
pub const LENGTHS: [usize; 7] = [8, 31, 32, 33, 64, 100, 256];
/// That of f16 which is certified, half of it, and none.
pub const WINDOWS: [Window; 3] = [Some(14), Some(28), None];

/// The worst of searches, from one seed after the other, as long as `goes_on`.
pub fn worst(arithmetic: Arithmetic, k: usize, window: Window, mut goes_on: impl FnMut() -> bool) -> Record {
    /// Steps from one seed.
    const STEPS: usize = 1000;
    let mut seed = 0;
    let mut found = search(arithmetic, k, window, STEPS, seed);
    while goes_on() {
        seed += 1;
        let other = search(arithmetic, k, window, STEPS, seed);
        if other.c > found.c {
            found = other;
        }
    }
    Record { arithmetic, window, found }
}
