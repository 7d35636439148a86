//! Which elements of a dense matrix a sparse one has. PTX ISA, "Sparse matrix storage".

/// What the metadata choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Metadata {
    /// Two of four elements (or pairs of elements of 4 bits), the first one first: 2 bits each.
    TwoOfFour,
    /// One of two elements of 32 bits, by the places of its halves.
    OneOfTwo,
    /// Two of four, in any order, or one twice.
    Any,
}

impl Metadata {
    /// Code that sets `%r0` to the thread's metadata: others in each row of inputs.
    pub(super) fn code(self) -> &'static str {
        match self {
            // By number: one of the six pairs for each nibble, out of its 3 upper bits.
            Self::TwoOfFour => concat!(
                "mul.lo.u32 %r0, %row, 0x9e3779b1;\nxor.b32 %r0, %r0, 0x5bd1e995;\nmov.b32 %r1, 0;\nmov.b32 %r3, 8;\n",
                "{\n.reg .b32 %n, %t;\n.reg .pred %q;\nmetadata:\nshr.u32 %n, %r0, 29;\nmin.u32 %n, %n, 5;\n",
                "shl.b32 %n, %n, 2;\nmov.b32 %t, 0xed9c84;\nshr.u32 %n, %t, %n;\nand.b32 %n, %n, 15;\n",
                "shl.b32 %r1, %r1, 4;\nor.b32 %r1, %r1, %n;\nmul.lo.u32 %r0, %r0, 0x2c1b3c6d;\nadd.u32 %r0, %r0, 0x68e31da4;\n",
                "sub.u32 %r3, %r3, 1;\nsetp.ne.u32 %q, %r3, 0;\n@%q bra metadata;\n}\nmov.b32 %r0, %r1;"
            ),
            // 0b0100 or 0b1110 for each nibble.
            Self::OneOfTwo => {
                "mul.lo.u32 %r0, %row, 0x9e3779b1;\nshr.u32 %r0, %r0, 7;\nand.b32 %r0, %r0, 0x22222222;\n\
                 shl.b32 %r1, %r0, 2;\nor.b32 %r0, %r0, %r1;\nor.b32 %r0, %r0, 0x44444444;"
            }
            Self::Any => "mul.lo.u32 %r0, %row, 0x9e3779b1;\nxor.b32 %r0, %r0, 0x5bd1e995;",
        }
    }
}
