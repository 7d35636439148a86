//! The words that the project had for things that have a name in the field: a pattern, an example of what it finds, and the
//! field's word. [`super::words`] refuses them; only the glossary may name them.

use super::words::Scope;
use super::words::Scope::{Code, Kernels, Prose, Text};

/// A retired word.
pub struct Retired {
    /// Where it is refused.
    pub scope: Scope,
    /// A regular expression. A space in it matches spaces or one line end.
    pub pattern: &'static str,
    /// A text that it finds.
    pub example: &'static str,
    /// What the field says.
    pub instead: &'static str,
}

const fn retired(scope: Scope, pattern: &'static str, example: &'static str, instead: &'static str) -> Retired {
    Retired { scope, pattern, example, instead }
}

/// Every retired word, in groups: registers and MMAs, pipelines, tiles and schedules, numerics, memory, the rest.
pub const RETIRED: &[Retired] = &[
    retired(Kernels, r"\b(totals|sums|sum): \[|\bsums?_of\b|\blet mut sums\b", "let mut sums = [0.0; ACC];", "acc"),
    retired(
        Prose,
        r"\b(its|their|the|whose|old|thread's|warp's|warpgroup's) sums (are|is|lie|have|stay|begin|in registers)\b",
        "while its sums are added",
        "accumulators; \"sum\" only for the mathematical sum",
    ),
    retired(Prose, r"(?i)\bsums in flight\b", "Sums in flight are nobody's.", "accumulators of an MMA in flight"),
    retired(
        Code,
        r"(?i)\b(feeds|feeder|feeding|feed)\b",
        "if ring::feeds() {",
        "is_producer(), PRODUCER_REGS, produce()",
    ),
    retired(Prose, r"(?i)\b(feeds|feeder|feeding|feed|fed by)\b", "one warp feeds, the others compute", "producer"),
    retired(Code, r"\b(COMPUTERS|MULTIPLIES|multipliers?)\b", "MULTIPLIES", "CONSUMER_THREADS, CONSUMER_REGS"),
    retired(
        Prose,
        r"(?i)\b(those|warps|warpgroups?|threads) (who|that|which) (multiply|multiplies|feeds?)\b",
        "warps that multiply",
        "consumers; the producer",
    ),
    retired(
        Code,
        r"\bring\s*\.\s*(fill|take|release|release_before)\(",
        "ring.take()",
        "producer_acquire, consumer_wait, consumer_release",
    ),
    retired(Kernels, r"\bstruct Slot\b|\bparity: u32,", "struct Slot {", "PipelineState { stage, phase }"),
    retired(
        Text,
        r"\b(give|take)s?(_| )(its )?registers\b",
        "ring::give_registers();",
        "setmaxnreg_dec, setmaxnreg_inc",
    ),
    retired(Code, r"\badds: bool\b|\bmut adds\b", "adds: bool", "accumulate (PTX: scale-d)"),
    retired(
        Kernels,
        r"\bWork \{|\bstruct Work\b|&Work\b",
        "pub(crate) struct Work {",
        "WorkTile { row, col, k_tiles }",
    ),
    retired(
        Text,
        r"(?i)\b(leaves?|left|leaving|takes?|took|hands?|adds?)( up| on)?( its| their| the| old| each other's)? sums\b|\bof_blocks\b",
        "a block leaves its sums for another",
        "publish, load, reduce partial tiles: the fixup",
    ),
    retired(Text, r"(?i)\bmany(_| )parts\b", "many_parts: bool", "max_splits"),
    retired(
        Prose,
        r"(?i)\bparts? of (the |its |a tile's )?k\b|\bk (is )?(split |cut )?in(to)? parts\b|\b(equal )?parts along k\b",
        "cut along k into equal parts along k",
        "splits, work units",
    ),
    retired(
        Prose,
        r"(?i)\bplaces? for (a )?(blocks?|ctas?)\b|\b(fewer|more|as many) (tiles|blocks) (than|as)( there are)? places\b",
        "as many blocks as there are places",
        "CTA slots (SMs x CTAs per SM)",
    ),
    retired(Prose, r"(?i)\bwave of (its|their) own\b", "the rest is a wave of its own", "wave quantization"),
    retired(
        Text,
        r"(?i)\bstreamed(_| )(tiles?|blocks?)\b|\btiles (that are )?streamed\b",
        "streamed_tiles",
        "stream-K tiles; the others: data-parallel tiles",
    ),
    retired(
        Prose,
        r"(?i)\b(takes?|taken|taking|took) (\w+ ){0,2}apart\b",
        "takes operands apart",
        "splits (the hi/lo split)",
    ),
    retired(
        Prose,
        r"(?i)\b(high|low|higher|lower|smaller|two f16|two tf32|scaled f16) parts?\b|\bhigh and low\b",
        "the high and the low parts",
        "hi and lo of the hi/lo split",
    ),
    retired(
        Prose,
        r"(?i)\bproducts of (the )?(tensor cores|parts)\b",
        "three products of parts",
        "MMAs: three MMAs per k-block",
    ),
    retired(
        Prose,
        r"(?i)\blevels of sums\b|\bsums of (two|several|three) levels\b|\bsums of sums\b",
        "sums of several levels",
        "two-level (blocked) summation",
    ),
    retired(Text, r"(?i)\bcut(s|ting)?(_| )off\b", "The tensor cores cut off.", "truncates (rounds toward zero)"),
    retired(
        Prose,
        r"(?i)\bso many bits\b|\b(11|22) bits each\b|\b22 bits\b",
        "f16: 11 bits each",
        "a significand of 11 bits; the bound |x - (hi + lo)| <= 2^-23 |x|",
    ),
    retired(Text, r"(?i)\ballowances?\b|\bmay be away\b", "struct Allowance", "ErrorBound; error bound, tolerance"),
    retired(
        Text,
        r"(?i)\bpromis(e|ed|ing)\b|\bpromises [a-z]",
        "keeps its promise",
        "accuracy class; meets, guarantees",
    ),
    retired(Prose, r"(?i)\bby the caller's\b", "by the caller's word", "upheld by the caller (see `# Safety`)"),
    retired(
        Prose,
        r"(?i)\berrors? of an element\b",
        "the error of an element",
        "componentwise error, scaled by (|A||B|)",
    ),
    retired(Text, r"(?i)\blandings?\b|\blanded\b|\blands\b", "landing (BM, BK)", "the staging buffer a_stage_raw"),
    retired(Code, r"\banew\(|\bloaded\(", "compiler::anew(row)", "opaque, pin_load"),
    retired(Code, r"\bEDGE\b|\bfn fits\b|\bfits\(", "accumulate::<EDGE>", "BOUNDS_CHECKED, is_full_tile"),
    retired(
        Prose,
        r"(?i)\b(lies|lie|is|are) (inside|outside) (of )?(the )?(A|B|C|matrix|matrices)\b",
        "what lies outside the matrix",
        "in bounds, out of bounds",
    ),
    retired(Text, r"(?i)\bblend(s|ed|ing)?\b", "g.blend(sum, old)", "axpby, an epilogue operation"),
    retired(Text, r"(?i)\bneighbou?r(s|ing)?\b", "VEC neighbours at a time", "contiguous, adjacent"),
    retired(
        Prose,
        r"(?i)\bcopy engine (is to |that )?(brings?|copies|fills|fetches|swizzles|reads)\b|\b(has|have|had) the copy engine\b",
        "has the copy engine bring a box",
        "issues a TMA load of a TMA box",
    ),
    retired(Kernels, r"\bring::bring\b|\bfn bring\b", "ring::bring::<CLUSTER>(", "tma_load"),
    retired(Text, r"(?i)\bcop(y|ies) in bulk\b", "copies in bulk", "bulk (TMA) copies"),
    retired(
        Text,
        r"\b(FIRST_TURN|TURN_THREADS)\b|(?i)\btakes? turns\b|\bin turns\b|\beach turn of\b|\bturns? of (a|the|its) loop\b",
        "wait for its turn of the loop",
        "iteration of a loop; ordered ping-pong barrier of warpgroups",
    ),
    retired(
        Prose,
        r"(?i)\boperations (per|for each|for every) byte\b",
        "operations per byte from L2",
        "arithmetic intensity (L2), FLOP/B",
    ),
    retired(Text, r"(?i)\bstraight code\b|\bSTRAIGHT_FMAS\b", "as straight code", "straight-line, fully unrolled"),
    retired(Prose, r"(?i)\b(first|second)-level cache\b", "the second-level cache", "L1, L2"),
    retired(
        Prose,
        r"(?i)(\A|[^g\s]\s+|[^\w\s])multiprocessors?\b",
        "fills all multiprocessors",
        "SM, introduced once as \"streaming multiprocessor (SM)\"",
    ),
    retired(
        Code,
        r"\b(mod|exec|check)(::|\s+)(meet|stuck|beside)\b|\blose_patience\b",
        "mod meet;",
        "barrier_wait, deadlock, async_accesses, demote_spinning",
    ),
    retired(
        Code,
        r"\bMapBox\b|\bStreamed\b|\bPromise\b",
        "MapBox { rows, columns }",
        "TmaBox, StreamKTiles, AccuracyClass",
    ),
];
