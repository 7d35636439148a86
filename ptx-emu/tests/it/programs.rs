//! Runs the programs of `tests/programs`. Those in `bad` must give exactly the findings in their first lines, those in
//! `good` none.
//!
//! A program begins with comments: what it is; `launch: entry=k grid=1,1,1 block=64,1,1 args=buffer:256,u32:7`, with
//! `cluster=2,1,1`, `dynamic=BYTES`, `sms=SMS`, `max=INSTRUCTIONS` and `threads=HOST_THREADS` where they matter; `expect:` and a finding as it is
//! printed, for each; and `result: 0[3] = 7`, what a word of an argument's buffer holds in the end. Arguments are `u32:N`,
//! `u64:N`, `buffer:BYTES` of zeros, `iota:BYTES` of words that count up, `freed:BYTES`, and `map:0/20x10/8x4/128`, a pointer
//! to the tensor map of argument 0 as f32, its rows padded to 16 bytes, by dimensions, box and swizzle, or the same by value:
//! `mapvalue`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use ptx_emu::{GlobalMemory, Kernel, Launch, Module, Pointer, Report, Swizzle, TensorMap, Type};

/// Host threads that each good program runs on.
const HOST_THREADS: [usize; 2] = [1, 4];

/// What the first lines of a program say.
struct Header {
    entry: String,
    launch: Launch,
    /// Kind and value of each argument.
    arguments: Vec<(String, String)>,
    expected: Vec<String>,
    /// Argument, word and value.
    results: Vec<(usize, usize, u32)>,
}

impl Header {
    fn read(text: &str) -> Self {
        let launch = Launch { threads: 1, ..Launch::new([1; 3], [1; 3]) };
        let mut header = Self { entry: String::new(), launch, arguments: vec![], expected: vec![], results: vec![] };
        for line in text.lines().map_while(|line| line.strip_prefix("// ")) {
            if let Some(finding) = line.strip_prefix("expect: ") {
                header.expected.push(finding.to_owned());
            } else if let Some(result) = line.strip_prefix("result: ") {
                header.read_result(result);
            } else if let Some(launch) = line.strip_prefix("launch: ") {
                launch.split_whitespace().for_each(|part| header.read_part(part));
            }
        }
        header
    }

    fn read_part(&mut self, part: &str) {
        let (name, value) = part.split_once('=').unwrap_or_else(|| panic!("`{part}` has no `=`"));
        match name {
            "entry" => self.entry = value.to_owned(),
            "grid" => self.launch.grid = three(value),
            "block" => self.launch.block = three(value),
            "cluster" => self.launch.cluster = three(value),
            "dynamic" => self.launch.dynamic_shared_bytes = number(value) as u32,
            "sms" => self.launch.sm_count = number(value) as u32,
            "max" => self.launch.max_instructions = number(value),
            "threads" => self.launch.threads = number(value) as usize,
            "args" => {
                let argument = |text: &str| {
                    let (kind, value) = text.split_once(':').unwrap_or_else(|| panic!("`{text}` has no `:`"));
                    (kind.to_owned(), value.to_owned())
                };
                self.arguments = value.split(',').map(argument).collect();
            }
            _ => panic!("`{name}` is not known"),
        }
    }

    fn read_result(&mut self, text: &str) {
        let parts: Vec<&str> = text.split(['[', ']', '=']).map(str::trim).filter(|part| !part.is_empty()).collect();
        let [argument, word, value] = parts[..] else { panic!("`{text}` is no result") };
        self.results.push((number(argument) as usize, number(word) as usize, number(value) as u32));
    }
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("`{text}` is no number"))
}

fn three(text: &str) -> [u32; 3] {
    let numbers: Vec<u32> = text.split(',').map(|text| number(text) as u32).collect();
    numbers.try_into().unwrap_or_else(|_| panic!("`{text}` is not three numbers"))
}

/// A program, ready to run: its kernel, memory and launch, and each argument's buffer.
fn prepare(text: &str, header: &Header, threads: usize) -> (Kernel, GlobalMemory, Launch, Vec<Option<Pointer>>) {
    let kernel = Module::parse(text).and_then(|module| module.kernel(&header.entry)).unwrap_or_else(|e| panic!("{e}"));
    let mut memory = GlobalMemory::default();
    let mut launch = Launch { threads, ..header.launch.clone() };
    let mut buffers: Vec<Option<Pointer>> = vec![];
    for (kind, value) in &header.arguments {
        let buffer = match kind.as_str() {
            "buffer" | "freed" => Some(memory.allocate(number(value))),
            "iota" => Some(memory.allocate_words(0..number(value) as u32 / 4)),
            "map" => Some(memory.allocate_bytes(&map(value, &buffers))),
            _ => None,
        };
        launch.arguments.push(match (buffer, kind.as_str()) {
            (Some(pointer), _) => pointer.to_le_bytes().to_vec(),
            (None, "u32") => (number(value) as u32).to_le_bytes().to_vec(),
            (None, "u64") => number(value).to_le_bytes().to_vec(),
            (None, "mapvalue") => map(value, &buffers).to_vec(),
            _ => panic!("`{kind}` is not known"),
        });
        if kind == "freed" {
            memory.free(buffer.unwrap_or_default());
        }
        buffers.push(buffer);
    }
    (kernel, memory, launch, buffers)
}

/// The programs of a folder that run on one host thread, by name, each as something that makes it anew.
pub fn all(folder: &str) -> impl Iterator<Item = (String, impl Fn() -> (Kernel, GlobalMemory, Launch))> {
    let programs = programs(folder).into_iter().map(|(path, text)| (path, Header::read(&text), text));
    programs.map(|(path, header, text)| {
        let make = move || {
            let (kernel, memory, launch, _) = prepare(&text, &header, 1);
            (kernel, memory, launch)
        };
        (path.display().to_string(), make)
    })
}

/// Runs a program; returns what was found, and the words of each argument's buffer.
fn run(text: &str, header: &Header, threads: usize) -> (Report, Vec<Option<Vec<u32>>>) {
    let (kernel, mut memory, launch, buffers) = prepare(text, header, threads);
    let report = kernel.launch(&mut memory, &launch).unwrap_or_else(|error| panic!("{error}"));
    let words = |pointer: Pointer| {
        let bytes = memory.read(pointer)?;
        Some(bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect())
    };
    (report, buffers.into_iter().map(|buffer| buffer.and_then(words)).collect())
}

/// The tensor map that an argument describes.
fn map(text: &str, buffers: &[Option<Pointer>]) -> [u8; 128] {
    let parts: Vec<&str> = text.split('/').collect();
    let [buffer, dims, sides, swizzle] = parts[..] else { panic!("`{text}` is no tensor map") };
    let dims: Vec<u64> = dims.split('x').map(number).collect();
    let sides: Vec<u32> = sides.split('x').map(|side| number(side) as u32).collect();
    let mut strides = vec![];
    for dim in &dims[..dims.len() - 1] {
        strides.push((strides.last().unwrap_or(&4) * dim).next_multiple_of(16));
    }
    let swizzle = match swizzle {
        "0" => Swizzle::None,
        "32" => Swizzle::Bytes32,
        "64" => Swizzle::Bytes64,
        _ => Swizzle::Bytes128,
    };
    let address = buffers[number(buffer) as usize].expect("a buffer");
    TensorMap::new(Type::F32, address, &dims, &strides, &sides, swizzle).unwrap_or_else(|e| panic!("{e}")).encode()
}

fn programs(folder: &str) -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(folder);
    let entries = std::fs::read_dir(&folder).expect("the folder is there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let read = |path: PathBuf| (std::fs::read_to_string(&path).expect("a text"), path);
    paths.into_iter().map(read).map(|(text, path)| (path, text)).collect()
}

/// What is wrong with a run of a program; empty where nothing is.
fn differences(header: &Header, report: &Report, buffers: &[Option<Vec<u32>>]) -> String {
    let printed: Vec<String> = report.findings.iter().chain(&report.fault).map(ToString::to_string).collect();
    let mut text = String::new();
    if printed != header.expected {
        header.expected.iter().for_each(|line| _ = writeln!(text, "  expected: {line}"));
        printed.iter().for_each(|line| _ = writeln!(text, "  printed:  {line}"));
    }
    for &(argument, word, value) in &header.results {
        let found = buffers.get(argument).and_then(Option::as_ref).and_then(|words| words.get(word));
        if found != Some(&value) {
            _ = writeln!(text, "  argument {argument}, word {word}: expected {value}, found {found:?}");
        }
    }
    text
}

/// Runs the programs of a folder on `threads` host threads. Returns how many there are.
fn check(folder: &str, threads: &[usize]) -> usize {
    let programs = programs(folder);
    let mut failures = String::new();
    for (path, text) in &programs {
        let header = Header::read(text);
        assert_eq!(header.expected.is_empty(), folder == "good", "{} expects the wrong thing", path.display());
        for &threads in threads {
            let threads = threads.max(header.launch.threads);
            let (report, buffers) = run(text, &header, threads);
            let differences = differences(&header, &report, &buffers);
            if !differences.is_empty() {
                _ = write!(failures, "{}, on {threads} host threads:\n{differences}", path.display());
            }
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
    programs.len()
}

#[test]
fn bad_programs_are_found_out() {
    assert!(check("bad", &[1]) >= 75);
}

#[test]
fn good_programs_pass_in_silence() {
    assert!(check("good", &HOST_THREADS) >= 35);
}
