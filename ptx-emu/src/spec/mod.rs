//! SPEC: how a text describes an argument of a kernel, as `ptx-emu run --arg` takes it.
//!
//! ```
//! use ptx_emu::Type;
//! use ptx_emu::spec::{Argument, Spec};
//!
//! assert_eq!(Spec::parse("f32:0.5")?.argument, Argument::Value(Type::F32, 0x3f00_0000));
//! assert!(Spec::parse("in:f32:8:fill=some").unwrap_err().contains("give uniform, zeros, iota or a number"));
//! # Ok::<(), String>(())
//! ```

mod fill;
mod object;
pub mod value;
mod view;

use std::path::PathBuf;

pub use fill::Fill;
pub use object::{ObjectView, address, filter};
use serde::Deserialize;
pub use view::{View, swizzle};

use crate::types::Type;

/// An argument, as a text describes it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Spec {
    /// As it was typed.
    pub text: String,
    /// What it says.
    pub argument: Argument,
}

/// What a SPEC says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// A number, by its bits.
    Value(Type, u64),
    /// Bytes without a type.
    Bytes(Vec<u8>),
    /// A pointer to memory.
    Buffer(Buffer),
    /// A tensor map of memory.
    Map(View, Buffer),
    /// A texture or surface of memory.
    Object(ObjectView, Buffer),
}

/// Memory that a kernel gets a pointer to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buffer {
    /// Of its elements.
    pub ty: Type,
    /// What it holds at first.
    pub contents: Contents,
    /// Its extents in elements, where there are several.
    pub shape: Vec<u64>,
    /// Whether it is a result.
    pub is_output: bool,
    /// The file that the result goes to.
    pub output: Option<PathBuf>,
}

/// What a buffer holds at first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents {
    /// So many elements whose bits are all 1: NaN, -1, or the greatest number.
    Poison(u64),
    /// So many elements, filled.
    Filled {
        /// Elements.
        elements: u64,
        /// With what.
        fill: Fill,
        /// The seed of random numbers; whoever runs the kernel chooses it where none is given.
        seed: Option<u64>,
    },
    /// What the file holds.
    File(PathBuf),
}

impl Spec {
    /// Reads a SPEC.
    ///
    /// # Errors
    /// One line that says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let forms = "give TYPE:VALUE, bytes:HEX, in:TYPE:LEN, out:TYPE:LEN, inout:TYPE:LEN, map:BOX:in:TYPE:SHAPE, \
                     texture:in:TYPE:SHAPE or surface:inout:TYPE:SHAPE";
        let (kind, rest) = text.split_once(':').ok_or_else(|| format!("there is no ':' in it: {forms}"))?;
        let argument = match kind {
            "bytes" => Argument::Bytes(hex(rest)?),
            "in" | "out" | "inout" => Argument::Buffer(Buffer::parse(kind, rest)?),
            "map" => {
                let (view, kind, rest) = View::parse(rest)?;
                Argument::Map(view, Buffer::parse(kind, rest)?)
            }
            "texture" | "surface" => {
                let (view, kind, rest) = ObjectView::parse(kind == "surface", rest)?;
                Argument::Object(view, Buffer::parse(kind, rest)?)
            }
            name => {
                let ty =
                    value::type_of(name).map_err(|_| format!("'{name}' is no type and no kind of buffer: {forms}"))?;
                Argument::Value(ty, value::parse(ty, rest)?)
            }
        };
        Ok(Self { text: text.to_owned(), argument })
    }
}

impl TryFrom<String> for Spec {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).map_err(|reason| format!("'{text}': {reason}"))
    }
}

impl Buffer {
    /// Reads what follows `in:`, `out:` or `inout:`.
    fn parse(kind: &str, text: &str) -> Result<Self, String> {
        let forms = match kind {
            "out" => "LEN or LEN:@FILE",
            _ => "LEN or @FILE",
        };
        let (ty, rest) = text.split_once(':').ok_or_else(|| format!("it ends after the type: {forms} is missing"))?;
        let ty = value::type_of(ty)?;
        // File names may have colons in them.
        let (before, files) = match rest.strip_prefix('@') {
            Some(files) => ("", Some(files)),
            None => rest.split_once(":@").map_or((rest, None), |(before, file)| (before, Some(file))),
        };
        let is_output = kind != "in";
        let (contents, shape, output) = match (before, files) {
            ("", Some(_)) if kind == "out" => return Err("the number of elements is missing: LEN:@FILE".to_owned()),
            ("", Some(files)) => match files.split_once(":@").filter(|_| is_output) {
                Some((from, to)) => (Contents::File(path(from)?), vec![], Some(path(to)?)),
                None => (Contents::File(path(files)?), vec![], None),
            },
            (_, Some(_)) if !is_output => return Err("what is only read goes to no file: in:TYPE:@FILE".to_owned()),
            (before, file) => {
                let (contents, shape) = contents(kind, ty, before)?;
                (contents, shape, file.map(path).transpose()?)
            }
        };
        Ok(Self { ty, contents, shape, is_output, output })
    }
}

/// Reads extents such as `1000` or `30x416`.
fn shape(text: &str) -> Result<Vec<u64>, String> {
    // Hexadecimal numbers have an x of their own.
    let extents = if text.starts_with("0x") { vec![text] } else { text.split('x').collect() };
    let numbers = extents.into_iter().map(|extent| value::parse(Type::U64, extent));
    numbers.collect::<Result<_, _>>().map_err(|_| format!("'{text}' is no number of elements"))
}

/// Reads `LEN` and the options that follow it.
fn contents(kind: &str, ty: Type, text: &str) -> Result<(Contents, Vec<u64>), String> {
    let mut parts = text.split(':');
    let length = parts.next().unwrap_or_default();
    let shape = shape(length)?;
    let elements = shape.iter().try_fold(1u64, |all, extent| all.checked_mul(*extent));
    let elements = elements.filter(|elements| elements.checked_mul(ty.bytes().into()).is_some());
    let elements = elements.ok_or_else(|| format!("'{length}' elements are too many"))?;
    let (mut fill, mut seed) = (None, None);
    for part in parts {
        match part.split_once('=') {
            Some(("seed", number)) if kind != "out" && seed.is_none() => {
                seed = Some(value::parse(Type::U64, number).map_err(|_| format!("'{number}' is no seed"))?);
            }
            Some(("fill", name)) if kind != "out" && fill.is_none() => fill = Some(Fill::parse(ty, name)?),
            _ if kind == "out" => {
                return Err(format!("'{part}' does not belong here: out:TYPE:LEN or out:TYPE:LEN:@FILE"));
            }
            _ => return Err(format!("'{part}' does not belong here: seed=N or fill=FILL, each once")),
        }
    }
    let contents = match kind {
        "out" => Contents::Poison(elements),
        _ => Contents::Filled { elements, fill: fill.unwrap_or(Fill::Uniform), seed },
    };
    Ok((contents, shape))
}

fn path(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() { Err("the name of the file is missing behind '@'".to_owned()) } else { Ok(text.into()) }
}

fn hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits.filter(|digits| !digits.is_empty() && digits.len() % 2 == 0);
    let digits =
        digits.ok_or_else(|| format!("'{text}' is no sequence of bytes: give two hexadecimal digits for each"))?;
    Ok(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> Argument {
        Spec::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).argument
    }

    fn buffer(ty: Type, contents: Contents, output: Option<&str>) -> Argument {
        let is_output = output.is_some() || matches!(contents, Contents::Poison(_));
        let shape = match &contents {
            Contents::Poison(elements) | Contents::Filled { elements, .. } => vec![*elements],
            Contents::File(_) => vec![],
        };
        Argument::Buffer(Buffer { ty, contents, shape, is_output, output: output.map(PathBuf::from) })
    }

    fn filled(elements: u64, fill: Fill, seed: Option<u64>) -> Contents {
        Contents::Filled { elements, fill, seed }
    }

    #[test]
    fn specs_say_what_they_mean() {
        assert_eq!(parsed("u32:5"), Argument::Value(Type::U32, 5));
        assert_eq!(parsed("f32:-0.5"), Argument::Value(Type::F32, 0xbf00_0000));
        assert_eq!(parsed("bytes:00Ff"), Argument::Bytes(vec![0, 0xff]));
        assert_eq!(parsed("in:f32:8"), buffer(Type::F32, filled(8, Fill::Uniform, None), None));
        assert_eq!(parsed("in:f32:0x10:seed=1"), buffer(Type::F32, filled(16, Fill::Uniform, Some(1)), None));
        assert_eq!(parsed("in:s8:8:fill=-2:seed=3"), buffer(Type::S8, filled(8, Fill::Value(0xfe), Some(3)), None));
        assert_eq!(parsed("in:f16:@a:b.bin"), buffer(Type::F16, Contents::File("a:b.bin".into()), None));
        assert_eq!(parsed("in:f16:@a:@b"), buffer(Type::F16, Contents::File("a:@b".into()), None));
        assert_eq!(parsed("out:u64:3"), buffer(Type::U64, Contents::Poison(3), None));
        assert_eq!(parsed("out:u64:3:@c:d"), buffer(Type::U64, Contents::Poison(3), Some("c:d")));
        assert_eq!(parsed("inout:b8:4:fill=iota:@o"), buffer(Type::B8, filled(4, Fill::Iota, None), Some("o")));
        assert_eq!(parsed("inout:b8:@i:@o"), buffer(Type::B8, Contents::File("i".into()), Some("o")));
        let Argument::Buffer(both) = parsed("inout:b8:@i") else { panic!() };
        assert!(both.is_output && both.output.is_none());
        let Argument::Buffer(rows) = parsed("in:f32:30x416:fill=iota") else { panic!() };
        assert_eq!((rows.contents, rows.shape), (filled(12_480, Fill::Iota, None), vec![30, 416]));
        let Argument::Map(view, of) = parsed("map:16x64:swizzle=128:in:f16:32x64") else { panic!() };
        assert_eq!((view.tile, view.swizzle, of.shape), (vec![16, 64], 128, vec![32, 64]));
        let Argument::Map(view, _) = parsed("map:8:shape=4x8:in:f16:@a:in:f16:3") else { panic!() };
        assert_eq!((view.tile, view.shape), (vec![8], Some(vec![4, 8])));
        let text = "texture:channels=4:cubemap:filter=linear:address=mirror:normalized:normalized-values:in:u8:5x6x4";
        let Argument::Object(view, of) = parsed(text) else { panic!() };
        let expected = ObjectView {
            is_surface: false,
            channels: 4,
            layered: false,
            cubemap: true,
            filter: crate::memory::Filter::Linear,
            address: crate::memory::AddressMode::Mirror,
            normalized: true,
            normalized_values: true,
        };
        assert_eq!((view, of.shape), (expected, vec![5, 6, 4]));
        let Argument::Object(view, of) = parsed("surface:layered:inout:f32:8x8:fill=iota") else { panic!() };
        assert_eq!((view, of.is_output), (ObjectView { layered: true, ..ObjectView::new(true) }, true));
    }

    #[test]
    fn wrong_specs_are_explained() {
        for (text, word) in [
            ("", "no ':'"),
            ("5", "no ':'"),
            ("u33:5", "'u33' is no type and no kind of buffer"),
            ("pred:1", "'pred'"),
            ("u32:", "'' is no value of type u32"),
            ("u32:f", "'f' is no value of type u32"),
            ("bytes:", "no sequence of bytes"),
            ("bytes:abc", "no sequence of bytes"),
            ("bytes:é0", "no sequence of bytes"),
            ("in:f32", "LEN or @FILE is missing"),
            ("out:f32", "LEN or LEN:@FILE is missing"),
            ("in:f33:4", "'f33' is no type: give one of"),
            ("in:f32:", "'' is no number of elements"),
            ("in:f32:x", "'x' is no number"),
            ("in:f32:-1", "'-1' is no number"),
            ("in:f32:4x", "'4x' is no number of elements"),
            ("in:f32:4294967296x4294967296", "too many"),
            ("map:4x4", "'4x4' has no buffer behind it"),
            ("map:4x0:in:f32:4x4", "a box of 4x0"),
            ("map:4x4:swizzle=7:in:f32:4x4", "'7' is no swizzle"),
            ("map:4x4:box=7:in:f32:4x4", "'box=7' does not belong here"),
            ("texture:f32:4", "'f32' does not belong here"),
            ("texture:4x4", "'4x4' has no buffer"),
            ("texture:filter=cubic:in:f32:4", "'cubic' is no filter: give point or linear"),
            ("texture:address=edge:in:f32:4", "'edge' is no address mode"),
            ("texture:channels=3:in:f32:4x3", "3 channels: a texel has 1, 2 or 4"),
            ("surface:filter=linear:inout:f32:4", "'filter=linear' does not belong here: channels=N, layered, then"),
            ("surface:cubemap:inout:f32:6x4x4", "'cubemap' does not belong here: channels=N, layered, then"),
            ("in:f64:0xffffffffffffffff", "too many"),
            ("in:f32:4:seed", "'seed' does not belong here: seed=N or fill=FILL"),
            ("in:f32:4:seed=x", "'x' is no seed"),
            ("in:f32:4:seed=1:seed=2", "'seed=2' does not belong here"),
            ("in:f32:4:fill=some", "uniform, zeros, iota"),
            ("in:f32:4:@a", "goes to no file"),
            ("in:f32:@", "the name of the file is missing"),
            ("out:f32:4:fill=zeros", "'fill=zeros' does not belong here: out:TYPE:LEN"),
            ("out:f32:@a", "the number of elements is missing"),
            ("out:f32:4:@", "the name of the file is missing"),
            ("inout:f32:@:@b", "the name of the file is missing"),
        ] {
            let error = Spec::parse(text).expect_err(text);
            assert!(error.contains(word) && error.lines().count() == 1, "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_spec_or_an_error(text in any::<String>()) {
            let _ = Spec::parse(&text);
        }

        #[test]
        fn pieces_of_specs_are_specs_or_errors(parts in prop::collection::vec(prop::sample::select(vec![
            "in", "out", "inout", "bytes", "f32", "u8", "b64", "pred", "@", "@a", "4", "0x", "-1", "seed=", "seed=3",
            "fill=", "fill=iota", "fill=nan", "", "é", "99999999999999999999",
        ]), 0..7)) {
            let text = parts.join(":");
            if let Ok(spec) = Spec::parse(&text) {
                prop_assert_eq!(spec.text, text);
            }
        }
    }
}
