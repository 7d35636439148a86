//! The PTX that the kernels are loaded from: the modules that are part of this program, or a user's file.

use std::path::{Path, PathBuf};

use gpu_kernels::Step;

use crate::Error;

/// One module per target that the steps name: (target, PTX). The build script writes this table.
const MODULES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/modules.rs"));

/// Where kernels come from.
#[derive(Debug, Clone)]
pub enum PtxSource {
    /// The modules compiled from `gpu-kernels` when this program was built.
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
    /// [`Error::BadPtx`] where the file cannot be read or is no PTX module. The driver judges the instructions later.
    pub fn from_file(path: &Path) -> Result<Self, Error> {
        let bad = |reason: String| Error::BadPtx { path: path.display().to_string(), reason };
        let bytes = std::fs::read(path).map_err(|error| bad(error.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|_| bad("it is not text".to_owned()))?;
        check(&text).map_err(|reason| bad(reason.to_owned()))?;
        Ok(Self::File { path: path.to_owned(), text })
    }

    /// The module that holds the step's kernel.
    ///
    /// # Errors
    /// [`Error::MissingKernel`] where it has no such entry.
    pub fn module(&self, step: &Step) -> Result<&str, Error> {
        let text = match self {
            Self::BuiltIn => {
                MODULES.iter().find(|(target, _)| *target == step.target.name()).map_or("", |(_, ptx)| ptx)
            }
            Self::File { text, .. } => text,
        };
        if entries(text).any(|entry| entry == step.kernel) {
            Ok(text)
        } else {
            Err(Error::MissingKernel { path: self.name(step), kernel: step.kernel.to_owned() })
        }
    }

    /// What to call the step's module in messages: the file's path, or `the built-in sm_80 module`.
    #[must_use]
    pub fn name(&self, step: &Step) -> String {
        match self {
            Self::BuiltIn => format!("the built-in {} module", step.target.name()),
            Self::File { path, .. } => path.display().to_string(),
        }
    }
}

/// What every PTX module has: PTX ISA, "PTX Module Directives".
fn check(text: &str) -> Result<(), &'static str> {
    if text.contains('\0') {
        return Err("it holds a NUL byte");
    }
    if !directives(text, ".version").any(|_| true) {
        return Err("it has no .version line");
    }
    if !directives(text, ".target").any(|_| true) {
        return Err("it has no .target line");
    }
    let count = |brace| code(text).flat_map(str::chars).filter(|c| *c == brace).count();
    if count('{') != count('}') {
        return Err("its braces do not match: is it cut off?");
    }
    Ok(())
}

/// The names of the kernels in a module.
fn entries(text: &str) -> impl Iterator<Item = &str> {
    directives(text, ".entry")
        .filter_map(|rest| rest.split(|c: char| c.is_whitespace() || c == '(').find(|s| !s.is_empty()))
}

/// What follows the directive, in each line that has it.
fn directives<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    code(text).filter_map(move |line| {
        let (before, rest) = line.split_once(name)?;
        let alone = before.chars().all(|c| c.is_whitespace() || c.is_ascii_alphabetic() || c == '.')
            && rest.starts_with(char::is_whitespace);
        alone.then_some(rest)
    })
}

/// The lines without their `//` comments.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpu_kernels::STEPS;

    const HEADER: &str = ".version 7.0\n.target sm_80\n.address_size 64\n";

    #[test]
    fn the_built_in_modules_hold_every_step() {
        for step in STEPS {
            assert!(PtxSource::BuiltIn.module(step).is_ok(), "{}", step.slug);
        }
        assert!(MODULES.iter().all(|(_, text)| check(text).is_ok()));
    }

    #[test]
    fn finds_entries_and_no_comments() {
        let text = "// .entry no\n.visible .entry one(\n.entry two (\n.weak .entry three\n(\n ret; // .entry no(\n";
        assert_eq!(entries(text).collect::<Vec<_>>(), ["one", "two", "three"]);
    }

    #[test]
    fn says_what_is_wrong_with_a_module() {
        assert_eq!(check(HEADER), Ok(()));
        assert_eq!(check(""), Err("it has no .version line"));
        assert_eq!(check("// .version 7.0"), Err("it has no .version line"));
        assert_eq!(check(".version 7.0"), Err("it has no .target line"));
        assert_eq!(check(&format!("{HEADER}\0")), Err("it holds a NUL byte"));
        assert_eq!(check(&format!("{HEADER}.entry a() {{ ret;")), Err("its braces do not match: is it cut off?"));
    }
}
