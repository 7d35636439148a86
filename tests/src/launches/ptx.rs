//! Kernels by hand, as plain as can be: a block computes 32 contiguous elements of a row of C.

use gpu_kernels::{Element, KERNEL_ARGUMENTS, MAP_ARGUMENTS, PREPASS_ARGUMENTS, STREAM_ARGUMENTS, TENSOR_MAP_BYTES};

/// A module: these kernels, one after the other.
#[must_use]
pub fn module(target: &str, kernels: &[String]) -> String {
    let version = if target == "sm_80" { "7.0" } else { "8.0" };
    format!(".version {version}\n.target {target}\n.address_size 64\n\n{}", kernels.join("\n"))
}

/// An entry with these parameters: all of them are loaded into registers of their names, of a tensor map its address.
pub(super) fn entry(name: &str, parameters: &[(&str, &str)], threads: u32, body: &str) -> String {
    let is_map = |ty: &str| ty == MAP_ARGUMENTS[0].1;
    let ty = |ty: &str| if ty.starts_with(['*', '&']) { "u64".to_owned() } else { ty.to_owned() };
    let parameter = |(name, of): &(&str, &str)| match is_map(of) {
        true => format!(".param .align 64 .b8 p_{name}[{TENSOR_MAP_BYTES}]"),
        false => format!(".param .{} p_{name}", ty(of)),
    };
    let load = |(name, of): &(&str, &str)| match is_map(of) {
        true => format!(".reg .u64 %{name};\nmov.u64 %{name}, p_{name};\ncvta.param.u64 %{name}, %{name};\n"),
        false => format!(".reg .{0} %{name};\nld.param.{0} %{name}, [p_{name}];\n", ty(of)),
    };
    let list: Vec<_> = parameters.iter().map(parameter).collect();
    let loads: String = parameters.iter().map(load).collect();
    format!(
        ".visible .entry {name}({})\n.maxntid {threads}\n{{\n\
         .reg .pred %p, %q;\n.reg .f32 %sum, %x, %y;\n.reg .u64 %at, %from, %row_at;\n\
         .reg .u32 %row, %tile, %column, %i, %lane, %width, %tiles, %t, %u, %v;\n.reg .b16 %h, %w16;\n.reg .b32 %w32;\n{loads}{body}\nret;\n}}\n",
        list.join(", ")
    )
}

/// A step's kernel. `place` sets `%row` and `%tile`, the place of the block's tile along n, and `sum` adds up `%sum` for
/// `%column`.
#[must_use]
pub fn gemm(name: &str, more: &[(&str, &str)], place: &str, sum: &str) -> String {
    gemm_then(name, more, place, sum, "")
}

/// The same, with what comes after a tile.
pub(super) fn gemm_then(name: &str, more: &[(&str, &str)], place: &str, sum: &str, next: &str) -> String {
    gemm_to(Element::F32, name, more, place, sum, next)
}

/// The same, with a C of these elements.
pub(super) fn gemm_to(c: Element, name: &str, more: &[(&str, &str)], place: &str, sum: &str, next: &str) -> String {
    let parameters = [&KERNEL_ARGUMENTS, more].concat();
    let (bytes, load, store) = (c.bytes(), load(c, "%x"), store(c, "%sum"));
    let body = format!(
        "{place}
        mov.u32 %lane, %tid.x;
        mad.lo.u32 %column, %tile, 32, %lane;
        mov.f32 %sum, 0f00000000;
        setp.eq.f32 %p, %alpha, 0f00000000;
        @%p bra SUMMED;
        {sum}
        SUMMED:
        setp.ge.u32 %p, %row, %m;
        setp.ge.u32 %q, %column, %n;
        or.pred %p, %p, %q;
        @%p bra NO_PART;
        mul.wide.u32 %at, %row, %ldc;
        cvt.u64.u32 %from, %column;
        add.u64 %at, %at, %from;
        mad.lo.u64 %at, %at, {bytes}, %c;
        mul.f32 %sum, %sum, %alpha;
        setp.eq.f32 %p, %beta, 0f00000000;
        @%p bra STORE;
        {load}
        fma.rn.f32 %sum, %x, %beta, %sum;
        STORE:
        {store}
        NO_PART:
        {next}
        STORED:"
    );
    entry(name, &parameters, 32, &body)
}

/// Loads the element at `%at` into a register of f32.
fn load(element: Element, to: &str) -> String {
    match element {
        Element::F32 => format!("ld.global.f32 {to}, [%at];"),
        Element::F16 => format!("ld.global.b16 %h, [%at];\ncvt.f32.f16 {to}, %h;"),
        Element::Bf16 => {
            format!("ld.global.b16 %h, [%at];\ncvt.u32.u16 %t, %h;\nshl.b32 %t, %t, 16;\nmov.b32 {to}, %t;")
        }
    }
}

/// Stores a register of f32 as the element at `%at`.
fn store(element: Element, from: &str) -> String {
    match element {
        Element::F32 => format!("st.global.f32 [%at], {from};"),
        Element::F16 | Element::Bf16 => format!("cvt.rn.{}.f32 %h, {from};\nst.global.b16 [%at], %h;", element.name()),
    }
}

/// The block's tile is at its place in the grid.
pub const AT_ITS_PLACE: &str = "mov.u32 %row, %ctaid.y;\nmov.u32 %tile, %ctaid.x;";

/// Sums one product after the other. `transposed`: A is.
#[must_use]
pub fn products(transposed: bool) -> String {
    products_of(Element::F32, transposed)
}

/// The same of these elements.
#[must_use]
pub fn products_of(element: Element, transposed: bool) -> String {
    let (bytes, load_x, load_y) = (element.bytes(), load(element, "%x"), load(element, "%y"));
    let a = if transposed { "%i, %lda;\ncvt.u64.u32 %from, %row" } else { "%row, %lda;\ncvt.u64.u32 %from, %i" };
    format!(
        "setp.ge.u32 %p, %row, %m;
        setp.ge.u32 %q, %column, %n;
        or.pred %p, %p, %q;
        @%p bra SUMMED;
        mov.u32 %i, 0;
        NEXT:
        setp.ge.u32 %p, %i, %k;
        @%p bra SUMMED;
        mul.wide.u32 %at, {a};
        add.u64 %at, %at, %from;
        mad.lo.u64 %at, %at, {bytes}, %a;
        {load_x}
        mul.wide.u32 %at, %i, %ldb;
        cvt.u64.u32 %from, %column;
        add.u64 %at, %at, %from;
        mad.lo.u64 %at, %at, {bytes}, %b;
        {load_y}
        fma.rn.f32 %sum, %x, %y, %sum;
        add.u32 %i, %i, 1;
        bra NEXT;"
    )
}

/// A pre-pass: a block of 32 threads copies a row of 32.
#[must_use]
pub fn copy(name: &str, transposes: bool) -> String {
    copy_of(Element::F32, name, transposes)
}

/// The same of these elements.
#[must_use]
pub fn copy_of(element: Element, name: &str, transposes: bool) -> String {
    let bits = 8 * element.bytes();
    let bytes = element.bytes();
    let to = if transposes {
        "%column, %target_ld;\ncvt.u64.u32 %from, %row"
    } else {
        "%row, %target_ld;\ncvt.u64.u32 %from, %column"
    };
    let body = format!(
        "mov.u32 %row, %ctaid.y;
        mov.u32 %tile, %ctaid.x;
        mov.u32 %lane, %tid.x;
        mad.lo.u32 %column, %tile, 32, %lane;
        setp.ge.u32 %p, %row, %rows;
        setp.ge.u32 %q, %column, %columns;
        or.pred %p, %p, %q;
        @%p bra COPIED;
        cvt.u64.u32 %at, %row;
        cvt.u64.u32 %from, %column;
        mad.lo.u64 %at, %at, %ld, %from;
        mad.lo.u64 %at, %at, {bytes}, %source;
        ld.global.b{bits} %w{bits}, [%at];
        mul.wide.u32 %at, {to};
        add.u64 %at, %at, %from;
        mad.lo.u64 %at, %at, {bytes}, %target;
        st.global.b{bits} [%at], %w{bits};
        COPIED:"
    );
    entry(name, &PREPASS_ARGUMENTS, 32, &body)
}

/// A kernel that has the same tile as [`AT_ITS_PLACE`], but does nothing in clusters of another size along x.
#[must_use]
pub fn clustered(name: &str, blocks: u32) -> String {
    let place = format!(
        "{AT_ITS_PLACE}
        barrier.cluster.arrive;
        barrier.cluster.wait;
        mov.u32 %t, %cluster_nctaid.x;
        setp.ne.u32 %p, %t, {blocks};
        @%p bra STORED;"
    );
    gemm(name, &[], &place, &products(false))
}

/// The last block along z computes the tile, the others nothing.
#[must_use]
pub fn split(name: &str) -> String {
    let place = format!(
        "{AT_ITS_PLACE}
        mov.u32 %t, %ctaid.z;
        mov.u32 %u, %nctaid.z;
        add.u32 %t, %t, 1;
        setp.ne.u32 %p, %t, %u;
        @%p bra STORED;"
    );
    gemm(name, &[], &place, &products(false))
}

/// The first blocks have equal shares of the stream-K tiles, and each computes the tiles that end in its own. Where a share begins
/// in the midst of a tile, the block waits for the flag of the block before it, and takes that flag down.
#[must_use]
pub fn stream_k(name: &str) -> String {
    // %tiles: how many there are; %u: how many blocks have stream-K tiles; %v: this block; %t: its tile.
    let place = "mov.u32 %v, %ctaid.x;
        add.u32 %width, %n, 31;
        shr.u32 %width, %width, 5;
        mul.lo.u32 %tiles, %width, %m;
        mov.u32 %u, %nctaid.x;
        add.u32 %u, %u, %stream_k_tiles;
        sub.u32 %u, %u, %tiles;
        setp.lt.u32 %p, %v, %u;
        @%p bra STREAM;
        sub.u32 %t, %v, %u;
        add.u32 %t, %t, %stream_k_tiles;
        bra PLACE;
        STREAM:
        mul.lo.u32 %i, %v, %stream_k_tiles;
        div.u32 %t, %i, %u;
        rem.u32 %i, %i, %u;
        setp.eq.u32 %p, %i, 0;
        @%p bra FIRST;
        mul.wide.u32 %at, %v, 4;
        add.u64 %at, %at, %flags;
        WAIT:
        ld.acquire.gpu.global.u32 %i, [%at+-4];
        setp.eq.u32 %p, %i, 0;
        @%p bra WAIT;
        bar.sync 0;
        mov.u32 %lane, %tid.x;
        setp.ne.u32 %p, %lane, 0;
        @%p bra FIRST;
        st.relaxed.gpu.global.u32 [%at+-4], 0;
        FIRST:
        add.u32 %i, %v, 1;
        mul.lo.u32 %i, %i, %stream_k_tiles;
        rem.u32 %i, %i, %u;
        setp.eq.u32 %p, %i, 0;
        mov.u32 %lane, %tid.x;
        setp.ne.u32 %q, %lane, 0;
        or.pred %p, %p, %q;
        @%p bra PLACE;
        mul.wide.u32 %at, %v, 4;
        add.u64 %at, %at, %flags;
        mov.u32 %i, 1;
        st.release.gpu.global.u32 [%at], %i;
        PLACE:
        setp.lt.u32 %p, %v, %u;
        add.u32 %i, %v, 1;
        mul.lo.u32 %i, %i, %stream_k_tiles;
        @%p div.u32 %i, %i, %u;
        setp.ge.u32 %q, %t, %i;
        and.pred %p, %p, %q;
        @%p bra STORED;
        div.u32 %row, %t, %width;
        rem.u32 %tile, %t, %width;";
    let next = "setp.ge.u32 %p, %v, %u;
        @%p bra STORED;
        add.u32 %t, %t, 1;
        bra PLACE;";
    gemm_then(name, &STREAM_ARGUMENTS, place, &products(false), next)
}

/// A and B by the tensor copy engine, in slices of 32 along k: a row of A, and 32 rows of B, swizzled.
#[must_use]
pub fn mapped(name: &str) -> String {
    let place = format!(
        ".shared .align 1024 .b8 b_smem[4096];
        .shared .align 128 .b8 a_smem[128];
        .shared .align 8 .b64 ready;
        .reg .u32 %a_smem, %b_smem, %ready, %phase, %first;
        {AT_ITS_PLACE}
        mov.u32 %a_smem, a_smem;
        mov.u32 %b_smem, b_smem;
        mov.u32 %ready, ready;"
    );
    let sum = "mov.u32 %phase, 0;
        mov.u32 %i, 0;
        shl.b32 %first, %tile, 5;
        setp.ne.u32 %q, %lane, 0;
        @%q bra SLICE;
        mbarrier.init.shared.b64 [%ready], 1;
        fence.mbarrier_init.release.cluster;
        SLICE:
        bar.sync 0;
        setp.ge.u32 %p, %i, %k;
        @%p bra SUMMED;
        @%q bra ARRIVED;
        mbarrier.arrive.expect_tx.shared.b64 _, [%ready], 4224;
        cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%a_smem], [%a_map, {%i, %row}], [%ready];
        cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%b_smem], [%b_map, {%first, %i}], [%ready];
        ARRIVED:
        mbarrier.try_wait.parity.shared.b64 %p, [%ready], %phase;
        @!%p bra ARRIVED;
        xor.b32 %phase, %phase, 1;
        mov.u32 %t, 0;
        NEXT:
        shl.b32 %u, %t, 2;
        add.u32 %u, %u, %a_smem;
        ld.shared.f32 %x, [%u];
        and.b32 %u, %t, 7;
        shl.b32 %u, %u, 4;
        shl.b32 %v, %lane, 2;
        xor.b32 %v, %v, %u;
        shl.b32 %u, %t, 7;
        add.u32 %v, %v, %u;
        add.u32 %v, %v, %b_smem;
        ld.shared.f32 %y, [%v];
        fma.rn.f32 %sum, %x, %y, %sum;
        add.u32 %t, %t, 1;
        setp.lt.u32 %p, %t, 32;
        @%p bra NEXT;
        add.u32 %i, %i, 32;
        bra SLICE;";
    gemm(name, &MAP_ARGUMENTS, &place, sum)
}
