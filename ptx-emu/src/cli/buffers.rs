//! Memory of a launch: buffers and variables, and the results that come out of them.

use std::fmt::Write;
use std::path::Path;

use ptx_emu::spec::{Argument, Buffer, Contents, Spec, value};
use ptx_emu::{GlobalMemory, Label, Pointer, Type, VariableInfo};

use super::error::Error;
use super::input;
use super::output::ResultFile;

/// Bytes of all buffers at most.
const MAX_BYTES: u64 = 8 << 30;

/// Memory to print or write after the run.
#[derive(Debug)]
struct ResultBuffer {
    name: String,
    ty: Type,
    pointer: Pointer,
    bytes: usize,
    file: Option<ResultFile>,
}

/// What is printed or written after the run.
#[derive(Debug, Default)]
pub struct Results(Vec<ResultBuffer>);

/// A buffer in memory.
#[derive(Debug, Clone)]
pub struct Placed {
    pub pointer: Pointer,
    pub ty: Type,
    pub shape: Vec<u64>,
    pub bytes: u64,
}

impl Results {
    /// Takes memory for a buffer. `label` is its name in messages, where it has one; `name` the name in what is printed.
    pub fn add(
        &mut self,
        memory: &mut GlobalMemory,
        buffer: &Buffer,
        (name, label): (&str, Option<&str>),
        seed: u64,
    ) -> Result<Placed, Error> {
        let room = MAX_BYTES.saturating_sub(memory.allocated_bytes());
        let too_many = |_| Error::Usage(format!("the buffers have more than {} GiB in all", MAX_BYTES >> 30));
        let bytes = match contents(buffer, room, seed, too_many)? {
            Initial::Bytes(bytes) => bytes,
            Initial::Poison(bytes) => vec![0xff; bytes],
        };
        let pointer = memory.allocate_bytes(&bytes);
        let elements = bytes.len() as u64 / u64::from(buffer.ty.bytes());
        let shape = if buffer.shape.is_empty() { vec![elements] } else { buffer.shape.clone() };
        memory.describe(pointer, Label { name: label.map(str::to_owned), ..Label::new(buffer.ty, &shape) });
        self.expect(buffer, name, pointer, bytes.len())?;
        Ok(Placed { pointer, ty: buffer.ty, shape, bytes: bytes.len() as u64 })
    }

    /// Sets a variable, where the SPEC has contents, and keeps it as a result, where it is an output.
    pub fn set(
        &mut self,
        memory: &mut GlobalMemory,
        variable: &VariableInfo,
        spec: &Spec,
        seed: u64,
    ) -> Result<(), Error> {
        let too_large =
            |bytes: u64| Error::Usage(format!("the variable has {} bytes, the SPEC has {bytes}", variable.bytes));
        let (bytes, buffer) = match &spec.argument {
            Argument::Value(ty, bits) => (bits.to_le_bytes()[..ty.bytes() as usize].to_vec(), None),
            Argument::Bytes(bytes) => (bytes.clone(), None),
            Argument::Buffer(buffer) => match contents(buffer, variable.bytes, seed, too_large)? {
                Initial::Bytes(bytes) => (bytes, Some(buffer)),
                // An output keeps what the module says, up to the launch.
                Initial::Poison(bytes) => return self.expect(buffer, &variable.name, variable.address, bytes),
            },
            Argument::Map(..) | Argument::Object(..) => {
                let what = "a variable holds no tensor map, texture or surface: give it to the kernel";
                return Err(Error::Usage(what.to_owned()));
            }
        };
        let length = bytes.len() as u64;
        if length > variable.bytes || !memory.write(variable.address, &bytes) {
            return Err(too_large(length));
        }
        buffer.map_or(Ok(()), |buffer| self.expect(buffer, &variable.name, variable.address, bytes.len()))
    }

    fn expect(&mut self, buffer: &Buffer, name: &str, pointer: Pointer, bytes: usize) -> Result<(), Error> {
        if buffer.is_output {
            let file = buffer.output.as_deref().map(ResultFile::open).transpose()?;
            self.0.push(ResultBuffer { name: name.to_owned(), ty: buffer.ty, pointer, bytes, file });
        }
        Ok(())
    }

    /// Writes the results that go to files, and returns the beginning of the others as text.
    pub fn give(self, memory: &GlobalMemory, print: usize) -> Result<String, Error> {
        let mut text = String::new();
        for result in self.0 {
            let mut bytes = vec![0; result.bytes];
            // What a launch cannot free is there.
            let _ = memory.read_into(result.pointer, &mut bytes);
            match result.file {
                Some(file) => file.write(&bytes)?,
                None => text += &line(&result.name, result.ty, &bytes, print),
            }
        }
        Ok(text)
    }
}

/// What memory holds at first.
enum Initial {
    Bytes(Vec<u8>),
    /// So many bytes that the kernel is to write.
    Poison(usize),
}

/// The contents of a buffer that has room for so many bytes, or the error for more.
fn contents(buffer: &Buffer, room: u64, seed: u64, too_large: impl Fn(u64) -> Error) -> Result<Initial, Error> {
    let Buffer { ty, contents, .. } = buffer;
    let checked = |elements: u64| match elements.saturating_mul(ty.bytes().into()) {
        bytes if bytes <= room => Ok(bytes as usize),
        bytes => Err(too_large(bytes)),
    };
    match contents {
        Contents::Poison(elements) => Ok(Initial::Poison(checked(*elements)?)),
        Contents::Filled { elements, fill, seed: own } => {
            checked(*elements)?;
            Ok(Initial::Bytes(fill.bytes(*ty, *elements, own.unwrap_or(seed))))
        }
        Contents::File(path) => Ok(Initial::Bytes(whole_elements(*ty, path, input::read(path, room)?)?)),
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
fn line(name: &str, ty: Type, bytes: &[u8], print: usize) -> String {
    let size = ty.bytes() as usize;
    let elements = bytes.len() / size;
    let mut text = format!("{name}: {}[{elements}] =", ty.name());
    for element in bytes.chunks_exact(size).take(print) {
        let mut bits = [0; 8];
        bits[..size].copy_from_slice(element);
        let _ = write!(text, " {}", value::format(ty, u64::from_le_bytes(bits)));
    }
    text + if elements > print { " ...\n" } else { "\n" }
}
