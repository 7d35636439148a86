//! Arguments of a kernel: from SPECs to bytes and buffers, and from buffers to results.

use std::fmt::Write;
use std::path::Path;

use ptx_emu::spec::{Argument, Buffer, Contents, Spec, value};
use ptx_emu::{GlobalMemory, Kernel, ParamInfo, Pointer, Type};

use super::error::Error;
use super::input;
use super::output::ResultFile;

/// Bytes of all buffers at most.
const MAX_BYTES: u64 = 8 << 30;

/// Constant memory of a module, in bytes.
const MAX_CONSTANT_BYTES: u64 = 64 << 10;

/// The bytes of a pointer.
const POINTER_BYTES: u32 = 8;

/// Arguments, ready for a launch.
pub struct Arguments {
    /// The bytes of each.
    pub bytes: Vec<Vec<u8>>,
    /// Memory that they point to.
    pub memory: GlobalMemory,
    results: Vec<ResultBuffer>,
}

/// A buffer to print or write after the run.
struct ResultBuffer {
    number: usize,
    ty: Type,
    pointer: Pointer,
    file: Option<ResultFile>,
}

impl Arguments {
    /// Makes the arguments of the kernel. What does not fit its parameters, and files that cannot be read or written, are
    /// found before any memory is taken.
    pub fn new(kernel: &Kernel, specs: &[Spec], seed: u64) -> Result<Self, Error> {
        check(kernel, specs)?;
        let mut arguments = Self { bytes: vec![], memory: GlobalMemory::default(), results: vec![] };
        for (index, spec) in specs.iter().enumerate() {
            let bytes = match &spec.argument {
                Argument::Value(ty, bits) => bits.to_le_bytes()[..ty.bytes() as usize].to_vec(),
                Argument::Bytes(bytes) => bytes.clone(),
                Argument::Buffer(buffer) => {
                    let pointer = arguments.add(buffer, index, seed).map_err(|error| at(index, spec, error))?;
                    pointer.to_le_bytes().to_vec()
                }
            };
            arguments.bytes.push(bytes);
        }
        Ok(arguments)
    }

    /// Takes memory for a buffer. Buffers without a seed of their own differ from each other.
    fn add(&mut self, buffer: &Buffer, index: usize, seed: u64) -> Result<Pointer, Error> {
        let Buffer { ty, contents, is_output, output } = buffer;
        let room = MAX_BYTES.saturating_sub(self.memory.allocated_bytes());
        let checked_bytes = |elements: u64| match elements.checked_mul(ty.bytes().into()) {
            Some(bytes) if bytes <= room => Ok(bytes),
            _ => Err(Error::Usage(format!("the buffers have more than {} GiB in all", MAX_BYTES >> 30))),
        };
        let bytes = match contents {
            Contents::Poison(elements) => vec![0xff; checked_bytes(*elements)? as usize],
            Contents::Filled { elements, fill, seed: own } => {
                checked_bytes(*elements)?;
                fill.bytes(*ty, *elements, own.unwrap_or(seed.wrapping_add(index as u64)))
            }
            Contents::File(path) => whole_elements(*ty, path, input::read(path, room)?)?,
        };
        let pointer = self.memory.allocate_bytes(&bytes);
        if *is_output {
            let file = output.as_deref().map(ResultFile::open).transpose()?;
            self.results.push(ResultBuffer { number: index + 1, ty: *ty, pointer, file });
        }
        Ok(pointer)
    }

    /// Writes the results that go to files, and returns the beginning of the others as text.
    pub fn results(self, print: usize) -> Result<String, Error> {
        let mut text = String::new();
        for result in self.results {
            let bytes = self.memory.read(result.pointer).unwrap_or_default();
            match result.file {
                Some(file) => file.write(&bytes)?,
                None => text += &line(result.number, result.ty, &bytes, print),
            }
        }
        Ok(text)
    }
}

/// The contents of a constant. Only what is read can be one.
pub fn constant(spec: &Spec, seed: u64) -> Result<Vec<u8>, Error> {
    let of_spec = |reason: &str| Error::Usage(format!("constant '{}': {reason}", spec.text));
    match &spec.argument {
        Argument::Value(ty, bits) => Ok(bits.to_le_bytes()[..ty.bytes() as usize].to_vec()),
        Argument::Bytes(bytes) => Ok(bytes.clone()),
        Argument::Buffer(Buffer { is_output: true, .. } | Buffer { contents: Contents::Poison(_), .. }) => {
            Err(of_spec("constants are read, not written: give TYPE:VALUE, bytes:HEX or in:TYPE:LEN"))
        }
        Argument::Buffer(Buffer { ty, contents: Contents::Filled { elements, fill, seed: own }, .. }) => {
            if elements.saturating_mul(ty.bytes().into()) > MAX_CONSTANT_BYTES {
                return Err(of_spec(&format!("there are at most {MAX_CONSTANT_BYTES} bytes of constants")));
            }
            Ok(fill.bytes(*ty, *elements, own.unwrap_or(seed)))
        }
        Argument::Buffer(Buffer { contents: Contents::File(path), .. }) => input::read(path, MAX_CONSTANT_BYTES),
    }
}

/// Whether there is one SPEC for each parameter, and it has the parameter's size.
fn check(kernel: &Kernel, specs: &[Spec]) -> Result<(), Error> {
    let params = kernel.params();
    if params.len() != specs.len() {
        let takes = params.iter().map(type_name).collect::<Vec<_>>().join(", ");
        let takes = if params.is_empty() { String::new() } else { format!(" ({takes})") };
        let count = match params.len() {
            1 => "1 argument".to_owned(),
            count => format!("{count} arguments"),
        };
        let (name, given) = (kernel.name(), specs.len());
        return Err(Error::Usage(format!("{name} takes {count}{takes}; {given} given with --arg")));
    }
    for (index, (param, spec)) in params.iter().zip(specs).enumerate() {
        fit(param, spec).map_err(|reason| at(index, spec, Error::Usage(reason)))?;
    }
    Ok(())
}

/// Whether the SPEC has the parameter's size and does not take a number for another kind of number.
fn fit(param: &ParamInfo, spec: &Spec) -> Result<(), String> {
    let name = type_name(param);
    let bytes = match &spec.argument {
        Argument::Value(ty, _) => {
            if param.bytes == ty.bytes() && param.ty.bytes() == param.bytes && mixes_kinds(param.ty, *ty) {
                let (of, bits) = (param.ty.name(), ty.bits());
                return Err(format!("the parameter is {name}: give {of}:VALUE, or b{bits}:0x... for its bits"));
            }
            ty.bytes()
        }
        Argument::Bytes(bytes) => bytes.len() as u32,
        Argument::Buffer(_) if param.bytes != POINTER_BYTES => {
            return Err(format!("the parameter is {name}, which is no pointer: its size is {}", param.bytes));
        }
        Argument::Buffer(_) => POINTER_BYTES,
    };
    if bytes == param.bytes {
        Ok(())
    } else {
        Err(format!("the parameter is {name}, of {} bytes; the SPEC has {bytes}", param.bytes))
    }
}

/// Whether one of the types is a floating-point number and the other an integer.
fn mixes_kinds(a: Type, b: Type) -> bool {
    (a.is_float() && b.is_integer()) || (a.is_integer() && b.is_float())
}

/// The parameter's type as PTX writes it: `.u32`, or `.b8[24]`.
pub fn type_name(param: &ParamInfo) -> String {
    match param.bytes / param.ty.bytes().max(1) {
        1 => param.ty.to_string(),
        elements => format!("{}[{elements}]", param.ty),
    }
}

fn at(index: usize, spec: &Spec, error: Error) -> Error {
    match error {
        Error::Usage(reason) => Error::Usage(format!("argument {}, '{}': {reason}", index + 1, spec.text)),
        other => other,
    }
}

fn whole_elements(ty: Type, path: &Path, bytes: Vec<u8>) -> Result<Vec<u8>, Error> {
    if bytes.len().is_multiple_of(ty.bytes() as usize) {
        return Ok(bytes);
    }
    let (name, size, length) = (path.display(), ty.bytes(), bytes.len());
    Err(Error::Usage(format!("the {length} bytes of {name} are no whole number of elements of {size} bytes")))
}

/// `argument 4: f32[1000] = 1.0 2.0 ...`
fn line(number: usize, ty: Type, bytes: &[u8], print: usize) -> String {
    let size = ty.bytes() as usize;
    let elements = bytes.len() / size;
    let mut text = format!("argument {number}: {}[{elements}] =", ty.name());
    for element in bytes.chunks_exact(size).take(print) {
        let mut bits = [0; 8];
        bits[..size].copy_from_slice(element);
        let _ = write!(text, " {}", value::format(ty, u64::from_le_bytes(bits)));
    }
    text + if elements > print { " ...\n" } else { "\n" }
}
