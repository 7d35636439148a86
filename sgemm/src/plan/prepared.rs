//! Runs whose operands are prepared apart from them, in memory of their caller's.

use gpu_kernels::{Ab, Operand};

use super::{Address, Bindings, Buffer, Buffers, Plan};
use crate::Abc;

impl Plan {
    /// What a run takes: its operands, where those of the kernel begin that were prepared, and a workspace for the rest.
    pub(crate) fn bindings(
        &self,
        operands: Abc<Address>,
        prepared: Ab<Option<Address>>,
        workspace: Address,
        [alpha, beta]: [f32; 2],
    ) -> Bindings {
        let are_prepared = prepared.map(|place| place.is_some());
        let mut addresses = self.part_bytes_with(are_prepared).at(workspace);
        for (operand, place) in [(Operand::A, prepared.a), (Operand::B, prepared.b)] {
            let Some(place) = place else { continue };
            self.add_prepared(&mut addresses, operand, place);
        }
        for (buffer, place) in [(Buffer::A, operands.a), (Buffer::B, operands.b), (Buffer::C, operands.c)] {
            addresses[buffer] = place;
        }
        Bindings { are_prepared, ..Bindings::new(addresses, alpha, beta) }
    }

    /// What the pre-passes of an operand of the kernel take: from where it is to where that begins which they make.
    pub(crate) fn bindings_of_prepass(&self, operand: Operand, [source, target]: [Address; 2]) -> Bindings {
        let mut addresses = Buffers::default();
        if let Some(buffer) = self.add_prepared(&mut addresses, operand, target) {
            addresses[buffer] = source;
        }
        Bindings::new(addresses, 1.0, 0.0)
    }

    /// Adds the addresses of what is made of an operand of the kernel, and says which of the caller's that is.
    fn add_prepared(&self, addresses: &mut Buffers<Address>, operand: Operand, place: Address) -> Option<Buffer> {
        let preparation = self.preparation_of(operand)?;
        let there = preparation.bytes().at(place);
        preparation.parts().for_each(|part| addresses[part] = there[part]);
        Some(preparation.source)
    }
}
