//! Reads of memory that nobody wrote.

use super::{AccessKind, Discovery, Observed, What};
use crate::finding::FindingKind;
use crate::lanes::lanes_of;

/// Which bytes were written.
#[derive(Debug)]
pub(super) struct Written(Vec<bool>);

impl Written {
    pub(super) fn new(bytes: usize) -> Self {
        Self(vec![false; bytes])
    }

    /// Notes what is written, and finds the first lane that reads what was not.
    pub(super) fn access(&mut self, access: &Observed<'_>, space: &str) -> Option<Discovery> {
        let bytes = access.bytes as usize;
        let mut first = None;
        for lane in lanes_of(access.mask) {
            let written = &mut self.0[access.addresses[lane] as usize..][..bytes];
            if access.kind != AccessKind::Write && first.is_none() && written.contains(&false) {
                first = Some((lane, access.addresses[lane]));
            }
            if access.kind != AccessKind::Read {
                written.fill(true);
            }
        }
        let (lane, address) = first?;
        let what = What::Text(format!("reads {bytes} bytes of {space} memory at {address:#x} that nobody wrote"));
        Some(Discovery { kind: FindingKind::Uninitialized, lane, other: None, what })
    }
}
