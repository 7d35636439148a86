//! Runs a target on its corpus and on changes of it.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::mutate::mutated;

/// The longest that an input may take, on a machine that is busy.
const MAX_TIME: Duration = Duration::from_secs(60);

/// A reader of what others write.
#[derive(Clone, Copy)]
pub struct Target {
    pub name: &'static str,
    /// Folders of inputs, in the workspace.
    pub corpora: &'static [&'static str],
    /// What changes insert.
    pub words: &'static [&'static str],
    /// Inputs, unless others are asked for.
    pub inputs: u64,
    /// Bytes of the host's memory that an input may take at once.
    pub most_bytes: u64,
    /// Panics where something is wrong.
    pub check: fn(&[u8]),
}

impl Target {
    /// Runs the corpora, then as many changes of them as there are to be. What fails is kept under target/fuzz/.
    pub fn run(&'static self) {
        let corpus: Vec<Vec<u8>> = self.corpora.iter().flat_map(|folder| files(&workspace().join(folder))).collect();
        assert!(corpus.len() >= 2, "a corpus of {} files", corpus.len());
        let number = |name: &str, default| std::env::var(name).map_or(default, |text| text.parse().expect(name));
        let (inputs, seed) = (number("FUZZ_INPUTS", self.inputs), number("FUZZ_SEED", 1));
        let (sender, receiver) = channel();
        let texts = corpus.clone();
        std::thread::spawn(move || {
            let all = texts.iter().cloned().chain((0..inputs).map(|index| input(&texts, self.words, seed, index)));
            for (index, bytes) in all.enumerate() {
                if sender.send((index, Some(bytes.clone()))).is_err() || !self.survives(&bytes) {
                    return;
                }
            }
            // Nobody may be there to hear that it is done.
            let _ = sender.send((0, None));
        });
        let mut last = (0, Vec::new());
        loop {
            match receiver.recv_timeout(MAX_TIME) {
                Ok((index, Some(bytes))) => last = (index, bytes),
                Ok((_, None)) => return,
                Err(RecvTimeoutError::Timeout) => self.fail("takes too long", &last),
                Err(RecvTimeoutError::Disconnected) => self.fail("panics, or takes too much memory", &last),
            }
        }
    }

    /// Whether the input neither panics nor takes too much memory: standard error says which.
    fn survives(&self, bytes: &[u8]) -> bool {
        let check = || catch_unwind(AssertUnwindSafe(|| (self.check)(bytes))).is_ok();
        let mut is_right = false;
        let memory = allocation_counter::measure(|| is_right = check());
        if memory.bytes_max > self.most_bytes {
            eprintln!("{} bytes of memory for {} of input", memory.bytes_max, bytes.len());
        }
        is_right && memory.bytes_max <= self.most_bytes
    }

    fn fail(&self, what: &str, (index, bytes): &(usize, Vec<u8>)) -> ! {
        let path = workspace().join("target/fuzz").join(self.name);
        let kept = fs::create_dir_all(path.with_file_name("")).and_then(|()| fs::write(&path, bytes));
        panic!("input {index} of {} {what}: {} ({kept:?})", self.name, path.display());
    }
}

/// The input of that index: the same for the same seed.
fn input(corpus: &[Vec<u8>], words: &[&str], seed: u64, index: u64) -> Vec<u8> {
    let mut rng = SmallRng::seed_from_u64(seed << 40 ^ index);
    let from = &corpus[rng.random_range(0..corpus.len())];
    mutated(from, corpus, words, &mut rng)
}

/// Where the executable was taken to another machine, `CARGO_MANIFEST_DIR` says where the corpora are.
fn workspace() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    PathBuf::from(package).parent().unwrap().to_owned()
}

/// The contents of a folder's files, in the order of their names.
fn files(folder: &Path) -> Vec<Vec<u8>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| fs::read(path).unwrap()).collect()
}
