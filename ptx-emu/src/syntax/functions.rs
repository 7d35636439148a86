//! Headings of kernels and device functions.

use super::body::Signature;
use super::cursor::{Cursor, Result, quoted};
use super::lexer::Kind;
use super::source::Location;
use super::{Function, FunctionKind, LaunchBounds, Param, RegisterId};
use crate::types::Type;

impl<'a> Cursor<'a> {
    /// From `.entry` or `.func`, which is at hand, to the body or the `;`.
    pub fn function_heading(&mut self, kind: FunctionKind) -> Result<(&'a str, Function, Signature<'a>)> {
        let line = self.line();
        self.source.add(Location { from: line, position: None, inlined: None });
        self.advance();
        while self.accept_word("noreturn") || self.attribute()? {}
        let (return_names, returns) =
            if kind == FunctionKind::Device { self.params(kind)? } else { Default::default() };
        let name = self.name("the name of a function")?;
        let (param_names, params) = self.params(kind)?;
        let bounds = self.launch_bounds()?;
        let function = Function { name: name.into(), kind, returns, params, bounds, body: None, error: None, line };
        Ok((name, function, Signature { params: param_names, returns: return_names }))
    }

    fn attribute(&mut self) -> Result<bool> {
        let found = self.accept_word("attribute");
        if found {
            self.skip_group(Kind::LeftParen, Kind::RightParen, "`(` after `.attribute`")?;
        }
        Ok(found)
    }

    /// Parameters in parentheses, or nothing.
    fn params(&mut self, kind: FunctionKind) -> Result<(Vec<&'a str>, Vec<Param>)> {
        let mut params = (Vec::new(), Vec::new());
        if !self.accept(Kind::LeftParen) || self.accept(Kind::RightParen) {
            return Ok(params);
        }
        loop {
            let (name, param) = self.param(kind)?;
            params.0.push(name);
            params.1.push(param);
            if !self.accept(Kind::Comma) {
                self.expect(Kind::RightParen, "`,` or `)` after a parameter")?;
                return Ok(params);
            }
        }
    }

    fn param(&mut self, kind: FunctionKind) -> Result<(&'a str, Param)> {
        let is_register = self.word() == Some("reg") && kind == FunctionKind::Device;
        if !is_register && self.word() != Some("param") {
            return Err(self.expected("`.param`"));
        }
        self.advance();
        let head = self.declaration_head()?;
        if is_register && head.lanes > 1 {
            return Err(self.error_behind("vector registers are not supported"));
        }
        if !is_register && head.ty == Type::Pred {
            return Err(self.error_behind("a parameter in memory cannot be a `.pred`"));
        }
        self.pointer_attributes()?;
        let name = if self.kind() == Kind::Sink { self.advance() } else { self.name("the name of a parameter")? };
        let dimensions = self.dimensions()?;
        if is_register && !dimensions.is_empty() {
            return Err(self.error_behind(format!("the register {} cannot be an array", quoted(name))));
        }
        // The last parameter of a device function may be an array of any size: what `...` of C becomes.
        if dimensions.first() == Some(&None) && kind == FunctionKind::Entry {
            return Err(self.error_behind(format!("the array {} has no size", quoted(name))));
        }
        let Some(bytes) = head.bytes_of(&dimensions).and_then(|bytes| u32::try_from(bytes).ok()) else {
            return Err(self.error_behind(format!("{} is too large", quoted(name))));
        };
        // The body gives it its number.
        let register = is_register.then_some(RegisterId(0));
        Ok((name, Param { name: name.into(), ty: head.ty, bytes, align: head.align(), register }))
    }

    /// `.ptr .global .align 16`: what the parameter points to, which nothing here depends on.
    fn pointer_attributes(&mut self) -> Result<()> {
        if !self.accept_word("ptr") {
            return Ok(());
        }
        while let Some(word) = self.word() {
            match word {
                "align" => drop(self.alignment()?),
                "global" | "shared" | "local" | "const" | "generic" => drop(self.advance()),
                _ => return Err(self.error(format!("unknown attribute `.{word}` of a pointer"))),
            }
        }
        Ok(())
    }

    /// The directives between the parameters and the body.
    fn launch_bounds(&mut self) -> Result<LaunchBounds> {
        let mut bounds = LaunchBounds::default();
        while let Some(word) = self.word() {
            if word == "pragma" {
                self.pragma()?;
                continue;
            }
            self.advance();
            match word {
                "maxntid" => bounds.max_threads = Some(self.extent()?),
                "reqntid" => bounds.required_threads = Some(self.extent()?),
                "reqnctapercluster" => bounds.required_cluster = Some(self.extent()?),
                "minnctapersm" => bounds.min_blocks_per_sm = Some(self.small("a number of blocks")?),
                "maxnreg" => bounds.max_registers = Some(self.small("a number of registers")?),
                "maxnctapersm" | "maxclusterrank" | "abi_preserve" | "abi_preserve_control" => {
                    self.small("a number")?;
                }
                "noreturn" | "explicitcluster" | "blocksareclusters" => {}
                _ => return Err(self.error_behind(format!("unknown directive `.{word}` of a function"))),
            }
        }
        Ok(bounds)
    }

    /// One to three numbers; what is left out is 1.
    fn extent(&mut self) -> Result<[u32; 3]> {
        let mut extent = [1; 3];
        for (axis, size) in extent.iter_mut().enumerate() {
            if axis > 0 && !self.accept(Kind::Comma) {
                break;
            }
            *size = self.small("a number of threads or blocks")?;
        }
        Ok(extent)
    }
}
