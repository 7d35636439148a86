//! `ptx-emu launch`: launches in a row, and what of a launch file is refused.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::cli::{Outcome, SAXPY, VECTOR_ADD, assert_error, emu};
use super::textures::TEXTURES;

const VARIABLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ptx/variables.ptx");
const TENSOR_BOX: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/good/tensor_box.ptx");

/// A folder with a launch file.
struct Files {
    folder: TempDir,
}

impl Files {
    fn new(text: &str) -> Self {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("launch.toml"), text).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn launch(&self, options: &[&str]) -> Outcome {
        let file = self.path("launch.toml");
        emu(&[&["launch", file.to_str().unwrap()], options].concat())
    }
}

#[test]
fn launches_share_memory_and_variables() {
    let files = Files::new(&format!(
        r#"
        ptx = "{VARIABLES}"
        check = "all"

        [buffers]
        x = "inout:f32:4x16:fill=iota"
        y = "inout:f32:8:fill=1:@y.bin"

        [variables]
        factor = "f32:3"
        scaled = "inout:u32:1:fill=5"
        table = "out:u32:4"

        [[launch]]
        kernel = "scale"
        grid = 1
        block = [64, 1]
        args = ["x", 64]

        [[launch]]
        kernel = "scale"
        grid = [1, 1, 1]
        block = 32
        args = [{{ buffer = "x", offset = 2 }}, "u32:2"]

        [[launch]]
        ptx = "{SAXPY}"
        grid = 1
        block = 32
        args = [8, 0.5, "x", "y"]
        "#
    ));
    let outcome = files.launch(&["--print", "5"]);
    let expected = "x: f32[64] = 0.0 3.0 18.0 27.0 12.0 ...\nscaled: u32[1] = 71\ntable: u32[4] = 10 20 30 40\n";
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, expected), "{}", outcome.stderr);
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    assert!(lines[0].starts_with("launch 1, scale: clean; 1 of 1 blocks in "), "{lines:?}");
    assert!(lines[2].starts_with("launch 3, saxpy: clean") && lines.len() == 3, "{lines:?}");
    let y: Vec<f32> =
        fs::read(files.path("y.bin")).unwrap().as_chunks().0.iter().map(|v| f32::from_le_bytes(*v)).collect();
    assert_eq!(y[..5], [1.0, 2.5, 10.0, 14.5, 7.0]);

    let json: serde_json::Value = serde_json::from_str(&files.launch(&["--counters", "json"]).stdout).unwrap();
    let entries: Vec<_> =
        json["launches"].as_array().unwrap().iter().map(|run| run["entry"].as_str().unwrap()).collect();
    assert_eq!(entries, ["scale", "scale", "saxpy"]);
}

#[test]
fn a_fault_ends_the_launches_and_leaves_files_as_they_were() {
    let text = format!(
        r#"
        ptx = "{VECTOR_ADD}"
        [buffers]
        a = "in:f32:2x16"
        sum = "out:f32:64:@sum.bin"
        new = "out:f32:1:@new.bin"
        [[launch]]
        grid = 1
        block = 64
        args = ["a", "a", "sum", 64]
        [[launch]]
        grid = 1
        block = 1
        args = ["a", "a", "sum", 1]
        "#
    );
    let files = Files::new(&text);
    fs::write(files.path("sum.bin"), "before").unwrap();
    let sarif = files.path("log.sarif");
    let outcome = files.launch(&["--sarif", sarif.to_str().unwrap()]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (1, ""), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("right past the end of `a`, 128 bytes"), "{}", outcome.stderr);
    assert!(outcome.stderr.ends_with("ms\n") && !outcome.stderr.contains("launch 2"), "{}", outcome.stderr);
    assert_eq!(fs::read_to_string(files.path("sum.bin")).unwrap(), "before");
    assert!(!files.path("new.bin").exists());
    assert!(fs::read_to_string(sarif).unwrap().contains("out of bounds"));
}

#[test]
fn tensor_maps_are_made_of_buffers() {
    let of_file = |map: &str| {
        format!(
            r#"
            ptx = "{TENSOR_BOX}"
            [buffers]
            in = "in:u32:5x12:fill=iota"
            out = "out:u32:64"
            [tensor-maps]
            tiles = {{ buffer = "in", {map} }}
            [[launch]]
            grid = 1
            block = 32
            args = ["in", "tiles", "out"]
            "#
        )
    };
    let padded = Files::new(&of_file("shape = [5, 10], strides = [48], box = [4, 8]")).launch(&["--print", "64"]);
    assert_eq!(padded.code, 0, "{}", padded.stderr);
    let words: Vec<&str> = padded.stdout.split_whitespace().skip(3).collect();
    // As `tests/programs/good/tensor_box.ptx` says.
    for (word, value) in [(5, "0"), (13, "1"), (15, "3"), (20, "12"), (31, "27"), (32, "44"), (33, "45"), (34, "0")] {
        assert_eq!(words[word], value, "word {word}");
    }
    let run = |map: &str| {
        let arguments = ["--arg", "u64:0", "--arg", map, "--arg", "out:u32:64", "--print", "64"];
        emu(&[&["run", TENSOR_BOX, "--grid", "1", "--block", "32"], &arguments[..]].concat())
    };
    let whole = run("map:4x8:in:u32:5x12:fill=iota");
    assert_eq!(whole.code, 0, "{}", whole.stderr);
    let words: Vec<&str> = whole.stdout.split_whitespace().skip(4).collect();
    assert_eq!((words[13], words[33], words[34]), ("1", "45", "46"), "its rows have 12 elements");

    assert_error(&run("map:4x8x2:in:u32:5x12"), 2, &["argument 2", "a box of 3 dimensions of a tensor of 2"]);
    assert_error(&run("map:4x8:in:u32:5x11"), 2, &["argument 2", "a stride of 44 bytes"]);
    let refused = |map: &str, words: &[&str]| assert_error(&Files::new(&of_file(map)).launch(&[]), 2, words);
    refused("box = [4, 8], swizzle = 5", &["tensor-maps.tiles", "'5' is no swizzle"]);
    refused("box = [4, 8], tile = 3", &["launch.toml:7", "unknown field `tile`"]);
    refused("swizzle = 32", &["launch.toml:7", "missing field `box`"]);
}

#[test]
fn clusters_and_dynamic_shared_memory_are_of_each_launch() {
    let good = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/good");
    let files = Files::new(&format!(
        r#"
        ptx = "{good}/cluster_reduction.ptx"
        [buffers]
        sums = "inout:u32:2:fill=zeros"
        words = "inout:u32:64:fill=zeros"
        [[launch]]
        grid = 8
        block = 64
        cluster = 4
        args = ["sums"]
        [[launch]]
        ptx = "{good}/dynamic_shared.ptx"
        grid = 1
        block = 64
        shared = 256
        args = ["words"]
        "#
    ));
    let outcome = files.launch(&["--print", "2"]);
    let words = "sums: u32[2] = 32640 98176\nwords: u32[64] = 32 ";
    assert!(outcome.code == 0 && outcome.stdout.starts_with(words), "{} {}", outcome.stdout, outcome.stderr);
    let smaller = fs::read_to_string(files.path("launch.toml")).unwrap().replace("shared = 256", "shared = 128");
    fs::write(files.path("launch.toml"), smaller).unwrap();
    assert_eq!(files.launch(&[]).code, 1, "it needs all of them");
}

#[test]
fn what_does_not_fit_is_named_before_anything_runs() {
    let body = r#"
        [buffers]
        x = "in:f32:8"
        y = "inout:f32:8"
        [[launch]]
        grid = 1
        block = 32
        args = [8, 0.5, "x", "y"]
        "#;
    let text = format!("ptx = \"{SAXPY}\"\n{body}");
    assert_eq!(Files::new(&text).launch(&[]).code, 0);
    for (before, after, words) in [
        ("grid = 1", "grid = 0", &["launch.toml:7", "whole numbers from 1 on"][..]),
        ("grid = 1", "grid = [1, 1, 1, 1]", &["launch.toml:7", "whole numbers from 1 on"]),
        ("grid = 1", "gird = 1", &["launch.toml:7", "`gird`", "`grid`"]),
        ("grid = 1", "", &["launch.toml:6", "missing field `grid`"]),
        ("grid = 1", "grid = ", &["launch.toml:7"]),
        ("in:f32:8", "in:f33:8", &["launch.toml:4", "'f33' is no type"]),
        ("in:f32:8", "f32:8", &["buffers.x", "a buffer is in:TYPE:LEN"]),
        ("in:f32:8", "in:f32:@none.bin", &["cannot read", "none.bin"]),
        ("\"x\", \"y\"", "\"z\", \"y\"", &["launch 1: argument 3", "no buffer 'z'; the file has x, y"]),
        ("\"x\", \"y\"", "\"x\"", &["launch 1: saxpy takes 4 arguments (.u32, .f32, .u64, .u64); `args` has 3"]),
        ("[8, 0.5", "[8.5, 0.5", &["launch 1: argument 1", "'8.5' is no value of type u32"]),
        ("[8, 0.5", "[8, \"x\"", &["launch 1: argument 2", "which is no pointer"]),
        ("[8, 0.5", "[\"u64:8\", 0.5", &["launch 1: argument 1", "of 4 bytes; the SPEC has 8"]),
        ("[8, 0.5", "[true, 0.5", &["launch 1: argument 1, true", "give a number, a name"]),
        ("\"y\"]", "{ buffer = \"y\", offset = 9 }]", &["argument 4", "the offset is 9, and `y` has 8 elements"]),
        ("block = 32", "block = 32\nkernel = \"saxpi\"", &["launch 1", "did you mean 'saxpy'?"]),
        ("block = 32", "block = 512", &["launch 1", ".maxntid"]),
        ("[buffers]", "check = \"race\"\n[buffers]", &["launch.toml:3", "'race' is none of"]),
        (
            "[buffers]",
            "[variables]\nfactor = \"u32:1\"\n[buffers]",
            &["variables.factor", "has no variable 'factor'; it has none"],
        ),
        ("[[launch]]", "[launch]", &["launch.toml", "expected a sequence"]),
    ] {
        let wrong = text.replacen(before, after, 1);
        assert_ne!(wrong, text, "{before}");
        assert_error(&Files::new(&wrong).launch(&[]), 2, words);
    }
    assert_error(&emu(&["launch", "/no/such.toml"]), 2, &["cannot read /no/such.toml"]);
}

#[test]
fn textures_and_surfaces_have_names() {
    let text = format!(
        r#"
        ptx = "{TEXTURES}"
        [buffers]
        image = "in:f32:4x8x4:fill=iota"
        half = "out:f32:32"
        pixels = "in:u8:4x8x4:fill=iota"
        turned = "inout:u8:8x4x4:fill=zeros"
        [textures]
        smooth = {{ buffer = "image", channels = 4, filter = "linear" }}
        [surfaces]
        from = {{ buffer = "pixels", channels = 4 }}
        to = {{ buffer = "turned", channels = 4 }}
        [[launch]]
        kernel = "halve"
        grid = 1
        block = [4, 2]
        args = ["smooth", "half", 4, 2]
        [[launch]]
        kernel = "transpose"
        grid = 1
        block = [8, 4]
        args = ["from", "to"]
        "#
    );
    let outcome = Files::new(&text).launch(&[]);
    let results =
        "half: f32[32] = 18.0 19.0 20.0 21.0 26.0 27.0 28.0 29.0 ...\nturned: u8[128] = 0 1 2 3 32 33 34 35 ...\n";
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, results), "{}", outcome.stderr);
    for (part, other, word) in [
        ("filter = \"linear\"", "filter = \"cubic\"", "textures.smooth: 'cubic' is no filter"),
        (
            "channels = 4, filter",
            "channels = 4, cubemap = true, filter",
            "textures.smooth: a texture or surface cannot",
        ),
        ("to = {", "half = {", "surfaces.half: the name is taken"),
        ("\"half\", 4, 2]", "\"half\", \"to\", 2]", "the parameter is .u32, which is no handle"),
        ("{ buffer = \"pixels\"", "{ buffer = \"pixel\"", "surfaces.from: there is no buffer 'pixel'"),
    ] {
        assert!(text.contains(part), "{part}");
        assert_error(&Files::new(&text.replacen(part, other, 1)).launch(&[]), 2, &[word]);
    }
    for (part, other, word) in [
        ("channels = 4, filter", "channels = 4, layered = true, filter", "is no handle of a texture of 2 dimensions"),
        ("\"pixels\", channels", "\"pixels\", layered = true, channels", "is no handle of a surface of 2 dimensions"),
    ] {
        assert!(text.contains(part), "{part}");
        let outcome = Files::new(&text.replacen(part, other, 1)).launch(&[]);
        assert!(outcome.code == 1 && outcome.stderr.contains(word), "{}", outcome.stderr);
    }
}
