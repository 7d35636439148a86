//! The PTX that kernels are loaded from: the modules that are part of this crate, or the caller's.

mod entries;
mod text;

use std::borrow::Cow;
use std::sync::OnceLock;

use gpu_kernels::{SUPPORT_KERNELS, Step, Target};

use crate::Error;
pub(crate) use entries::wait_for_launches;
use entries::{Entry, entries};
pub use text::check;

/// One module per target, compiled from `gpu-kernels`: `cargo xtask ptx` writes them. Each comes with its [`feature`].
const BUILT_IN: &[(Target, &str)] = &[
    #[cfg(feature = "sm80")]
    (Target::Sm80, include_str!("sm_80.ptx")),
    #[cfg(feature = "sm90")]
    (Target::Sm90a, include_str!("sm_90a.ptx")),
    #[cfg(feature = "sm100")]
    (Target::Sm100, include_str!("sm_100.ptx")),
];

/// The feature of this crate that a target's module comes with.
const fn feature(target: Target) -> &'static str {
    match target {
        Target::Sm80 => "sm80",
        Target::Sm90a => "sm90",
        Target::Sm100 => "sm100",
    }
}

/// The text of the built-in module of a target.
///
/// # Errors
/// [`Error::NoModule`] where this crate was built without the target's feature.
pub fn built_in(target: Target) -> Result<&'static str, Error> {
    let found = BUILT_IN.iter().find(|(known, _)| *known == target).map(|(_, text)| *text);
    found.ok_or(Error::NoModule { target: target.name(), feature: feature(target) })
}

/// The kernels of the built-in module of a target, which is read once.
fn built_in_entries(target: Target) -> Result<&'static [Entry<'static>], Error> {
    static ENTRIES: [OnceLock<Vec<Entry<'static>>>; BUILT_IN.len()] = [const { OnceLock::new() }; BUILT_IN.len()];
    let text = built_in(target)?;
    let known = BUILT_IN.iter().zip(&ENTRIES).find(|((known, _), _)| *known == target);
    Ok(known.map_or(&[], |(_, found)| found.get_or_init(|| entries(text))))
}

/// Where kernels come from.
#[derive(Debug, Clone, Default)]
pub enum ModuleSource {
    /// The modules that are part of this crate.
    #[default]
    BuiltIn,
    /// The caller's, and the built-in ones for steps that none of these is for.
    Supplied(Vec<SuppliedModule>),
}

/// PTX in place of a built-in module.
#[derive(Debug, Clone)]
pub struct SuppliedModule {
    /// What messages call it, such as a file's path.
    pub name: String,
    /// The target whose steps it is for; `None` for those of all targets.
    pub target: Option<Target>,
    /// The module. The driver judges its instructions. Where every kernel of it that is loaded has `griddepcontrol.wait`, these are
    /// launched before the kernel ahead of them has ended, and must not access global memory before they have waited.
    pub text: Cow<'static, str>,
}

impl ModuleSource {
    /// One module in place of all built-in ones.
    #[must_use]
    pub fn of_text(name: impl Into<String>, text: impl Into<Cow<'static, str>>) -> Self {
        Self::Supplied(vec![SuppliedModule { name: name.into(), target: None, text: text.into() }])
    }

    /// The module that holds the step's kernels, without the kernels that the step does not launch: what the driver compiles is
    /// the step's own. Lines keep their numbers.
    ///
    /// # Errors
    /// [`Error::NoModule`] where there is none; [`Error::MissingKernel`] where it has not the step's kernel, or a pre-pass's.
    pub fn module(&self, step: &Step) -> Result<String, Error> {
        self.module_of(step, step.kernel)
    }

    /// The same with one of the step's entry points in place of its kernel, such as [`Step::fused`].
    ///
    /// # Errors
    /// As of [`Self::module`].
    pub fn module_of(&self, step: &Step, entry: &'static str) -> Result<String, Error> {
        self.with(step.target, &step.kernels_of(entry).collect::<Vec<_>>())
    }

    /// The module of a target with [`SUPPORT_KERNELS`] alone, which are launched beside the steps of that target.
    ///
    /// # Errors
    /// [`Error::NoModule`] where there is none; [`Error::MissingKernel`] where it has not all of them.
    pub fn support(&self, target: Target) -> Result<String, Error> {
        self.with(target, &SUPPORT_KERNELS)
    }

    /// The module of a target with these kernels alone.
    fn with(&self, target: Target, kernels: &[&str]) -> Result<String, Error> {
        let text = self.text(target)?;
        let entries = match self.supplied(target) {
            Some(_) => &entries(text),
            None => built_in_entries(target)?,
        };
        if let Some(kernel) = kernels.iter().find(|kernel| !entries.iter().any(|entry| entry.name == **kernel)) {
            return Err(Error::MissingKernel { module: self.name(target), kernel: (*kernel).to_owned() });
        }
        let unneeded = entries.iter().filter(|entry| !kernels.contains(&entry.name));
        Ok(text::without(text, unneeded.map(|entry| entry.range.clone())))
    }

    /// What to call a target's module in messages: the caller's name, or `the built-in sm_80 module`.
    #[must_use]
    pub fn name(&self, target: Target) -> String {
        match self.supplied(target) {
            Some(supplied) => supplied.name.clone(),
            None => format!("the built-in {} module", target.name()),
        }
    }

    fn text(&self, target: Target) -> Result<&str, Error> {
        self.supplied(target).map_or_else(|| built_in(target), |supplied| Ok(&supplied.text))
    }

    fn supplied(&self, target: Target) -> Option<&SuppliedModule> {
        let Self::Supplied(modules) = self else { return None };
        modules.iter().find(|module| module.target.is_none_or(|of| of == target))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::iter;

    use super::*;
    use gpu_kernels::STEPS;

    #[test]
    fn the_built_in_modules_hold_every_step() {
        for step in STEPS {
            assert!(ModuleSource::BuiltIn.module(step).is_ok(), "{}", step.slug);
        }
        assert!(BUILT_IN.iter().all(|(_, text)| check(text).is_ok()));
        assert!(
            gpu_kernels::targets().eq(BUILT_IN.iter().map(|(target, _)| *target)),
            "there is a module for each target"
        );
    }

    #[test]
    fn a_module_has_the_kernels_of_its_step_alone() {
        for step in gpu_kernels::runnable() {
            for entry in iter::once(step.kernel).chain(step.fused) {
                let module = ModuleSource::BuiltIn.module_of(step, entry).unwrap();
                let names: HashSet<_> = entries(&module).into_iter().map(|entry| entry.name).collect();
                assert_eq!(names, step.kernels_of(entry).collect(), "{entry}");
                assert_eq!(check(&module), Ok(()), "{entry}");
            }
        }
    }

    #[test]
    fn the_support_module_of_every_target_has_the_support_kernels_alone() {
        for target in gpu_kernels::targets() {
            let module = ModuleSource::BuiltIn.support(target).unwrap();
            let names: Vec<_> = entries(&module).into_iter().map(|entry| entry.name).collect();
            assert_eq!(names.len(), SUPPORT_KERNELS.len(), "{target:?}");
            assert!(names.iter().all(|name| SUPPORT_KERNELS.contains(name)), "{target:?}: {names:?}");
            assert_eq!(check(&module), Ok(()), "{target:?}");
        }
        let empty = ModuleSource::of_text("x.ptx", text::tests::HEADER);
        let missing = empty.support(Target::Sm80).unwrap_err().to_string();
        assert!(missing.starts_with("x.ptx has no kernel 'align_rows'"), "{missing}");
    }

    #[test]
    fn every_kernel_but_the_baselines_may_be_launched_early() {
        for step in gpu_kernels::runnable() {
            let own =
                iter::once(step.kernel).chain(step.fused).map(|entry| ModuleSource::BuiltIn.module_of(step, entry));
            for module in own.chain([ModuleSource::BuiltIn.support(step.target)]) {
                assert_eq!(wait_for_launches(&module.unwrap()), step.target != Target::Sm80, "{}", step.slug);
            }
        }
    }

    #[test]
    fn what_is_left_of_a_module_keeps_its_place() {
        let header = text::tests::HEADER;
        let text = format!("{header}.shared .b32 s;\n.entry one()\n{{\nret;\n}}\n.entry sgemm_naive() {{ ret; }}\n");
        let source = ModuleSource::of_text("x.ptx", text);
        let module = source.module(&STEPS[0]).unwrap();
        assert_eq!(module, format!("{header}.shared .b32 s;\n\n\n\n\n.entry sgemm_naive() {{ ret; }}\n"));
        let missing = source.module(&STEPS[1]).unwrap_err().to_string();
        assert!(missing.starts_with("x.ptx has no kernel 'sgemm_coalesced'"), "{missing}");
    }

    #[test]
    fn a_supplied_module_stands_for_its_target_alone() {
        let empty = SuppliedModule { name: "empty".into(), target: Some(Target::Sm90a), text: "".into() };
        let source = ModuleSource::Supplied(vec![empty]);
        for step in gpu_kernels::runnable() {
            assert_eq!(source.module(step).is_ok(), step.target != Target::Sm90a, "{}", step.slug);
            assert_eq!(source.name(step.target) == "empty", step.target == Target::Sm90a);
        }
    }
}
