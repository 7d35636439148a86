//! A kernel whose blocks go from tile to tile.

use gpu_kernels::spec::persistent_rows;

use super::ptx::{gemm_then, products};

/// Blocks in clusters of so many, each with the tiles of its number and of those that are a grid further on. In clusters of
/// another size they do nothing.
#[must_use]
pub fn persistent(name: &str, cluster: u32) -> String {
    let group = persistent_rows(1) / cluster;
    // %v: the number of a tile, %tiles: how many there are, those of whole clusters.
    let place = format!(
        ".reg .u32 %clusters, %first, %height, %rank;
        mov.u32 %v, %ctaid.x;
        add.u32 %width, %n, 31;
        shr.u32 %width, %width, 5;
        add.u32 %clusters, %m, {cluster};
        sub.u32 %clusters, %clusters, 1;
        div.u32 %clusters, %clusters, {cluster};
        mul.lo.u32 %tiles, %clusters, %width;
        mul.lo.u32 %tiles, %tiles, {cluster};
        mov.u32 %t, %cluster_nctaid.x;
        setp.ne.u32 %p, %t, {cluster};
        @%p bra STORED;
        PLACE:
        div.u32 %t, %v, {cluster};
        rem.u32 %rank, %v, {cluster};
        mul.lo.u32 %u, %width, {group};
        div.u32 %first, %t, %u;
        rem.u32 %t, %t, %u;
        mul.lo.u32 %first, %first, {group};
        sub.u32 %height, %clusters, %first;
        min.u32 %height, %height, {group};
        rem.u32 %row, %t, %height;
        add.u32 %row, %row, %first;
        mad.lo.u32 %row, %row, {cluster}, %rank;
        div.u32 %tile, %t, %height;"
    );
    let next = "mov.u32 %t, %nctaid.x;
        add.u32 %v, %v, %t;
        setp.lt.u32 %p, %v, %tiles;
        @%p bra PLACE;";
    gemm_then(name, &[], &place, &products(false), next)
}
