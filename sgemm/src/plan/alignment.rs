//! Where the buffers of a run may begin.

use super::{Bindings, Buffer, OPERAND_ALIGNMENT, Plan};
use crate::Error;

impl Plan {
    /// Checks that operands are aligned as the problem says, and the parts of the workspace to [`OPERAND_ALIGNMENT`].
    pub(crate) fn check_alignment(&self, bindings: &Bindings) -> Result<(), Error> {
        let problem = self.problem();
        let ([a, b], c) = (problem.alignment().map(|bytes| bytes as u64), problem.output.bytes().into());
        let operands = [("A", Buffer::A, a), ("B", Buffer::B, b), ("C", Buffer::C, c), ("D", Buffer::D, c)];
        let parts = Buffer::PARTS.map(|part| ("workspace", part, OPERAND_ALIGNMENT));
        for (operand, buffer, bytes) in operands.into_iter().chain(parts) {
            let address = bindings.addresses[buffer];
            if !address.is_multiple_of(bytes) {
                return Err(Error::Alignment { operand, address, bytes });
            }
        }
        Ok(())
    }
}
