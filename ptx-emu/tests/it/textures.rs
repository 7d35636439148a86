//! Textures and surfaces: what is found, and what is refused.

use super::cli::{assert_error, run as run_program};
use ptx_emu::{Finding, FindingKind, GlobalMemory, Launch, Module, Pointer, Report, Texture, TextureArray, Type};

/// Texels of the array.
const EXTENT: [u32; 2] = [8, 4];

/// Runs a kernel with a texture, a surface and the pointer of one array, on a warp.
fn run(body: &str) -> (Report, Vec<u32>) {
    let mut memory = GlobalMemory::default();
    let pointer = memory.allocate_words(0..EXTENT[0] * EXTENT[1]);
    let array = TextureArray::new(pointer, Type::U32, 1, &EXTENT).unwrap();
    let texture = memory.create_texture(Texture::new(array.clone())).unwrap();
    let surface = memory.create_surface(array);
    let report = launch(body, &mut memory, [texture, surface, pointer]).unwrap();
    (report, memory.free(pointer).unwrap())
}

fn launch(body: &str, memory: &mut GlobalMemory, arguments: [Pointer; 3]) -> Result<Report, ptx_emu::Error> {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 texture, .param .u64 surface, .param .u64 array)\n{{\n\
         .reg .pred %p;\n.reg .b16 %h;\n.reg .b32 %r<8>, %x, %y, %t;\n.reg .b64 %l, %texture, %surface, %array;\n\
         ld.param.u64 %texture, [texture];\nld.param.u64 %surface, [surface];\nld.param.u64 %array, [array];\n\
         mov.u32 %t, %tid.x;\nand.b32 %x, %t, 7;\nshr.u32 %y, %t, 3;\n{body}\nret;\n}}\n\
         .visible .entry other()\n{{\nret;\n}}"
    );
    let module = Module::parse(&text)?;
    // Whatever the first kernel has, the second one can be run.
    module.kernel("other").unwrap();
    let mut launch = Launch::new([1; 3], [32, 1, 1]);
    launch.arguments = arguments.map(|argument| argument.to_le_bytes().to_vec()).into();
    module.kernel("k")?.launch(memory, &launch)
}

fn found(body: &str) -> Vec<(FindingKind, String)> {
    let report = run(body).0;
    let one = |finding: &Finding| (finding.kind, finding.what.clone());
    report.fault.iter().chain(&report.findings).map(one).collect()
}

const BYTES: &str = "shl.b32 %r4, %x, 2;\n";

#[test]
fn a_surface_is_written_in_place() {
    let body = format!("{BYTES}mov.b32 %r0, 7;\nsust.b.2d.b32.trap [%surface, {{%r4, %y}}], {{%r0}};");
    let (report, array) = run(&body);
    assert!(report.is_clean(), "{:?}", report.findings);
    assert_eq!(array, [7; 32]);
    assert_eq!((report.counters.global_stores.requests, report.counters.global_stores.sectors), (1, 4));
    // Bytes.
    let (_, array) = run("mov.b16 %h, 255;\nsust.b.2d.b8.trap [%surface, {%t, 0}], %h;"
        .replace("0}", "%r5}")
        .replace("mov.b16", "mov.b32 %r5, 0;\nmov.b16")
        .as_str());
    assert_eq!(array[..9], [[u32::MAX; 8].as_slice(), &[8]].concat());
}

#[test]
fn what_is_outside_of_a_surface_is_an_error_or_zero_or_the_edge() {
    let store = |mode: &str| {
        format!("shl.b32 %r4, %t, 2;\nmov.b32 %r0, 99;\nsust.b.2d.b32.{mode} [%surface, {{%r4, %y}}], {{%r0}};")
    };
    let (kind, what) = found(&store("trap")).remove(0);
    assert_eq!((kind, what.as_str()), (FindingKind::OutOfBounds, "byte 32 of row 1, 0 is outside of the surface"));
    let (report, array) = run(&store("zero"));
    assert!(report.is_clean());
    assert_eq!(array.iter().filter(|word| **word == 99).count(), 8);
    let load = "shl.b32 %r4, %t, 2;\nsuld.b.2d.b32.MODE {%r0}, [%surface, {%r4, %r5}];\nmul.wide.u32 %l, %t, 4;\nadd.u64 %l, %array, %l;\n\
                bar.sync 0;\nadd.u32 %r0, %r0, 100;";
    let values = |mode: &str| {
        let mut memory = GlobalMemory::default();
        let array = TextureArray::new(memory.allocate_words(0..32), Type::U32, 1, &EXTENT).unwrap();
        let (surface, out) = (memory.create_surface(array), memory.allocate(128));
        let body = format!("mov.b32 %r5, 2;\n{}\nst.global.u32 [%l], %r0;", load.replace("MODE", mode));
        let report = launch(&body, &mut memory, [0, surface, out]).unwrap();
        assert!(report.is_clean(), "{:?}", report.findings);
        memory.free(out).unwrap()
    };
    assert_eq!(values("zero")[6..10], [122, 123, 100, 100]);
    assert_eq!(values("clamp")[6..10], [122, 123, 123, 123]);
}

#[test]
fn a_texture_must_not_be_written_meanwhile() {
    let fetch = "tex.2d.v4.u32.s32 {%r0, %r1, %r2, %r3}, [%texture, {%x, %y}];";
    assert_eq!(found(fetch), []);
    let store = format!("{BYTES}sust.b.2d.b32.trap [%surface, {{%r4, %y}}], {{%t}};");
    assert_eq!(found(&format!("{fetch}\n{store}")), []);
    // Not even the thread that wrote it may read it.
    assert_eq!(found(&format!("{store}\nbar.sync 0;\n{fetch}"))[0].0, FindingKind::Race);
}

#[test]
fn a_handle_is_of_one_kind() {
    let fetch = "tex.2d.v4.u32.s32 {%r0, %r1, %r2, %r3}, [%HANDLE, {%x, %y}];";
    let what = |body: &str| found(body).remove(0).1;
    assert!(what(&fetch.replace("HANDLE", "surface")).ends_with("is no handle of a texture of 2 dimensions"));
    assert!(what(&fetch.replace("HANDLE", "array")).ends_with("is no handle of a texture of 2 dimensions"));
    let line = "tex.1d.v4.u32.s32 {%r0, %r1, %r2, %r3}, [%texture, {%x}];";
    assert!(what(line).ends_with("is no handle of a texture of 1 dimension"));
    assert!(what("suld.b.1d.b32.trap {%r0}, [%texture, {%x}];").ends_with("is no handle of a surface of 1 dimension"));
    let layer = "tex.a1d.v4.u32.s32 {%r0, %r1, %r2, %r3}, [%texture, {%x, %y}];";
    assert!(what(layer).ends_with("is no handle of a layered texture of 1 dimension"));
    let cube = "tex.acube.v4.u32.f32 {%r0, %r1, %r2, %r3}, [%texture, {%x, %x, %y, %y}];";
    assert!(what(cube).ends_with("is no handle of a layered cubemap texture"));
}

#[test]
fn an_object_is_destroyed_once() {
    let mut memory = GlobalMemory::default();
    let array = TextureArray::new(memory.allocate_words(0..32), Type::U32, 1, &EXTENT).unwrap();
    let [first, second] = [(); 2].map(|()| memory.create_texture(Texture::new(array.clone())).unwrap());
    assert!(memory.destroy_object(first) && !memory.destroy_object(first) && !memory.destroy_object(0));
    let fetch = "tex.2d.v4.u32.s32 {%r0, %r1, %r2, %r3}, [%texture, {%x, %y}];";
    assert!(launch(fetch, &mut memory, [first, 0, 0]).unwrap().fault.is_some());
    assert!(launch(fetch, &mut memory, [second, 0, 0]).unwrap().is_clean());
}

#[test]
fn what_is_missing_is_refused_in_a_line() {
    for (body, reason) in [
        ("tex.2dms.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%texture, {%r4, %r5, %r6, %r7}];", "no samples of a texel"),
        ("tex.cube.v4.f32.s32 {%r0, %r1, %r2, %r3}, [%texture, {%r4, %r5, %r6, %r7}];", "of cubes by those of .f32"),
        (
            "tld4.r.3d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%texture, {%r4, %r5, %r6, %r7}];",
            "only .2d, .a2d, .cube and .acube have four texels",
        ),
        ("txq.width.b32 %r0, [%texture];", "txq is not supported; of textures and surfaces"),
        ("suld.b.cube.b32.trap {%r0}, [%surface, {%r4, %r5, %r6, %r7}];", "their faces are layers, .a2d"),
        (
            "sust.p.2d.v4.b32.trap [%surface, {%x, %y}], {%r0, %r1, %r2, %r3};",
            "only unformatted accesses, .b, are known",
        ),
        ("tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%texture, {%r4}];", "2 coordinates are expected, 1 are there"),
    ] {
        let error = launch(body, &mut GlobalMemory::default(), [0; 3]).err().unwrap().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

const LAYERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/compilers/layers.ptx");
pub const TEXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/compilers/textures.ptx");

#[test]
fn textures_and_surfaces_are_arguments() {
    let outcome = run_program(
        TEXTURES,
        "--entry halve --grid 1 --block 4,2",
        "texture:channels=4:filter=linear:in:f32:4x8x4:fill=iota out:f32:2x4x4 s32:4 s32:2",
    );
    // Texel (x, y) has 4 (8 y + x) and the next three; each result is the mean of four.
    assert_eq!(
        (outcome.code, outcome.stdout.as_str()),
        (0, "argument 2: f32[32] = 18.0 19.0 20.0 21.0 26.0 27.0 28.0 29.0 ...\n")
    );
    let specs = "surface:channels=4:in:u8:4x8x4:fill=iota surface:channels=4:inout:u8:8x4x4:fill=zeros";
    let outcome = run_program(TEXTURES, "--entry transpose --grid 1 --block 8,4", specs);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, "argument 2: u8[128] = 0 1 2 3 32 33 34 35 ...\n"));
    let specs = "texture:layered:filter=linear:in:f32:2x4:fill=iota texture:layered:channels=2:in:f32:2x3x4x2:fill=iota out:f32:2x3 \
                 out:f32:2x2x3x2";
    let outcome = run_program(LAYERS, "--entry sample_layers --grid 1 --block 3,2,2", specs);
    let expected =
        "argument 3: f32[6] = 0.0 1.0 2.0 4.0 5.0 6.0\nargument 4: f32[24] = 2.0 3.0 4.0 5.0 6.0 7.0 10.0 11.0 ...\n";
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, expected));
    let texture = |spec: &str| {
        run_program(TEXTURES, "--entry halve --grid 1 --block 4,2", &format!("{spec} out:f32:2x4x4 s32:4 s32:2"))
    };
    assert_error(
        &texture("texture:channels=4:in:f32:4x8"),
        2,
        &["argument 1", "4 channels: the last extent is to be 4"],
    );
    assert_error(&texture("texture:cubemap:in:f32:4x8x8"), 2, &["the faces of a cube are squares"]);
    assert_error(&texture("texture:in:f64:4x8"), 2, &["a texture or surface cannot have elements of the type .f64"]);
    assert_error(&texture("texture:filter=linear:in:u8:4x8"), 2, &["a linear filter of integers"]);
    assert_error(&texture("texture:address=wrap:in:f32:4x8"), 2, &["without normalized coordinates"]);
    let small = run_program(TEXTURES, "--entry halve --grid 1 --block 4,2", "u64:0 out:f32:32 surface:in:f32:4 s32:2");
    assert_error(&small, 2, &["argument 3", "the parameter is .u32, which is no handle: its size is 4"]);
}
