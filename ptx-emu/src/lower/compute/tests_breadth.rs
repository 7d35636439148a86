//! Instructions that fewer kernels use, and what is refused.

use super::testing::{refusal, value};

fn f(x: f32) -> u64 {
    x.to_bits().into()
}

#[test]
fn carries() {
    // 0xffffffff + 1, and the carry in the upper half: two instructions, one machine each, so only the first carry.
    assert_eq!(value("addc.u32 %r0, %r1, %r2;", "%r0", &[("%r1", 1), ("%r2", 2)]), 3);
    assert_eq!(value("sub.cc.s64 %d0, %d1, %d2;", "%d0", &[("%d1", 1), ("%d2", 2)]), u64::MAX);
    let sources = [("%r1", 0xffff_ffff), ("%r2", 3), ("%r3", 4)];
    assert_eq!(value("mad.lo.cc.u32 %r0, %r1, %r2, %r3;", "%r0", &sources), 1);
    assert_eq!(value("madc.hi.s32 %r0, %r1, %r2, %r3;", "%r0", &sources), 3);
}

#[test]
fn carry_flags_are_kept_by_lane() {
    let machine = |instruction| super::testing::Machine::new(instruction).unwrap();
    let mut add = machine("add.cc.u32 %r0, %r1, %r2;").set("%r1", u32::MAX);
    add.set_lanes("%r2", &std::array::from_fn::<u32, 32, _>(|lane| lane as u32 & 1));
    let carry = add.run(0xffff).registers.carry;
    assert_eq!(carry, 0xaaaa);
    let mut addc = machine("addc.cc.u32 %r0, %r1, 0;").set("%r1", u32::MAX);
    addc.registers.carry = carry;
    assert_eq!(addc.run(0xff).registers.carry, 0xaaaa);
    let mut subc = machine("subc.u32 %r0, %r1, 0;").set("%r1", 7u32);
    subc.registers.carry = 1;
    assert_eq!(subc.run(3).lanes::<u32>("%r0")[..2], [6, 7]);
}

#[test]
fn bits() {
    assert_eq!(
        value("bfi.b64 %d0, %d1, %d2, 8, 16;", "%d0", &[("%d1", 0xabcd), ("%d2", u64::MAX)]),
        !0 << 24 | 0xabcdff
    );
    assert_eq!(value("prmt.b32.f4e %r0, %r1, %r2, 1;", "%r0", &[("%r1", 0x3322_1100), ("%r2", 0x77)]), 0x7733_2211);
    assert_eq!(value("lop3.b32 %r0, %r1, %r2, %r3, 0x96;", "%r0", &[("%r1", 12), ("%r2", 10), ("%r3", 1)]), 7);
    let sources = [("%r1", 12), ("%r2", 3), ("%r3", 0), ("%p1", 0)];
    assert_eq!(value("lop3.or.b32 %r0|%p0, %r1, %r2, %r3, 0xc0, %p1;", "%p0", &sources), 0);
    assert_eq!(value("shf.l.wrap.b32 %r0, %r1, %r2, 36;", "%r0", &[("%r1", 0xf000_0000), ("%r2", 1)]), 0x1f);
    assert_eq!(value("shf.r.clamp.b32 %r0, %r1, %r2, 36;", "%r0", &[("%r1", 5), ("%r2", 9)]), 9);
    assert_eq!(value("bfind.shiftamt.s32 %r0, %r1;", "%r0", &[("%r1", 0xffff_ff7f)]), 24);
    assert_eq!(value("div.s32 %r0, %r1, -1;", "%r0", &[("%r1", 0x8000_0000)]), 0x8000_0000);
    assert_eq!(value("cnot.b32 %r0, %r1;", "%r0", &[("%r1", 0)]), 1);
}

#[test]
fn floats() {
    assert_eq!(value("min.NaN.f32 %r0, %r1, %r2;", "%r0", &[("%r1", 0xffc0_0000), ("%r2", 0)]), 0x7fff_ffff);
    assert_eq!(value("max.f32 %r0, %r1, %r2;", "%r0", &[("%r1", 0xffc0_0000), ("%r2", f(-1.0))]), f(-1.0));
    assert_eq!(value("max.f32 %r0, %r1, %r2;", "%r0", &[("%r1", f(-0.0)), ("%r2", 0)]), 0);
    let three = [("%r1", f(3.0)), ("%r2", f(-4.0)), ("%r3", f(5.0))];
    assert_eq!(value("min.abs.f32 %r0, %r1, %r2, %r3;", "%r0", &three), f(3.0));
    assert_eq!(value("copysign.f32 %r0, %r1, %r2;", "%r0", &[("%r1", f(-1.0)), ("%r2", f(2.0))]), f(-2.0));
    assert_eq!(value("testp.subnormal.f32 %p0, %r1;", "%p0", &[("%r1", 1)]), 0xffff_ffff);
    assert_eq!(value("sqrt.rp.f32 %r0, %r1;", "%r0", &[("%r1", f(2.0))]), f(2f32.sqrt().next_up()));
    assert_eq!(value("sqrt.rz.f32 %r0, %r1;", "%r0", &[("%r1", f(2.0))]), f(2f32.sqrt()));
    assert_eq!(value("div.rm.f32 %r0, %r1, %r2;", "%r0", &[("%r1", f(1.0)), ("%r2", f(3.0))]), 0x3eaa_aaaa);
    assert_eq!(value("rcp.approx.ftz.f32 %r0, %r1;", "%r0", &[("%r1", 1)]), f(f32::INFINITY));
    assert_eq!(value("abs.f32 %r0, %r1;", "%r0", &[("%r1", f(-1.5))]), f(1.5));
    let nan = [("%d1", 0x7ff0_0000_0000_0001), ("%d2", 0xfff8_0000_0000_0002)];
    assert_eq!(value("add.f64 %d0, %d1, %d2;", "%d0", &nan), 0xfff8_0000_0000_0002);
    let pairs = [("%d1", f(2.0) << 32 | f(1.0)), ("%d2", f(3.0) << 32 | f(5.0))];
    assert_eq!(value("mul.f32x2 %d0, %d1, %d2;", "%d0", &pairs), f(6.0) << 32 | f(5.0));
    let halves = [("%r1", 0x3c00_4000), ("%r2", 0x4000_4000), ("%r3", 0xbc00_c400)];
    assert_eq!(value("fma.rn.relu.f16x2 %r0, %r1, %r2, %r3;", "%r0", &halves), 0x3c00_0000);
    assert_eq!(value("tanh.approx.bf16 %h0, %h1;", "%h0", &[("%h1", 0x7f80)]), 0x3f80);
}

#[test]
fn comparisons() {
    let pairs = [("%r1", 0x3c00_4000), ("%r2", 0x3c00_3c00)];
    assert_eq!(value("setp.gt.f16x2 %p0|%p1, %r1, %r2;", "%p0", &pairs), 0xffff_ffff);
    assert_eq!(value("setp.gt.f16x2 %p0|%p1, %r1, %r2;", "%p1", &pairs), 0);
    assert_eq!(value("set.gt.f16x2.f16x2 %r0, %r1, %r2;", "%r0", &pairs), 0x3c00);
    assert_eq!(value("set.ne.u32.s32 %r0, %r1, 3;", "%r0", &[("%r1", 4)]), 0xffff_ffff);
    assert_eq!(value("set.eq.ftz.f32.f32 %r0, %r1, %r2;", "%r0", &[("%r1", 1), ("%r2", 0)]), f(1.0));
    assert_eq!(value("slct.u64.f32 %d0, %d1, %d2, %r3;", "%d0", &[("%d1", 1), ("%d2", 2), ("%r3", f(f32::NAN))]), 2);
    assert_eq!(value("setp.geu.f64 %p0, %d1, %d2;", "%p0", &[("%d1", 0x7ff8 << 48), ("%d2", 0)]), 0xffff_ffff);
}

#[test]
fn conversions() {
    assert_eq!(value("cvt.rn.f16x2.f32 %r0, %r1, %r2;", "%r0", &[("%r1", f(1.0)), ("%r2", f(2.0))]), 0x3c00_4000);
    let e4m3 = [("%r1", f(1000.0)), ("%r2", f(-1.5))];
    assert_eq!(value("cvt.rn.satfinite.e4m3x2.f32 %h0, %r1, %r2;", "%h0", &e4m3), 0x7ebc);
    assert_eq!(value("cvt.rn.f16x2.e5m2x2 %r0, %h1;", "%r0", &[("%h1", 0x7cbc)]), 0x7c00_bc00);
    assert_eq!(
        value(
            "cvt.pack.sat.u8.s32.b32 %r0, %r1, %r2, %r3;",
            "%r0",
            &[("%r1", 300), ("%r2", 0xffff_ffff), ("%r3", 0xabcd),]
        ),
        0xabcd_ff00
    );
    assert_eq!(value("cvt.rna.tf32.f32 %r0, %r1;", "%r0", &[("%r1", 0x3f80_1000)]), 0x3f80_2000);
    assert_eq!(value("cvt.sat.s8.s32 %r0, %r1;", "%r0", &[("%r1", 200)]), 127);
    assert_eq!(value("cvt.s64.s16 %d0, %h1;", "%d0", &[("%h1", 0x8000)]), 0xffff_ffff_ffff_8000);
    assert_eq!(value("cvt.u16.s8 %r0, %r1;", "%r0", &[("%r1", 0x80)]), 0xff80);
    assert_eq!(value("cvt.rzi.u64.f32 %d0, %r1;", "%d0", &[("%r1", f(-5.0))]), 0);
    assert_eq!(value("cvt.rni.f32.f32 %r0, %r1;", "%r0", &[("%r1", f(2.5))]), f(2.0));
    assert_eq!(value("cvt.rp.f32.u64 %r0, %d1;", "%r0", &[("%d1", u64::MAX)]), f(2f32.powi(64)));
    assert_eq!(value("cvt.sat.f32.f32 %r0, %r1;", "%r0", &[("%r1", f(2.0))]), f(1.0));
}

#[test]
fn more_refusals() {
    for (instruction, reason) in [
        ("fma.f32 %r0, %r1, %r2, %r3;", "rounding mode"),
        ("div.f32 %r0, %r1, %r2;", "rounding mode"),
        ("sin.f32 %r0, %r1;", "needs .approx"),
        ("add.ftz.f64 %d0, %d1, %d2;", ".ftz"),
        ("add.sat.ftz.bf16 %h0, %h1, %h2;", "modifier"),
        ("setp.lt.b32 %p0, %r1, %r2;", "needs an order"),
        ("setp.num.s32 %p0, %r1, %r2;", "no comparison .num"),
        ("setp.eq.f16x2 %p0, %r1, %r2;", "p|q"),
        ("mul.wide.u64 %q0, %d1, %d2;", "not known for .u64"),
        ("mov.b64 {%r0, %r1, %r2}, %d1;", "3 parts"),
        ("cvt.rn.e4m3x2.f32 %h0, %r1, %r2;", "needs .satfinite"),
        ("cvt.u32.f32 %r0, %r1;", "rounding to an integer"),
        ("cvt.rn.s32.s64 %r0, %d1;", "has no rounding"),
        ("min.xorsign.f32 %r0, %r1, %r2;", "comes with .abs"),
        ("bfe.u32 %r0, %r1, %r2;", "4 operands"),
        ("shf.l.b32 %r0, %r1, %r2, %r3;", "needs .clamp"),
        ("lop3.b32 %r0, %r1, %r2, %r3, %r4;", "constant"),
    ] {
        assert!(refusal(instruction).contains(reason), "{instruction} {}", refusal(instruction));
    }
}
