//! Places in memory: how a command names them.

use ptx_emu::trace::{Access, State, Trace, WarpId};
use ptx_emu::{Launch, Space, Type};

use crate::cli::args::LaunchArgs;
use ptx_emu::spec::{Argument, Contents};

/// Bytes of a place of which nothing else is known.
const WORD: u32 = 4;

/// Bytes in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// As it was named.
    pub name: String,
    pub space: Space,
    /// Whose shared or local memory.
    pub warp: WarpId,
    pub lane: u32,
    pub address: u64,
    pub bytes: u32,
    /// The type of its elements, if known.
    pub ty: Option<Type>,
}

/// An argument that points to a buffer.
pub struct Buffer {
    /// Counted from 1.
    pub number: usize,
    pub ty: Type,
    pub address: u64,
    pub elements: u64,
}

/// The buffers of a launch.
pub fn buffers(args: &LaunchArgs, launch: &Launch, trace: &Trace) -> Vec<Buffer> {
    let specs = args.arguments.iter().zip(&launch.arguments).enumerate();
    let buffers = specs.filter_map(|(index, (spec, bytes))| {
        let Argument::Buffer(buffer) = &spec.argument else { return None };
        let address = u64::from_le_bytes(*bytes.first_chunk()?);
        let elements = match &buffer.contents {
            Contents::Poison(elements) | Contents::Filled { elements, .. } => *elements,
            Contents::File(_) => {
                let region = trace.global.iter().find(|region| region.base == address)?;
                region.bytes.len() as u64 / u64::from(buffer.ty.bytes())
            }
        };
        Some(Buffer { number: index + 1, ty: buffer.ty, address, elements })
    });
    buffers.collect()
}

impl Place {
    /// The place of that name, for a thread. `register` gives the thread's value of a register.
    pub fn find(
        name: &str,
        bytes: Option<u32>,
        (warp, lane): (WarpId, u32),
        trace: &Trace,
        buffers: &[Buffer],
        register: impl Fn(&str) -> Result<u128, String>,
    ) -> Result<Self, String> {
        let (base, offset) = match name.split_once('+') {
            Some((base, offset)) => (base, number(offset).ok_or_else(|| format!("'{offset}' is no number of bytes"))?),
            None => (name, 0),
        };
        let (space, address, ty) = if let Some(of_space) = base.split_once(':') {
            let space = match of_space.0 {
                "shared" => Space::Shared,
                "global" => Space::Global,
                "local" => Space::Local,
                other => return Err(format!("'{other}' is none of shared, global, local")),
            };
            (space, number(of_space.1).ok_or_else(|| format!("'{}' is no address", of_space.1))?, None)
        } else if let Some(found) = argument(base, buffers) {
            let (address, ty) = found?;
            (Space::Global, address, Some(ty))
        } else if let Some(address) = number(base) {
            (guessed(address, trace), address, None)
        } else if base.starts_with('%') {
            let address = register(base)? as u64;
            (guessed(address, trace), address, None)
        } else {
            let found = trace.variables.iter().find(|variable| &*variable.name == base);
            let variable = found.ok_or_else(|| format!("there is no '{base}': see info variables"))?;
            (variable.space, variable.address, None)
        };
        let bytes = bytes.unwrap_or_else(|| ty.map_or(WORD, Type::bytes));
        Ok(Self { name: name.to_owned(), space, warp, lane, address: address.wrapping_add(offset), bytes, ty })
    }

    /// Whether an access of a warp writes there.
    pub fn is_written_by(&self, warp: WarpId, access: &Access) -> bool {
        let is_there = match self.space {
            Space::Shared => access.block == self.warp.block,
            Space::Local => warp == self.warp && access.places.iter().any(|place| u32::from(place.lane) == self.lane),
            _ => true,
        };
        access.writes() && access.space == self.space && is_there && access.touches(self.address, self.bytes)
    }

    /// So many bytes from there on; none where they are not all in memory.
    pub fn read(&self, state: &State, bytes: usize) -> Option<Vec<u8>> {
        let of = |memory: Vec<u8>| Some(memory.get(self.address as usize..)?.get(..bytes)?.to_vec());
        match self.space {
            Space::Shared => of(state.shared(self.warp.block)),
            Space::Local => of(state.local(self.warp, self.lane)),
            _ => state.global(self.address, bytes),
        }
    }
}

/// The address and type of `arg2` or `arg2[7]`; nothing where it names no argument.
fn argument(text: &str, buffers: &[Buffer]) -> Option<Result<(u64, Type), String>> {
    let rest = text.strip_prefix("arg")?;
    let (index, element) = rest.split_once('[').map_or((rest, None), |(index, element)| (index, Some(element)));
    let index: usize = index.parse().ok()?;
    let Some(buffer) = buffers.iter().find(|buffer| buffer.number == index) else {
        return Some(Err(format!("argument {index} is no buffer")));
    };
    let element = match element.map(|element| element.strip_suffix(']').and_then(number)) {
        None => 0,
        Some(Some(element)) if element < buffer.elements => element,
        _ => return Some(Err(format!("argument {index} has the elements 0 to {}", buffer.elements.saturating_sub(1)))),
    };
    Some(Ok((buffer.address + element * u64::from(buffer.ty.bytes()), buffer.ty)))
}

/// The space of an address that names none: global where there is memory, else shared.
fn guessed(address: u64, trace: &Trace) -> Space {
    let is_in = |region: &ptx_emu::trace::Region| address.wrapping_sub(region.base) < region.bytes.len() as u64;
    if trace.global.iter().any(is_in) { Space::Global } else { Space::Shared }
}

/// A number, hexadecimal with `0x`.
pub fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
