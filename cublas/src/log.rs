//! The summary at the end of a process, where `SGEMM_LOG` asks for it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::sync::{Mutex, Once, PoisonError};

use crate::forked::is_child;
use crate::gpu::Planned;
use crate::reason::Reason;
use crate::settings::{Log, Settings};

/// Most lines of shapes: the summary says how many there are beside them.
const MOST_SHAPES: usize = 40;

/// What happened so far.
#[derive(Debug, Default)]
struct Summary {
    /// By function, sizes, batch and kernel.
    taken: BTreeMap<Key, Taken>,
    forwarded: BTreeMap<(&'static str, Reason), u64>,
}

/// A function, m, n, k, problems of the batch, and the kernel's name.
type Key = (&'static str, [usize; 3], usize, &'static str);

/// Calls of one kind, with the predicted times of all of them.
#[derive(Debug, Default, Clone, Copy)]
struct Taken {
    calls: u64,
    us: f64,
    strict_us: f64,
}

static SUMMARY: Mutex<Option<Summary>> = Mutex::new(None);

/// Counts a call that was computed here.
pub fn taken(function: &'static str, planned: &Planned) {
    let gemm = &planned.gemm;
    let key = (function, gemm.problem().sizes(), gemm.plan().batch(), gemm.kernel().slug);
    count(|summary| {
        let taken = summary.taken.entry(key).or_default();
        taken.calls += 1;
        taken.us += planned.us;
        taken.strict_us += planned.strict_us;
    });
}

/// Counts a call that went to cuBLAS.
pub fn forwarded(function: &'static str, reason: Reason) {
    count(|summary| *summary.forwarded.entry((function, reason)).or_default() += 1);
}

fn count(add: impl FnOnce(&mut Summary)) {
    static AT_EXIT: Once = Once::new();
    if Settings::get().log.is_none() {
        return;
    }
    AT_EXIT.call_once(|| {
        // SAFETY: the function may be called at any time before the library is unloaded, which a preloaded one is not.
        let _ = unsafe { libc::atexit(at_exit) };
    });
    add(SUMMARY.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default());
}

/// Writes the summary, but in a forked child, where it is the parent's.
extern "C" fn at_exit() {
    if is_child() {
        return;
    }
    let Ok(summary) = SUMMARY.try_lock() else { return };
    let text = summary.as_ref().map(|summary| text(summary, Settings::get().class.name())).unwrap_or_default();
    // Nobody is left to hear that it failed.
    let _ = match &Settings::get().log {
        Some(Log::File(path)) => {
            OpenOptions::new().create(true).append(true).open(path).and_then(|mut file| file.write_all(text.as_bytes()))
        }
        _ => std::io::stderr().write_all(text.as_bytes()),
    };
}

fn text(summary: &Summary, class: &str) -> String {
    let calls = |all: &mut dyn Iterator<Item = u64>| all.sum::<u64>();
    let taken = calls(&mut summary.taken.values().map(|taken| taken.calls));
    let forwarded = calls(&mut summary.forwarded.values().copied());
    let mut text = format!("sgemm: {taken} calls computed in {class}, {forwarded} forwarded to cuBLAS\n");
    let mut shapes: Vec<_> = summary.taken.iter().collect();
    shapes.sort_by(|(_, one), (_, other)| other.us.total_cmp(&one.us));
    for ((function, [m, n, k], batch, kernel), Taken { calls, us, .. }) in shapes.iter().take(MOST_SHAPES) {
        let batch = if *batch == 1 { String::new() } else { format!(" x {batch}") };
        let ms = us / 1e3;
        let _ =
            writeln!(text, "sgemm: {calls:>8} x {function} {m} x {n} x {k}{batch} by {kernel}: modelled {ms:.3} ms");
    }
    if let Some(others @ 1..) = shapes.len().checked_sub(MOST_SHAPES) {
        let _ = writeln!(text, "sgemm: and {others} other shapes");
    }
    for ((function, reason), calls) in &summary.forwarded {
        let _ = writeln!(text, "sgemm: {calls:>8} x {function} forwarded: {}", reason.text());
    }
    let total = |of: fn(&Taken) -> f64| summary.taken.values().map(of).sum::<f64>() / 1e3;
    let (ms, strict_ms) = (total(|taken| taken.us), total(|taken| taken.strict_us));
    if taken > 0 {
        let saved = strict_ms - ms;
        let _ = writeln!(
            text,
            "sgemm: modelled: {ms:.3} ms on the device, {strict_ms:.3} ms by the kernels of fp32-strict, saved {saved:.3} ms"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_says_what_and_why() {
        let mut summary = Summary::default();
        let call = Taken { calls: 2, us: 1500.0, strict_us: 4000.0 };
        summary.taken.insert(("cublasSgemm_v2", [10, 20, 30], 1, "stream-k"), call);
        summary.taken.insert(("cublasSgemmStridedBatched", [1, 2, 3], 4, "split-k"), Taken { us: 9000.0, ..call });
        summary.forwarded.insert(("cublasGemmEx", Reason::Elements), 7);
        let expected = "\
sgemm: 4 calls computed in fp32, 7 forwarded to cuBLAS
sgemm:        2 x cublasSgemmStridedBatched 1 x 2 x 3 x 4 by split-k: modelled 9.000 ms
sgemm:        2 x cublasSgemm_v2 10 x 20 x 30 by stream-k: modelled 1.500 ms
sgemm:        7 x cublasGemmEx forwarded: not of f32
sgemm: modelled: 10.500 ms on the device, 8.000 ms by the kernels of fp32-strict, saved -2.500 ms
";
        assert_eq!(text(&summary, "fp32"), expected);
    }
}
