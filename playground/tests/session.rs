//! A page's conversation: replies are those of the emulator, and steps go both ways.

use playground::Session;
use ptx_emu::{GlobalMemory, Launch, Module};
use serde_json::{Value, json};

const SAXPY: &str = include_str!("../../ptx-emu/tests/ptx/saxpy.ptx");

fn case(arguments: &[&str], checks: bool, limit: usize) -> Value {
    let arguments: Vec<_> = arguments.iter().map(|spec| json!({ "name": "x", "value": { "spec": spec } })).collect();
    let launch = json!({
        "kernel": "saxpy", "grid": [2, 1, 1], "block": [64, 1, 1], "cluster": [1, 1, 1], "shared_bytes": 0, "arguments": arguments,
    });
    json!({ "do": "run", "modules": [SAXPY], "launches": [launch], "checks": checks, "limit": limit })
}

const ARGUMENTS: [&str; 4] = ["u32:200", "f32:2", "in:f32:200:fill=iota", "inout:f32:200:fill=1"];

fn ask(session: &mut Session, request: &Value) -> Value {
    serde_json::from_str(&session.answer(&request.to_string())).unwrap()
}

#[test]
fn results_and_counters_are_those_of_a_launch() {
    let reply = ask(&mut Session::default(), &case(&ARGUMENTS, true, 10_000));
    let mut memory = GlobalMemory::default();
    let x = memory.allocate_words((0..200).map(|index| (index as f32).to_bits()));
    let y = memory.allocate_words([1.0f32.to_bits(); 200]);
    let launch = Launch::new([2, 1, 1], [64, 1, 1]).argument(200u32.to_le_bytes()).argument(2.0f32.to_le_bytes());
    let launch = launch.argument(x.to_le_bytes()).argument(y.to_le_bytes());
    let report = Module::parse(SAXPY).unwrap().kernel("saxpy").unwrap().launch(&mut memory, &launch).unwrap();
    assert_eq!(reply["counters"], serde_json::to_value(&report.counters).unwrap());
    assert_eq!((reply["results"].as_array().unwrap().len(), &reply["results"][0]["values"][63]), (1, &json!("127.0")));
    assert_eq!(memory.free(y).unwrap()[63], 127.0f32.to_bits());
    let cut = ask(&mut Session::default(), &case(&ARGUMENTS, true, 50));
    assert_eq!((&cut["trace"]["is_truncated"], &cut["counters"]), (&json!(true), &reply["counters"]));
    assert_eq!(cut["results"], reply["results"]);
}

#[test]
fn steps_go_both_ways() {
    let mut session = Session::default();
    let reply = ask(&mut session, &case(&ARGUMENTS, true, 10_000));
    let lines = reply["trace"]["step_lines"].as_array().unwrap().clone();
    let mut view =
        |step: usize| ask(&mut session, &json!({ "do": "step", "step": step, "watched": ["%r1", "%nothing"] }));
    let forwards: Vec<_> = (0..lines.len()).map(&mut view).collect();
    let mut backwards: Vec<_> = (0..lines.len()).rev().map(&mut view).collect();
    backwards.reverse();
    assert_eq!(forwards, backwards);
    assert!(forwards.iter().zip(&lines).all(|(view, line)| view["line"] == *line));
    let load = forwards.iter().find(|view| view["instruction"] == "ld.global.f32").unwrap();
    let access = &load["accesses"][0];
    assert_eq!(
        (&access["sectors"], &access["wavefronts"], &access["places"][5]["name"]),
        (&json!(4), &json!(1), &json!("x[5]"))
    );
    assert_eq!(
        ask(&mut session, &json!({ "do": "step", "step": lines.len() }))["error"],
        json!(format!("there is no step {}", lines.len()))
    );
}

#[test]
fn what_is_wrong_is_one_line() {
    let with = |index: usize, spec: &'static str| {
        let mut arguments = ARGUMENTS;
        arguments[index] = spec;
        case(&arguments, true, 100)
    };
    let mut other = case(&ARGUMENTS, true, 100);
    other["launches"][0]["kernel"] = json!("other");
    let mut module = case(&ARGUMENTS, true, 100);
    module["launches"][0]["module"] = json!(7);
    for (request, part) in [
        (with(0, "u32"), "argument 1 (x), 'u32': there is no ':'"),
        (with(2, "in:f32:@file"), "a page reads no files"),
        (with(3, "out:f32:4:@file"), "a page writes no files"),
        (with(3, "out:f32:99999999999"), "all memory is more than 256 MiB"),
        (with(0, "u64:1"), "argument 1 has 4 bytes, 8 are given"),
        (case(&ARGUMENTS[1..], true, 100), "saxpy takes 4 arguments, 3 are given"),
        (other, "there is no kernel `other`"),
        (module, "there is no module 7"),
        (json!({ "do": "kernels", "ptx": ".version 7" }), "line"),
        (json!({ "do": "step", "step": 0 }), "nothing has run"),
        (json!({ "do": "dance" }), "no request"),
    ] {
        let error = ask(&mut Session::default(), &request)["error"].as_str().unwrap_or_default().to_owned();
        assert!(error.contains(part) && error.lines().count() == 1, "{part}: {error}");
    }
}

#[test]
fn the_timeline_has_waits_and_phases() {
    let ptx = include_str!("../../ptx-emu/tests/programs/good/mbarrier_producer_consumer.ptx");
    let arguments = ["in:u32:256", "out:u32:64"].map(|spec| json!({ "name": "x", "value": { "spec": spec } }));
    let launch = json!({
        "kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "cluster": [1, 1, 1], "shared_bytes": 0, "arguments": arguments,
    });
    let mut session = Session::default();
    let run = json!({ "do": "run", "modules": [ptx], "launches": [launch], "checks": true, "limit": 10_000 });
    assert_eq!(ask(&mut session, &run)["is_clean"], json!(true));
    let timeline = ask(&mut session, &json!({ "do": "timeline" }));
    let of = |part: &str, kind: &str| timeline[part].as_array().unwrap().iter().filter(|it| it["kind"] == kind).count();
    assert_eq!(timeline["rows"].as_array().unwrap().len(), 4, "two warps and two mbarriers");
    // Of four phases of each mbarrier, the first begins when it is initialised.
    assert_eq!([of("bars", "even phase") + of("bars", "odd phase"), of("marks", "barrier")], [10, 1], "{timeline}");
    assert!(of("bars", "wait") > 0);
}
