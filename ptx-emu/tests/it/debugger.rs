//! `ptx-emu debug` and `--trace`: the examples of the README, and what commands say.

use std::path::Path;

use assert_cmd::Command;

use super::cli::run;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ptx");

/// The options of a launch of `reduction` by 128 threads.
const REDUCTION: &str = "--entry reduction --grid 2 --block 128 --arg in:u32:256:fill=1 --arg out:u32:2";

/// What the debugger says to commands, one a line.
fn debug(file: &str, options: &str, commands: &str) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_ptx-emu"));
    program.arg("debug").arg(file).args(options.split_whitespace()).write_stdin(commands);
    let output = program.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    assert_eq!((output.status.code(), text(output.stderr).as_str()), (Some(0), ""));
    text(output.stdout)
}

/// The answers to commands, without what is said at the beginning.
fn answers(file: &str, options: &str, commands: &[&str]) -> String {
    let all = debug(&format!("{FOLDER}/{file}.ptx"), options, &commands.join("\n"));
    let begins = debug(&format!("{FOLDER}/{file}.ptx"), options, "");
    all.strip_prefix(&begins).unwrap().to_owned()
}

/// A block of the README whose first line has these words: its command, with continued lines joined, and what follows.
fn example(words: &str) -> (String, String) {
    let readme = include_str!("../../README.md");
    let block = readme.split("```console\n").skip(1).find(|block| block.lines().next().unwrap().contains(words));
    let block = block.unwrap().split("```").next().unwrap().replace("\\\n", "");
    let (command, rest) = block.split_once('\n').unwrap();
    let command = command.split_once("ptx-emu -- ").unwrap().1;
    (command.to_owned(), rest.to_owned())
}

#[test]
fn the_session_of_the_readme() {
    let (command, session) = example("-- debug ");
    let (file, options) = command.strip_prefix("debug ").unwrap().split_once(' ').unwrap();
    let (commands, expected): (Vec<&str>, Vec<&str>) = session.lines().partition(|line| line.starts_with("(ptx-emu) "));
    let commands: Vec<&str> = commands.iter().map(|line| line.trim_start_matches("(ptx-emu) ")).collect();
    assert!(commands.len() > 5);
    assert_eq!(debug(file, options, &commands.join("\n")), expected.join("\n") + "\n");
}

#[test]
fn the_trace_of_the_readme() {
    let (command, lines) = example("--trace thread=5");
    let mut words = command.split_whitespace();
    let (file, options) = (words.nth(1).unwrap(), words.collect::<Vec<_>>().join(" "));
    let file = format!("{}/../{file}", env!("CARGO_MANIFEST_DIR"));
    let outcome = run(&file, &options, "");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let shown = lines.trim_start_matches("...\n").trim_end_matches("...\n");
    assert!(outcome.stdout.contains(shown), "{shown}\n{}", outcome.stdout);
}

#[test]
fn a_breakpoint_stops_the_threads_that_it_is_for() {
    let text =
        answers("reduction", REDUCTION, &["b 38 if %r2 == 2", "c", "p %r1 %r2 %tid.x", "c", "info b", "rc", "rc"]);
    let place = "thread (0, 0, 0) of block (0, 0, 0), line 38: ld.shared.u32 %r8, [%r7];\n";
    let other = place.replace("of block (0", "of block (1");
    let first = format!(
        "1: line 38 if %r2 == 2\nbreakpoint 1\n{place}%r1 = 0\n%r2 = 2\n%tid.x = 0\nbreakpoint 1\n{other}1: line 38 if %r2 == 2\n\
         breakpoint 1\n{place}"
    );
    assert_eq!(
        text,
        first + "the launch begins here\nthread (0, 0, 0) of block (0, 0, 0), line 16: ld.param.u64 %rd1, [in];\n"
    );
}

#[test]
fn a_write_is_found_in_both_directions() {
    let (line, by) = ("line 49: st.global.u32 [%rd6], %r5;", "thread (0, 0, 0) of block (1, 0, 0)");
    let found = format!("arg2[1]: 0xffffffff -> 128, by {by}\n");
    let before = format!("{by}, {line}\n");
    let behind = format!("{by}, line 51: ret;\n");
    let text = answers("reduction", REDUCTION, &["watch arg2[1]", "c", "x arg2[1]", "rc", "x/u arg2[1]", "p %r5"]);
    let expected = format!(
        "1: writes to arg2[1], 4 bytes of global memory at 0x20000100404\nwatchpoint 1: {found}{behind}global[0x20000100404]: 128\n\
         watchpoint 1: {found}{before}global[0x20000100404]: 4294967295\n%r5 = 128\n"
    );
    assert_eq!(text, expected);
    let end = "the launch has ended\n";
    assert_eq!(answers("reduction", REDUCTION, &["c", "last-write arg2[1]"]), format!("{end}{found}{before}"));
    let none = "arg2[1]: nothing has written there before\n";
    assert_eq!(answers("reduction", REDUCTION, &["last-write arg2[1]"]), none);
}

#[test]
fn a_warp_is_stepped_as_a_whole() {
    let text =
        answers("reduction", REDUCTION, &["warp 1", "b 35", "c", "warp 1", "s 3", "p %r2", "bs", "thread 33", "p %r2"]);
    let lines: Vec<&str> = text.lines().collect();
    let warp = "warp 1 of block (0, 0, 0), lanes 0-31, line";
    assert_eq!(lines[0], format!("{warp} 16: ld.param.u64 %rd1, [in];"));
    let stop = lines.iter().position(|line| *line == "breakpoint 1").unwrap();
    assert_eq!(lines[stop + 1], "warp 3 of block (0, 0, 0), lanes 0-31, line 35: @%p bra $next;", "{text}");
    // The last warp at the barrier goes on at once, the others after it.
    assert_eq!(lines[stop + 2], format!("{warp} 34: setp.ge.u32 %p, %r1, %r2;"), "{text}");
    assert!(lines[stop + 3].ends_with("%r1 = [32 33 34 .. 63], %r2 = 64, %p := false"), "{text}");
    assert!(lines[stop + 4].starts_with("   35  @%p bra $next;") && lines[stop + 4].contains("not executed"), "{text}");
    let at_end = [&format!("{warp} 37: add.s32 %r7, %r6, %r7;"), "%r2", "    0-7  64 64 64 64 64 64 64 64"];
    assert_eq!(lines[stop + 6..stop + 9], at_end, "{text}");
    assert_eq!(lines.last(), Some(&"%r2 = 64"));
}

#[test]
fn lines_of_the_source_are_places_too() {
    let options = "--grid 1 --block 64 --check none --arg out:u32:64";
    let text = answers("inlined", options, &["b tile.cuh:7", "c", "bt", "s", "c", "thread 40", "rc"]);
    let lines: Vec<&str> = text.lines().collect();
    let here = "thread (0, 0, 0) of block (0, 0, 0), line 23: ld.shared.u32 %r5, [%r4+4];";
    let frames = "    include/tile.cuh:7:12 in adjacent, inlined at shift.cu:23:21";
    assert_eq!(lines[..4], ["1: tile.cuh:7", "breakpoint 1", here, frames]);
    assert_eq!(
        lines[4..7],
        ["#0  shift, line 23 of the PTX", "#1  include/tile.cuh:7:12 in adjacent", "#2  shift.cu:23:21"]
    );
    // The unrolled loop is one place: the next stop is the other warp's.
    assert!(lines.contains(&here.replace("(0, 0, 0) of", "(32, 0, 0) of").as_str()), "{text}");
    assert_eq!(lines.last(), Some(&frames));
}

#[test]
fn wrong_commands_are_one_line_each() {
    let commands = [
        "jump",
        "b 999",
        "b none.cu:3",
        "b 38 if %r99 == 1",
        "b 38 if %r1 == one",
        "delete 7",
        "watch nothing",
        "watch arg1[256]",
        "watch shared:0x10000",
        "x arg3",
        "x/8 global:0",
        "p %r1",
        "p %zz",
        "thread 128",
        "warp 4",
        "block 2",
        "goto 999999",
        "list 999",
        "back",
        "x/9999 arg1",
        "watch arg2+x",
        "local:",
        "x local:0",
    ];
    let text = answers("reduction", REDUCTION, &commands);
    assert_eq!(text.lines().count(), commands.len(), "{text}");
    for (command, line) in commands.iter().zip(text.lines()) {
        assert!(line.starts_with("error: ") && line.len() > 15, "{command}: {line}");
    }
    assert!(
        text.contains("the grid has 2 x 1 x 1 blocks") && text.contains("argument 1 has the elements 0 to 255"),
        "{text}"
    );
}

#[test]
fn any_input_ends_the_session_in_order() {
    for input in ["", "\n\n", "# a comment\nquit\ncontinue\n", "\u{1b}[2J\n", "c", &"x".repeat(100_000)] {
        let text = debug(&format!("{FOLDER}/reduction.ptx"), REDUCTION, input);
        assert!(!text.contains('\u{1b}') && text.len() < 10_000, "{text}");
    }
}

#[test]
fn a_fault_is_the_end_of_what_is_recorded() {
    let options = "--grid 1 --block 64 --arg in:f32:32 --arg in:f32:64 --arg out:f32:64 --arg u32:64";
    let text = answers("vector_add", options, &["c", "rc", "thread 32", "s 100"]);
    assert!(text.starts_with("the launch has ended: out of bounds: line 33"), "{text}");
    assert!(text.contains("out of bounds: line 33, `"), "{text}");
    assert!(text.ends_with("thread (32, 0, 0) of block (0, 0, 0): nothing more of it is recorded\n"), "{text}");
}

#[test]
fn a_trace_ends_where_it_is_told_to() {
    let file = format!("{FOLDER}/reduction.ptx");
    let options = "--entry reduction --grid 1 --block 64 --trace warp=1";
    let specs = "in:u32:64:fill=1 out:u32:1";
    let short = run(&file, &format!("{options} --steps 20"), specs);
    assert_eq!(short.code, 0, "{}", short.stderr);
    assert!(
        short.stdout.ends_with("the trace ends here: more than 20 instructions; --steps allows more\n"),
        "{}",
        short.stdout
    );
    assert!(short.stderr.contains("reduction: stopped"), "{}", short.stderr);
    let whole = run(&file, options, specs);
    assert!(
        whole.stdout.ends_with("argument 2: u32[1] = 64\n") && whole.stdout.contains("barrier 0: complete"),
        "{}",
        whole.stdout
    );
    for (wrong, why) in [
        ("--trace warp=2", "a block has 64 x 1 x 1 threads"),
        ("--trace block=1/warp=0", "the grid has 1 x 1 x 1 blocks"),
        ("--trace some", "give thread=T"),
        ("--trace all --counters json", "--counters json leaves no room"),
        ("--steps 5", "--trace"),
    ] {
        let refused = run(&file, &format!("--entry reduction --grid 1 --block 64 {wrong}"), specs);
        assert!(
            refused.code == 2 && refused.stderr.contains(why) && refused.stdout.is_empty(),
            "{wrong}: {}",
            refused.stderr
        );
    }
}
