//! What rustc cannot say about a kernel, said in LLVM's own text: the address space of shared memory, grid constants, and
//! launch bounds.
//!
//! `cuda_std`'s macros leave marks in section names. rustc writes a shared array as an ordinary global,
//! `@X = internal global [4096 x i8] undef, section ".shared", align 4`; it becomes one in address space 3, and every use
//! of it a constant cast to the generic space, from which LLVM infers the space of each access.
//!
//! A kernel's parameter `&T` becomes the value itself in parameter memory: CUDA's `const __grid_constant__ T`. By value, rustc
//! passes nothing whose alignment is above 16 bytes, and LLVM copies to local memory what has its address taken.

use crate::CudaBuilderError;
use std::collections::HashMap;

const DYNAMIC_SHARED: &str = "__cuda_std_dynamic_shared_mem";
/// 128-bit accesses need 16 bytes; the swizzled layouts of the copy engine need 1024.
const DYNAMIC_SHARED_ALIGN: u32 = 1024;
const STATIC_SHARED_MIN_ALIGN: u32 = 16;

/// `cuda_std::shared::address`, which rustc has no types for: an address in shared memory as PTX's own instructions take
/// it. LLVM inlines it, and the two casts meet and vanish.
const SHARED_ADDRESS: &str = "__cuda_std_shared_address";
const SHARED_ADDRESS_BODY: &str = "(ptr %generic) alwaysinline {
  %shared = addrspacecast ptr %generic to ptr addrspace(3)
  %address = ptrtoint ptr addrspace(3) %shared to i32
  ret i32 %address
}";

/// A module ready for `opt`.
pub(crate) struct Module {
    pub text: String,
    pub kernels: Vec<String>,
}

impl Module {
    /// Leaves only the kernels of these names to be compiled.
    pub fn keep(&mut self, names: &[String]) -> Result<(), CudaBuilderError> {
        match names.iter().find(|name| !self.kernels.contains(name)) {
            Some(missing) => Err(CudaBuilderError::MissingKernel(missing.clone())),
            None => {
                self.kernels = names.to_vec();
                Ok(())
            }
        }
    }
}

/// Rewrites a linked module.
pub(crate) fn rewrite(linked: &str) -> Result<Module, CudaBuilderError> {
    let mut shared = HashMap::new();
    let mut bounds = HashMap::new();
    let mut lines = vec![];
    for line in linked.lines() {
        if let Some(array) = SharedArray::parse(line)? {
            let name = unique_name(array.symbol, &shared);
            lines.push(array.definition(&name));
            shared.insert(array.symbol.to_owned(), name);
        } else if let Some((kernel, attributes)) = parse_launch_bounds(line) {
            bounds.insert(kernel, attributes);
        } else if line.starts_with("declare ") && line.contains(&format!(" @{SHARED_ADDRESS}(")) {
            lines.push(format!("define internal i32 @{SHARED_ADDRESS}{SHARED_ADDRESS_BODY}"));
        } else if !line.starts_with("@llvm.used") && !line.starts_with("@llvm.compiler.used") {
            lines.push(line.to_owned());
        }
    }
    let mut kernels = vec![];
    for line in &mut lines {
        if let Some(name) = kernel_name(line).map(str::to_owned) {
            *line = grid_constants(line);
            if let Some(attributes) = bounds.get(&name) {
                *line = with_attributes(line, attributes);
            }
            kernels.push(name);
        }
        if !shared.is_empty() {
            *line = cast_uses(line, &shared);
        }
    }
    if kernels.is_empty() {
        return Err(CudaBuilderError::NoKernels);
    }
    Ok(Module { text: lines.join("\n"), kernels })
}

/// The definition of an array in shared memory.
struct SharedArray<'a> {
    symbol: &'a str,
    /// Its type; `None` for dynamic shared memory.
    ty: Option<&'a str>,
    align: u32,
}

impl<'a> SharedArray<'a> {
    fn parse(line: &'a str) -> Result<Option<Self>, CudaBuilderError> {
        let Some((symbol, value)) = line.strip_prefix('@').and_then(|line| line.split_once(" = ")) else {
            return Ok(None);
        };
        if symbol == DYNAMIC_SHARED {
            return Ok(Some(Self { symbol, ty: None, align: DYNAMIC_SHARED_ALIGN }));
        }
        let Some((definition, after)) = value.split_once(", section \".shared\"") else { return Ok(None) };
        let uninitialised = definition.split_once(" global ").and_then(|(_, typed)| typed.strip_suffix(" undef"));
        let ty = uninitialised.ok_or_else(|| CudaBuilderError::InitialisedShared(demangle(symbol)))?;
        let align =
            after.split_once("align ").and_then(|(_, align)| align.split(',').next()?.parse().ok()).unwrap_or(1);
        Ok(Some(Self { symbol, ty: Some(ty), align: align.max(STATIC_SHARED_MIN_ALIGN) }))
    }

    fn definition(&self, name: &str) -> String {
        match self.ty {
            Some(ty) => format!("@{name} = internal addrspace(3) global {ty} undef, align {}", self.align),
            None => format!("@{name} = external addrspace(3) global [0 x i8], align {}", self.align),
        }
    }
}

/// The kernel and the attributes that a mark of `#[launch_bounds]` stands for:
/// `@X = constant [8 x i8] c"\00\01\00\00\02\00\00\00", section ".launch_bounds.KERNEL", align 4`.
fn parse_launch_bounds(line: &str) -> Option<(String, String)> {
    let (value, after) = line.strip_prefix('@')?.split_once(", section \".launch_bounds.")?;
    let kernel = after.split('"').next()?;
    let literal = value.split_once("c\"")?.1.strip_suffix('"')?;
    let bytes = c_string(literal);
    let number = |index: usize| {
        let bytes = bytes.get(index * 4..index * 4 + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    };
    let (max_threads, min_blocks) = (number(0)?, number(1)?);
    let mut attributes = format!("\"nvvm.maxntid\"=\"{max_threads}\"");
    if min_blocks > 0 {
        attributes += &format!(" \"nvvm.minctasm\"=\"{min_blocks}\"");
    }
    Some((kernel.to_owned(), attributes))
}

/// The bytes of LLVM's string literal: printable characters and `\XX`.
fn c_string(literal: &str) -> Vec<u8> {
    let mut bytes = vec![];
    let mut rest = literal.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = (*first == b'\\').then(|| after.get(..2)).flatten();
        let code = escaped.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    bytes
}

fn kernel_name(line: &str) -> Option<&str> {
    let (_, after) = line.strip_prefix("define ")?.split_once("ptx_kernel void @")?;
    after.split('(').next()
}

/// Adds function attributes to a definition, at the end of its head. There is no debug information, which would have to
/// stand behind them.
fn with_attributes(define: &str, attributes: &str) -> String {
    let (head, body) = define.rsplit_once(" {").unwrap_or((define, ""));
    format!("{head} {attributes} {{{body}")
}

/// Makes each shared reference among a kernel's parameters the value that it refers to. rustc writes
/// `ptr noalias noundef readonly align 64 captures(address, read_provenance) dereferenceable(128) %x`.
fn grid_constants(define: &str) -> String {
    let mut pieces = define.split("ptr ");
    let mut rewritten = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (attributes, after) = piece.split_once(" dereferenceable(").unwrap_or_default();
        rewritten += "ptr ";
        if let Some((bytes, _)) = after.split_once(')').filter(|_| attributes.contains("readonly")) {
            rewritten += &format!("byval([{bytes} x i8]) \"nvvm.grid_constant\" ");
        }
        rewritten += piece;
    }
    rewritten
}

/// Replaces each use of a shared array by a cast of it to the generic address space.
fn cast_uses(line: &str, shared: &HashMap<String, String>) -> String {
    let mut pieces = line.split('@');
    let mut rewritten = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|c: char| !is_symbol(c)).unwrap_or(piece.len());
        let (symbol, after) = piece.split_at(end);
        // A definition's own line is rewritten already, and starts with the new name.
        match shared.get(symbol).filter(|_| !rewritten.is_empty()) {
            Some(name) => rewritten += &format!("addrspacecast (ptr addrspace(3) @{name} to ptr){after}"),
            None => rewritten += &format!("@{piece}"),
        }
    }
    rewritten
}

fn is_symbol(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.' | '-')
}

/// A readable name that does not depend on the compiler's hashes: the static's path without its crate.
fn unique_name(symbol: &str, taken: &HashMap<String, String>) -> String {
    if symbol == DYNAMIC_SHARED {
        return symbol.to_owned();
    }
    let path = demangle(symbol);
    let path = path.split_once("::").map_or(path.as_str(), |(_, path)| path);
    let name: String = path.replace("::", "_").chars().map(|c| if is_symbol(c) { c } else { '_' }).collect();
    let mut candidates = std::iter::once(name.clone()).chain((2..).map(|count| format!("{name}_{count}")));
    candidates.find(|name| !taken.values().any(|other| other == name)).unwrap_or(name)
}

/// The path of a symbol, without hashes.
fn demangle(symbol: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(symbol))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARED: &str = "@_RNvNtCsabc_3gpu4tile1X = internal global [4096 x i8] undef, section \".shared\", align 4\n\
         define ptx_kernel void @k(ptr %p) unnamed_addr #0 {\n  store i8 0, ptr @_RNvNtCsabc_3gpu4tile1X\n  ret void\n}";

    #[test]
    fn shared_arrays_move_to_address_space_3() {
        let module = rewrite(SHARED).unwrap();
        assert!(module.text.contains("@tile_X = internal addrspace(3) global [4096 x i8] undef, align 16"));
        assert!(module.text.contains("store i8 0, ptr addrspacecast (ptr addrspace(3) @tile_X to ptr)"));
        assert!(!module.text.contains("_RNv"));
    }

    #[test]
    fn an_initialised_shared_array_is_refused() {
        let error = rewrite(&SHARED.replace(" undef,", " zeroinitializer,")).err().unwrap();
        assert!(error.to_string().contains("`gpu::tile::X` is in shared memory"), "{error}");
    }

    #[test]
    fn launch_bounds_become_function_attributes() {
        let mark =
            "@B = constant [8 x i8] c\"\\00\\01\\00\\00\\02\\00\\00\\00\", section \".launch_bounds.k\", align 4\n";
        let module = rewrite(&format!("{mark}{SHARED}")).unwrap();
        assert!(module.text.contains("unnamed_addr #0 \"nvvm.maxntid\"=\"256\" \"nvvm.minctasm\"=\"2\" {"));
        assert!(!module.text.contains(".launch_bounds"));
    }

    #[test]
    fn a_shared_reference_is_a_grid_constant_and_a_pointer_is_none() {
        let kernel = "define ptx_kernel void @k(i32 noundef range(i32 0, 5) %n, ptr noalias noundef readonly align 64 \
                      captures(address, read_provenance) dereferenceable(128) %map, ptr noundef %p, ptr noalias noundef \
                      align 4 dereferenceable(4) %m) unnamed_addr #0 {\n  ret void\n}";
        let text = rewrite(kernel).unwrap().text;
        assert_eq!(text, kernel.replacen("ptr noalias", "ptr byval([128 x i8]) \"nvvm.grid_constant\" noalias", 1));
        let function = kernel.replace("ptx_kernel void @k", "void @f");
        assert!(rewrite(&format!("{function}\n{kernel}")).unwrap().text.starts_with(&function), "a kernel's only");
    }

    #[test]
    fn printable_bytes_of_a_literal_stand_for_themselves() {
        assert_eq!(c_string("@\\01\\5C"), [0x40, 1, 0x5c]);
    }

    #[test]
    fn a_module_without_kernels_is_refused() {
        assert!(matches!(rewrite("define void @f() {\n}"), Err(CudaBuilderError::NoKernels)));
    }
}
