//! Instructions between lanes.

use super::testing::{Machine, refusal};
use crate::lanes::{ALL_LANES, LANES};

fn numbered(instruction: &str) -> Machine {
    let mut machine = Machine::new(instruction).unwrap();
    machine.set_lanes("%r1", &std::array::from_fn::<u32, LANES, _>(|lane| lane as u32 * 10));
    machine
}

#[test]
fn shuffles() {
    let machine = numbered("shfl.sync.bfly.b32 %r0|%p0, %r1, 16, 0x1f, -1;").run(ALL_LANES);
    assert_eq!(machine.lanes::<u32>("%r0"), std::array::from_fn(|lane| (lane as u32 ^ 16) * 10));
    assert_eq!(machine.pred("%p0"), ALL_LANES);
    let machine = numbered("shfl.sync.down.b32 %r0|%p0, %r1, 1, 0x1f, -1;").run(ALL_LANES);
    assert_eq!(machine.lanes::<u32>("%r0")[30..], [310, 310]);
    assert_eq!(machine.pred("%p0"), 0x7fff_ffff);
    let machine = numbered("shfl.idx.b32 %r0, %r1, 3, 0x181f;").run(0xffff);
    assert_eq!(machine.lanes::<u32>("%r0")[6..18], [30, 30, 110, 110, 110, 110, 110, 110, 110, 110, 0, 0]);
}

#[test]
fn votes() {
    let p1 = 0x0000_00f0;
    let vote = |instruction: &str, mask| Machine::new(instruction).unwrap().set_pred("%p1", p1).run(mask);
    assert_eq!(vote("vote.sync.ballot.b32 %r0, %p1, -1;", ALL_LANES).lanes::<u32>("%r0")[31], p1);
    assert_eq!(vote("vote.sync.ballot.b32 %r0, !%p1, 0xff;", 0xff).lanes::<u32>("%r0")[0], 0xf);
    assert_eq!(vote("vote.sync.all.pred %p0, %p1, 0xf0;", 0xf0).pred("%p0"), 0xf0);
    assert_eq!(vote("vote.sync.all.pred %p0, %p1, -1;", ALL_LANES).pred("%p0"), 0);
    assert_eq!(vote("vote.any.pred %p0, %p1;", 0x1f).pred("%p0"), 0x1f);
    assert_eq!(vote("vote.sync.uni.pred %p0, %p1, 15;", 15).pred("%p0"), 15);
}

#[test]
fn groups_of_lanes_stay_apart() {
    let mut machine = Machine::new("redux.sync.add.s32 %r0, %r1, %r2;").unwrap();
    machine.set_lanes("%r1", &[1u32; LANES]);
    machine.set_lanes("%r2", &std::array::from_fn::<u32, LANES, _>(|lane| if lane < 8 { 0xff } else { !0xff }));
    let result = machine.run(ALL_LANES).lanes::<u32>("%r0");
    assert_eq!(result[..9], [8, 8, 8, 8, 8, 8, 8, 8, 24]);
}

#[test]
fn matches_and_elections() {
    let mut machine = Machine::new("match.any.sync.b32 %r0, %r1, -1;").unwrap();
    machine.set_lanes("%r1", &std::array::from_fn::<u32, LANES, _>(|lane| lane as u32 % 2));
    assert_eq!(machine.run(ALL_LANES).lanes::<u32>("%r0")[..2], [0x5555_5555, 0xaaaa_aaaa]);
    let machine = Machine::new("match.all.sync.b64 %r0|%p0, %d1, 0xf;").unwrap().set("%d1", 5u64).run(0xf);
    assert_eq!((machine.lanes::<u32>("%r0")[0], machine.pred("%p0")), (0xf, 0xf));
    let machine = numbered("match.all.sync.b32 %r0|%p0, %r1, 0xf;").run(0xf);
    assert_eq!((machine.lanes::<u32>("%r0")[0], machine.pred("%p0")), (0, 0));
    let machine = Machine::new("elect.sync %r0|%p0, 0xf0;").unwrap().run(0xf0);
    assert_eq!((machine.lanes::<u32>("%r0")[6], machine.pred("%p0")), (4, 0x10));
    assert_eq!(Machine::new("activemask.b32 %r0;").unwrap().run(0x11).lanes::<u32>("%r0")[4], 0x11);
}

#[test]
fn refusals() {
    assert!(refusal("shfl.sync.b32 %r0, %r1, 1, 2, -1;").contains("needs .up"));
    assert!(refusal("match.any.b32 %r0, %r1, -1;").contains("needs .sync"));
    assert!(refusal("redux.sync.add.b32 %r0, %r1, -1;").contains("not known for .b32"));
    assert!(refusal("vote.sync.all.b32 %p0, %p1, -1;").contains("not known for .b32"));
}
