//! The parser of PTX, and the lowering of what it reads.

use ptx_emu::{Error, Module};

use super::run::Target;

static PTX: Target = Target {
    name: "ptx",
    corpora: &["ptx-emu/tests/corpus", "ptx-emu/tests/ptx", "ptx-emu/tests/programs/good"],
    words: &[
        ".reg",
        ".b32",
        ".pred",
        ".v4",
        ".align",
        ".param",
        ".shared",
        ".global",
        ".const",
        ".local",
        ".extern",
        ".func",
        ".entry",
        ".visible",
        ".branchtargets",
        ".callprototype",
        ".loc",
        ".section",
        ".alias",
        ".ptr",
        ".maxntid",
        ".reqnctapercluster",
        "call",
        "ret",
        "bra",
        "brx.idx",
        "generic(",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "<",
        ">",
        ";",
        ",",
        ":",
        "@",
        "!",
        "|",
        "+",
        "-",
        "_",
        "/*",
        "*/",
        "//",
        "\"",
        "0f",
        "0x",
        "%r1",
        "%tid.x",
        "WARP_SZ",
        "L:",
        "\0",
        "é",
        "ld.global.v4.u32",
        "st.shared.b8",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16",
        "mbarrier.init.b64",
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes",
        "setp.lt.s32",
        "cvt.rn.bf16x2.f32",
    ],
    inputs: 4000,
    // A module's variables may have 1 GiB in each of two spaces.
    most_bytes: (2 << 30) + (256 << 20),
    check,
};

fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let module = match Module::parse(&text) {
        Ok(module) => module,
        Err(error) => return check_error(&error),
    };
    for name in module.kernels() {
        match module.kernel(name) {
            Ok(kernel) => assert_eq!(kernel.name(), name),
            Err(error) => check_error(&error),
        }
    }
}

/// One line, of bounded length.
fn check_error(error: &Error) {
    let text = error.to_string();
    assert!(!text.is_empty() && text.len() < 4000 && !text.contains(char::is_control), "{text:?}");
}

#[test]
fn any_ptx_is_read_and_lowered_or_refused() {
    PTX.run();
}
