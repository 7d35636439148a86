//! Steps that add in one order give the same bits: one test for each family.

use libtest_mimic::Trial;
use tests::layouts::Emulated;
use tests::orders::families;

pub fn trials() -> impl Iterator<Item = Trial> {
    families(|step| Emulated::for_step(step).is_some()).into_iter().map(|family| {
        let emulated = |step: &_| Emulated::for_step(step).ok_or_else(|| "no device runs it".to_owned());
        Trial::test(format!("orders::{}", family.name()), move || family.check(emulated).map_err(Into::into))
    })
}
