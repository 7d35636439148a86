//! What a launch file says.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use ptx_emu::Checks;
use ptx_emu::spec::{self, ObjectView, Spec, View};
use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};

use crate::cli::args;

/// A launch file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct File {
    pub ptx: PathBuf,
    pub check: Option<CheckList>,
    #[serde(default = "first_seed")]
    pub seed: u64,
    pub threads: Option<u16>,
    pub max_instructions: Option<u64>,
    #[serde(default)]
    pub buffers: BTreeMap<String, Spec>,
    #[serde(default)]
    pub variables: BTreeMap<String, Spec>,
    #[serde(default)]
    pub tensor_maps: BTreeMap<String, MapEntry>,
    #[serde(default)]
    pub textures: BTreeMap<String, TextureEntry>,
    #[serde(default)]
    pub surfaces: BTreeMap<String, SurfaceEntry>,
    #[serde(rename = "launch")]
    pub launches: Vec<LaunchEntry>,
}

fn first_seed() -> u64 {
    1
}

/// A tensor map of a buffer: see [`View`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapEntry {
    pub buffer: String,
    #[serde(rename = "box")]
    tile: Vec<u32>,
    #[serde(default)]
    swizzle: u32,
    shape: Option<Vec<u64>>,
    strides: Option<Vec<u64>>,
}

impl MapEntry {
    pub fn view(&self) -> View {
        let Self { tile, swizzle, shape, strides, .. } = self;
        View { tile: tile.clone(), swizzle: *swizzle, shape: shape.clone(), strides: strides.clone() }
    }
}

/// A texture of a buffer: see [`ObjectView`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TextureEntry {
    pub buffer: String,
    channels: Option<u32>,
    #[serde(default)]
    layered: bool,
    #[serde(default)]
    cubemap: bool,
    filter: Option<String>,
    address: Option<String>,
    #[serde(default)]
    normalized: bool,
    #[serde(default)]
    normalized_values: bool,
}

/// A surface of a buffer: see [`ObjectView`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SurfaceEntry {
    pub buffer: String,
    channels: Option<u32>,
    #[serde(default)]
    layered: bool,
}

impl TextureEntry {
    pub fn view(&self) -> Result<ObjectView, String> {
        let default = ObjectView::new(false);
        Ok(ObjectView {
            channels: self.channels.unwrap_or(default.channels),
            filter: self.filter.as_deref().map_or(Ok(default.filter), spec::filter)?,
            address: self.address.as_deref().map_or(Ok(default.address), spec::address)?,
            layered: self.layered,
            cubemap: self.cubemap,
            normalized: self.normalized,
            normalized_values: self.normalized_values,
            ..default
        })
    }
}

impl SurfaceEntry {
    pub fn view(&self) -> ObjectView {
        let default = ObjectView::new(true);
        ObjectView { channels: self.channels.unwrap_or(default.channels), layered: self.layered, ..default }
    }
}

/// A launch.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchEntry {
    pub ptx: Option<PathBuf>,
    pub kernel: Option<String>,
    pub grid: Dimensions,
    pub block: Dimensions,
    #[serde(default)]
    pub cluster: Dimensions,
    #[serde(default)]
    pub shared: u32,
    #[serde(default)]
    pub args: Vec<toml::Value>,
}

/// One to three sizes, as a number or a list.
#[derive(Debug, Clone, Copy)]
pub struct Dimensions(pub [u32; 3]);

impl Default for Dimensions {
    fn default() -> Self {
        Self([1; 3])
    }
}

/// What `--check` takes.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct CheckList(pub Checks);

impl TryFrom<String> for CheckList {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        args::checks(&text).map(Self)
    }
}

impl<'de> Deserialize<'de> for Dimensions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Sizes;

        impl<'de> Visitor<'de> for Sizes {
            type Value = Dimensions;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number from 1 on, or a list of one to three")
            }

            fn visit_i64<E: de::Error>(self, size: i64) -> Result<Dimensions, E> {
                of_sizes(&[size])
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Dimensions, A::Error> {
                let mut sizes = Vec::new();
                while let Some(size) = list.next_element()? {
                    sizes.push(size);
                }
                of_sizes(&sizes)
            }
        }

        deserializer.deserialize_any(Sizes)
    }
}

fn of_sizes<E: de::Error>(sizes: &[i64]) -> Result<Dimensions, E> {
    let mut dimensions = [1; 3];
    let is_valid = (1..=3).contains(&sizes.len())
        && dimensions.iter_mut().zip(sizes).all(|(dimension, size)| {
            *dimension = u32::try_from(*size).unwrap_or_default();
            *dimension > 0
        });
    if is_valid {
        Ok(Dimensions(dimensions))
    } else {
        Err(E::custom("give one to three whole numbers from 1 on, such as 4 or [16, 16, 1]"))
    }
}
