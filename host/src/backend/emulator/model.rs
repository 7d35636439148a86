//! Devices whose times can be modelled.

use crate::Error;
use crate::backend::Device;

/// A device that the emulator can stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Model {
    /// What `--model` calls it.
    pub slug: &'static str,
    /// Its name as a driver gives it.
    pub name: &'static str,
    /// Compute capability: major, minor.
    pub compute_capability: (u32, u32),
    /// Streaming multiprocessors.
    pub sm_count: u32,
    /// SM clock, in MHz.
    pub clock_mhz: u32,
    /// L2 cache, in bytes.
    pub l2_bytes: u64,
    /// Device memory, in bytes.
    pub memory_bytes: u64,
}

/// Every device that can be modelled, the one that is without further ado first.
pub const MODELS: &[Model] = &[Model {
    slug: "h200",
    name: "NVIDIA H200",
    compute_capability: (9, 0),
    sm_count: 132,
    clock_mhz: 1980,
    l2_bytes: 50 << 20,
    memory_bytes: 141_000_000_000,
}];

impl Model {
    /// The device of that slug, in upper or lower case.
    ///
    /// # Errors
    /// [`Error::UnknownModel`] where there is none.
    pub fn find(slug: &str) -> Result<&'static Self, Error> {
        let unknown = || Error::UnknownModel { name: slug.to_owned(), models: slugs() };
        MODELS.iter().find(|model| model.slug.eq_ignore_ascii_case(slug)).ok_or_else(unknown)
    }

    /// What a report says about it.
    pub(super) fn device(&self) -> Device {
        Device {
            name: self.name.to_owned(),
            compute_capability: self.compute_capability,
            sm_count: self.sm_count,
            max_clock_mhz: self.clock_mhz,
            l2_bytes: self.l2_bytes,
            memory_bytes: self.memory_bytes,
            driver: String::new(),
            cuda: String::new(),
            cublas: None,
        }
    }
}

fn slugs() -> String {
    MODELS.iter().map(|model| model.slug).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_found_by_their_slug() {
        assert_eq!(Model::find("H200").unwrap().name, "NVIDIA H200");
        let error = Model::find("tpu").unwrap_err();
        assert_eq!((error.exit_code(), error.to_string().contains("h200")), (2, true));
    }
}
