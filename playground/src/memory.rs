//! Global memory of a case, and the bytes of arguments that point there.

use ptx_emu::spec::{self, Buffer, Contents, Spec, value};
use ptx_emu::{GlobalMemory, Kernel, Pointer, TensorMap, Type};

use crate::case::{Argument, Case, Map, Memory, Place, Value};

/// Bytes of all memory at most: a page has not more.
const MAX_BYTES: u64 = 256 << 20;

/// The memory of a case.
#[derive(Debug, Default)]
pub(crate) struct Filled {
    pub memory: GlobalMemory,
    /// The pieces: those of the case, then those of arguments.
    pub pieces: Vec<Piece>,
}

/// A piece of memory.
#[derive(Debug)]
pub(crate) struct Piece {
    pub name: String,
    pub ty: Type,
    pub elements: u64,
    pub pointer: Pointer,
    /// Whether it is a result, to be shown.
    pub is_output: bool,
}

impl Filled {
    /// The memory of the case.
    pub fn new(case: &Case) -> Result<Self, String> {
        let mut filled = Self::default();
        for (index, Memory { name, spec }) in case.memory.iter().enumerate() {
            let at = |reason: String| format!("memory {name}, '{spec}': {reason}");
            match Spec::parse(spec).map_err(at)?.argument {
                spec::Argument::Buffer(buffer) => _ = filled.add(name, &buffer, index).map_err(at)?,
                _ => return Err(at("it is no memory: give in:TYPE:LEN, out:TYPE:LEN or inout:TYPE:LEN".to_owned())),
            }
        }
        Ok(filled)
    }

    /// The bytes of a kernel's arguments.
    pub fn arguments(&mut self, kernel: &Kernel, arguments: &[Argument]) -> Result<Vec<Vec<u8>>, String> {
        let takes = kernel.params().len();
        if takes != arguments.len() {
            return Err(format!("{} takes {takes} arguments, {} are given", kernel.name(), arguments.len()));
        }
        let bytes = |(index, argument): (usize, &Argument)| {
            let Argument { name, value } = argument;
            self.bytes(name, value, index).map_err(|reason| match value {
                Value::Spec(text) => format!("argument {} ({name}), '{text}': {reason}", index + 1),
                _ => format!("argument {} ({name}): {reason}", index + 1),
            })
        };
        arguments.iter().enumerate().map(bytes).collect()
    }

    fn bytes(&mut self, name: &str, value: &Value, index: usize) -> Result<Vec<u8>, String> {
        Ok(match value {
            Value::Pointer(place) => self.address(place)?.to_le_bytes().to_vec(),
            Value::Map(map) => self.map(map)?.encode().to_vec(),
            Value::Spec(text) => match Spec::parse(text)?.argument {
                spec::Argument::Value(ty, bits) => bits.to_le_bytes()[..ty.bytes() as usize].to_vec(),
                spec::Argument::Bytes(bytes) => bytes,
                spec::Argument::Buffer(buffer) => self.add(name, &buffer, index)?.to_le_bytes().to_vec(),
                spec::Argument::Map(view, buffer) => {
                    let pointer = self.add(name, &buffer, index)?;
                    view.encode(buffer.ty, &buffer.shape, pointer)?.to_vec()
                }
                spec::Argument::Object(view, buffer) => {
                    let pointer = self.add(name, &buffer, index)?;
                    view.create(&mut self.memory, buffer.ty, &buffer.shape, pointer)?.to_le_bytes().to_vec()
                }
            },
        })
    }

    /// Takes memory. Pieces without a seed of their own differ from each other.
    fn add(&mut self, name: &str, buffer: &Buffer, index: usize) -> Result<Pointer, String> {
        let Buffer { ty, contents, is_output, output, .. } = buffer;
        let elements = match contents {
            Contents::Poison(elements) | Contents::Filled { elements, .. } => *elements,
            Contents::File(_) => return Err("a page reads no files: give a length".to_owned()),
        };
        if output.is_some() {
            return Err("a page writes no files: leave out '@' and the name".to_owned());
        }
        let room = MAX_BYTES.saturating_sub(self.memory.allocated_bytes());
        let bytes = elements.checked_mul(ty.bytes().into()).filter(|bytes| *bytes <= room);
        let bytes = bytes.ok_or_else(|| format!("all memory is more than {} MiB", MAX_BYTES >> 20))?;
        let pointer = match contents {
            Contents::Filled { fill, seed, .. } => {
                self.memory.allocate_bytes(&fill.bytes(*ty, elements, seed.unwrap_or(index as u64)))
            }
            _ => self.memory.allocate_bytes(&vec![0xff; bytes as usize]),
        };
        self.pieces.push(Piece { name: name.to_owned(), ty: *ty, elements, pointer, is_output: *is_output });
        Ok(pointer)
    }

    fn address(&self, Place { memory, offset }: &Place) -> Result<Pointer, String> {
        let piece = self.pieces.get(*memory).ok_or_else(|| format!("there is no memory {memory}"))?;
        Ok(piece.pointer.wrapping_add(*offset))
    }

    fn map(&self, map: &Map) -> Result<TensorMap, String> {
        let ty = value::type_of(&map.element)?;
        TensorMap::new(ty, self.address(&map.at)?, &map.dims, &map.strides, &map.copied, spec::swizzle(map.swizzle)?)
            .map_err(|error| error.to_string())
    }

    /// An address as a reader knows it: `A[5]`, or in hexadecimal.
    pub fn name(&self, address: Pointer) -> String {
        let within = |piece: &&Piece| {
            let bytes = piece.elements * u64::from(piece.ty.bytes());
            (piece.pointer..piece.pointer + bytes).contains(&address)
        };
        match self.pieces.iter().find(within) {
            Some(piece) => format!("{}[{}]", piece.name, (address - piece.pointer) / u64::from(piece.ty.bytes())),
            None => format!("{address:#x}"),
        }
    }
}
