//! What others write is read without a panic, a hang or memory without bound: the committed corpora as they are, then random changes of
//! them. `FUZZ_INPUTS` is how many, of each target; `FUZZ_SEED` draws others.
//!
//!     FUZZ_INPUTS=1000000 cargo test -p tests --test fuzz

mod library;
mod mutate;
mod ptx;
mod records;
mod run;
mod tables;
