//! A kernel whose blocks go from tile to tile.

use gpu_kernels::Group;
use gpu_kernels::spec::persistent_rows;

use super::ptx::{gemm_then, products};

/// Blocks in clusters of a group, each with the tiles of its number and of those that are a grid further on. In clusters of
/// another size they do nothing.
#[must_use]
pub fn persistent(name: &str, group: Group) -> String {
    let Group { columns, rows } = group;
    let (cluster, height) = (group.count(), persistent_rows(1) / rows);
    // %v: the number of a tile, %tiles: how many there are, those of whole clusters; %clusters, %width: clusters above and beside each
    // other.
    let place = format!(
        ".reg .u32 %clusters, %first, %height, %rank;
        mov.u32 %v, %ctaid.x;
        add.u32 %width, %n, 31;
        shr.u32 %width, %width, 5;
        add.u32 %width, %width, {columns};
        sub.u32 %width, %width, 1;
        div.u32 %width, %width, {columns};
        add.u32 %clusters, %m, {rows};
        sub.u32 %clusters, %clusters, 1;
        div.u32 %clusters, %clusters, {rows};
        mul.lo.u32 %tiles, %clusters, %width;
        mul.lo.u32 %tiles, %tiles, {cluster};
        mov.u32 %t, %cluster_nctaid.x;
        setp.ne.u32 %p, %t, {cluster};
        @%p bra STORED;
        PLACE:
        div.u32 %t, %v, {cluster};
        rem.u32 %rank, %v, {cluster};
        mul.lo.u32 %u, %width, {height};
        div.u32 %first, %t, %u;
        rem.u32 %t, %t, %u;
        mul.lo.u32 %first, %first, {height};
        sub.u32 %height, %clusters, %first;
        min.u32 %height, %height, {height};
        rem.u32 %row, %t, %height;
        add.u32 %row, %row, %first;
        div.u32 %u, %rank, {columns};
        mad.lo.u32 %row, %row, {rows}, %u;
        rem.u32 %rank, %rank, {columns};
        div.u32 %tile, %t, %height;
        mad.lo.u32 %tile, %tile, {columns}, %rank;"
    );
    let next = "mov.u32 %t, %nctaid.x;
        add.u32 %v, %v, %t;
        setp.lt.u32 %p, %v, %tiles;
        @%p bra PLACE;";
    gemm_then(name, &[], &place, &products(false), next)
}
