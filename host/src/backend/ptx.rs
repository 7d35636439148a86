//! The PTX that kernels are loaded from: the library's modules, those of changed kernels, or a user's file.

use std::borrow::Cow;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use gpu_kernels::{Step, Target};
use sgemm::modules::{self, ModuleSource, SuppliedModule};

use crate::Error;

/// Modules of kernels that were changed since the library's were compiled: (target, PTX). The build script compiles them, and
/// writes this table.
const CHANGED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/modules.rs"));

/// Where kernels come from.
#[derive(Debug, Clone)]
pub enum PtxSource {
    /// The library's modules, or what `gpu-kernels` was compiled to when this program was built, if that is newer.
    BuiltIn,
    /// A file in their place: see [`PtxSource::from_file`].
    File {
        /// Its path, for messages.
        path: PathBuf,
        /// Its text.
        text: String,
    },
}

impl PtxSource {
    /// Reads a file of PTX whose kernels are to run instead of the built-in ones.
    ///
    /// # Errors
    /// [`sgemm::Error::BadModule`] where the file cannot be read or is no PTX module. The driver judges the instructions later.
    pub fn from_file(path: &Path) -> Result<Self, Error> {
        let bad = |reason: String| sgemm::Error::BadModule { module: path.display().to_string(), reason };
        let text = results::read_text(path).map_err(|error| match error.kind() {
            ErrorKind::InvalidData => bad("it is not text".to_owned()),
            _ => bad(error.to_string()),
        })?;
        modules::check(&text).map_err(|reason| bad(reason.to_owned()))?;
        directed_rounding(&text).map_or(Ok(()), |reason| Err(bad(reason)))?;
        Ok(Self::File { path: path.to_owned(), text })
    }

    /// The same for the library.
    #[must_use]
    pub fn modules(&self) -> ModuleSource {
        match self {
            Self::BuiltIn if CHANGED.is_empty() => ModuleSource::BuiltIn,
            Self::BuiltIn => ModuleSource::Supplied(Target::ALL.into_iter().filter_map(changed).collect()),
            Self::File { path, text } => ModuleSource::of_text(path.display().to_string(), text.clone()),
        }
    }

    /// The module that holds the step's kernels, and no others: [`ModuleSource::module`].
    ///
    /// # Errors
    /// [`sgemm::Error::MissingKernel`] where it has not the step's kernel, or what runs before that.
    pub fn module(&self, step: &Step) -> Result<String, Error> {
        Ok(self.modules().module(step)?)
    }
}

/// Where a module rounds in one direction. Such a sum is within its error bound, but biased, so that no result shows it.
#[must_use]
pub fn directed_rounding(module: &str) -> Option<String> {
    let is_directed = |line: &&str| {
        let code = line.split("//").next().unwrap_or_default();
        code.split([' ', '\t', ';', '{']).any(|word| [".rz", ".rm", ".rp"].iter().any(|way| has_part(word, way)))
    };
    let (line, number) = module.lines().zip(1..).find(|(line, _)| is_directed(line))?;
    Some(format!("line {number}, `{}`: does not round to the nearest", line.trim()))
}

/// Whether an opcode has this part.
fn has_part(opcode: &str, part: &str) -> bool {
    opcode.match_indices(part).any(|(at, _)| matches!(opcode.as_bytes().get(at + part.len()), None | Some(b'.')))
}

/// The target's module as the build script compiled it, if its kernels were changed.
fn changed(target: Target) -> Option<SuppliedModule> {
    let (name, text) = CHANGED.iter().find(|(name, _)| *name == target.name())?;
    Some(SuppliedModule {
        name: format!("the built-in {name} module"),
        target: Some(target),
        text: Cow::Borrowed(text),
    })
}

/// The compilers of the built-in kernels and of this program, for records.
pub(crate) fn toolchain() -> String {
    let module = CHANGED.first().map_or(modules::built_in(Target::Sm80).unwrap_or_default(), |(_, text)| text);
    // The header of a module that `cuda_builder` made.
    let kernels = module.lines().find_map(|line| line.strip_prefix("// compiler: ")).unwrap_or("unknown");
    format!("kernels: {kernels}; program: {}", env!("HOST_RUSTC"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_modules_hold_every_step() {
        for step in gpu_kernels::STEPS {
            assert!(PtxSource::BuiltIn.module(step).is_ok(), "{}", step.slug);
        }
    }

    #[test]
    fn a_file_must_be_a_module() {
        let error = PtxSource::from_file(Path::new("/no/such/file.ptx")).unwrap_err();
        assert!(error.to_string().starts_with("/no/such/file.ptx is not a PTX module that can be used: "), "{error}");
    }

    #[test]
    fn what_does_not_round_to_the_nearest_is_named() {
        let right = "fma.rn.f32 %r1, %r2;\ncvt.rzi.s32.f32 %r1, %r2;\n// fma.rz.f32\n@%p bra $L.rzip;\n";
        assert_eq!(directed_rounding(right), None);
        for wrong in ["\tfma.rz.f32 \t%r1, %r2;", "@%p1 add.rm.ftz.f32 %r1, %r2, %r3;", "{ cvt.rp.f16.f32 %r1, %r2; }"]
        {
            let found = directed_rounding(&format!("ret;\n{wrong}\n")).unwrap();
            assert!(found.starts_with("line 2, `") && found.ends_with("does not round to the nearest"), "{found}");
        }
    }
}
