//! Files that are read: PTX, and the contents of buffers.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use ptx_emu::{GlobalMemory, Kernel, Module, VariableInfo};

use super::error::Error;

/// PTX files at most, in bytes.
const MAX_PTX_BYTES: u64 = 128 << 20;

/// A PTX file, read.
pub struct Source {
    /// Its name, as it was given.
    pub name: String,
    /// Its text.
    pub text: String,
    /// What the text says.
    pub module: Module,
}

impl Source {
    /// Reads a PTX file, which may end with the NUL that the CUDA driver wants.
    pub fn read(path: &Path) -> Result<Self, Error> {
        Self::of(path, Module::parse)
    }

    /// The same, with the module's variables in that memory.
    pub fn load(path: &Path, memory: &mut GlobalMemory) -> Result<Self, Error> {
        Self::of(path, |text| Module::load(text, memory))
    }

    fn of(path: &Path, parse: impl FnOnce(&str) -> Result<Module, ptx_emu::Error>) -> Result<Self, Error> {
        let name = path.display().to_string();
        let text = String::from_utf8(read(path, MAX_PTX_BYTES)?)
            .map_err(|_| Error::Ptx(format!("{name} is no PTX: its text is not UTF-8")))?;
        let text = text.trim_end_matches('\0').to_owned();
        let module = parse(&text).map_err(|error| Error::Ptx(located(&name, &error)))?;
        Ok(Self { name, text, module })
    }

    /// The kernel of that name, or the only one.
    pub fn kernel(&self, name: Option<&str>) -> Result<Kernel, Error> {
        let names: Vec<&str> = self.module.kernels().collect();
        let name = match (name, &names[..]) {
            (Some(name), _) => name,
            (None, [only]) => only,
            (None, []) => return Err(Error::Usage(format!("{} has no kernel", self.name))),
            (None, _) => {
                let names = names.join(", ");
                return Err(Error::Usage(format!("{} has several kernels: give --entry one of {names}", self.name)));
            }
        };
        self.module.kernel(name).map_err(|error| match error {
            ptx_emu::Error::NoKernel { .. } => Error::Usage(self.no_kernel(name, &names)),
            error => Error::Ptx(located(&self.name, &error)),
        })
    }

    /// The `.global` or `.const` variable of that name.
    pub fn variable(&self, name: &str) -> Result<&VariableInfo, Error> {
        self.module.variable(name).ok_or_else(|| {
            let names: Vec<&str> = self.module.variables().map(|variable| variable.name.as_str()).collect();
            let has = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            Error::Usage(format!("{} has no variable '{name}'; it has {has}", self.name))
        })
    }

    fn no_kernel(&self, name: &str, names: &[&str]) -> String {
        let scored = names.iter().map(|candidate| (strsim::jaro_winkler(name, candidate), candidate));
        let nearest = scored.filter(|(score, _)| *score > 0.8).max_by(|(a, _), (b, _)| a.total_cmp(b));
        let suggestion = nearest.map_or(String::new(), |(_, nearest)| format!(" did you mean '{nearest}'?"));
        let has = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        format!("{} has no kernel '{name}';{suggestion} it has {has}", self.name)
    }
}

/// The error as `FILE:LINE: ...`, which editors can jump to.
pub fn located(file: &str, error: &ptx_emu::Error) -> String {
    match error {
        ptx_emu::Error::Syntax(error) => format!("{file}:{}: {}", error.line, error.message),
        ptx_emu::Error::Lower(error) => {
            format!("{file}:{}: `{}` cannot be run: {}", error.line, error.instruction, error.reason)
        }
        other => other.to_string(),
    }
}

/// The whole file, if it is not larger than that.
pub fn read(path: &Path, max_bytes: u64) -> Result<Vec<u8>, Error> {
    let failed = |source| Error::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(max_bytes + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > max_bytes {
        let reason = format!("it has more than {max_bytes} bytes");
        return Err(failed(io::Error::new(io::ErrorKind::FileTooLarge, reason)));
    }
    Ok(bytes)
}
