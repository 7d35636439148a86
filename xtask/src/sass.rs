//! `sass`: the machine code that ptxas makes of a step, its registers, shared memory and spills.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use cuda_builder::{CudaBuilder, tools};
use gpu_kernels::{Step, Target};

use crate::workspace::{self, capture, parse_step, ptx_file};

/// The instructions that the summary counts: arithmetic, the memories by width, and barriers.
const COUNTED: [&str; 15] = [
    "FFMA", "FFMA2", "HGMMA", "FADD", "LDS", "LDG", "LDGSTS", "UTMALDG", "STS", "STG", "LDL", "STL", "BAR", "SYNCS",
    "BRA",
];

/// Show a step's machine code, registers, shared memory and spills, and count its instructions
#[derive(clap::Args)]
pub struct Args {
    /// The step
    #[arg(value_parser = parse_step)]
    step: &'static Step,
    /// The GPU to assemble for [default: sm_90, or the step's own target where that runs on one GPU alone]
    #[arg(long)]
    arch: Option<String>,
}

/// Runs `sass`.
pub fn run(args: &Args) -> Result<()> {
    let Assembled { code, resources, .. } = assemble(args.step, args.arch.as_deref())?;
    say!("{}\n", code.trim_end());
    for line in resources {
        say!("{line}");
    }
    for (instruction, count) in count(&code) {
        say!("{count:6} {instruction}");
    }
    Ok(())
}

/// What ptxas makes of a step's kernel.
pub struct Assembled {
    /// The GPU that it is for.
    pub gpu: String,
    /// The version of ptxas, such as `13.0`.
    pub version: String,
    /// Its instructions and labels, as nvdisasm lists them.
    pub code: String,
    /// What ptxas says of it: the spills, then registers, barriers and shared memory.
    pub resources: Vec<String>,
}

/// Assembles a step's kernel for `arch`, by default as [`Args`] says.
pub fn assemble(step: &Step, arch: Option<&str>) -> Result<Assembled> {
    let [ptxas, nvdisasm] = [find("ptxas")?, find("nvdisasm")?];
    let Step { kernel, target, .. } = *step;
    let committed = ptx_file(target);
    let ptx = CudaBuilder::new(workspace::kernels())
        .arch(crate::ptx::arch(target)?)
        .kernels(gpu_kernels::kernels(target))
        .prebuilt(committed)
        .build()?;

    let gpu = arch.unwrap_or(default_arch(target));
    let folder = tempfile::tempdir()?;
    let cubin = folder.path().join("step.cubin");
    let mut assemble = Command::new(&ptxas);
    assemble.args(["-v", "-arch", gpu, "--entry", kernel]).arg(ptx).arg("-o").arg(&cubin);
    let (_, information) = capture(&mut assemble)?;
    let (listing, _) = capture(Command::new(nvdisasm).arg("-c").arg(&cubin))?;
    let (about, _) = capture(Command::new(&ptxas).arg("--version"))?;
    let version = about.split_once("release ").and_then(|(_, rest)| rest.split(',').next());
    Ok(Assembled {
        gpu: gpu.to_owned(),
        version: version.unwrap_or("unknown").to_owned(),
        code: code_of(&listing, kernel).to_owned(),
        resources: resources(&information, kernel).into_iter().map(str::to_owned).collect(),
    })
}

fn find(tool: &str) -> Result<PathBuf> {
    tools::find(tool).with_context(|| format!("{tool} was not found: run `cargo xtask setup --ptxas`"))
}

/// The GPU to assemble for: Hopper, in the spelling that the step's module needs.
fn default_arch(target: Target) -> &'static str {
    match target {
        Target::Sm80 => "sm_90",
        other => other.name(),
    }
}

/// The instructions of `kernel` in a listing of nvdisasm.
fn code_of<'a>(listing: &'a str, kernel: &str) -> &'a str {
    let label = format!(".text.{kernel}:\n");
    let code = listing.find(&label).map_or("", |start| &listing[start + label.len()..]);
    code.find("\n//---").map_or(code, |end| &code[..end])
}

/// What `ptxas -v` says of `kernel`: the spills, then registers, barriers and shared memory.
fn resources<'a>(information: &'a str, kernel: &str) -> Vec<&'a str> {
    let heading = format!("entry function '{kernel}'");
    let from_it = information.lines().skip_while(|line| !line.contains(&heading)).skip(1);
    let its_own = from_it.take_while(|line| !line.contains("entry function"));
    its_own.filter(|line| line.contains("spill") || line.contains("Used")).map(after_label).collect()
}

/// A line of ptxas without the label before its text.
fn after_label(line: &str) -> &str {
    line.split_once(" : ").map_or(line, |(_, text)| text).trim()
}

/// How often each of the [`COUNTED`] instructions occurs, loads and stores by their width in bits.
pub fn count(code: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for opcode in code.lines().filter_map(opcode) {
        let mut parts = opcode.split('.');
        let Some(name) = parts.next().filter(|name| COUNTED.contains(name)) else { continue };
        let is_memory = name.starts_with("LD") || name.starts_with("ST");
        let width = parts.find(|part| matches!(*part, "U8" | "U16" | "64" | "128"));
        let key = if is_memory { format!("{name}.{}", width.unwrap_or("32")) } else { name.to_owned() };
        *counts.entry(key).or_default() += 1;
    }
    counts
}

/// The opcode of a line such as `/*0090*/  @!P0 LDS.128 R4, [UR4] ;`.
pub fn opcode(line: &str) -> Option<&str> {
    let (_, instruction) = line.trim().strip_prefix("/*")?.split_once("*/")?;
    instruction.split_whitespace().find(|word| !word.starts_with('@')).map(|word| word.trim_end_matches(';'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = "\
//---- .text.sgemm_a ----
sgemm_a:
.text.sgemm_a:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 LDS.128 R4, [UR4+0x8] ;
        /*0020*/                   LDG.E.CONSTANT R0, desc[UR6][R2.64] ;
        /*0030*/                   FFMA R0, R0, R0, R0 ;
        /*0040*/                   FFMA R0, R0, R0, R0 ;
.L_x_1:
        /*0050*/                   EXIT;

//---- .text.sgemm_b ----
.text.sgemm_b:
        /*0000*/                   FFMA R0, R0, R0, R0 ;
";

    #[test]
    fn instructions_of_one_kernel_are_counted() {
        let counts = count(code_of(LISTING, "sgemm_a"));
        let expected = [("FFMA", 2), ("LDG.32", 1), ("LDS.128", 1)];
        assert_eq!(counts, expected.map(|(name, count)| (name.to_owned(), count)).into());
    }

    #[test]
    fn resources_of_one_kernel_are_read() {
        let information = "\
ptxas info    : Compiling entry function 'sgemm_a' for 'sm_90'
ptxas info    : Function properties for sgemm_a
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 1 barriers, 1024 bytes smem
ptxas info    : Compiling entry function 'sgemm_b' for 'sm_90'
ptxas info    : Used 4 registers
";
        let expected = [
            "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
            "Used 8 registers, used 1 barriers, 1024 bytes smem",
        ];
        assert_eq!(resources(information, "sgemm_a"), expected);
    }
}
