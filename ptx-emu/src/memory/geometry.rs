//! The shape of textures and surfaces: dimensions, layers, and the faces of cubes. CUDA C++ Programming Guide, "Layered Textures", "Cubemap
//! Textures".

/// Faces of a cube.
const FACES: u32 = 6;

/// What the last extent of an array counts, where it is no dimension of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layering {
    /// Layers of one or two dimensions.
    Layered,
    /// The six faces of a cube: +x, -x, +y, -y, +z, -z.
    Cubemap,
    /// The faces of several cubes, one after the other.
    LayeredCubemap,
}

/// The dimensions of an image or of a face, and what there are several of: `.1d` to `.acube` of PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub rank: usize,
    pub layering: Option<Layering>,
}

impl Layering {
    /// Whether an array of these extents, the contiguous one first, has it.
    pub(super) fn suits(self, extent: &[u32]) -> bool {
        match (self, extent) {
            (Self::Layered, extent) => matches!(extent.len(), 2 | 3),
            (Self::Cubemap, [width, height, faces]) => width == height && *faces == FACES,
            (Self::LayeredCubemap, [width, height, faces]) => width == height && faces.is_multiple_of(FACES),
            _ => false,
        }
    }

    /// The index along the last extent, which is `count`; beyond the last layer it is that one's.
    pub(super) fn index(self, layer: u32, face: u32, count: u32) -> u32 {
        match self {
            Self::Layered => layer.min(count - 1),
            Self::Cubemap => face,
            Self::LayeredCubemap => layer.min(count / FACES - 1) * FACES + face,
        }
    }
}

impl Geometry {
    /// Whether coordinates begin with the number of a layer.
    pub(crate) fn has_layers(self) -> bool {
        matches!(self.layering, Some(Layering::Layered | Layering::LayeredCubemap))
    }

    /// Whether coordinates are a direction.
    pub(crate) fn is_cubemap(self) -> bool {
        matches!(self.layering, Some(Layering::Cubemap | Layering::LayeredCubemap))
    }

    /// Coordinates without the number of a layer.
    pub(crate) fn coordinates(self) -> usize {
        if self.is_cubemap() { 3 } else { self.rank }
    }

    /// The name of an object of this kind, for messages.
    pub(crate) fn name(self, object: &str) -> String {
        match self.layering {
            None => format!("{object} of {}", crate::finding::plural(self.rank as u32, "dimension")),
            Some(Layering::Layered) => {
                format!("layered {object} of {}", crate::finding::plural(self.rank as u32, "dimension"))
            }
            Some(Layering::Cubemap) => format!("cubemap {object}"),
            Some(Layering::LayeredCubemap) => format!("layered cubemap {object}"),
        }
    }
}

/// The face that a direction leads to, and the coordinates on it, from 0 to 1. Which face has its edges is not documented: here, as in
/// Direct3D, z comes before y, and y before x.
pub(super) fn face([x, y, z]: [f32; 3]) -> (u32, [f32; 2]) {
    let (face, major, s, t) = if z.abs() >= x.abs() && z.abs() >= y.abs() {
        if z >= 0.0 { (4, z, x, -y) } else { (5, -z, -x, -y) }
    } else if y.abs() >= x.abs() {
        if y >= 0.0 { (2, y, x, z) } else { (3, -y, x, -z) }
    } else if x >= 0.0 {
        (0, x, -z, -y)
    } else {
        (1, -x, z, -y)
    };
    (face, [s, t].map(|minor| (minor / major + 1.0) / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The direction of a place on a face, from -1 to 1 both ways, by the axes that point right and down on each face of an unfolded
    /// cube, seen from inside.
    fn direction(face: usize, [s, t]: [f32; 2]) -> [f32; 3] {
        const AXES: [[[f32; 3]; 3]; 6] = [
            [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, -1.0, 0.0]],
            [[-1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]],
            [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
            [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]],
            [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]],
            [[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]],
        ];
        let [major, right, down] = AXES[face];
        std::array::from_fn(|axis| 3.0 * (major[axis] + s * right[axis] + t * down[axis]))
    }

    #[test]
    fn every_direction_leads_to_its_face() {
        for at in 0..6 {
            for place in [[0.0, 0.0], [-0.5, 0.25], [0.75, -0.5]] {
                assert_eq!(
                    face(direction(at, place)),
                    (at as u32, place.map(|minor| (minor + 1.0) / 2.0)),
                    "{place:?}"
                );
            }
        }
        assert_eq!([[1.0, 1.0, -1.0], [1.0, -1.0, 0.5], [-1.0, 0.0, 0.0]].map(|to| face(to).0), [5, 3, 1]);
    }

    #[test]
    fn layers_beyond_the_last_are_the_last() {
        let index = |layering: Layering, layer: u32, count: u32| layering.index(layer, 4, count);
        assert_eq!([0, 2, 3, u32::MAX].map(|layer| index(Layering::Layered, layer, 3)), [0, 2, 2, 2]);
        assert_eq!([0, 1, 2].map(|layer| index(Layering::LayeredCubemap, layer, 12)), [4, 10, 10]);
        assert_eq!(index(Layering::Cubemap, 7, 6), 4);
    }
}
