//! The PTX that the kernels are loaded from: the modules that are part of this program, or a user's file.

use std::ops::Range;
use std::path::{Path, PathBuf};

use gpu_kernels::Step;

use crate::Error;

mod entries;

use entries::entries;

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

    /// The module that holds the step's kernel, without the kernels that the step does not need: what is there to be
    /// compiled is the step's own. Lines keep their numbers.
    ///
    /// # Errors
    /// [`Error::MissingKernel`] where it has not the step's kernel, or what runs before that.
    pub fn module(&self, step: &Step) -> Result<String, Error> {
        let text = match self {
            Self::BuiltIn => {
                MODULES.iter().find(|(target, _)| *target == step.target.name()).map_or("", |(_, ptx)| ptx)
            }
            Self::File { text, .. } => text,
        };
        let entries = entries(text);
        for kernel in step.kernels() {
            if !entries.iter().any(|entry| entry.name == kernel) {
                return Err(Error::MissingKernel { path: self.name(step), kernel: kernel.to_owned() });
            }
        }
        let unneeded = entries.into_iter().filter(|entry| !step.kernels().any(|kernel| kernel == entry.name));
        Ok(without(text, unneeded.map(|entry| entry.range)))
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

/// The compilers of the built-in kernels and of this program, for records.
pub(crate) fn toolchain() -> String {
    // The header of a module that `cuda_builder` made.
    let header = |(_, ptx): &(_, &'static str)| ptx.lines().find_map(|line| line.strip_prefix("// compiler: "));
    let kernels = MODULES.iter().find_map(header).unwrap_or("unknown");
    format!("kernels: {kernels}; program: {}", env!("HOST_RUSTC"))
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

/// The text with nothing but the ends of its lines in these ranges.
fn without(text: &str, ranges: impl Iterator<Item = Range<usize>>) -> String {
    let mut rest = 0;
    let mut result = String::new();
    for Range { start, end } in ranges {
        result += &text[rest..start];
        result.extend(text[start..end].matches('\n'));
        rest = end;
    }
    result + &text[rest..]
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
    use std::collections::HashSet;

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
    fn a_module_has_the_kernels_of_its_step_alone() {
        for step in gpu_kernels::runnable() {
            let module = PtxSource::BuiltIn.module(step).unwrap();
            let names: HashSet<_> = entries(&module).into_iter().map(|entry| entry.name).collect();
            assert_eq!(names, step.kernels().collect(), "{}", step.slug);
            assert_eq!(check(&module), Ok(()), "{}", step.slug);
        }
    }

    #[test]
    fn what_is_left_of_a_module_keeps_its_place() {
        let text = format!("{HEADER}.shared .b32 s;\n.entry one()\n{{\nret;\n}}\n.entry sgemm_naive() {{ ret; }}\n");
        let source = PtxSource::File { path: "x.ptx".into(), text };
        let module = source.module(&STEPS[0]).unwrap();
        assert_eq!(module, format!("{HEADER}.shared .b32 s;\n\n\n\n\n.entry sgemm_naive() {{ ret; }}\n"));
        let missing = source.module(&STEPS[1]).unwrap_err().to_string();
        assert!(missing.starts_with("x.ptx has no kernel 'sgemm_coalesced'"), "{missing}");
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
