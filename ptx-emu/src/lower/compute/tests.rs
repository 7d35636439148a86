//! What most kernels use, one instruction at a time.

use super::testing::{Machine, refusal, value};
use crate::lanes::LANES;

#[test]
fn integers() {
    assert_eq!(value("add.s32 %r0, %r1, -3;", "%r0", &[("%r1", 1)]), 0xffff_fffe);
    assert_eq!(value("sub.u16 %h0, %h1, %h2;", "%h0", &[("%h1", 1), ("%h2", 2)]), 0xffff);
    assert_eq!(value("mul.lo.s64 %d0, %d1, -2;", "%d0", &[("%d1", 5)]), -10i64 as u64);
    assert_eq!(value("mul.wide.u32 %d0, %r1, 16;", "%d0", &[("%r1", 0xffff_ffff)]), 0xf_ffff_fff0);
    assert_eq!(value("mul.hi.s32 %r0, %r1, %r1;", "%r0", &[("%r1", 0x8000_0000)]), 0x4000_0000);
    let mad = value("mad.wide.s16 %r0, %h1, %h2, %r3;", "%r0", &[("%h1", 0xffff), ("%h2", 3), ("%r3", 2)]);
    assert_eq!(mad, 0xffff_ffff);
    assert_eq!(value("shl.b32 %r0, %r1, 32;", "%r0", &[("%r1", 1)]), 0);
    assert_eq!(value("shr.s32 %r0, %r1, 99;", "%r0", &[("%r1", 0x8000_0000)]), 0xffff_ffff);
    assert_eq!(value("min.s32 %r0, %r1, 1;", "%r0", &[("%r1", 0xffff_ffff)]), 0xffff_ffff);
    assert_eq!(value("max.u32 %r0, %r1, 1;", "%r0", &[("%r1", 0xffff_ffff)]), 0xffff_ffff);
}

#[test]
fn single_precision() {
    let fma = |a: f32, b: f32, c: f32| {
        let sources = [("%r1", a.to_bits().into()), ("%r2", b.to_bits().into()), ("%r3", c.to_bits().into())];
        value("fma.rn.f32 %r0, %r1, %r2, %r3;", "%r0", &sources) as u32
    };
    let (a, b) = (1.0 + f32::EPSILON, 1.0 - f32::EPSILON);
    assert_eq!(f32::from_bits(fma(a, b, -1.0)), -f32::EPSILON * f32::EPSILON);
    assert_eq!(fma(f32::INFINITY, 0.0, 1.0), 0x7fff_ffff);
    assert_eq!(fma(-f32::NAN, 0.0, 1.0), 0x7fff_ffff);
    let tiny = [("%r1", 1), ("%r2", 0x3f80_0000)];
    assert_eq!(value("mul.rn.f32 %r0, %r1, %r2;", "%r0", &tiny), 1);
    assert_eq!(value("mul.rn.ftz.f32 %r0, %r1, %r2;", "%r0", &tiny), 0);
    assert_eq!(value("add.rp.f32 %r0, %r1, %r2;", "%r0", &tiny), 0x3f80_0001);
}

#[test]
fn predicates() {
    let machine = Machine::new("setp.lt.and.s32 %p0|%p1, %r1, 3, !%p2;").unwrap().set_pred("%p2", 0xff00_0000);
    let mut machine = machine;
    machine.set_lanes("%r1", &std::array::from_fn::<i32, LANES, _>(|lane| lane as i32 - 5));
    let machine = machine.run(0x7fff_fffe);
    assert_eq!(machine.pred("%p0"), 0xfe);
    assert_eq!(machine.pred("%p1"), 0x00ff_ff00);
    assert_eq!(value("setp.neu.f32 %p0, %r1, %r1;", "%p0", &[("%r1", 0x7fc0_0000)]), 0xffff_ffff);
    assert_eq!(value("setp.ne.f32 %p0, %r1, %r1;", "%p0", &[("%r1", 0x7fc0_0000)]), 0);
    assert_eq!(value("selp.f32 %r0, %r1, 0f3F800000, %p0;", "%r0", &[("%r1", 7), ("%p0", 0)]), 0x3f80_0000);
    assert_eq!(value("and.pred %p0, %p1, %p2;", "%p0", &[("%p1", 1), ("%p2", 1)]), 0xffff_ffff);
    assert_eq!(value("mov.pred %p0, 1;", "%p0", &[]), 0xffff_ffff);
}

#[test]
fn moves_and_conversions() {
    assert_eq!(value("mov.b64 %d0, {%r1, %r2};", "%d0", &[("%r1", 1), ("%r2", 2)]), 0x2_0000_0001);
    assert_eq!(value("mov.b64 {%r0, %r1}, %d2;", "%r1", &[("%d2", 0x2_0000_0001)]), 2);
    assert_eq!(value("mov.b64 {_, _, %h0, _}, %d2;", "%h0", &[("%d2", 0x1234_0000_0001)]), 0x1234);
    assert_eq!(value("cvt.u64.u32 %d0, %r1;", "%d0", &[("%r1", 0xffff_ffff)]), 0xffff_ffff);
    assert_eq!(value("cvt.s32.s8 %r0, %r1;", "%r0", &[("%r1", 0x1280)]), 0xffff_ff80);
    assert_eq!(value("cvt.rzi.s32.f32 %r0, %r1;", "%r0", &[("%r1", 0xc049_0fdb)]), -3i32 as u32 as u64);
    assert_eq!(value("cvt.rn.f32.s32 %r0, %r1;", "%r0", &[("%r1", 3)]), 0x4040_0000);
}

#[test]
fn what_is_refused_says_why() {
    for (instruction, reason) in [
        ("add.foo.s32 %r0, %r1, %r2;", "modifier .foo"),
        ("add.sat.u32 %r0, %r1, %r2;", "modifier .sat"),
        ("add.s32 %r0, %r1, %d2;", "register of 64 bits"),
        ("add.s32 %p0, %r1, %r2;", "predicate"),
        ("cvt.f32.f64 %r0, %d1;", "needs rounding"),
        ("cvt.s32.f32 %r0, %r1;", "needs rounding to an integer"),
        ("setp.s32 %p0, %r1, %r2;", "operator is missing"),
        ("mul.s32 %r0, %r1, %r2;", "half"),
        ("and.s32 %r0, %r1, %r2;", "not known for .s32"),
    ] {
        assert!(refusal(instruction).contains(reason), "{instruction} {}", refusal(instruction));
    }
}
