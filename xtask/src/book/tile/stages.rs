//! The panel of stages: the k-tiles that shared memory holds while one of them is computed.

use gpu_kernels::{Ab, Precision, Step};

use super::placement::transposes_itself;
use super::sheet::{Anchor, LINE, MARGIN, Sheet, WIDTH, heading};

const BOX: [f64; 2] = [76.0, 44.0];
const GAP: f64 = 12.0;

/// k-tiles that shared memory has room for.
pub fn count(step: &Step) -> u32 {
    let tile = step.tile;
    let (bytes, parts) = match step.maps {
        Some(Ab { a, .. }) => (a.element.bytes(), if step.has_split_operands() { 2 } else { 1 }),
        None => (step.precision.input().bytes(), 1),
    };
    let [a, b] = [tile.bm, tile.bn].map(|side| side * tile.bk * parts * bytes);
    // Beside the stages of split operands there are the totals.
    let totals = if step.has_split_operands() { tile.bm * tile.bn * 4 } else { 0 };
    let all = step.smem_bytes + step.dynamic_smem_bytes - totals;
    match transposes_itself(step) {
        // Beside the stages there is one staging buffer less than stages, for A's raw k-tiles.
        true => (all + a) / (2 * a + b),
        false => all / (a + b),
    }
}

/// Which thread fills a stage, and which frees it.
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
    let barriers = "Per stage, a full barrier counts the bytes that have arrived, and an empty barrier the consumers that have read them.";
    match (step.precision, step.maps, step.dynamic_smem_bytes) {
        (_, None, 0) => Roles {
            computed: "computed",
            coming: "stored to",
            last: "stored to",
            words: "The next k-tile is loaded into registers while this one is computed, then stored to the other stage. One barrier per k-tile.".into(),
        },
        (_, None, _) => Roles {
            computed: "computed",
            coming: "copied to",
            last: "copied to",
            words: format!("All threads issue asynchronous copies and wait only for the oldest of {} in flight.", stages - 1),
        },
        (Precision::Fp32, Some(_), _) if step.threads() % 256 == 32 => Roles {
            computed: "computed",
            coming: "copied to",
            last: "copied to",
            words: format!("A producer warp issues TMA loads into empty stages. {barriers}"),
        },
        (Precision::Fp32, Some(_), _) => {
            let (loads, raw, bytes) = match transposes_itself(step) {
                true => (
                    "load of each k-tile of B",
                    " TMA loads A's k-tiles raw into staging buffers, and the warps transpose each into its stage while they \
                     compute the one before.",
                    "B's bytes",
                ),
                false => ("loads of each k-tile", "", "the bytes"),
            };
            let ahead = match stages - 2 {
                1 => "one iteration".into(),
                ahead => format!("{ahead} iterations"),
            };
            Roles {
                computed: "computed",
                coming: "copied to",
                last: "still read",
                words: format!(
                    "One of the computing threads issues the TMA {loads} {ahead} ahead.{raw} A full barrier counts {bytes} and the \
                     warps: when it completes, every warp has finished reading the k-tile two before. A slow warp may still read \
                     the one before."
                ),
            }
        }
        (_, Some(_), _) => Roles {
            computed: "multiplied",
            coming: "copied to",
            last: "copied to",
            words: format!(
                "One thread of the producer warpgroup issues TMA loads into empty stages, across tile boundaries. The other two warpgroups are consumers. {barriers}"
            ),
        },
    }
}

/// Draws the panel under `top` where there are several stages, and gives its lower end.
pub fn panel(sheet: &mut Sheet, step: &Step, top: f64) -> f64 {
    let stages = count(step);
    if step.tile.bk == 1 || stages < 2 {
        return top;
    }
    let Roles { computed, coming, last, words } = roles(step, stages);
    let top = heading(sheet, top, &format!("shared memory: {stages} stages, each a k-tile of A and of B"));
    for stage in 0..stages {
        let x = MARGIN + f64::from(stage) * (BOX[0] + GAP);
        let (shade, what) = match stage {
            0 => (3, computed),
            stage if stage == stages - 1 => (1, last),
            _ => (1, coming),
        };
        let share = f64::from(step.tile.bm) / f64::from(step.tile.bm + step.tile.bn);
        sheet.rect(&format!("a{shade}"), [x, top, BOX[0] * share, BOX[1]]);
        sheet.rect(&format!("b{shade}"), [x + BOX[0] * share, top, BOX[0] * (1.0 - share), BOX[1]]);
        sheet.rect("edge", [x, top, BOX[0], BOX[1]]);
        sheet.text("", Anchor::Middle, [x + BOX[0] / 2.0, top + BOX[1] + LINE], what);
        if stage + 1 < stages {
            sheet.arrow([x + BOX[0], top + BOX[1] / 2.0], [x + BOX[0] + GAP, top + BOX[1] / 2.0]);
        }
    }
    sheet.hanging([MARGIN, top + BOX[1] + 2.0 * LINE + 6.0], 0.0, WIDTH - 2.0 * MARGIN, &words) - 4.0
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
            ("autotuned/64x128t", 4),
            ("split-k", 5),
            ("stream-k", 3),
            ("hgemm", 4),
            ("tf32", 4),
            ("fp16x3", 5),
            ("fp16x3/128x64", 7),
            ("tf32x3", 5),
            ("any-layout", 5),
        ];
        for (slug, count) in expected {
            assert_eq!(stages(slug), count, "{slug}");
        }
    }
}
