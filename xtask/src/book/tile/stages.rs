//! The panel of stages: where slices are in shared memory while another one is computed.

use gpu_kernels::{Precision, Step};

use super::placement::transposes_itself;
use super::svg::{Anchor, LINE, Svg, WIDTH};
use super::{MARGIN, heading};

const BOX: [f64; 2] = [76.0, 44.0];
const GAP: f64 = 12.0;

/// Slices that shared memory has room for.
pub fn count(step: &Step) -> u32 {
    let tile = step.tile;
    let (bytes, parts) = match step.maps {
        Some([a, _]) => (a.element.bytes(), if step.splits() { 2 } else { 1 }),
        None => (4, 1),
    };
    let [a, b] = [tile.bm, tile.bn].map(|side| side * tile.bk * parts * bytes);
    let all = step.smem_bytes + step.dynamic_smem_bytes;
    match transposes_itself(step) {
        // Beside the stages there is one place less where A's slices land.
        true => (all + a) / (2 * a + b),
        false => all / (a + b),
    }
}

/// Who fills a stage, and who frees it.
struct Roles {
    /// What is in the first stage.
    computed: &'static str,
    /// What is in the next ones.
    coming: &'static str,
    /// What is in the last.
    last: &'static str,
    words: String,
}

fn roles(step: &Step, stages: u32) -> Roles {
    let barriers = "Barriers in shared memory count the bytes that have come (full) and who has read them (empty).";
    match (step.precision, step.maps, step.dynamic_smem_bytes) {
        (_, None, 0) => Roles {
            computed: "computed",
            coming: "stored to",
            last: "stored to",
            words: "The next slice comes to registers while this one is computed, then goes to the other half. One barrier a slice.".into(),
        },
        (_, None, _) => Roles {
            computed: "computed",
            coming: "copied to",
            last: "copied to",
            words: format!("All threads start copies and wait only for the oldest of {} on their way.", stages - 1),
        },
        (Precision::Fp32, Some(_), _) if step.threads() % 256 == 32 => Roles {
            computed: "computed",
            coming: "copied to",
            last: "copied to",
            words: format!("A warp that does nothing else has the copy engine fill what is empty. {barriers}"),
        },
        (Precision::Fp32, Some(_), _) => Roles {
            computed: "computed",
            coming: "copied to",
            last: "still read",
            words: format!(
                "One thread of those that compute asks for each slice of B {} before its turn. A's slices land beside the stages, and the \
                 warps bring each to its stage, transposed, while they compute the one before. A barrier counts B's bytes and these \
                 warps, so that who waits for a slice knows that all have left the one two before; of the one before, a slow warp may \
                 still read.",
                stages - 2
            ),
        },
        (_, Some(_), _) => Roles {
            computed: "multiplied",
            coming: "copied to",
            last: "copied to",
            words: format!(
                "One thread of the first warpgroup has the copy engine fill what is empty, across the ends of tiles. The other two multiply. {barriers}"
            ),
        },
    }
}

/// Draws the panel under `top` where there are several stages, and gives its lower end.
pub fn panel(svg: &mut Svg, step: &Step, top: f64) -> f64 {
    let stages = count(step);
    if step.tile.bk == 1 || stages < 2 {
        return top;
    }
    let Roles { computed, coming, last, words } = roles(step, stages);
    let top = heading(svg, top, &format!("shared memory: {stages} stages of a slice of A and one of B, in turn"));
    for stage in 0..stages {
        let x = MARGIN + f64::from(stage) * (BOX[0] + GAP);
        let (shade, what) = match stage {
            0 => (3, computed),
            stage if stage == stages - 1 => (1, last),
            _ => (1, coming),
        };
        let share = f64::from(step.tile.bm) / f64::from(step.tile.bm + step.tile.bn);
        svg.rect(&format!("a{shade}"), [x, top, BOX[0] * share, BOX[1]]);
        svg.rect(&format!("b{shade}"), [x + BOX[0] * share, top, BOX[0] * (1.0 - share), BOX[1]]);
        svg.rect("edge", [x, top, BOX[0], BOX[1]]);
        svg.text("", Anchor::Middle, [x + BOX[0] / 2.0, top + BOX[1] + LINE], what);
        if stage + 1 < stages {
            svg.arrow([x + BOX[0], top + BOX[1] / 2.0], [x + BOX[0] + GAP, top + BOX[1] / 2.0]);
        }
    }
    svg.hanging([MARGIN, top + BOX[1] + 2.0 * LINE + 6.0], 0.0, WIDTH - 2.0 * MARGIN, &words) - 4.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_those_of_the_kernels() {
        let stages = |slug: &str| count(gpu_kernels::find(slug).unwrap());
        let expected = [
            ("smem-tiling", 1),
            ("bank-conflicts", 1),
            ("prefetch", 2),
            ("async-copy", 3),
            ("ilp", 4),
            ("tma-multicast", 4),
            ("autotuned", 3),
            ("autotuned/128x64t", 4),
            ("split-k", 5),
            ("split-k/256x64x7", 3),
            ("stream-k", 3),
            ("hgemm", 4),
            ("tf32", 4),
            ("fp16x3", 7),
            ("tf32x3", 7),
        ];
        for (slug, count) in expected {
            assert_eq!(stages(slug), count, "{slug}");
        }
    }
}
