//! What the PTX was compiled from: `.file`, `.loc`, and the names of inlined functions in `.debug_str`.

use std::collections::HashMap;

/// Frames of a line at most: more inlined calls are left out.
const MAX_FRAMES: usize = 64;

/// A place in a file of source code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The file, as the compiler named it.
    pub file: &'a str,
    /// Counted from 1.
    pub line: u32,
    /// Counted from 1; 0 where the compiler knew none.
    pub column: u32,
    /// The function that it is in, where that was inlined; as the compiler named it.
    pub function: Option<&'a str>,
}

/// Which line of the PTX comes from where.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceMap {
    files: HashMap<u32, String>,
    /// In the order of the text.
    locations: Vec<Location>,
    /// Labels of `.debug_str`, and what follows them.
    labels: HashMap<String, usize>,
    strings: Vec<u8>,
}

/// A `.loc`, or the beginning of a function, which has none yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Location {
    /// The line of the PTX from which on it holds.
    pub from: u32,
    pub position: Option<Position>,
    /// Where the function was inlined, and its name: a label, and bytes behind it.
    pub inlined: Option<(Position, Option<(String, usize)>)>,
}

/// File, line and column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    pub file: u32,
    pub line: u32,
    pub column: u32,
}

impl SourceMap {
    pub(super) fn add_file(&mut self, number: u32, name: String) {
        self.files.insert(number, name);
    }

    pub(super) fn add(&mut self, location: Location) {
        self.locations.push(location);
    }

    pub(super) fn add_label(&mut self, label: &str) {
        self.labels.insert(label.into(), self.strings.len());
    }

    pub(super) fn add_byte(&mut self, byte: u8) {
        self.strings.push(byte);
    }

    /// Where a line of the PTX comes from: the place itself, then the calls of what was inlined, from the innermost to the kernel's own
    /// code. Nothing where the compiler did not say.
    #[must_use]
    pub fn frames(&self, line: u32) -> Vec<Frame<'_>> {
        let mut frames = Vec::new();
        let mut end = self.locations.partition_point(|location| location.from <= line);
        let Some(mut position) = end.checked_sub(1).and_then(|last| self.locations[last].position) else {
            return frames;
        };
        while frames.len() < MAX_FRAMES {
            let Some(file) = self.files.get(&position.file).filter(|_| position.line > 0) else { break };
            // A call is described by a `.loc` of its own, further up in the same function.
            let own = self.locations[..end]
                .iter()
                .rposition(|location| location.position.is_none_or(|other| other == position));
            let own = own.map(|at| (at, &self.locations[at])).filter(|(_, location)| location.position.is_some());
            let inlined = own.and_then(|(at, location)| Some((at, location.inlined.as_ref()?)));
            let function = inlined.and_then(|(_, (_, name))| self.name(name.as_ref()?));
            frames.push(Frame { file, line: position.line, column: position.column, function });
            let Some((at, (call, _))) = inlined else { break };
            (end, position) = (at, *call);
        }
        frames
    }

    fn name(&self, (label, offset): &(String, usize)) -> Option<&str> {
        let bytes = self.strings.get(self.labels.get(label)?.checked_add(*offset)?..)?;
        let name = bytes.split(|byte| *byte == 0).next()?;
        str::from_utf8(name).ok().filter(|name| !name.is_empty())
    }
}
