//! Mistakes that 1000 mutants of the seed 20261125 had shown to be unnoticed: each of their kind is found by what was added for it.

use gpu_kernels::Step;
use sgemm::ModuleSource;
use sgemm::emulator::{Emulator, MODELS};
use tests::grading::{self, Graded, bound, grade, multiply};
use tests::layouts::{self, Emulated, aligned, stream_k, words};
use tests::mutants::{Judge, Kind, Mutant, Original, Statement, Verdict, statements};

/// The kernels of a step, as statements.
struct Kernels {
    step: &'static Step,
    text: String,
    statements: Vec<Statement>,
}

impl Kernels {
    fn of(slug: &str) -> Self {
        let step = gpu_kernels::find(slug).expect("a step");
        let text = Original::new(step).expect("its kernels").text().to_owned();
        let statements = statements(&text);
        Self { step, text, statements }
    }

    /// The statements of that opcode, but for those whose adjacent ones are not as wanted.
    fn all(&self, opcode: &str, is_wanted: impl Fn(usize) -> bool) -> Vec<usize> {
        let of_opcode = |number: &usize| self.statements[*number].opcode.starts_with(opcode);
        (0..self.statements.len()).filter(of_opcode).filter(|number| is_wanted(*number)).collect()
    }

    /// The text of a statement that stands so many behind another.
    fn near(&self, number: usize, distance: isize) -> String {
        number
            .checked_add_signed(distance)
            .and_then(|at| self.statements.get(at))
            .map_or_else(String::new, Statement::text)
    }

    /// The kernel that a statement is in.
    fn kernel(&self, number: usize) -> &str {
        const ENTRY: &str = ".entry ";
        let before = &self.text[..self.statements[number].place.start];
        let name = &before[before.rfind(ENTRY).expect("an entry") + ENTRY.len()..];
        &name[..name.find('(').expect("its parameters")]
    }

    /// With another statement in place of one, on a device of so many SMs.
    fn with(&self, number: usize, instruction: &str, sm_count: u32) -> Emulated {
        let mut text = self.text.clone();
        text.replace_range(self.statements[number].place.clone(), instruction);
        let source = ModuleSource::of_text("mutant.ptx", text);
        Emulated::with_modules(self.step, sm_count, source).expect("a device").with_seed(7)
    }

    /// Fails where `check` passes with a statement changed.
    fn each_is_noticed(
        &self,
        places: &[usize],
        change: impl Fn(&Statement) -> String,
        check: impl Fn(&'static Step, &Emulated) -> Result<(), String>,
    ) {
        assert!(!places.is_empty());
        for &number in places {
            let statement = &self.statements[number];
            let outcome = check(self.step, &self.with(number, &change(statement), 3));
            assert!(outcome.is_err(), "{}, line {}: {}", self.step.slug, statement.line, statement.text());
        }
    }
}

#[test]
fn a_flag_that_releases_nothing_is_a_race() {
    let kernels = Kernels::of("stream-k");
    let raises = |number| kernels.near(number, -1).starts_with("mov.b32") && kernels.near(number, -1).ends_with(", 1");
    let places = kernels.all("st.release", raises);
    kernels.each_is_noticed(&places, |it| it.text().replace("release", "relaxed"), stream_k::run);
}

#[test]
fn a_split_that_sees_other_magnitudes_leaves_another_word() {
    let kernels = Kernels::of("fp16x3");
    let is_of_split = |number| kernels.step.prepasses.iter().any(|prepass| prepass.kernel == kernels.kernel(number));
    let signs =
        kernels.all("and.b32", |number| is_of_split(number) && kernels.near(number, 0).ends_with(", 2147483647"));
    let some = [signs[0], signs[signs.len() / 3], signs[signs.len() - 1]];
    kernels.each_is_noticed(&some, |it| it.text().replace("2147483647", "4294967294"), words::run);
    let kernels = Kernels::of("tf32x3");
    let largest = kernels
        .all("mov.b32", |number| kernels.near(number, 0).ends_with(", -1") && kernels.near(number, 1).ends_with(", 0"));
    kernels.each_is_noticed(&largest, |it| it.text().replace(", -1", ", 0"), words::run);
}

/// By the kinds of grading whose sums of three bf16 are not all certified.
#[test]
fn a_sum_that_is_not_certified_is_computed_again() {
    let kernels = Kernels::of("fp16x3");
    let meets_guarantee = |text: String| {
        let device = MODELS.iter().find(|model| model.slug == "h200").unwrap();
        let emulator = Emulator::with_modules(*device, ModuleSource::of_text("mutant.ptx", text));
        [grading::Kind::Spread, grading::Kind::Widest].into_iter().all(|kind| {
            let case = kind.case([130, 34, 64], 3).unwrap();
            let plan = Graded::Kernel(kernels.step).plan(&emulator, case.sizes).unwrap();
            grade(&case, &multiply(&emulator, &plan, &case).unwrap()) <= bound(64, true)
        })
    };
    let text = || kernels.text.clone();
    assert!(meets_guarantee(text()));
    assert!(!meets_guarantee(text().replace("bar.red.or", "bar.red.and")), "no tile has a sum that is left");
    let ballots = kernels.all("vote.sync.ballot", |number| kernels.kernel(number) == kernels.step.kernel);
    assert!(!ballots.is_empty());
    for number in ballots {
        let ballot = &kernels.statements[number];
        let mut text = text();
        text.replace_range(ballot.place.clone(), &ballot.text().replace(", is", ", !is"));
        assert!(!meets_guarantee(text), "other sums are left");
    }
}

#[test]
fn a_stage_that_is_released_too_early_or_never_is_noticed_in_every_order() {
    let kernels = Kernels::of("hgemm-split-k");
    let loads = |number| kernels.near(number, -1).starts_with("wgmma.commit_group");
    let places = kernels.all("wgmma.wait_group", |number| loads(number) && kernels.near(number, 0).ends_with(" 1"));
    kernels.each_is_noticed(&places, |_| String::new(), |step, few| layouts::run(step, 0, few));
}

#[test]
fn each_load_of_a_vector_is_checked_at_its_end() {
    let kernels = Kernels::of("gemv");
    // The third of four, which are stored then.
    let is_third = |number| [7, 9].iter().all(|&next| kernels.near(number, next).starts_with("st.shared.b32"));
    let places = kernels.all("ld.global.nc.f32", is_third);
    kernels.each_is_noticed(&places, |it| it.text().replace("@inside", ""), aligned::run);
}

#[test]
fn each_element_of_a_row_that_is_not_stored_by_vectors_is_scaled() {
    let kernels = Kernels::of("hgemm-any-layout");
    let is_stored = |number| {
        let is_behind = |next| kernels.near(number, next).starts_with("st.global.b16");
        kernels.near(number, -1).starts_with("ld.shared.b32") && (1..12).any(is_behind)
    };
    let places = kernels.all("mul.rn.f32", is_stored);
    let unscaled = |it: &Statement| format!("mov.b32 {}, {}", it.operands[0], it.operands[1]);
    kernels
        .each_is_noticed(&places, unscaled, |step, few| (0..2).try_for_each(|number| layouts::run(step, number, few)));
}

/// By what host runs before it measures, and no contract.
#[test]
fn host_alone_notices_what_becomes_of_no_products() {
    for slug in ["naive", "coalesced"] {
        let kernels = Kernels::of(slug);
        let places = kernels.all("or.pred", |number| kernels.kernel(number) == kernels.step.kernel);
        let killed = places.iter().filter(|&&number| {
            let statement = &kernels.statements[number];
            let (before, after) = (statement.text(), statement.text().replace("or.pred", "and.pred"));
            let mut text = kernels.text.clone();
            text.replace_range(statement.place.clone(), &after);
            let mutant =
                Mutant { kind: Kind::Operation, line: statement.line, before, after, trapped: text.clone(), text };
            let (verdict, reason) = Judge::new(kernels.step, 0).unwrap().verdict(&mutant).unwrap();
            verdict == Verdict::Killed && reason.starts_with("host: ")
        });
        assert_eq!((places.len(), killed.count()), (places.len(), places.len()), "{slug}");
        assert!(!places.is_empty());
    }
}
