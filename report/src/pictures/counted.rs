//! The runs' counters, step by step; runs that count the same are shown once.

use gpu_kernels::STEPS;
use results::{Counters, Run};

use crate::data::{Data, number, run_mark};

/// What one or several runs counted.
pub(crate) struct Counted<'a> {
    /// The places of these runs among all.
    pub(crate) views: Vec<usize>,
    /// In the order of the registry.
    pub(crate) steps: Vec<(String, &'a Counters)>,
}

impl<'a> Counted<'a> {
    /// What one step does.
    pub(crate) fn of(&self, slug: &str) -> Option<&'a Counters> {
        self.steps.iter().find(|step| step.0 == slug).map(|step| step.1)
    }

    /// The runs' letters.
    pub(crate) fn mark(&self) -> String {
        self.views.iter().map(|view| run_mark(*view)).collect::<Vec<_>>().join(", ")
    }
}

/// The counters of all runs, of each step those at the size that was counted first.
pub(crate) fn counted<'a>(data: &'a Data) -> Vec<Counted<'a>> {
    gather(data, |_, _| false)
}

/// The same at the largest size.
pub(crate) fn counted_at_most<'a>(data: &'a Data) -> Vec<Counted<'a>> {
    gather(data, |old, new| new.multiply_adds() > old.multiply_adds())
}

fn gather<'a>(data: &'a Data, is_better: fn(&Counters, &Counters) -> bool) -> Vec<Counted<'a>> {
    let mut all: Vec<Counted> = Vec::new();
    for (i, view) in data.views.iter().enumerate() {
        let steps = steps(&view.run, is_better);
        if steps.is_empty() {
            continue;
        }
        match all.iter_mut().find(|other| is_same(&other.steps, &steps)) {
            Some(other) => other.views.push(i),
            None => all.push(Counted { views: vec![i], steps }),
        }
    }
    all
}

/// The counters of each step: of several, the first that no later one is better than.
fn steps(run: &Run, is_better: fn(&Counters, &Counters) -> bool) -> Vec<(String, &Counters)> {
    let mut steps: Vec<(String, &Counters)> = Vec::new();
    for counters in &run.counters {
        let slug = counters.step();
        match steps.iter_mut().find(|step| step.0 == slug) {
            Some(step) if is_better(step.1, counters) => step.1 = counters,
            Some(_) => {}
            None => steps.push((slug.to_owned(), counters)),
        }
    }
    steps.sort_by_key(|step| number(&step.0).unwrap_or(STEPS.len() + 1));
    steps
}

/// Whether two runs counted the same, whenever that was.
fn is_same(a: &[(String, &Counters)], b: &[(String, &Counters)]) -> bool {
    let undated = |counters: &Counters| Counters {
        date: String::new(),
        commit: String::new(),
        toolchain: None,
        schema: 0,
        ..counters.clone()
    };
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && undated(a.1) == undated(b.1))
}

/// The steps that any of them has, in the order of the registry.
pub(crate) fn slugs(all: &[Counted]) -> Vec<String> {
    let mut slugs: Vec<String> = Vec::new();
    for (slug, _) in all.iter().flat_map(|counted| &counted.steps) {
        if !slugs.contains(slug) {
            slugs.push(slug.clone());
        }
    }
    slugs.sort_by_key(|slug| number(slug).unwrap_or(STEPS.len() + 1));
    slugs
}

/// A line of a table for each step of each of them: its name, with the runs' letters where there are several, and its counters.
pub(crate) fn lines<'a>(all: &[Counted<'a>]) -> Vec<(String, &'a Counters)> {
    let line = |counted: &Counted<'a>, slug: &str| {
        let name = if all.len() > 1 { format!("{slug} ({})", counted.mark()) } else { slug.to_owned() };
        Some((name, counted.of(slug)?))
    };
    slugs(all).iter().flat_map(|slug| all.iter().filter_map(move |counted| line(counted, slug))).collect()
}

/// Where they come from: what was counted for which device, at which size.
pub(crate) fn source(all: &[Counted]) -> String {
    let of = |counted: &Counted| {
        let (_, counters) = counted.steps.first()?;
        let (m, n, k) = (counters.m, counters.n, counters.k);
        let size = if m == n && n == k { format!("at {m}") } else { format!("at {m} x {n} x {k}") };
        Some(format!("Counted in the emulator {size}, for {}", counters.device))
    };
    let mut texts: Vec<_> = all.iter().filter_map(of).collect();
    texts.dedup();
    texts.join("; ")
}

/// Why there is no picture without them.
pub(crate) const MISSING: &str =
    "The results hold no counters: `cargo xtask bench` adds them, but for --quick and --growth.";
