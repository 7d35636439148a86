//! Nonsense is refused, never a panic: names, types, modifiers and operands thrown together, then run on any values.

use super::testing::Machine;

const NAMES: &str = "add sub mul mad fma div rem sad min max neg abs mul24 mad24 addc subc madc popc clz brev bfind bfe \
     bfi bmsk szext fns prmt lop3 shf dp4a dp2a and or xor not cnot shl shr setp set selp slct mov cvt rcp sqrt rsqrt \
     ex2 lg2 sin cos tanh copysign testp shfl vote match redux elect activemask";
const MODIFIERS: &str = "lo hi wide sat cc rn rz rm rp rni rzi rmi rpi rna ftz approx full relu NaN xorsign abs clamp wrap \
     l r eq ne lt ge num ltu and or xor shiftamt sync all any uni ballot up down bfly idx f4e satfinite pack finite add";
const TYPES: &str = "pred b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 u16x2 s16x2 f16 f16x2 bf16 bf16x2 tf32 f32 \
     f32x2 f64 e4m3x2 e5m2x2";
const OPERANDS: &str = "%b1 %h0 %h1 %r0 %r1 %r2 %r3 %d0 %d1 %d2 %q0 %q1 %p0 %p1 !%p1 7 -1 0f3F800000 0d3FF0000000000000 \
     %laneid %clock64 {%r1,%r2} {%h0,%h1} {%h0,%h1,_,%h2} {%d0,%d1} %r0|%p0 %p0|%p1 _";

const CLASSES: [(&str, &str); 4] = [
    ("%h", "b16 u16 s16 f16 bf16"),
    ("%r", "b32 u32 s32 f32 f16x2 bf16x2 s16x2 u16x2"),
    ("%d", "b64 u64 s64 f64 f32x2"),
    ("%p", "pred"),
];

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[(self.next() >> 20) as usize % words.len()]
    }
}

#[test]
fn nonsense_never_panics() {
    let lists = [NAMES, MODIFIERS, TYPES, OPERANDS].map(|list| list.split_whitespace().collect::<Vec<_>>());
    let [names, modifiers, types, operands] = &lists;
    let mut random = Random(0x1234_5678_9abc_def1);
    let mut taken = 0;
    for round in 0..200_000 {
        // Mostly one type and registers of its width, so that more than a few are taken.
        let (prefix, class_types) = CLASSES[round % CLASSES.len()];
        let class_types: Vec<_> = class_types.split_whitespace().collect();
        let class: Vec<_> = operands.iter().copied().filter(|name| name.starts_with(prefix)).collect();
        let wild = random.next() & 7 == 0;
        let mut instruction = random.pick(names).to_owned();
        for _ in 0..random.next() % 3 {
            instruction += &format!(".{}", random.pick(modifiers));
        }
        for _ in 0..if wild { random.next() % 3 } else { 1 } {
            instruction += &format!(".{}", random.pick(if wild { types } else { &class_types }));
        }
        let count = 2 + random.next() as usize % 3;
        let one = |random: &mut Random| {
            let any = random.next() & 15 == 0;
            random.pick(if any { operands } else { &class })
        };
        let list: Vec<_> = (0..count).map(|_| one(&mut random)).collect();
        instruction += &format!(" {};", list.join(", "));
        let Ok(mut machine) = Machine::parse(&instruction).unwrap_or_else(|_| Err(super::Unsupported::new(""))) else {
            continue;
        };
        taken += 1;
        for row in &mut machine.registers.rows {
            let words: &mut [u32] = bytemuck::cast_slice_mut(std::slice::from_mut(row));
            words.fill_with(|| (random.next() >> (random.next() & 63)) as u32);
        }
        machine.run(random.next() as u32);
    }
    assert!(taken > 1000, "{taken} were lowered");
}
