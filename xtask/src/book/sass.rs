//! The loop in which a kernel does its products, in machine code.
//!
//! ptxas is not everywhere. So the block says of which PTX it is, by a hash: as long as that is the committed one, what stands
//! there is taken for what ptxas would give.

use std::cmp::Reverse;

use anyhow::{Context, Result};
use cuda_builder::tools;
use gpu_kernels::Step;
use sha2::{Digest, Sha256};

use crate::sass::{assemble, count, opcode};
use crate::workspace::{ptx_file, relative};

/// Grows when the block shall look different.
const FORMAT: u32 = 1;

/// Lines of a loop that are shown at its start and at its end; a shorter loop is shown whole.
const SHOWN: [usize; 2] = [40, 6];

/// What may be done to have machine code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Assemble what is stale.
    Assemble,
    /// Nothing: what is stale is only found.
    Compare,
}

/// The block `sass`: the loop, how many instructions of which kind it has, and the kernel's registers.
pub fn block(step: &Step, old: &str, mode: Mode) -> Result<String> {
    let file = ptx_file(step.target);
    let module = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", relative(&file)))?;
    let body = entry(&module, step.kernel).with_context(|| format!("{} has no {}", relative(&file), step.kernel))?;
    let stamp = format!("<!-- of the PTX {} -->", hash(body));
    if old.lines().next() == Some(&stamp) {
        return Ok(old.to_owned());
    }
    if mode == Mode::Compare {
        return Ok(stamp);
    }
    let tools = tools::find("ptxas").and(tools::find("nvdisasm"));
    tools.context("it is stale, and ptxas was not found: run `cargo xtask setup --ptxas`, then `cargo xtask book`")?;
    let assembled = assemble(step, None)?;
    let hot = hot_loop(&assembled.code).with_context(|| format!("{} has no loop of products", step.kernel))?;
    let kinds = count(&hot.join("\n"));
    let instructions = hot.iter().filter(|line| opcode(line).is_some()).count();
    let others = instructions - kinds.values().sum::<usize>();
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, count)| Reverse(*count));
    let kinds = kinds.iter().map(|(kind, count)| format!("{count} {kind}")).chain([format!("{others} others")]);
    Ok(format!(
        "{stamp}\n```sass\n{}```\n\nThe loop of products of `{}`, {instructions} instructions a turn: {}. By ptxas {} for {}: {}.\n",
        excerpt(&hot),
        step.kernel,
        kinds.collect::<Vec<_>>().join(", "),
        assembled.version,
        assembled.gpu,
        assembled.resources.join(", ").replace("Used", "used")
    ))
}

/// The text of an entry of a module, its parameters and its body.
fn entry<'a>(module: &'a str, kernel: &str) -> Option<&'a str> {
    let start = module.find(&format!(".entry {kernel}("))?;
    let end = module[start..].find("\n}\n")?;
    Some(&module[start..start + end])
}

fn hash(body: &str) -> String {
    let digest = Sha256::digest(format!("{FORMAT}\n{body}"));
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The lines of the innermost loop that has most multiply-adds, from its label to the branch back.
fn hot_loop(code: &str) -> Option<Vec<&str>> {
    let lines: Vec<&str> = code.lines().filter(|line| label(line).is_some() || opcode(line).is_some()).collect();
    let mut loops: Vec<[usize; 2]> = Vec::new();
    for (end, line) in lines.iter().enumerate() {
        let start = branch(line).and_then(|target| lines[..end].iter().position(|line| label(line) == Some(target)));
        let Some(start) = start else { continue };
        // What comes behind the kernel's end are the slow ways of waits, which lead back into loops.
        let leaves = lines[start..end].iter().any(|line| opcode(line) == Some("EXIT") && !line.contains('@'));
        if !leaves && multiply_adds(&lines[start..end]) > 0 {
            loops.push([start, end]);
        }
    }
    let is_inside = |[start, end]: [usize; 2], [from, to]: [usize; 2]| from <= start && end <= to;
    let innermost =
        loops.iter().filter(|outer| !loops.iter().any(|inner| inner != *outer && is_inside(*inner, **outer)));
    // Of those with as many, the shortest: that for edges has guards.
    let [start, end] =
        *innermost.max_by_key(|[start, end]| (multiply_adds(&lines[*start..*end]), Reverse(end - start)))?;
    Some(lines[start..=end].to_vec())
}

/// Instructions that multiply and add, each by how much they do: one of the tensor cores outweighs any loop of others.
fn multiply_adds(lines: &[&str]) -> usize {
    let weight = |opcode: &str| match opcode.split('.').next() {
        Some("HGMMA") => 1 << 16,
        Some("FFMA" | "FFMA2") => 1,
        _ => 0,
    };
    lines.iter().filter_map(|line| opcode(line)).map(weight).sum()
}

/// The label that a line is.
fn label(line: &str) -> Option<&str> {
    line.strip_suffix(':').filter(|label| label.starts_with(".L"))
}

/// The label that a branch leads to.
fn branch(line: &str) -> Option<&str> {
    opcode(line).filter(|opcode| *opcode == "BRA")?;
    line.split_once("`(")?.1.split(')').next()
}

/// The first and the last lines of a loop, without addresses and labels that nothing in it names.
fn excerpt(lines: &[&str]) -> String {
    let targets: Vec<_> = lines.iter().filter_map(|line| branch(line)).collect();
    let shown = lines.iter().filter(|line| label(line).is_none_or(|label| targets.contains(&label)));
    let shown: Vec<String> = shown.map(|line| instruction(line)).collect();
    let [first, last] = SHOWN;
    if shown.len() <= first + last + 1 {
        return shown.concat();
    }
    let between = shown.len() - first - last;
    format!("{}    ... {between} lines more\n{}", shown[..first].concat(), shown[shown.len() - last..].concat())
}

/// A line without its address.
fn instruction(line: &str) -> String {
    match line.split_once("*/") {
        Some((_, instruction)) => format!("    {}\n", instruction.split_whitespace().collect::<Vec<_>>().join(" ")),
        None => format!("{line}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "\
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_9:
.L_x_1:
        /*0010*/                   LDS.128 R4, [UR4+0x8] ;
.L_x_2:
        /*0020*/                   SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [R11], R16 ;
        /*0030*/              @!P1 BRA `(.L_x_2) ;
        /*0040*/                   FFMA R0, R0, R0, R0 ;
        /*0050*/                   FFMA R0, R0, R0, R0 ;
        /*0060*/               @P0 BRA `(.L_x_1) ;
        /*0070*/                   FFMA R0, R0, R0, R0 ;
        /*0080*/                   BRA `(.L_x_9) ;
.L_x_3:
        /*0090*/                   FFMA R7, R0, R0, R0 ;
        /*00a0*/               @P0 BRA `(.L_x_3) ;
        /*00b0*/                   EXIT ;
        /*00c0*/                   FFMA R0, R0, R0, R0 ;
        /*00d0*/                   BRA `(.L_x_3) ;
";

    #[test]
    fn the_innermost_loop_with_most_products_is_found() {
        let lines = hot_loop(CODE).unwrap();
        assert_eq!((lines.first(), lines.len()), (Some(&".L_x_1:"), 8));
        let text = excerpt(&lines);
        assert!(text.starts_with(".L_x_1:\n    LDS.128 R4, [UR4+0x8] ;\n.L_x_2:\n    SYNCS"), "{text}");
        assert!(text.ends_with("    @P0 BRA `(.L_x_1) ;\n"), "{text}");
        assert_eq!(hot_loop("        /*0000*/   EXIT ;\n"), None);
    }

    #[test]
    fn long_loops_are_cut() {
        let mut lines = vec![".L_x_1:"];
        lines.extend(["        /*0040*/    FFMA R0, R0, R0, R0 ;"; 100]);
        lines.push("        /*0060*/     @P0 BRA `(.L_x_1) ;");
        let text = excerpt(&lines);
        assert_eq!(text.lines().count(), 47);
        assert!(text.contains("    ... 56 lines more\n"), "{text}");
    }

    #[test]
    fn a_block_is_stale_when_the_ptx_is_another() {
        let step = gpu_kernels::find("naive").unwrap();
        let stamp = block(step, "", Mode::Compare).unwrap();
        let current = format!("{stamp}\ncode\n");
        assert_eq!(block(step, &current, Mode::Compare).unwrap(), current);
        let other = block(gpu_kernels::find("coalesced").unwrap(), &current, Mode::Compare).unwrap();
        assert_ne!(other, current);
    }
}
