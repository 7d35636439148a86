//! Who runs a call.

use std::sync::{Once, OnceLock};

use sgemm::{AccuracyClass, Error};

use crate::call::Call;
use crate::compute::{self, Limits};
use crate::next;

/// Billions of operations from which on a GPU is asked: below, the CPU is done before the matrices are there (`docs/results/host-pointers`).
const LEAST_GFLOP: f64 = 2.0;

/// What runs products.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Backend {
    /// A GPU, for all of them.
    Cuda,
    /// An emulated GPU.
    Emulator,
    /// The next BLAS.
    Next,
    /// A GPU for large ones, where there is one.
    Automatic,
}

/// What the environment asks for.
#[derive(Debug, Clone, Copy)]
struct Settings {
    backend: Backend,
    /// `SGEMM_PRECISION` and `SGEMM_MEMORY_MIB`.
    limits: Limits,
    /// `SGEMM_LEAST_GFLOP`: what `Automatic` takes for large.
    least_gflop: f64,
    /// The process that read it: a forked child must not use its parent's GPU.
    process: u32,
}

impl Settings {
    fn get() -> &'static Self {
        static SETTINGS: OnceLock<Settings> = OnceLock::new();
        SETTINGS.get_or_init(|| {
            let variable = |name| std::env::var(name).ok();
            Self::of(["SGEMM_BACKEND", "SGEMM_PRECISION", "SGEMM_LEAST_GFLOP", "SGEMM_MEMORY_MIB"].map(variable))
        })
    }

    /// What is not known is said once, and as if it were unset.
    fn of([backend, precision, least, memory]: [Option<String>; 4]) -> Self {
        let backend = match backend.as_deref() {
            None | Some("") => Backend::Automatic,
            Some("cuda") => Backend::Cuda,
            Some("emulator") => Backend::Emulator,
            Some("next") => Backend::Next,
            Some(other) => {
                eprintln!("sgemm: SGEMM_BACKEND={other:?} is unknown: give cuda, emulator or next");
                Backend::Automatic
            }
        };
        let classes = [AccuracyClass::Fp32Strict, AccuracyClass::Fp32];
        let class = match precision.filter(|name| !name.is_empty()) {
            None => AccuracyClass::Fp32Strict,
            Some(name) => classes.into_iter().find(|class| class.name() == name).unwrap_or_else(|| {
                eprintln!("sgemm: SGEMM_PRECISION={name:?} is unknown: give fp32-strict or fp32");
                AccuracyClass::Fp32Strict
            }),
        };
        let least_gflop = least.filter(|least| !least.is_empty()).map_or(LEAST_GFLOP, |least| {
            least.trim().parse().unwrap_or_else(|_| {
                eprintln!("sgemm: SGEMM_LEAST_GFLOP={least:?} is no number");
                LEAST_GFLOP
            })
        });
        let memory_bytes = memory.filter(|memory| !memory.is_empty()).and_then(|memory| {
            let mib = memory.trim().parse().ok().filter(|mib: &f64| mib.is_finite() && *mib > 0.0);
            if mib.is_none() {
                eprintln!("sgemm: SGEMM_MEMORY_MIB={memory:?} is no number of MiB above 0");
            }
            mib.map(|mib| (mib * f64::from(1 << 20)) as u64)
        });
        let limits = Limits { class, memory_bytes };
        Self { backend, limits, least_gflop, process: std::process::id() }
    }
}

/// Runs a call whose arguments have no fault.
///
/// # Safety
/// As of `sgemm_`.
pub unsafe fn run(call: &Call) {
    if call.is_nothing() {
        return;
    }
    let Settings { backend, limits, least_gflop, process } = *Settings::get();
    let is_own = process == std::process::id();
    // SAFETY: upheld by the caller.
    let result = unsafe {
        match backend {
            Backend::Emulator => Some(compute::emulate(call, limits)),
            Backend::Cuda if is_own => Some(compute::on_gpu(call, limits)),
            Backend::Automatic if is_own && call.flops() >= least_gflop * 1e9 => Some(compute::on_gpu(call, limits)),
            Backend::Cuda | Backend::Automatic | Backend::Next => None,
        }
    };
    match result {
        Some(Ok(())) => return,
        Some(Err(error)) if backend != Backend::Automatic => say(call, &error),
        Some(Err(_)) | None => {}
    }
    // SAFETY: upheld by the caller.
    unsafe { next::run(call) }
}

/// Says once why a call goes to the next BLAS although another backend was asked for.
fn say(call: &Call, error: &Error) {
    static SAID: Once = Once::new();
    let Call { m, n, k, .. } = call;
    SAID.call_once(|| eprintln!("sgemm: {m} x {n} x {k} goes to the next BLAS, as others may: {error}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unknown_counts_as_unset() {
        let of = |variables: [Option<&str>; 4]| {
            let Settings { backend, limits, least_gflop, .. } =
                Settings::of(variables.map(|value| value.map(str::to_owned)));
            (backend, limits.class, least_gflop, limits.memory_bytes)
        };
        let plain = (Backend::Automatic, AccuracyClass::Fp32Strict, LEAST_GFLOP, None);
        assert_eq!(of([None; 4]), plain);
        assert_eq!(of([Some(""); 4]), plain);
        let all = [Some("emulator"), Some("fp32"), Some("0.5"), Some(" 1.5")];
        assert_eq!(of(all), (Backend::Emulator, AccuracyClass::Fp32, 0.5, Some(3 << 19)));
        assert_eq!(of([Some("opencl"), Some("fp16"), Some("many"), Some("-1")]), plain);
        assert_eq!(of([None, None, None, Some("all")]), plain);
    }
}
