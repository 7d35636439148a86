use super::*;
use crate::Layout;

/// What waits at its end only reads the caller's matrix where it begins early, and no run has it first.
#[test]
fn what_begins_early_reads_nothing_that_the_plan_writes() {
    let (m, n, k) = (300, 200, 100);
    let (mut early, mut late) = (0, 0);
    for step in runnable().filter(|step| step.prepasses.iter().any(|prepass| prepass.waits_last)) {
        for layouts in 0..8 {
            let layout = |bit: usize, rows, columns| match layouts >> bit & 1 {
                0 => Layout::row_major(columns),
                _ => Layout::column_major(rows),
            };
            let problem = Problem::new(m, n, k).with_layouts(layout(0, m, k), layout(1, k, n), layout(2, m, n));
            let plan = Plan::new(step, &problem, 132).unwrap();
            for are_prepared in [Ab::both(false), Ab { a: true, b: false }, Ab { a: false, b: true }] {
                let bindings = Bindings { are_prepared, ..bindings() };
                let mut previous = None;
                for number in plan.needed(0, &bindings) {
                    let launch = &plan.launches()[number];
                    let begins_early = plan.may_begin_early(number, previous);
                    assert!(begins_early || launch.waits_last, "{}", launch.kernel);
                    if launch.waits_last && begins_early {
                        let source = launch.arguments.iter().find(|(name, _)| *name == "source").unwrap().1;
                        let is_given =
                            [A, B].into_iter().any(|matrix| source.value(&bindings) == Value::Address(matrix));
                        assert!(is_given && previous.is_some(), "{}", step.slug);
                    }
                    early += usize::from(launch.waits_last && begins_early);
                    late += usize::from(!begins_early);
                    previous = Some(number);
                }
            }
        }
    }
    assert!(early > 0 && late > 0, "{early} {late}");
}
