//! Tensor maps: the tensor in global memory and the box that `cp.async.bulk.tensor` copies.

use super::Pointer;
use crate::types::Type;

/// Dimensions of a tensor at most.
pub(crate) const MAX_RANK: usize = 5;

/// Size and alignment of an encoded map, in bytes.
pub(crate) const MAP_BYTES: usize = 128;
pub(crate) const MAP_ALIGNMENT: u32 = 64;

/// Words of an encoded map: the first is a magic number, the last a checksum. Offsets of dimensions and strides.
const WORDS: usize = MAP_BYTES / 8;
const MAGIC: u64 = u64::from_le_bytes(*b"ptx-emu1");
const DIMS: usize = 4;
const STRIDES: usize = DIMS + MAX_RANK;

/// The element types by their numbers in `tensormap.replace`.
const ELEMENTS: [Type; 13] = [
    Type::U8,
    Type::U16,
    Type::U32,
    Type::S32,
    Type::U64,
    Type::S64,
    Type::F16,
    Type::F32,
    Type::F32,
    Type::F64,
    Type::Bf16,
    Type::Tf32,
    Type::Tf32,
];

/// More than shared memory holds.
const MAX_BOX_BYTES: u64 = 256 << 10;

/// Bits of a box dimension.
const SIDE_BITS: u32 = 12;

/// Alignment of addresses, strides and box rows, in bytes.
const CHUNK_BYTES: u64 = 16;

/// A tensor in global memory and the box that a copy moves, with the parameters of `cuTensorMapEncodeTiled` in the same
/// order, the contiguous dimension first. Out-of-bounds elements are zero-filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorMap {
    element: Type,
    address: Pointer,
    dims: Vec<u64>,
    strides: Vec<u64>,
    box_dims: Vec<u32>,
    swizzle: Swizzle,
}

/// Swizzle of the 16-byte chunks of a box in shared memory: address bits are XORed with higher ones. The row pitch is
/// the swizzle span, even if rows are shorter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Swizzle {
    /// No swizzle.
    #[default]
    None,
    /// Bit 4 with bit 7: rows of at most 32 bytes.
    Bytes32,
    /// Bits 4 and 5 with bits 7 and 8: rows of at most 64 bytes.
    Bytes64,
    /// Bits 4 to 6 with bits 7 to 9: rows of at most 128 bytes.
    Bytes128,
}

/// A field of an encoded map, as `tensormap.replace` names it; of a dimension where there is one for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MapField {
    Address,
    /// One less than the number of dimensions.
    Rank,
    Side(usize),
    Dim(usize),
    /// In bytes, of the dimension behind this one.
    Stride(usize),
    ElementStride,
    Element,
    Interleave,
    Swizzle,
    Fill,
}

impl MapField {
    pub(crate) const DIMENSIONS: usize = MAX_RANK;
}

/// Why a tensor map is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a tensor map cannot have {0}")]
pub struct TensorMapError(String);

impl TensorMap {
    /// A tensor of `dims` elements at `address` with a box of `box_dims`. `strides`, in bytes, are those of all
    /// dimensions but the first. Interleave is not supported.
    ///
    /// # Errors
    /// [`TensorMapError`] for what the driver refuses too.
    pub fn new(
        element: Type,
        address: Pointer,
        dims: &[u64],
        strides: &[u64],
        box_dims: &[u32],
        swizzle: Swizzle,
    ) -> Result<Self, TensorMapError> {
        let fail = |text: String| Err(TensorMapError(text));
        let rank = dims.len();
        if rank == 0 || rank > MAX_RANK || strides.len() != rank - 1 || box_dims.len() != rank {
            let (strides, sides) = (strides.len(), box_dims.len());
            return fail(format!("{rank} dimensions with {strides} strides and a box of {sides}; 1 to {MAX_RANK}"));
        }
        if !matches!(element.bits(), 8 | 16 | 32 | 64) {
            return fail(format!("elements of type {element}"));
        }
        if !address.is_multiple_of(CHUNK_BYTES) {
            return fail(format!("its tensor at {address:#x}, which is not a multiple of {CHUNK_BYTES}"));
        }
        if let Some(dim) = dims.iter().find(|dim| !(1..=1 << 32).contains(*dim)) {
            return fail(format!("a dimension of {dim} elements; it has 1 to 2^32"));
        }
        if let Some(stride) = strides.iter().find(|stride| *stride % CHUNK_BYTES != 0 || **stride >= 1 << 40) {
            return fail(format!("a stride of {stride} bytes; it is a multiple of {CHUNK_BYTES} below 2^40"));
        }
        if let Some(side) = box_dims.iter().find(|side| !(1..=256).contains(*side)) {
            return fail(format!("a box of {side} elements in one dimension; it has 1 to 256"));
        }
        let bytes = box_dims.iter().fold(element.bytes().into(), |bytes: u64, side| bytes * u64::from(*side));
        if bytes > MAX_BOX_BYTES {
            return fail(format!("a box of {bytes} bytes; it has at most {MAX_BOX_BYTES}"));
        }
        let map =
            Self { element, address, dims: dims.into(), strides: strides.into(), box_dims: box_dims.into(), swizzle };
        let row = u64::from(map.row_bytes());
        if row % CHUNK_BYTES != 0 || swizzle.span().is_some_and(|span| row > span) {
            return fail(format!("a box with rows of {row} bytes and the swizzle {swizzle:?}"));
        }
        Ok(map)
    }

    /// The map as 128 bytes, for global memory at a multiple of 64 or for a parameter. The format is the emulator's
    /// own, not that of `CUtensorMap`.
    #[must_use]
    pub fn encode(&self) -> [u8; MAP_BYTES] {
        let element = Type::ALL.iter().position(|ty| *ty == self.element).unwrap_or_default() as u64;
        let sides = self.box_dims.iter().rev().fold(0, |all, side| all << SIDE_BITS | u64::from(*side));
        let mut words = [0; WORDS];
        words[0] = MAGIC;
        words[1] = self.address;
        words[2] = self.dims.len() as u64 | element << 8 | (self.swizzle as u64) << 16;
        words[3] = sides;
        words[DIMS..].iter_mut().zip(&self.dims).for_each(|(word, dim)| *word = *dim);
        words[STRIDES..].iter_mut().zip(&self.strides).for_each(|(word, stride)| *word = *stride);
        words[WORDS - 1] = checksum(&words);
        let mut bytes = [0; MAP_BYTES];
        bytes.as_chunks_mut().0.iter_mut().zip(words).for_each(|(to, word)| *to = word.to_le_bytes());
        bytes
    }

    /// Decodes a map, if valid.
    pub(crate) fn decode(bytes: &[u8; MAP_BYTES]) -> Option<Self> {
        let mut words = [0; WORDS];
        words.iter_mut().zip(bytes.as_chunks().0).for_each(|(word, bytes)| *word = u64::from_le_bytes(*bytes));
        let [magic, address, kind, sides, ..] = words;
        let rank = (kind & 0xff) as usize;
        if magic != MAGIC || words[WORDS - 1] != checksum(&words) || rank == 0 || rank > MAX_RANK {
            return None;
        }
        let element = *Type::ALL.get((kind >> 8 & 0xff) as usize)?;
        let swizzle = *Swizzle::ALL.get((kind >> 16) as usize)?;
        let side = |dimension: usize| (sides >> (SIDE_BITS as usize * dimension) & ((1 << SIDE_BITS) - 1)) as u32;
        let box_dims: Vec<u32> = (0..rank).map(side).collect();
        let (dims, strides) = (&words[DIMS..][..rank], &words[STRIDES..][..rank - 1]);
        Self::new(element, address, dims, strides, &box_dims, swizzle).ok()
    }

    /// Replaces a field of an encoded map. The others may not fit to it: they are looked at when the map is used.
    pub(crate) fn replace(words: &mut [u64; WORDS], field: MapField, value: u64) -> Result<(), String> {
        if words[0] != MAGIC || words[WORDS - 1] != checksum(words) {
            return Err("there is no tensor map whose field could be replaced".to_owned());
        }
        let mut put = |word: usize, first: u32, bits: u32, value: u64| {
            let mask = (u64::MAX >> (u64::BITS - bits)) << first;
            words[word] = words[word] & !mask | value << first & mask;
        };
        let only =
            |kept: u64| if value == kept { Ok(()) } else { Err(format!("{field:?} of {value} is not supported")) };
        match field {
            MapField::Address => put(1, 0, u64::BITS, value),
            MapField::Rank => put(2, 0, 8, value + 1),
            MapField::Side(dimension) => put(3, SIDE_BITS * dimension as u32, SIDE_BITS, value),
            MapField::Dim(dimension) => put(DIMS + dimension, 0, u64::BITS, value),
            MapField::Stride(dimension) if dimension + 1 < MAX_RANK => put(STRIDES + dimension, 0, u64::BITS, value),
            MapField::Stride(_) => {}
            MapField::ElementStride => only(1)?,
            MapField::Element => {
                let element = ELEMENTS.get(value as usize).ok_or_else(|| format!("an element type of {value}"))?;
                put(2, 8, 8, Type::ALL.iter().position(|ty| ty == element).unwrap_or_default() as u64);
            }
            MapField::Interleave | MapField::Fill => only(0)?,
            MapField::Swizzle => put(2, 16, 8, value),
        }
        words[WORDS - 1] = checksum(words);
        Ok(())
    }

    /// The contiguous runs of the box at `start` that are in bounds.
    pub(crate) fn runs(&self, start: &[i32]) -> Vec<Run> {
        let width = u64::from(self.element.bytes());
        // First and last in-bounds element of a row of the box.
        let side = i64::from(self.box_dims[0]);
        let last = (self.dims[0] as i64 - i64::from(start[0])).min(side);
        let first = i64::from(start[0]).min(0).abs();
        let rows: u32 = self.box_dims[1..].iter().product();
        let mut runs = vec![];
        for row in (0..rows).filter(|_| first < last) {
            let (mut rest, mut address, mut is_in_bounds) = (row, self.address, true);
            let outer = self.box_dims[1..].iter().zip(&self.dims[1..]).zip(&self.strides);
            for (((side, dim), stride), start) in outer.zip(&start[1..]) {
                let index = i64::from(*start) + i64::from(rest % side);
                rest /= side;
                is_in_bounds &= (0..*dim as i64).contains(&index);
                address = address.wrapping_add_signed(index.wrapping_mul(*stride as i64));
            }
            if is_in_bounds {
                let offset = row * self.pitch() + first as u32 * self.element.bytes();
                let global = address.wrapping_add_signed((i64::from(start[0]) + first) * width as i64);
                runs.push(Run { offset, global, bytes: (last - first) as u32 * self.element.bytes() });
            }
        }
        runs
    }

    /// Whether a box may begin at that element of a row.
    pub(crate) fn can_start_at(&self, first: i32) -> bool {
        (i64::from(first) * i64::from(self.element.bytes())) % CHUNK_BYTES as i64 == 0
    }

    pub(crate) fn address(&self) -> Pointer {
        self.address
    }

    pub(crate) fn swizzle(&self) -> Swizzle {
        self.swizzle
    }

    /// Dimensions of the tensor.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Bytes of the box, as an mbarrier counts them.
    #[must_use]
    pub fn box_bytes(&self) -> u32 {
        self.box_dims.iter().product::<u32>() * self.element.bytes()
    }

    /// Bytes of a row of the box, and the pitch between rows: rows shorter than the swizzle span leave a gap.
    pub(crate) fn row_bytes(&self) -> u32 {
        self.box_dims[0] * self.element.bytes()
    }

    pub(crate) fn pitch(&self) -> u32 {
        self.swizzle.span().map_or(self.row_bytes(), |span| span as u32)
    }
}

/// A contiguous run of bytes that a copy moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    /// Offset in shared memory from the start of the box, before swizzling.
    pub offset: u32,
    /// Address in global memory.
    pub global: Pointer,
    pub bytes: u32,
}

impl Swizzle {
    /// The swizzled address.
    pub(crate) const fn apply(self, address: u64) -> u64 {
        let mask = match self {
            Self::None => 0,
            Self::Bytes32 => 1,
            Self::Bytes64 => 3,
            Self::Bytes128 => 7,
        };
        address ^ (address >> 7 & mask) << 4
    }

    const ALL: [Self; 4] = [Self::None, Self::Bytes32, Self::Bytes64, Self::Bytes128];

    /// Row span in bytes.
    pub(crate) const fn span(self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Bytes32 => Some(32),
            Self::Bytes64 => Some(64),
            Self::Bytes128 => Some(128),
        }
    }
}

/// Checksum of a map.
fn checksum(words: &[u64; WORDS]) -> u64 {
    words[..WORDS - 1].iter().fold(MAGIC, |sum, word| (sum ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(dims: &[u64], strides: &[u64], sides: &[u32], swizzle: Swizzle) -> Result<TensorMap, TensorMapError> {
        TensorMap::new(Type::F32, 0x200, dims, strides, sides, swizzle)
    }

    #[test]
    fn a_map_comes_back() {
        for map in [
            map(&[1 << 32], &[], &[256], Swizzle::None),
            map(&[300, 77], &[1200], &[32, 64], Swizzle::Bytes128),
            map(&[5, 4, 3, 2, 1], &[32, 64, 96, 1 << 39], &[4, 1, 1, 256, 2], Swizzle::Bytes32),
        ] {
            let map = map.unwrap();
            let mut bytes = map.encode();
            assert_eq!(TensorMap::decode(&bytes), Some(map));
            bytes[40] ^= 1;
            assert_eq!(TensorMap::decode(&bytes), None);
        }
        assert_eq!(TensorMap::decode(&[0; MAP_BYTES]), None);
    }

    #[test]
    fn a_box_takes_what_lies_in_the_tensor() {
        let map = map(&[10, 3], &[48], &[8, 2], Swizzle::None).unwrap();
        let run = |offset, global, bytes| Run { offset, global, bytes };
        assert_eq!(map.runs(&[0, 0]), [run(0, 0x200, 32), run(32, 0x230, 32)]);
        assert_eq!(map.runs(&[-3, -1]), [run(44, 0x200, 20)]);
        assert_eq!(map.runs(&[7, 2]), [run(0, 0x200 + 2 * 48 + 28, 12)]);
        assert_eq!(
            [map.runs(&[10, 0]), map.runs(&[-8, 0]), map.runs(&[0, 3]), map.runs(&[i32::MIN, 0])],
            [[]; 4].map(|_: [Run; 0]| vec![])
        );
    }

    #[test]
    fn swizzles_permute_chunks_within_a_line() {
        let chunks_of =
            |swizzle: Swizzle, row: u64| [0, 1, 7].map(|chunk| swizzle.apply(128 * row + 16 * chunk) / 16 % 8);
        assert_eq!(
            [0, 1, 5, 9].map(|row| chunks_of(Swizzle::Bytes128, row)),
            [[0, 1, 7], [1, 0, 6], [5, 4, 2], [1, 0, 6]]
        );
        assert_eq!([1, 3, 4].map(|row| chunks_of(Swizzle::Bytes64, row)), [[1, 0, 6], [3, 2, 4], [0, 1, 7]]);
        assert_eq!([1, 2].map(|row| chunks_of(Swizzle::Bytes32, row)), [[1, 0, 6], [0, 1, 7]]);
        assert_eq!(Swizzle::None.apply(0x3f0), 0x3f0);
    }

    #[test]
    fn what_the_driver_refuses_is_refused() {
        let why = |map: Result<TensorMap, TensorMapError>| map.map(drop).unwrap_err().to_string();
        let (none, b64) = (Swizzle::None, Swizzle::Bytes64);
        let text = "a tensor map cannot have a stride of 1204 bytes; it is a multiple of 16 below 2^40";
        assert_eq!(why(map(&[301, 2], &[1204], &[4, 1], none)), text);
        assert!(why(map(&[8, 8], &[32], &[32, 1], b64)).ends_with("rows of 128 bytes and the swizzle Bytes64"));
        assert!(why(map(&[8, 8], &[32], &[3, 1], none)).contains("rows of 12 bytes"));
        assert!(why(map(&[8, 0], &[32], &[4, 1], none)).contains("a dimension of 0 elements"));
        assert!(why(map(&[8, 8], &[32], &[4, 257], none)).contains("a box of 257 elements"));
        assert!(why(map(&[8; 5], &[32; 4], &[256; 5], none)).contains("a box of 4398046511104 bytes"));
        assert!(why(map(&[8, 8], &[], &[4, 1], none)).contains("2 dimensions with 0 strides"));
        assert!(why(TensorMap::new(Type::F32, 8, &[4], &[], &[4], none)).contains("its tensor at 0x8"));
        assert!(why(TensorMap::new(Type::Pred, 0, &[4], &[], &[4], none)).contains("elements of type .pred"));
    }
}
