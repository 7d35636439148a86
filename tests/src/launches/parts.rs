//! Operands in parts: pre-passes that split them, and a kernel that adds the parts up again.

use gpu_kernels::{MAP_ARGUMENTS, PREPASS_ARGUMENTS, SCALE_ARGUMENTS, SPLIT_ARGUMENTS};

use super::ptx::{AT_ITS_PLACE, entry, gemm, products};

/// The word of what these kernels do not split; of others it is the exponent.
const NOT_SPLIT: i32 = i32::MIN;

/// A pre-pass that splits into f16 parts: a block of 32 threads has a row, or a column where it transposes, and then the last
/// of a cluster does it. Its scale is 2^5.
/// Every third one counts as not to be split, and leaves its place in the target as it was.
#[must_use]
pub fn split(name: &str, transposes: bool) -> String {
    // Blocks from this one on, in the cluster or the grid's row.
    let [row, others, before, length, source_row, source_col] = match transposes {
        false => ["ctaid.y", "nctaid.x", "ctaid.x", "columns", "row", "i"],
        true => ["ctaid.x", "cluster_nctarank", "cluster_ctarank", "rows", "i", "row"],
    };
    let body = format!(
        ".reg .b16 %high, %low;
        mov.u32 %row, %{row};
        mov.u32 %lane, %tid.x;
        mov.u32 %t, %{others};
        mov.u32 %i, %{before};
        sub.u32 %t, %t, %i;
        setp.ne.u32 %p, %t, 1;
        @%p bra DONE;
        mul.wide.u32 %at, %row, 4;
        add.u64 %at, %at, %scales;
        setp.eq.u32 %q, %lane, 0;
        rem.u32 %t, %row, 3;
        setp.ne.u32 %p, %t, 0;
        @%p bra SPLIT;
        mov.u32 %t, {NOT_SPLIT};
        @%q st.global.u32 [%at], %t;
        bra DONE;
        SPLIT:
        mov.u32 %t, 5;
        @%q st.global.u32 [%at], %t;
        mul.wide.u32 %row_at, %row, %target_ld;
        mad.lo.u64 %row_at, %row_at, 2, %target;
        shr.u32 %width, %target_ld, 1;
        mov.u32 %i, %lane;
        NEXT:
        setp.ge.u32 %p, %i, %width;
        @%p bra DONE;
        mov.f32 %x, 0f00000000;
        setp.ge.u32 %p, %i, %{length};
        @%p bra BEYOND;
        cvt.u64.u32 %at, %{source_row};
        cvt.u64.u32 %from, %{source_col};
        mad.lo.u64 %at, %at, %ld, %from;
        mad.lo.u64 %at, %at, 4, %source;
        ld.global.f32 %x, [%at];
        BEYOND:
        mul.f32 %x, %x, 0f42000000;
        cvt.rn.f16.f32 %high, %x;
        cvt.f32.f16 %y, %high;
        sub.f32 %x, %x, %y;
        cvt.rn.f16.f32 %low, %x;
        shr.u32 %t, %i, 5;
        mul.wide.u32 %at, %t, 128;
        and.b32 %t, %i, 31;
        mul.wide.u32 %from, %t, 2;
        add.u64 %at, %at, %from;
        add.u64 %at, %at, %row_at;
        st.global.b16 [%at], %high;
        st.global.b16 [%at+64], %low;
        add.u32 %i, %i, 32;
        bra NEXT;
        DONE:"
    );
    entry(name, &[&PREPASS_ARGUMENTS[..], &SPLIT_ARGUMENTS].concat(), 32, &body)
}

/// A kernel that takes parts by the tensor copy engine, in chunks of 32 along k: a row of A, and 32 columns of B, swizzled.
/// What was not split it reads as it is.
#[must_use]
pub fn of_parts(name: &str) -> String {
    let place = format!(
        ".shared .align 1024 .b8 b_smem[4096];
        .shared .align 128 .b8 a_smem[128];
        .shared .align 8 .b64 ready;
        .reg .b16 %high, %low;
        .reg .u32 %a_smem, %b_smem, %ready, %phase, %first;
        {AT_ITS_PLACE}
        mov.u32 %a_smem, a_smem;
        mov.u32 %b_smem, b_smem;
        mov.u32 %ready, ready;"
    );
    // Two parts that stand so many bytes apart, of which the address is in a register.
    let value = |to: &str, high_at: &str, low_at: &str| {
        format!(
            "ld.shared.b16 %high, [{high_at}];
            ld.shared.b16 %low, [{low_at}];
            cvt.f32.f16 %{to}, %high;
            cvt.f32.f16 %z, %low;
            add.f32 %{to}, %{to}, %z;"
        )
    };
    let sum = format!(
        ".reg .f32 %z;
        .reg .u32 %low_at, %a_scale, %b_scale;
        mov.u32 %phase, 0;
        mov.u32 %i, 0;
        shl.b32 %first, %tile, 5;
        setp.ne.u32 %q, %lane, 0;
        @%q bra SLICE;
        mbarrier.init.shared.b64 [%ready], 1;
        fence.mbarrier_init.release.cluster;
        SLICE:
        bar.sync 0;
        setp.ge.u32 %p, %i, %k;
        @%p bra ADDED;
        @%q bra ARRIVED;
        mbarrier.arrive.expect_tx.shared.b64 _, [%ready], 4224;
        shl.b32 %t, %i, 1;
        cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%a_smem], [%a_map, {{%t, %row}}], [%ready];
        cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%b_smem], [%b_map, {{%t, %first}}], [%ready];
        ARRIVED:
        mbarrier.try_wait.parity.shared.b64 %p, [%ready], %phase;
        @!%p bra ARRIVED;
        xor.b32 %phase, %phase, 1;
        mov.u32 %t, 0;
        PART:
        shl.b32 %u, %t, 1;
        add.u32 %u, %u, %a_smem;
        {}
        and.b32 %v, %lane, 7;
        shl.b32 %v, %v, 4;
        shl.b32 %u, %t, 1;
        xor.b32 %u, %u, %v;
        shl.b32 %v, %lane, 7;
        add.u32 %u, %u, %v;
        xor.b32 %low_at, %u, 64;
        add.u32 %u, %u, %b_smem;
        add.u32 %low_at, %low_at, %b_smem;
        {}
        fma.rn.f32 %sum, %x, %y, %sum;
        add.u32 %t, %t, 1;
        setp.lt.u32 %p, %t, 32;
        @%p bra PART;
        add.u32 %i, %i, 32;
        bra SLICE;
        ADDED:
        setp.ge.u32 %p, %row, %m;
        setp.ge.u32 %q, %column, %n;
        or.pred %p, %p, %q;
        setp.eq.or.u32 %p, %k, 0, %p;
        @%p bra SUMMED;
        mul.wide.u32 %at, %row, 4;
        add.u64 %at, %at, %a_scales;
        ld.global.u32 %a_scale, [%at];
        mul.wide.u32 %at, %column, 4;
        add.u64 %at, %at, %b_scales;
        ld.global.u32 %b_scale, [%at];
        add.u32 %t, %a_scale, %b_scale;
        sub.u32 %t, 127, %t;
        shl.b32 %t, %t, 23;
        mov.b32 %x, %t;
        mul.f32 %sum, %sum, %x;
        setp.eq.u32 %p, %a_scale, {NOT_SPLIT};
        setp.eq.or.u32 %p, %b_scale, {NOT_SPLIT}, %p;
        @!%p bra SUMMED;
        mov.f32 %sum, 0f00000000;
        {}",
        value("x", "%u", "%u+64"),
        value("y", "%u", "%low_at"),
        products(false)
    );
    gemm(name, &[&MAP_ARGUMENTS[..], &SCALE_ARGUMENTS].concat(), &place, &sum)
}
