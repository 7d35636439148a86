//! Modules, and their variables.

use std::sync::Arc;

use super::{Error, Kernel};
use crate::lower::lower;
use crate::memory::window::{HEAP, LOADED, VARIABLES};
use crate::memory::{GlobalMemory, Image, Pointer, VariableInfo};
use crate::syntax::{self, FunctionKind, SourceMap};

/// A PTX module that can be run.
#[derive(Debug)]
pub struct Module {
    syntax: syntax::Module,
    image: Arc<Image>,
    source: Arc<SourceMap>,
}

impl Module {
    /// Reads PTX. Its first launch on a memory maps its variables there, and the next ones find what it left, until another module that was
    /// parsed is launched on the memory: their variables have the same addresses. Those of [`Module::load`] have their own.
    ///
    /// # Errors
    /// [`Error::Syntax`], if no kernel can be read.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::place(text, VARIABLES, LOADED)
    }

    /// Reads PTX whose variables are in that memory from then on, at addresses of their own: the host writes and reads them there, between
    /// launches on that memory.
    ///
    /// ```
    /// use ptx_emu::{GlobalMemory, Launch, Module};
    ///
    /// let text = ".version 7.0
    ///     .target sm_80
    ///     .address_size 64
    ///     .global .u32 calls;
    ///     .visible .entry count()
    ///     {
    ///         .reg .b32 %r<2>;
    ///         atom.global.add.u32 %r1, [calls], 1;
    ///         ret;
    ///     }";
    /// let mut memory = GlobalMemory::default();
    /// let module = Module::load(text, &mut memory)?;
    /// let calls = module.variable("calls").unwrap().address;
    /// assert!(memory.write(calls, &5_u32.to_le_bytes()));
    ///
    /// let kernel = module.kernel("count")?;
    /// for _ in 0..2 {
    ///     kernel.launch(&mut memory, &Launch::new([1, 1, 1], [32, 1, 1]))?;
    /// }
    /// assert_eq!(memory.read(calls).unwrap(), 69_u32.to_le_bytes());
    /// # Ok::<(), ptx_emu::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Syntax`], if no kernel can be read.
    pub fn load(text: &str, memory: &mut GlobalMemory) -> Result<Self, Error> {
        let module = Self::place(text, memory.next_module(), HEAP)?;
        memory.map_module(&module.image);
        Ok(module)
    }

    /// A module whose variables lie between those addresses.
    fn place(text: &str, from: Pointer, to: Pointer) -> Result<Self, Error> {
        let mut syntax = syntax::parse(text)?;
        let image = Image::new(&syntax, from, to);
        let source = Arc::new(std::mem::take(&mut syntax.source));
        Ok(Self { syntax, image: Arc::new(image), source })
    }

    /// Takes the variables of a loaded module out of the memory. A kernel that is launched there afterwards finds their initial values.
    pub fn unload(&self, memory: &mut GlobalMemory) {
        memory.unmap_module(&self.image);
    }

    /// Its `.global` and `.const` variables.
    pub fn variables(&self) -> impl Iterator<Item = &VariableInfo> {
        self.image.variables.iter().map(|variable| &variable.info)
    }

    /// The `.global` or `.const` variable of that name.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&VariableInfo> {
        self.image.variable(name).map(|variable| &variable.info)
    }

    /// The names of its kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        let entries = self.syntax.functions.iter().filter(|function| function.kind == FunctionKind::Entry);
        entries.map(|function| function.name.as_str())
    }

    /// A kernel, lowered: all of its instructions are supported.
    ///
    /// # Errors
    /// [`Error::NoKernel`], [`Error::Syntax`] where its text cannot be read, and [`Error::Lower`] for the first instruction that is
    /// not known.
    pub fn kernel(&self, name: &str) -> Result<Kernel, Error> {
        let is_it = |function: &&syntax::Function| function.kind == FunctionKind::Entry && function.name == name;
        let Some(function) = self.syntax.functions.iter().find(is_it) else {
            let kernels = self.kernels().map(str::to_owned).collect();
            return Err(Error::NoKernel { name: name.to_owned(), kernels });
        };
        if let Some(error) = &function.error {
            return Err(error.clone().into());
        }
        let program = lower(&self.syntax, function, Arc::clone(&self.image))?;
        Ok(Kernel { program, source: Arc::clone(&self.source) })
    }
}
