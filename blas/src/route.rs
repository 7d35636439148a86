//! Who runs a call.

use std::sync::OnceLock;

use sgemm::AccuracyClass;

use crate::call::Call;
use crate::{compute, next};

/// Billions of operations from which on a GPU is asked: below, the CPU is done before the matrices are there. Not measured yet.
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
    class: AccuracyClass,
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
            Self::of(["SGEMM_BACKEND", "SGEMM_PRECISION", "SGEMM_LEAST_GFLOP"].map(variable))
        })
    }

    /// What is not known is said once, and as if it were unset.
    fn of([backend, precision, least]: [Option<String>; 3]) -> Self {
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
        Self { backend, class, least_gflop, process: std::process::id() }
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
    let Settings { backend, class, least_gflop, process } = *Settings::get();
    // SAFETY: upheld by the caller.
    unsafe {
        let is_done = match backend {
            Backend::Emulator => compute::emulate(call, class),
            Backend::Cuda if process == std::process::id() => compute::on_gpu(call, class),
            Backend::Automatic if process == std::process::id() && call.flops() >= least_gflop * 1e9 => {
                compute::on_gpu(call, class)
            }
            Backend::Cuda | Backend::Automatic | Backend::Next => false,
        };
        if !is_done {
            next::run(call);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unknown_counts_as_unset() {
        let of = |variables: [Option<&str>; 3]| {
            let Settings { backend, class, least_gflop, .. } =
                Settings::of(variables.map(|value| value.map(str::to_owned)));
            (backend, class, least_gflop)
        };
        let plain = (Backend::Automatic, AccuracyClass::Fp32Strict, LEAST_GFLOP);
        assert_eq!(of([None; 3]), plain);
        assert_eq!(of([Some(""); 3]), plain);
        assert_eq!(of([Some("emulator"), Some("fp32"), Some("0.5")]), (Backend::Emulator, AccuracyClass::Fp32, 0.5));
        assert_eq!(of([Some("opencl"), Some("fp16"), Some("many")]), plain);
    }
}
