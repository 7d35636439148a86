//! Texture fetches, and accesses to surfaces: to the checkers, reads and writes of global memory. Their caches are not coherent
//! with what the launch writes, as that of `ld.global.nc` (CUDA C++ Programming Guide, "Read/Write Coherency").

use half::f16;

use super::data::{get, put, read, write};
use super::request::Request;
use crate::check::AccessKind;
use crate::counters::Count;
use crate::exec::state::{Fault, Grid, Site, Warp};
use crate::finding::FindingKind;
use crate::lanes::{LANES, Mask, lanes_of};
use crate::memory::{Geometry, MAX_TAPS, Texture, TextureArray, TextureObject};
use crate::program::{Element, Fetched, Outside, Pc, TextureAccess, TextureKind};
use crate::types::{Semantics, Space, Type};

/// Values of a texel.
const CHANNELS: usize = 4;

/// The texels that are gathered, of two rows one after the other: counterclockwise from the lower left.
const GATHERED: [usize; CHANNELS] = [2, 3, 1, 0];

impl Site {
    pub(crate) fn texture(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        pc: Pc,
        access: &TextureAccess,
        mask: Mask,
        count: &mut Count,
    ) -> Result<(), Fault> {
        let handles = warp.addresses(&access.handle);
        let mut coordinates = [[0u32; LANES]; 3];
        for (values, slot) in coordinates.iter_mut().zip(&access.coordinates) {
            *values = warp.registers.read(*slot);
        }
        let layers = access.layer.map_or([0; LANES], |slot| warp.registers.read(slot));
        let mut rest = mask;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            let same =
                lanes_of(rest).filter(|&other| handles[other] == handles[lane]).fold(0, |all, lane| all | 1 << lane);
            rest &= !same;
            let at = Lanes { pc, mask: same, coordinates: &coordinates, layers: &layers };
            match (grid.memory.texture_object(handles[lane]), &access.kind) {
                (Some(TextureObject::Texture(texture)), TextureKind::Fetch { fetched, d })
                    if texture.array.geometry() == access.geometry =>
                {
                    let results = self.fetch_texels(grid, warp, &at, texture, *fetched, count)?;
                    d.iter().zip(&results).for_each(|(slot, values)| warp.registers.write(*slot, values, same));
                }
                (Some(TextureObject::Surface(array)), TextureKind::Surface { is_store, outside, width, elements })
                    if array.surface_geometry() == access.geometry =>
                {
                    let moved = Moved { is_store: *is_store, outside: *outside, width: *width, elements };
                    self.access_surface(grid, warp, &at, array, &moved, count)?;
                }
                (_, kind) => {
                    let object = if matches!(kind, TextureKind::Fetch { .. }) { "texture" } else { "surface" };
                    let what = format!("{:#x} is no handle of a {}", handles[lane], access.geometry.name(object));
                    if grid.checks.memory {
                        let thread = warp.number * LANES + lane;
                        return Err(self.finding(grid, FindingKind::OutOfBounds, pc, thread, what).into());
                    }
                }
            }
        }
        Ok(())
    }

    /// The four values of each lane.
    fn fetch_texels(
        &mut self,
        grid: &Grid<'_>,
        warp: &Warp,
        at: &Lanes<'_>,
        texture: &Texture,
        fetched: Fetched,
        count: &mut Count,
    ) -> Result<[[u32; LANES]; CHANNELS], Fault> {
        let taps: [_; LANES] = std::array::from_fn(|lane| {
            let (bits, layer) = (at.coordinates.map(|values| values[lane]), at.layers[lane]);
            match fetched {
                Fetched::Texel => texture.fetch(bits.map(u32::cast_signed), layer),
                Fetched::Sample => texture.sample(bits.map(f32::from_bits), layer),
                Fetched::Gathered(_) => texture.footprint(bits.map(f32::from_bits), layer),
            }
        });
        let (element, channels) = (texture.array.element(), texture.array.channels());
        let mut values = [[[0u64; LANES]; CHANNELS]; MAX_TAPS];
        let number = taps[0].1;
        let mut counted = Count::default();
        for (tap, values) in values.iter_mut().enumerate().take(number) {
            let inside =
                lanes_of(at.mask).filter(|&lane| taps[lane].0[tap].0.is_some()).fold(0, |all, lane| all | 1 << lane);
            let addresses = std::array::from_fn(|lane| taps[lane].0[tap].0.unwrap_or_default());
            let bytes = texture.array.texel_bytes();
            let request = at.request(AccessKind::Read, inside, addresses, bytes, element.bytes());
            let allowed = if inside == 0 { 0 } else { self.check(grid, warp, &request, None, &mut counted)? };
            for (channel, values) in values.iter_mut().enumerate().take(channels) {
                let offset = channel as u64 * u64::from(element.bytes());
                read(grid, self, warp, &request, allowed, offset, element.bytes(), values);
            }
        }
        count.requests += 1;
        (count.sectors, count.wavefronts) = (count.sectors + counted.sectors, count.wavefronts + counted.wavefronts);
        let as_float = matches!(element, Type::F16 | Type::F32) || texture.normalized_values;
        let one = if as_float { 1f32.to_bits() } else { 1 };
        let value = |tap: usize, channel: usize, lane: usize| match channel {
            channel if channel < channels => texel(element, texture.normalized_values, values[tap][channel][lane]),
            // What is missing is 0, and the last 1.
            channel if channel == CHANNELS - 1 => one,
            _ => 0,
        };
        Ok(std::array::from_fn(|index| {
            std::array::from_fn(|lane| {
                if let Fetched::Gathered(component) = fetched {
                    return value(GATHERED[index], component, lane);
                }
                if number == 1 || index >= channels {
                    return value(0, index, lane);
                }
                let weighted = |tap: usize| f64::from(f32::from_bits(value(tap, index, lane))) * taps[lane].0[tap].1;
                // Of a weight of 0 not even an infinity or NaN counts.
                let sum: f64 = (0..number).filter(|&tap| taps[lane].0[tap].1 != 0.0).map(weighted).sum();
                (sum as f32).to_bits()
            })
        }))
    }

    fn access_surface(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        at: &Lanes<'_>,
        array: &TextureArray,
        moved: &Moved<'_>,
        count: &mut Count,
    ) -> Result<(), Fault> {
        let bytes = moved.width * moved.elements.len() as u32;
        let last = [
            array.row_bytes().saturating_sub(bytes.into()),
            (array.extent(1) - 1).into(),
            (array.extent(2) - 1).into(),
        ];
        let mut inside = 0;
        let mut addresses = [0; LANES];
        for lane in lanes_of(at.mask) {
            let place = at.place(lane, array.surface_geometry());
            let is_inside = place.iter().zip(last).all(|(at, last)| (0..=last as i64).contains(at));
            if !is_inside && moved.outside == Outside::Trap && grid.checks.memory {
                let [x, y, z] = place;
                let what = format!("byte {x} of row {y}, {z} is outside of the surface");
                let thread = warp.number * LANES + lane;
                return Err(self.finding(grid, FindingKind::OutOfBounds, at.pc, thread, what).into());
            }
            if is_inside || moved.outside == Outside::Clamp {
                let [x, y, z] = std::array::from_fn(|axis| place[axis].clamp(0, last[axis] as i64) as u64);
                // To the last element that begins at a multiple of its size.
                let x = if is_inside { x } else { x - x % u64::from(bytes) };
                (inside, addresses[lane]) = (inside | 1 << lane, array.address(x, y, z));
            }
        }
        let kind = if moved.is_store { AccessKind::Write } else { AccessKind::Read };
        let request = at.request(kind, inside, addresses, bytes, bytes);
        let allowed = if inside == 0 { 0 } else { self.check(grid, warp, &request, None, count)? };
        for (index, element) in moved.elements.iter().enumerate() {
            let offset = index as u64 * u64::from(moved.width);
            if moved.is_store {
                let values = get(&warp.registers, element);
                write(grid, self, warp, &request, allowed, offset, moved.width, &values);
            } else {
                let mut values = [0; LANES];
                read(grid, self, warp, &request, allowed, offset, moved.width, &mut values);
                put(&mut warp.registers, element, moved.width, &values, at.mask);
            }
        }
        if let Some(races) = grid.global_races.as_ref().filter(|_| allowed != 0) {
            self.checks.global_done(races, &request.observed(warp, allowed));
        }
        Ok(())
    }
}

/// The lanes that access an object, their coordinates, and the numbers of layers.
struct Lanes<'a> {
    pc: Pc,
    mask: Mask,
    coordinates: &'a [[u32; LANES]; 3],
    layers: &'a [u32; LANES],
}

/// What is read from a surface, or written to one.
struct Moved<'a> {
    is_store: bool,
    outside: Outside,
    width: u32,
    elements: &'a [Element],
}

impl Lanes<'_> {
    /// Where in a surface a lane accesses it: byte, row, and what comes next; a layer is behind the other coordinates.
    fn place(&self, lane: usize, geometry: Geometry) -> [i64; 3] {
        let mut place = self.coordinates.map(|values| i64::from(values[lane].cast_signed()));
        if geometry.has_layers() {
            place[geometry.rank] = self.layers[lane].into();
        }
        place
    }

    fn request(&self, kind: AccessKind, mask: Mask, addresses: [u64; LANES], bytes: u32, alignment: u32) -> Request {
        let semantics = Semantics { is_non_coherent: kind.reads(), ..Semantics::DEFAULT };
        Request { pc: self.pc, kind, space: Space::Global, mask, addresses, bytes, alignment, remote: None, semantics }
    }
}

/// The 32 bits that an element is read as.
fn texel(element: Type, normalized: bool, bits: u64) -> u32 {
    let signed = |width: u32| (bits << (64 - width)).cast_signed() >> (64 - width);
    // The least number stands for -1, too.
    let ratio = |value: i64, most: i64| (((value as f64) / (most as f64)).max(-1.0) as f32).to_bits();
    match (element, normalized) {
        (Type::F16, _) => f16::from_bits(bits as u16).to_f32().to_bits(),
        (Type::U8, true) => ratio(bits as i64, 0xff),
        (Type::S8, true) => ratio(signed(8), 0x7f),
        (Type::U16, true) => ratio(bits as i64, 0xffff),
        (Type::S16, true) => ratio(signed(16), 0x7fff),
        (Type::S8, false) => signed(8) as u32,
        (Type::S16, false) => signed(16) as u32,
        _ => bits as u32,
    }
}
