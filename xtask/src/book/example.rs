//! The library's examples, as they stand in their files, in Rust, C and C++.

use std::fs;

use anyhow::{Context, Result};

use crate::workspace::root;

/// The folders of the examples: the library's, and that of a crate with cust.
const FOLDERS: [&str; 2] = ["sgemm/examples", "host/examples"];

/// The folder of the examples in C and C++.
const C_FOLDER: &str = "capi/examples";

/// The block `example NAME`: its code, without the line that says what it is. The name of one in C or C++ ends with `.c` or `.cpp`.
pub fn block(name: &str) -> Result<String> {
    if let Some((_, language)) = name.rsplit_once('.') {
        let path = format!("{C_FOLDER}/{name}");
        let text = fs::read_to_string(root().join(&path)).with_context(|| format!("cannot read {path}"))?;
        let code = text.split_once("\n\n").map_or(&*text, |(_, code)| code);
        return Ok(format!("```{language}\n{}\n```\n\n*`{path}`*\n", code.trim()));
    }
    let paths = FOLDERS.map(|folder| format!("{folder}/{name}.rs"));
    let path = paths.iter().find(|path| root().join(path).is_file()).unwrap_or(&paths[0]);
    let text = fs::read_to_string(root().join(path)).with_context(|| format!("cannot read {path}"))?;
    let code: Vec<_> = text.lines().filter(|line| !line.starts_with("//!")).collect();
    // Cargo compiles and runs the file: the page's own code is a doctest.
    Ok(format!("```rust,ignore\n{}\n```\n\n*`{path}`*\n", code.join("\n").trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_the_code_of_its_file() {
        let block = block("plain").unwrap();
        assert!(block.starts_with("```rust,ignore\nuse ") && block.contains("fn main()"), "{block}");
        assert!(block.ends_with("}\n```\n\n*`sgemm/examples/plain.rs`*\n"), "{block}");
        let block = super::block("product.c").unwrap();
        assert!(
            block.starts_with("```c\n#include <stdio.h>") && block.ends_with("*`capi/examples/product.c`*\n"),
            "{block}"
        );
        assert!(super::block("none").unwrap_err().to_string().contains("sgemm/examples/none.rs"));
    }
}
