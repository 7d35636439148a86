//! A kernel of one warpgroup: MMAs on matrices in shared memory.

use std::fmt::Write;

use crate::mma::number::bits;

/// k-steps, each of 32 bytes of a row.
pub const STEPS: usize = 2;

/// Bytes of shared memory for each matrix.
pub const A_BYTES: usize = 16 << 10;
pub const B_BYTES: usize = 32 << 10;

/// The MMA's operands and layouts.
#[derive(Debug, Clone, Copy)]
pub struct Product {
    pub ty: &'static str,
    pub columns: usize,
    pub a_transposed: bool,
    pub b_transposed: bool,
    pub from_registers: bool,
    pub negates: [bool; 2],
    /// Whether A is sparse: of each row, these elements of each group, by the metadata of all lanes.
    pub sparse: Option<u32>,
}

impl Product {
    pub fn new(ty: &'static str, columns: usize) -> Self {
        Self {
            ty,
            columns,
            a_transposed: false,
            b_transposed: false,
            from_registers: false,
            negates: [false; 2],
            sparse: None,
        }
    }

    /// Bytes of an element.
    pub fn width(&self) -> usize {
        bits(self.ty) / 8
    }

    /// Bytes of a column of B in a k-step.
    pub fn column_bytes(&self) -> usize {
        if self.sparse.is_some() { 64 } else { 32 }
    }

    /// Elements of a column of B.
    pub fn depth(&self) -> usize {
        STEPS * self.column_bytes() / self.width()
    }

    /// The element of k that is the `index`th of a row of A.
    pub fn k_of(&self, index: usize) -> usize {
        let Some(metadata) = self.sparse else { return index };
        // All lanes have the same metadata, so that they repeat: after 16 bits, or, of types of 8 bits, after 32.
        let place = |group: usize, which: usize| {
            let nibble = metadata >> (4 * (group % if self.width() == 1 { 8 } else { 4 })) & 15;
            (nibble >> (2 * which) & 3) as usize
        };
        match self.width() {
            4 => 2 * index + usize::from(place(index, 0) == 2),
            _ => index / 2 * 4 + place(index / 2, index % 2),
        }
    }

    pub fn is_integer(&self) -> bool {
        matches!(self.ty, "s8" | "u8")
    }

    pub fn sign(&self) -> f32 {
        if self.negates[0] == self.negates[1] { 1.0 } else { -1.0 }
    }

    /// One k-step of the MMA.
    pub fn instruction(&self, step: usize) -> String {
        let Self { ty, columns, .. } = *self;
        let list = |name: char, numbers: std::ops::Range<usize>| {
            let names: Vec<String> = numbers.map(|number| format!("%{name}{number}")).collect();
            format!("{{{}}}", names.join(", "))
        };
        let d = list('f', 0..columns / 2);
        let a = if self.from_registers { list('a', 4 * step..4 * step + 4) } else { "%da".to_owned() };
        let [a_scale, b_scale] = self.negates.map(|negates| if negates { -1 } else { 1 });
        let sides = match (self.width(), self.from_registers) {
            (1 | 4, _) => String::new(),
            (_, true) => format!(", {}", u32::from(self.b_transposed)),
            (_, false) => format!(", {}, {}", u32::from(self.a_transposed), u32::from(self.b_transposed)),
        };
        let depth = self.column_bytes() / self.width();
        let (d_ty, scales) =
            if self.is_integer() { ("s32", String::new()) } else { ("f32", format!(", {a_scale}, {b_scale}")) };
        let (sp, metadata) = if self.sparse.is_some() { (".sp", ", %metadata, 0") } else { ("", "") };
        format!(
            "wgmma.mma_async{sp}.sync.aligned.m64n{columns}k{depth}.{d_ty}.{ty}.{ty} {d}, {a}, %db{metadata}, %p{step}\
             {scales}{sides};"
        )
    }

    /// The kernel. Its shared memory is filled with an image, and the registers of A with fragments.
    pub fn ptx(&self) -> String {
        let registers = self.columns / 2;
        let mut text = format!(
            ".version 8.0
            .target sm_90a
            .address_size 64
            .visible .entry k(.param .u64 image, .param .u64 fragments, .param .u64 out,
                .param .u64 a, .param .u64 b, .param .u64 a_step, .param .u64 b_step)
            {{
                .reg .pred %p<4>; .reg .b32 %r<8>, %a<8>; .reg .b64 %rd<8>, %da, %db; .reg .{d} %f<{registers}>;
                .reg .b32 %metadata; mov.b32 %metadata, {metadata};
                .shared .align 1024 .b8 tile[{size}];
                ld.param.u64 %rd1, [image];
                ld.param.u64 %rd2, [fragments];
                ld.param.u64 %rd3, [out];
                ld.param.u64 %da, [a];
                ld.param.u64 %db, [b];
                mov.u32 %r1, %tid.x;
                mov.u32 %r2, tile;
                shr.u32 %r3, %r2, 4;
                cvt.u64.u32 %rd5, %r3;
                add.u64 %da, %da, %rd5;
                add.u64 %db, %db, %rd5;
                mad.lo.u32 %r2, %r1, 16, %r2;
                mul.wide.u32 %rd4, %r1, 16;
                add.u64 %rd1, %rd1, %rd4;
                mov.u32 %r3, 0;
            $fill:
                ld.global.v4.u32 {{%r4, %r5, %r6, %r7}}, [%rd1];
                st.shared.v4.u32 [%r2], {{%r4, %r5, %r6, %r7}};
                add.u32 %r2, %r2, 2048;
                add.u64 %rd1, %rd1, 2048;
                add.u32 %r3, %r3, 2048;
                setp.lt.u32 %p2, %r3, {size};
                @%p2 bra $fill;
                mul.wide.u32 %rd4, %r1, 32;
                add.u64 %rd2, %rd2, %rd4;
                ld.global.v4.u32 {{%a0, %a1, %a2, %a3}}, [%rd2];
                ld.global.v4.u32 {{%a4, %a5, %a6, %a7}}, [%rd2+16];
                fence.proxy.async.shared::cta;
                bar.sync 0;
                setp.ne.u32 %p0, %r1, %r1;
                setp.eq.u32 %p1, %r1, %r1;
                wgmma.fence.sync.aligned;\n",
            size = A_BYTES + B_BYTES,
            d = if self.is_integer() { "b32" } else { "f32" },
            metadata = self.sparse.unwrap_or_default(),
        );
        text += &self.instruction(0);
        text += "
                ld.param.u64 %rd4, [a_step];
                shr.u64 %rd4, %rd4, 4;
                add.u64 %da, %da, %rd4;
                ld.param.u64 %rd4, [b_step];
                shr.u64 %rd4, %rd4, 4;
                add.u64 %db, %db, %rd4;\n";
        text += &self.instruction(1);
        text += "
                wgmma.commit_group.sync.aligned;
                wgmma.wait_group.sync.aligned 0;\n";
        _ = writeln!(text, "mul.wide.u32 %rd4, %r1, {}; add.u64 %rd3, %rd3, %rd4;", 4 * registers);
        for register in 0..registers {
            _ = writeln!(text, "st.global.b32 [%rd3+{}], %f{register};", 4 * register);
        }
        text + "ret;\n}"
    }
}
