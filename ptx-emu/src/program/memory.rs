//! Loads, stores, atomic operations.

use crate::lanes::Slot;
use crate::types::{Semantics, Space};

/// A load or store of one or more contiguous elements.
pub(crate) struct Access {
    pub space: Space,
    pub address: AddressExpr,
    /// Bytes of an element.
    pub width: u32,
    /// Its elements.
    pub elements: Box<[Element]>,
    /// `.volatile`, `.relaxed`, `.acquire`, `.release`, ...: strong accesses do not race with each other.
    pub is_strong: bool,
    pub semantics: Semantics,
}

impl Access {
    pub(crate) fn bytes(&self) -> u32 {
        self.width * self.elements.len() as u32
    }
}

/// The register of an element.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Element {
    pub slot: Slot,
    /// Rows of the register.
    pub rows: u32,
    /// Sign-extended to the register's width.
    pub sign_extend: bool,
}

/// A base register and an offset.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AddressExpr {
    pub base: Option<Base>,
    pub offset: i64,
}

/// A base register.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Base {
    pub slot: Slot,
    pub is_64: bool,
}

/// An atomic operation, with or without a result.
pub(crate) struct Atomic {
    pub space: Space,
    pub semantics: Semantics,
    pub address: AddressExpr,
    /// Bytes of an element.
    pub width: u32,
    /// Elements of a vector operation.
    pub elements: Box<[AtomicElement]>,
    /// The new value from the old one and the operands.
    pub apply: fn(u64, u64, u64) -> u64,
    /// As `apply`, in shared memory, whose rules for subnormals and NaN differ.
    pub apply_shared: fn(u64, u64, u64) -> u64,
}

/// An element of an atomic operation: result, first and second operand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AtomicElement {
    pub result: Option<Slot>,
    pub a: Slot,
    pub b: Option<Slot>,
}
