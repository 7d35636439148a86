//! Variables of modules, from one launch to the next, and memory by its name in findings.

use ptx_emu::{FindingKind, GlobalMemory, Label, Launch, Module, Space, Type};

use super::cli::{VECTOR_ADD, assert_error, run};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ptx/variables.ptx");
const TEXT: &str = include_str!("../ptx/variables.ptx");

fn scale(memory: &mut GlobalMemory, module: &Module) -> ptx_emu::Report {
    let values = memory.allocate_bytes(&2_f32.to_le_bytes());
    let launch = Launch::new([1; 3], [32, 1, 1]).argument(values.to_le_bytes()).argument(1_u32.to_le_bytes());
    let report = module.kernel("scale").unwrap().launch(memory, &launch).unwrap();
    let result = f32::from_le_bytes(memory.read(values).unwrap().try_into().unwrap());
    assert_eq!(result, if report.is_clean() { 6.0 } else { 0.0 });
    report
}

#[test]
fn modules_side_by_side_keep_their_variables() {
    let mut memory = GlobalMemory::default();
    let [first, second] = [(); 2].map(|()| Module::load(TEXT, &mut memory).unwrap());
    let address = |module: &Module, name: &str| module.variable(name).unwrap().address;
    assert_ne!(address(&first, "scaled"), address(&second, "scaled"));
    let kinds: Vec<_> =
        first.variables().map(|variable| (variable.name.as_str(), variable.space, variable.bytes)).collect();
    assert_eq!(kinds, [("factor", Space::Const, 4), ("scaled", Space::Global, 4), ("table", Space::Global, 16)]);
    assert!(first.variable("none").is_none());

    assert!(memory.write(address(&first, "factor"), &3_f32.to_le_bytes()));
    assert!((0..3).all(|_| scale(&mut memory, &first).is_clean()));
    assert_eq!(memory.read(address(&first, "scaled")).unwrap(), 3_u32.to_le_bytes());
    assert_eq!(memory.read(address(&second, "scaled")).unwrap(), [0; 4]);
    let unset = scale(&mut memory, &second);
    assert_eq!(unset.findings[0].kind, FindingKind::Uninitialized, "its constant was not set");

    // Others take its place, and its kernels find its initial values again.
    second.unload(&mut memory);
    assert_eq!(memory.read(address(&second, "scaled")), None);
    assert_eq!(address(&Module::load(TEXT, &mut memory).unwrap(), "scaled"), address(&second, "scaled"));
    scale(&mut memory, &second);
    assert_eq!(memory.read(address(&second, "scaled")).unwrap(), 1_u32.to_le_bytes());
}

#[test]
fn a_launch_may_set_a_constant_for_itself() {
    let mut memory = GlobalMemory::default();
    let module = Module::parse(TEXT).unwrap();
    let values = memory.allocate_bytes(&2_f32.to_le_bytes());
    let launch = Launch::new([1; 3], [1; 3]).argument(values.to_le_bytes()).argument(1_u32.to_le_bytes());
    let kernel = module.kernel("scale").unwrap();
    let set = launch.clone().constant("factor", &3_f32.to_le_bytes());
    assert!(kernel.launch(&mut memory, &set).unwrap().is_clean());
    assert!(!kernel.launch(&mut memory, &launch).unwrap().is_clean());
    assert_eq!(memory.read(module.variable("scaled").unwrap().address).unwrap(), 2_u32.to_le_bytes());
    assert!(kernel.launch(&mut memory, &launch.constant("scaled", &[0])).is_err());
}

#[test]
fn the_command_line_sets_and_prints_variables() {
    let specs = "inout:f32:2:fill=1 u32:2";
    let options = "--entry scale --grid 1 --block 32 --variable factor=f32:3 --variable scaled=inout:u32:1:fill=7";
    let outcome = run(PATH, &format!("{options} --variable table=out:u32:2"), specs);
    let expected = "argument 1: f32[2] = 3.0 3.0\nscaled: u32[1] = 9\ntable: u32[2] = 10 20\n";
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, expected), "{}", outcome.stderr);
    let refused = |variable: &str, words: &[&str]| {
        let options = format!("--entry scale --grid 1 --block 32 --variable {variable}");
        assert_error(&run(PATH, &options, specs), 2, words);
    };
    refused("facto=f32:3", &["no variable 'facto'; it has factor, scaled, table"]);
    refused("factor=f64:3", &["variable 'factor=f64:3'", "has 4 bytes, the SPEC has 8"]);
    refused("table=out:u32:5", &["has 16 bytes, the SPEC has 20"]);
    refused("table=map:4:in:u32:4", &["holds no tensor map"]);
    refused("factor", &["NAME=SPEC"]);
}

#[test]
fn findings_name_arguments_elements_and_variables() {
    let specs = "in:f32:4x8 in:f32:64 out:f32:64 u32:64";
    let outside = run(VECTOR_ADD, "--grid 1 --block 64", specs);
    assert!(outside.stderr.contains("which is right past the end of argument 1, 128 bytes"), "{}", outside.stderr);
    let beyond = run(PATH, "--entry beyond --grid 1 --block 1", "out:u32:1");
    assert!(beyond.stderr.contains("which is 4 bytes past the end of `table`, 16 bytes"), "{}", beyond.stderr);

    let racy = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/bad/race_global_part_without_barrier.ptx");
    let specs = "inout:u32:64:fill=zeros inout:u32:32x32:fill=zeros inout:u32:16:fill=zeros";
    let race = run(racy, "--grid 16 --block 64 --threads 1", specs);
    assert!(
        race.stderr.contains("at 0x20000100180, argument 2, element 32 (row 1, column 0); nothing"),
        "{}",
        race.stderr
    );

    // Of a label in the library.
    let mut memory = GlobalMemory::default();
    let module = Module::parse(TEXT).unwrap();
    let out = memory.allocate(4);
    assert!(
        memory.describe(out, Label::new(Type::F16, &[1, 2]).named("halves"))
            && !memory.describe(0, Label::new(Type::U8, &[]))
    );
    let launch = Launch::new([1; 3], [1; 3]).argument((out + 2).to_le_bytes()).argument(1_u32.to_le_bytes());
    let fault = module.kernel("scale").unwrap().launch(&mut memory, &launch).unwrap().fault.unwrap();
    assert!(fault.what.contains("`halves`, element 1 (row 0, column 1), which is not a multiple of 4"), "{fault}");
}
