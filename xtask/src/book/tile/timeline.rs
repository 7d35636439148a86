//! The stages of shared memory over time: when each is filled and read, and which barrier lets whom go on.

use anyhow::{Context, Result, ensure};
use gpu_kernels::{Precision, Step};
use results::format::trimmed;
use results::peak_gflops;

use super::placement::transposes_itself;
use super::sheet::{Anchor, LINE, MARGIN, Sheet, WIDTH};
use super::{FIGURES, Figures, Page, Sources, stages, stem};

/// The latency of a copy, in cycles: that of the emulator's model (`ptx-emu/src/model/mod.rs`).
const LATENCY: f64 = 660.0;

/// The device whose rates are drawn: an H200.
const COMPUTE_CAPABILITY: (u32, u32) = (9, 0);

/// k-tiles that are drawn.
const SHOWN: usize = 8;

const LEFT: f64 = MARGIN + 112.0;
const ROW: f64 = 26.0;

/// Who fills the stages, and so which barriers there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Copies {
    /// All threads load to registers, and store when most of a k-tile is computed.
    Registers,
    /// All threads issue `cp.async`.
    Asynchronous,
    /// A computing thread issues TMA loads.
    OwnTma,
    /// A producer issues TMA loads.
    Producer,
}

impl Copies {
    fn of(step: &Step) -> Self {
        match (step.maps.is_some(), step.dynamic_smem_bytes) {
            (false, 0) => Self::Registers,
            (false, _) => Self::Asynchronous,
            (true, _) if step.precision == Precision::Fp32 && step.threads().is_multiple_of(64) => Self::OwnTma,
            (true, _) => Self::Producer,
        }
    }

    /// The name of the first row.
    const fn name(self) -> &'static str {
        match self {
            Self::Registers => "in registers",
            Self::Asynchronous => "copies issued",
            Self::OwnTma => "TMA loads issued",
            Self::Producer => "producer",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Registers => {
                "All threads load a k-tile into registers, and store it late in the k-tile before. A black mark is the barrier of the block."
            }
            Self::Asynchronous => {
                "All threads issue the copies of a k-tile, and wait for the oldest. A black mark is that wait, with the barrier of the block."
            }
            Self::OwnTma => {
                "One of the computing threads issues the TMA loads. A black mark is a full barrier that completes; no empty barrier is needed."
            }
            Self::Producer => {
                "The producer waits for an empty stage, then issues its TMA loads. A black mark is a full barrier that completes, a coloured one in a stage an empty barrier."
            }
        }
    }

    /// By how many k-tiles a computing thread is ahead with its loads; `None` of a producer, which is as far ahead as stages are free.
    const fn ahead(self, stages: usize) -> Option<usize> {
        match self {
            Self::Registers | Self::Asynchronous => Some(stages - 1),
            Self::OwnTma => Some(if stages > 2 { stages - 2 } else { 1 }),
            Self::Producer => None,
        }
    }
}

/// What happens to a k-tile, in cycles.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    /// Its loads are issued.
    issued: f64,
    /// It begins to be written to its stage.
    filled_from: f64,
    /// All of it is there.
    full: f64,
    /// It is computed, from and to.
    computed: [f64; 2],
}

/// The first k-tiles of a block with so many stages, when computing one takes `compute` cycles.
fn simulate(copies: Copies, stages: usize, compute: f64) -> [Times; SHOWN] {
    let mut times = [Times::default(); SHOWN];
    for tile in 0..SHOWN {
        let before = tile.checked_sub(1).map_or(Times::default(), |before| times[before]);
        let issued = match copies.ahead(stages) {
            Some(ahead) => tile.checked_sub(ahead).filter(|_| tile > 0).map_or(0.0, |now| {
                // The k-tile at whose start the loads are issued; of the first, that is when it is full.
                if now == tile { before.computed[0] } else { times[now].computed[0] }
            }),
            None => tile.checked_sub(stages).map_or(0.0, |freed| times[freed].computed[1]),
        };
        let (filled_from, full) = match copies {
            Copies::Registers if tile > 0 => {
                let stored = (issued + LATENCY).max(before.computed[0] + 0.75 * compute);
                (stored, stored.max(before.computed[1]))
            }
            Copies::Registers => (LATENCY, LATENCY),
            _ => (issued, issued + LATENCY),
        };
        let start = full.max(before.computed[1]);
        times[tile] = Times { issued, filled_from, full, computed: [start, start + compute] };
    }
    times
}

/// The block `timeline`: the figure, with a caption under it.
pub fn block(step: &Step, sources: &Sources, page: &Page, figures: &mut Figures) -> Result<String> {
    let count = stages::count(step) as usize;
    ensure!(step.tile.bk > 1 && count > 1, "{} has no stages: remove this block", step.slug);
    let blocks = sources.counters(step.slug).map_or(1, |counters| counters.blocks_per_sm).max(1);
    let per_cycle = peak_gflops(step.precision.name(), COMPUTE_CAPABILITY, 1, 1000);
    let per_cycle = per_cycle.with_context(|| format!("no peak is known for {}", step.precision.name()))?;
    let tile = step.tile;
    let flops = 2.0 * f64::from(tile.bm) * f64::from(tile.bn) * f64::from(tile.bk);
    let compute = flops / per_cycle * f64::from(blocks);
    let copies = Copies::of(step);

    let resident = if blocks == 1 { "one block".into() } else { format!("{blocks} blocks") };
    let caption = format!(
        "Modelled: the first {SHOWN} k-tiles of a block, with {count} stages. Computing a k-tile takes {} cycles at the peak of {}, with {resident} on \
        the SM. A copy takes {LATENCY} cycles, and its bandwidth is not modelled. {}{}",
        trimmed(compute.round()),
        step.precision.name(),
        copies.words(),
        if transposes_itself(step) { " A's k-tiles pass through staging buffers, which are not drawn." } else { "" },
    );
    let title = format!("{}: stages of shared memory over time, modelled", step.slug);
    let name = format!("{}-timeline", stem(step));
    let link = page.link(&format!("{FIGURES}/{name}.svg"));
    figures.insert(name, drawing(copies, &simulate(copies, count, compute), count, &title, &caption));
    Ok(format!("![{title}]({link})\n\n*{caption}*\n"))
}

fn drawing(copies: Copies, times: &[Times; SHOWN], stages: usize, title: &str, caption: &str) -> String {
    let mut sheet = Sheet::new();
    sheet.text("bold", Anchor::Start, [MARGIN, 28.0], "modelled: cycles from left to right");
    let top = 44.0;
    let end = times[SHOWN - 1].computed[1];
    let x = |cycles: f64| LEFT + cycles / end * (WIDTH - MARGIN - LEFT);
    let row = |row: usize| top + row as f64 * ROW;
    let names = [copies.name().to_owned(), "consumers".to_owned()];
    let names = names.into_iter().chain((0..stages).map(|stage| format!("stage {stage}")));
    for (index, name) in names.enumerate() {
        sheet.text("", Anchor::End, [LEFT - 8.0, row(index) + 17.0], &name);
        sheet.line("thin", [LEFT, row(index) + ROW - 1.0], [WIDTH - MARGIN, row(index) + ROW - 1.0]);
    }
    let mut bar = |class: &str, index: usize, [from, to]: [f64; 2], label: Option<usize>| {
        let [left, right] = [x(from), x(to)];
        sheet.rect(class, [left, row(index) + 3.0, (right - left).max(2.0), ROW - 7.0]);
        if let Some(tile) = label.filter(|_| right - left >= 16.0) {
            sheet.text("dense", Anchor::Middle, [(left + right) / 2.0, row(index) + 17.0], &tile.to_string());
        }
    };
    let stage = |tile: usize| 2 + tile % stages;
    for (tile, time) in times.iter().enumerate() {
        match copies {
            Copies::Registers => bar("b1", 0, [time.issued, time.filled_from], Some(tile)),
            _ => bar("b3", 0, [time.issued, time.issued], None),
        }
        bar(["c1", "c2"][tile % 2], 1, time.computed, Some(tile));
        bar("a1", stage(tile), [time.filled_from, time.full], Some(tile));
        if time.full < time.computed[0] {
            bar("ghost", stage(tile), [time.full, time.computed[0]], None);
        }
        bar("a2", stage(tile), time.computed, Some(tile));
    }
    // Marks of barriers are drawn over all bars.
    for (tile, time) in times.iter().enumerate() {
        bar("copy3", stage(tile), [time.full, time.full], None);
        if copies == Copies::Producer {
            bar("b3", stage(tile), [time.computed[1], time.computed[1]], None);
        }
    }
    let y = row(2 + stages) + LINE;
    let filled = "light: the k-tile of that number is on its way; grey: it is there; darker: the consumers read it; none: the stage is free";
    let y = sheet.hanging([MARGIN, y], 0.0, WIDTH - LEFT, filled);
    sheet.text("mute", Anchor::End, [WIDTH - MARGIN, 28.0], &format!("{} cycles", trimmed(end.round())));
    sheet.finish(y, title, caption)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_latency_is_that_of_the_emulators_model() {
        let model = fs::read_to_string(crate::workspace::root().join("ptx-emu/src/model/mod.rs")).unwrap();
        assert!(model.contains(&format!("const LATENCY_CYCLES: f64 = {LATENCY:.1};")));
    }

    #[test]
    fn no_stage_is_filled_before_it_is_free_nor_read_before_it_is_full() {
        for copies in [Copies::Registers, Copies::Asynchronous, Copies::OwnTma, Copies::Producer] {
            for stages in 2..8 {
                for compute in [100.0, 1000.0, 5000.0] {
                    let times = simulate(copies, stages, compute);
                    for (tile, time) in times.iter().enumerate() {
                        assert!(
                            time.issued + LATENCY <= time.full && time.full <= time.computed[0],
                            "{copies:?} {stages}"
                        );
                        let free = tile.checked_sub(stages).map_or(0.0, |before| times[before].computed[1]);
                        assert!(free <= time.filled_from, "{copies:?}, {stages} stages: {tile} of {times:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn copies_are_those_of_the_kernels() {
        let copies = |slug: &str| Copies::of(gpu_kernels::find(slug).unwrap());
        assert_eq!(copies("prefetch"), Copies::Registers);
        assert_eq!(copies("ilp"), Copies::Asynchronous);
        assert_eq!(copies("autotuned"), Copies::OwnTma);
        for slug in ["tma-multicast", "hgemm", "fp16x3", "hgemm-split-k", "tf32-split-k", "hgemm-batch"] {
            assert_eq!(copies(slug), Copies::Producer, "{slug}");
        }
    }
}
