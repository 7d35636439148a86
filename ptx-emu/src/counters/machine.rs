//! Instructions of the GPU's own code that those of the PTX become, estimated.
//!
//! NVIDIA's assembler merges operations on 32 bits of which one's result is the other's operand alone: a product or a shift and an
//! addition (`IMAD`, `LEA`), two additions (`IADD3`), two bitwise operations (`LOP3`), a comparison and an operation on its predicate
//! (`ISETP.AND`); and a product of 64 bits and an addition (`IMAD.WIDE`). A constant added to an address becomes part of the access.
//! Of an operation on 64 bits it computes the lower half alone, where no more is read. It guards a few instructions instead of
//! branching over them. What it computes once for a whole warp, in uniform registers, counts like all others.

use super::{Class, Count};
use crate::program::{Action, Async, Instruction, Pc, Program, Wgmma};

/// Instructions with which each warp begins: they load the address of its stack, and how global memory is described.
const PROLOGUE: u64 = 2;

/// Those that find out where its block's shared memory begins.
const SHARED_PROLOGUE: u64 = 2;

/// Loads that load nothing, before the first `cp.async` behind a barrier.
const BEFORE_COPIES: u64 = 3;

/// Those that move the two descriptors of a `wgmma` to uniform registers: about two.
const DESCRIPTORS: u64 = 2;

/// Instructions that are guarded, rather than branched over.
const MAX_GUARDED: usize = 7;

/// What an operation on integers is to the one that takes its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Addition,
    WideAddition,
    Product,
    WideProduct,
    /// By a constant.
    Shift,
    Bitwise,
    Comparison,
    /// Of predicates.
    Predicate,
    Other,
}

impl Kind {
    fn of(instruction: &Instruction, reads: usize) -> Self {
        let has = |part: &str| instruction.mnemonic.split('.').any(|other| other == part);
        let is_integer = ["b32", "u32", "s32"].into_iter().any(has) && !has("cc");
        let is_wide = ["b64", "u64", "s64"].into_iter().any(has) && !has("cc");
        match instruction.mnemonic.split('.').next().unwrap_or_default() {
            "and" | "or" | "xor" | "not" if has("pred") => Self::Predicate,
            "setp" => Self::Comparison,
            "mul" if has("wide") => Self::WideProduct,
            "add" | "sub" if is_integer => Self::Addition,
            "add" | "sub" if is_wide => Self::WideAddition,
            "mul" if is_integer && has("lo") => Self::Product,
            "shl" | "shr" if is_integer && reads == 1 => Self::Shift,
            "and" | "or" | "xor" | "not" if is_integer => Self::Bitwise,
            _ => Self::Other,
        }
    }

    /// Whether one instruction does both, which is counted as the second.
    fn merges_into(self, other: Self) -> bool {
        match self {
            Self::Product => other == Self::Addition,
            Self::Addition | Self::Bitwise => other == self,
            // The operation on predicates is the one that goes.
            Self::Shift | Self::WideAddition | Self::WideProduct | Self::Comparison | Self::Predicate | Self::Other => {
                false
            }
        }
    }
}

/// How many a launch becomes.
pub(super) fn total(program: &Program, counts: &[Count]) -> u64 {
    let shared = if program.shared.is_empty() { 0 } else { SHARED_PROLOGUE };
    let warps = counts.first().map_or(0, |count| count.warps);
    let bodies = counts.iter().zip(weights(program, counts)).map(|(count, weight)| count.warps.saturating_mul(weight));
    bodies.fold(warps.saturating_mul(PROLOGUE + shared), u64::saturating_add)
}

/// By instruction, how many it becomes.
fn weights(program: &Program, counts: &[Count]) -> Vec<u64> {
    let Program { instructions, names, .. } = program;
    let mut weights: Vec<_> = instructions.iter().map(|it| Class::of(it).machine_instructions(&it.mnemonic)).collect();
    let kinds: Vec<_> = (0..instructions.len()).map(|pc| Kind::of(&instructions[pc], names.reads(pc).len())).collect();
    let flow = Flow::new(program);
    for (weight, is_narrow) in weights.iter_mut().zip(narrow(program, &flow.readers)) {
        *weight = if is_narrow { 1.min(*weight) } else { *weight };
    }
    merge(program, counts, &kinds, &flow, &mut weights);
    for pc in 0..instructions.len() {
        let is_sum = matches!(kinds[pc], Kind::Addition | Kind::WideAddition) && names.reads(pc).len() == 1;
        if is_sum && flow.is_address(program, pc) || is_guard(instructions, pc) {
            weights[pc] = 0;
        }
    }
    add_hidden(instructions, &mut weights);
    weights
}

/// By register, the instructions that write and that read it.
struct Flow {
    writers: Vec<Vec<Pc>>,
    readers: Vec<Vec<Pc>>,
}

impl Flow {
    fn new(Program { instructions, names, .. }: &Program) -> Self {
        let none = || vec![vec![]; names.registers.len()];
        let mut flow = Self { writers: none(), readers: none() };
        for pc in 0..instructions.len() {
            names.writes(pc).iter().for_each(|register| flow.writers[*register as usize].push(pc));
            names.reads(pc).iter().for_each(|register| flow.readers[*register as usize].push(pc));
        }
        flow
    }

    /// Whether what it writes is an address of accesses, and nothing else.
    fn is_address(&self, Program { instructions, names, .. }: &Program, pc: Pc) -> bool {
        let &[register] = names.writes(pc) else { return false };
        let (writers, readers) = (&self.writers[register as usize], &self.readers[register as usize]);
        writers.len() == 1
            && !readers.is_empty()
            && readers.iter().all(|&reader| reads_at(&instructions[reader].action))
    }
}

/// Merges operations into those that take their results.
fn merge(program: &Program, counts: &[Count], kinds: &[Kind], flow: &Flow, weights: &mut [u64]) {
    let Program { instructions, names, .. } = program;
    let run_together = |one: Pc, other: Pc| {
        let is_always = |pc: Pc| instructions[pc].guard.is_none();
        is_always(one) && is_always(other) && counts[one].warps == counts[other].warps
    };
    // An instruction has three operands: it takes in one other.
    let mut is_merged = vec![false; instructions.len()];
    for pc in 0..instructions.len() {
        for register in names.reads(pc) {
            let [from] = flow.writers[*register as usize][..] else { continue };
            if from >= pc || !run_together(from, pc) {
                continue;
            }
            let readers = &flow.readers[*register as usize];
            let is_only = readers.len() == 1;
            match kinds[from] {
                // The sum of 64 bits is one instruction then, for each of several.
                Kind::WideProduct if kinds[pc] == Kind::WideAddition => weights[pc] = 1,
                Kind::Comparison | Kind::Predicate if kinds[pc] == Kind::Predicate && is_only => weights[pc] = 0,
                // Shifting costs no addition anything.
                Kind::Shift if readers.iter().all(|&reader| kinds[reader] == Kind::Addition && !is_merged[reader]) => {
                    weights[from] = 0;
                    readers.iter().for_each(|&reader| is_merged[reader] = true);
                }
                kind if is_only && kind.merges_into(kinds[pc]) && ![from, pc].iter().any(|&one| is_merged[one]) => {
                    weights[from] = 0;
                    is_merged[pc] = true;
                }
                _ => {}
            }
        }
    }
}

/// Adds those that the PTX does not show.
fn add_hidden(instructions: &[Instruction], weights: &mut [u64]) {
    let mut copies_begin = true;
    for (instruction, weight) in instructions.iter().zip(weights) {
        match &instruction.action {
            Action::Barrier(_) => copies_begin = true,
            Action::Async(action) if matches!(**action, Async::Copy(_)) => {
                *weight += if copies_begin { BEFORE_COPIES } else { 0 };
                copies_begin = false;
            }
            Action::Wgmma(action) if matches!(**action, Wgmma::Mma(_)) => *weight += DESCRIPTORS,
            _ => {}
        }
    }
}

/// Whether the registers that it reads are addresses, but for none or a few.
fn reads_at(action: &Action) -> bool {
    match action {
        Action::Load(_) => true,
        Action::Matrices(access) => !access.is_store,
        Action::Async(action) => matches!(**action, Async::Copy(_)),
        _ => false,
    }
}

/// By instruction, whether only the lower half of its result is read, on which the upper halves of its operands have no influence.
fn narrow(program: &Program, readers: &[Vec<Pc>]) -> Vec<bool> {
    let Program { instructions, names, .. } = program;
    let mut is_narrow = vec![false; instructions.len()];
    for pc in (0..instructions.len()).rev() {
        let mnemonic = &*instructions[pc].mnemonic;
        let keeps_lower =
            ["add", "sub", "mul.lo", "shl", "and", "or", "xor"].iter().any(|name| mnemonic.starts_with(name));
        let is_lower = |&reader: &Pc| {
            reader > pc && (is_narrow[reader] || instructions[reader].mnemonic.starts_with("cvt.u32.u64"))
        };
        let mut its_readers = names.writes(pc).iter().flat_map(|register| &readers[*register as usize]).peekable();
        is_narrow[pc] =
            keeps_lower && mnemonic.ends_with("64") && its_readers.peek().is_some() && its_readers.all(is_lower);
    }
    is_narrow
}

/// Whether it branches over so few instructions that they are guarded instead.
fn is_guard(instructions: &[Instruction], pc: Pc) -> bool {
    let Instruction { action: Action::Branch(target), guard: Some(_), .. } = &instructions[pc] else { return false };
    let skipped = instructions.get(pc + 1..*target).unwrap_or_default();
    let is_guarded = |it: &Instruction| !matches!(Class::of(it), Class::Branch | Class::Barrier | Class::Lanes);
    (1..=MAX_GUARDED).contains(&skipped.len()) && skipped.iter().all(is_guarded)
}

#[cfg(test)]
mod tests {
    use crate::{GlobalMemory, Launch, Module};

    /// Machine instructions of a warp, but for those of a kernel that only loads its parameter and the index; %r1 is the index of the
    /// lane, %rd1 an address.
    fn of(body: &str) -> u64 {
        all(body) - all("")
    }

    fn all(body: &str) -> u64 {
        let text = format!(
            ".version 7.0 .target sm_80 .address_size 64
            .visible .entry k(.param .u64 data) {{
                .reg .b64 %rd<9>; .reg .b32 %r<20>; .reg .pred %p<9>;
                .shared .align 16 .b32 s[4];
                ld.param.u64 %rd1, [data]; mov.u32 %r1, %tid.x;
                {body}
                ret;
            }}"
        );
        let mut memory = GlobalMemory::default();
        let data = memory.allocate_words(0..64);
        let launch = Launch::new([1, 1, 1], [32, 1, 1]).argument(data.to_le_bytes());
        let module = Module::parse(&text).unwrap();
        module.kernel("k").unwrap().launch(&mut memory, &launch).unwrap().counters.machine_instructions
    }

    #[test]
    fn what_the_assembler_merges_counts_once() {
        let address = "mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;";
        assert_eq!(of(address), 1, "IMAD.WIDE");
        assert_eq!(of(&format!("{address} add.s64 %rd4, %rd3, %rd2;")), 2, "IMAD.WIDE, twice");
        assert_eq!(of("add.s64 %rd4, %rd1, 4;"), 2, "IADD3, IADD3.X");
        assert_eq!(of("shl.b32 %r2, %r1, 2; add.u32 %r3, %r2, %r1;"), 1, "LEA");
        assert_eq!(of("shl.b32 %r2, %r1, 2; add.u32 %r3, %r2, %r1; add.u32 %r4, %r2, 5;"), 2, "LEA, twice");
        assert_eq!(of("shl.b32 %r2, %r1, 2; add.u32 %r3, %r2, %r1; xor.b32 %r4, %r2, 5;"), 3);
        assert_eq!(of("mov.u32 %r5, %ctaid.x; shl.b32 %r2, %r1, %r5; add.u32 %r3, %r2, %r1;"), 3);
        assert_eq!(of("mul.lo.u32 %r2, %r1, 5; add.u32 %r3, %r2, %r1;"), 1, "IMAD");
        assert_eq!(of("mul.lo.u32 %r2, %r1, 5; add.u32 %r3, %r2, %r1; xor.b32 %r4, %r3, %r2;"), 3);
        assert_eq!(
            of("add.u32 %r2, %r1, 5; add.u32 %r3, %r2, %r1; add.u32 %r4, %r3, 1;"),
            2,
            "IADD3 has three operands"
        );
        assert_eq!(of("and.b32 %r2, %r1, 5; xor.b32 %r3, %r2, %r1; shl.b32 %r4, %r3, 1;"), 2, "LOP3, SHF");
        let copy = "mov.u32 %r2, s; cp.async.ca.shared.global [%r2], [%rd1], 4;";
        let copies = format!("{copy} {copy} bar.sync 0; {copy} cp.async.wait_all;");
        assert_eq!(of(&copies), 3 * 2 + 1 + 1 + 2 * 3 + 2, "LDS before two of them, and where shared memory begins");
        let load = "add.s64 %rd2, %rd1, 4; ld.global.u32 %r2, [%rd2];";
        assert_eq!(of(load), 1, "LDG [R+4]");
        assert_eq!(of(&format!("{load} shr.u64 %rd3, %rd2, 1;")), 1 + 2 + 2);
        let both = "setp.lt.u32 %p1, %r1, 5; setp.gt.u32 %p2, %r1, 2; and.pred %p3, %p1, %p2; selp.u32 %r2, 1, 2, %p3;";
        assert_eq!(of(both), 3, "ISETP, ISETP.AND, SEL");
        assert_eq!(of("add.s64 %rd2, %rd1, 4; shl.b64 %rd3, %rd2, 3; cvt.u32.u64 %r2, %rd3;"), 2, "lower halves");
        assert_eq!(of("shr.u64 %rd3, %rd1, 3; cvt.u32.u64 %r2, %rd3;"), 2, "SHF of two registers");
        let over =
            |few: usize| format!("setp.lt.u32 %p1, %r1, 5; @%p1 bra END; {} END:", "shl.b32 %r1, %r1, 1;".repeat(few));
        assert_eq!([7, 8].map(|few| of(&over(few))), [1 + 7, 2 + 8], "guards, and a branch");
        assert_eq!(of("cvta.to.global.u64 %rd2, %rd1; cvt.u32.u64 %r2, %rd2; cvt.u64.u32 %rd3, %r2;"), 0);
    }
}
