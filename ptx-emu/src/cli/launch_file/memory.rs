//! Buffers, variables and tensor maps of a launch file, and arguments that name them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ptx_emu::spec::{Argument, Buffer, Contents, Spec, value};
use ptx_emu::{GlobalMemory, Kernel, ParamInfo, VariableInfo};
use toml::Value;

use super::file::File;
use crate::cli::arguments::{MAP_BYTES, POINTER_BYTES, fit, of_map, takes, type_name};
use crate::cli::buffers::{Placed, Results};
use crate::cli::error::Error;
use crate::cli::input::Source;

const NAME_TAKEN: &str = "the name is taken, or has a ':'";

/// What arguments can name.
pub struct Memory {
    pub results: Results,
    buffers: BTreeMap<String, Placed>,
    maps: BTreeMap<String, [u8; MAP_BYTES as usize]>,
    /// Handles of textures and surfaces.
    handles: BTreeMap<String, u64>,
}

impl Memory {
    /// Takes memory for the buffers, makes the tensor maps, and sets the variables. Buffers without a seed of their own differ from each
    /// other.
    pub fn new(
        file: &File,
        folder: &Path,
        sources: &[(PathBuf, Source)],
        memory: &mut GlobalMemory,
    ) -> Result<Self, Error> {
        let mut this = Self {
            results: Results::default(),
            buffers: BTreeMap::new(),
            maps: BTreeMap::new(),
            handles: BTreeMap::new(),
        };
        for ((name, spec), index) in file.buffers.iter().zip(0..) {
            let place = format!("buffers.{name}, '{}'", spec.text);
            let Argument::Buffer(buffer) = &rebased(spec, folder).argument else {
                return Err(Error::Usage("a buffer is in:TYPE:LEN, out:TYPE:LEN or inout:TYPE:LEN".into()).at(&place));
            };
            if name.contains(':') {
                return Err(Error::Usage("a name has no ':'".into()).at(&place));
            }
            let placed = this.results.add(memory, buffer, (name, Some(name)), file.seed.wrapping_add(index));
            this.buffers.insert(name.clone(), placed.map_err(|error| error.at(&place))?);
        }
        for (name, entry) in &file.tensor_maps {
            let fail = |reason: String| Error::Usage(format!("tensor-maps.{name}: {reason}"));
            if this.has(name) {
                return Err(fail(NAME_TAKEN.to_owned()));
            }
            let placed = this.buffer(&entry.buffer).map_err(&fail)?;
            let map = entry.view().encode(placed.ty, &placed.shape, placed.pointer).map_err(&fail)?;
            this.maps.insert(name.clone(), map);
        }
        let textures = file.textures.iter().map(|(name, entry)| ("textures", name, &entry.buffer, entry.view()));
        let surfaces = file.surfaces.iter().map(|(name, entry)| ("surfaces", name, &entry.buffer, Ok(entry.view())));
        for (table, name, buffer, view) in textures.chain(surfaces) {
            let handle = match view {
                _ if this.has(name) => Err(NAME_TAKEN.to_owned()),
                Ok(view) => this
                    .buffer(buffer)
                    .cloned()
                    .and_then(|placed| view.create(memory, placed.ty, &placed.shape, placed.pointer)),
                Err(reason) => Err(reason),
            };
            let handle = handle.map_err(|reason| Error::Usage(format!("{table}.{name}: {reason}")))?;
            this.handles.insert(name.clone(), handle);
        }
        for ((name, spec), index) in file.variables.iter().zip(0..) {
            let set = variable(sources, name).and_then(|variable| {
                this.results.set(memory, variable, &rebased(spec, folder), file.seed.wrapping_add(index))
            });
            set.map_err(|error| error.at(&format!("variables.{name}, '{}'", spec.text)))?;
        }
        Ok(this)
    }

    /// Whether something has the name, or nothing can.
    fn has(&self, name: &str) -> bool {
        let known = [self.buffers.contains_key(name), self.maps.contains_key(name), self.handles.contains_key(name)];
        known.contains(&true) || name.contains(':')
    }

    /// The arguments of a launch, each as its bytes.
    pub fn arguments(
        &self,
        kernel: &Kernel,
        values: &[Value],
        memory: &mut GlobalMemory,
    ) -> Result<Vec<Vec<u8>>, Error> {
        let params = kernel.params();
        if params.len() != values.len() {
            return Err(Error::Usage(format!("{}; `args` has {}", takes(kernel), values.len())));
        }
        let of = |((param, value), number): ((&ParamInfo, &Value), usize)| {
            let bytes = self.argument(param, value, memory);
            bytes.map_err(|reason| Error::Usage(format!("argument {number}, {value}: {reason}")))
        };
        params.iter().zip(values).zip(1..).map(of).collect()
    }

    fn argument(&self, param: &ParamInfo, value: &Value, memory: &mut GlobalMemory) -> Result<Vec<u8>, String> {
        match value {
            Value::Integer(number) => of_number(param, &number.to_string()),
            Value::Float(number) => of_number(param, &number.to_string()),
            Value::String(text) if text.contains(':') => {
                let spec = Spec::parse(text)?;
                fit(param, &spec)?;
                match spec.argument {
                    Argument::Value(ty, bits) => Ok(bits.to_le_bytes()[..ty.bytes() as usize].to_vec()),
                    Argument::Bytes(bytes) => Ok(bytes),
                    _ => Err("memory has a name here: put it into [buffers], [tensor-maps], [textures] or [surfaces]"
                        .to_owned()),
                }
            }
            Value::String(name) if self.handles.contains_key(name) && param.bytes != POINTER_BYTES => {
                Err(format!("the parameter is {}, which is no handle: its size is {}", type_name(param), param.bytes))
            }
            Value::String(name) if self.handles.contains_key(name) => Ok(self.handles[name].to_le_bytes().to_vec()),
            Value::String(name) => match self.maps.get(name) {
                Some(map) if [POINTER_BYTES, MAP_BYTES].contains(&param.bytes) => Ok(of_map(memory, param, map)),
                Some(_) => Err(format!("the parameter is {}, which is no tensor map", type_name(param))),
                None => self.pointer(param, name, 0),
            },
            Value::Table(table) => {
                let offset = table.get("offset").map_or(Some(0), |value| value.as_integer().map(u64::try_from)?.ok());
                match (table.get("buffer"), offset) {
                    (Some(Value::String(name)), Some(offset)) if table.len() <= 2 => self.pointer(param, name, offset),
                    _ => Err("give { buffer = \"NAME\", offset = ELEMENTS }".to_owned()),
                }
            }
            _ => {
                Err("give a number, a name, a SPEC such as \"u32:5\", or { buffer = \"NAME\", offset = ELEMENTS }"
                    .into())
            }
        }
    }

    fn pointer(&self, param: &ParamInfo, name: &str, offset: u64) -> Result<Vec<u8>, String> {
        let Placed { pointer, ty, bytes, .. } = self.buffer(name)?;
        if param.bytes != POINTER_BYTES {
            return Err(format!(
                "the parameter is {}, which is no pointer: its size is {}",
                type_name(param),
                param.bytes
            ));
        }
        let size = u64::from(ty.bytes());
        match offset.checked_mul(size).filter(|offset| offset <= bytes) {
            Some(offset) => Ok((pointer + offset).to_le_bytes().to_vec()),
            None => Err(format!("the offset is {offset}, and `{name}` has {} elements", bytes / size)),
        }
    }

    fn buffer(&self, name: &str) -> Result<&Placed, String> {
        self.buffers.get(name).ok_or_else(|| {
            let names = self.buffers.keys().chain(self.maps.keys()).chain(self.handles.keys());
            let names: Vec<&str> = names.map(String::as_str).collect();
            let has = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            format!("there is no buffer '{name}'; the file has {has}")
        })
    }
}

/// A number as the parameter has it.
fn of_number(param: &ParamInfo, text: &str) -> Result<Vec<u8>, String> {
    if param.bytes != param.ty.bytes() {
        return Err(format!("the parameter is {}: give \"bytes:HEX\"", type_name(param)));
    }
    let bits = value::parse(param.ty, text)?;
    Ok(bits.to_le_bytes()[..param.bytes as usize].to_vec())
}

/// The variable of that name, of whichever file has it.
fn variable<'a>(sources: &'a [(PathBuf, Source)], name: &str) -> Result<&'a VariableInfo, Error> {
    let having: Vec<_> = sources.iter().filter_map(|(_, source)| source.module.variable(name)).collect();
    match having[..] {
        [only] => Ok(only),
        [] => sources.first().map_or_else(
            || Err(Error::Usage("there is no launch whose PTX could have it".to_owned())),
            |(_, source)| source.variable(name),
        ),
        _ => Err(Error::Usage("several files of PTX have it".to_owned())),
    }
}

/// A SPEC whose files are relative to the folder.
fn rebased(spec: &Spec, folder: &Path) -> Spec {
    let mut spec = spec.clone();
    if let Argument::Buffer(Buffer { contents, output, .. }) = &mut spec.argument {
        if let Contents::File(path) = contents {
            *path = folder.join(&*path);
        }
        if let Some(path) = output {
            *path = folder.join(&*path);
        }
    }
    spec
}
