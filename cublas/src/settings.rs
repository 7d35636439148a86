//! What the environment asks for.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

use sgemm::AccuracyClass;

use crate::reason::Reason;

/// Read once, at the first call.
#[derive(Debug, PartialEq)]
pub struct Settings {
    /// `SGEMM_PRECISION`: which kernels may take the place of cuBLAS's SGEMM. `NVIDIA_TF32_OVERRIDE=0` allows none of the tensor cores.
    pub class: AccuracyClass,
    /// `SGEMM_WORKSPACE_MIB`, or else the sum of `CUBLAS_WORKSPACE_CONFIG`: most bytes of memory beside the program's own; `None` for a
    /// part of the device's.
    pub most_bytes: Option<u64>,
    /// Why every call is cuBLAS's: what `NVIDIA_TF32_OVERRIDE`, `CUBLAS_EMULATE_SINGLE_PRECISION` or `CUBLAS_BATCH_INVARIANCE_FLAGS` ask for
    /// in all of them.
    pub forwards_all: Option<Reason>,
    /// `SGEMM_LOG`: whether there is a summary at the end, and where.
    pub log: Option<Log>,
}

/// Where the summary goes.
#[derive(Debug, PartialEq)]
pub enum Log {
    Stderr,
    File(PathBuf),
}

impl Settings {
    /// Those of this process.
    pub fn get() -> &'static Self {
        static SETTINGS: OnceLock<Settings> = OnceLock::new();
        SETTINGS.get_or_init(|| Self::of(|name| env::var_os(name).filter(|value| !value.is_empty())))
    }

    /// What is not understood is said once, and as if it were unset.
    fn of(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let text = |name| variable(name).map(|value| value.to_string_lossy().into_owned());
        let classes = [AccuracyClass::Fp32Strict, AccuracyClass::Fp32];
        let class = text("SGEMM_PRECISION")
            .map_or(Some(AccuracyClass::Fp32Strict), |name| classes.into_iter().find(|class| class.name() == name));
        let limit = text("SGEMM_WORKSPACE_MIB").map(|mib| mib.trim().parse::<u64>().ok());
        if class.is_none() {
            eprintln!("sgemm: SGEMM_PRECISION is unknown: give fp32-strict or fp32");
        }
        if limit == Some(None) {
            eprintln!("sgemm: SGEMM_WORKSPACE_MIB is no number of MiB");
        }
        let is_set = |name| text(name).is_some_and(|value| value.trim() != "0");
        let is_tf32_forbidden = text("NVIDIA_TF32_OVERRIDE").is_some_and(|value| value.trim() == "0");
        let configured = || text("CUBLAS_WORKSPACE_CONFIG").and_then(|config| configured_bytes(&config));
        Self {
            // No tensor core may compute in TF32 then, in a split either.
            class: if is_tf32_forbidden { AccuracyClass::Fp32Strict } else { class.unwrap_or_default() },
            most_bytes: limit.flatten().map(|mib| mib.saturating_mul(1 << 20)).or_else(configured),
            forwards_all: if is_set("NVIDIA_TF32_OVERRIDE") || is_set("CUBLAS_EMULATE_SINGLE_PRECISION") {
                Some(Reason::OtherArithmetic)
            } else {
                is_set("CUBLAS_BATCH_INVARIANCE_FLAGS").then_some(Reason::BatchInvariance)
            },
            log: variable("SGEMM_LOG").filter(|value| value != "0").map(|value| match value {
                value if value == "1" => Log::Stderr,
                value => Log::File(value.into()),
            }),
        }
    }
}

/// The bytes of `:4096:2:16:8`, pairs of KiB and how many of these; `None` where it is not of that form.
fn configured_bytes(config: &str) -> Option<u64> {
    let numbers = config.strip_prefix(':')?.split(':').map(|number| number.parse::<u64>().ok());
    let numbers = numbers.collect::<Option<Vec<_>>>()?;
    let (pairs, []) = numbers.as_chunks() else { return None };
    Some(
        pairs
            .iter()
            .fold(0_u64, |all, [kib, count]| all.saturating_add(kib.saturating_mul(*count).saturating_mul(1024))),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Settings {
        Settings::of(|name| variables.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).into()))
    }

    #[test]
    fn what_is_unset_or_unknown_changes_nothing() {
        let plain = of(&[]);
        let expected = Settings { class: AccuracyClass::Fp32Strict, most_bytes: None, forwards_all: None, log: None };
        assert_eq!(plain, expected);
        let unknown = [
            ("SGEMM_PRECISION", "fp16"),
            ("SGEMM_WORKSPACE_MIB", "much"),
            ("CUBLAS_WORKSPACE_CONFIG", "4096"),
            ("CUBLAS_EMULATE_SINGLE_PRECISION", "0"),
            ("CUBLAS_BATCH_INVARIANCE_FLAGS", "0"),
            ("SGEMM_LOG", "0"),
        ];
        assert_eq!(of(&unknown), expected);
    }

    #[test]
    fn variables_are_understood() {
        let all = of(&[("SGEMM_PRECISION", "fp32"), ("NVIDIA_TF32_OVERRIDE", "1"), ("SGEMM_LOG", "1")]);
        let asked = (AccuracyClass::Fp32, Some(Reason::OtherArithmetic), Some(Log::Stderr));
        assert_eq!((all.class, all.forwards_all, all.log), asked);
        let strict = of(&[("SGEMM_PRECISION", "fp32"), ("NVIDIA_TF32_OVERRIDE", "0")]);
        assert_eq!((strict.class, strict.forwards_all), (AccuracyClass::Fp32Strict, None));
        assert_eq!(of(&[("CUBLAS_EMULATE_SINGLE_PRECISION", "1")]).forwards_all, Some(Reason::OtherArithmetic));
        assert_eq!(of(&[("CUBLAS_BATCH_INVARIANCE_FLAGS", "8")]).forwards_all, Some(Reason::BatchInvariance));
        let config = ("CUBLAS_WORKSPACE_CONFIG", ":4096:2:16:8");
        assert_eq!(of(&[config]).most_bytes, Some((2 * 4096 + 8 * 16) << 10));
        assert_eq!(of(&[config, ("SGEMM_WORKSPACE_MIB", "64")]).most_bytes, Some(64 << 20));
        assert_eq!(of(&[("CUBLAS_WORKSPACE_CONFIG", ":0:0")]).most_bytes, Some(0));
        assert_eq!(of(&[("SGEMM_LOG", "log.txt")]).log, Some(Log::File("log.txt".into())));
    }
}
