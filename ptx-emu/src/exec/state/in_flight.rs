//! The registers that MMAs in flight read or write.

use crate::program::Pc;

/// Watched registers of a warp.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    pub registers: Vec<RegisterState>,
    /// Whether a `wgmma.fence` was executed.
    pub is_fenced: bool,
}

/// State of a watched register.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RegisterState {
    pub flight: Option<Flight>,
    /// The instruction that wrote it since the last `wgmma.fence`.
    pub written: Option<Pc>,
}

/// An MMA in flight that uses the register.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flight {
    pub pc: Pc,
    pub group: u32,
    pub is_result: bool,
    /// The value was copied to another register, and its MMA is waited for there.
    pub is_copied: bool,
}

impl InFlight {
    pub(crate) fn start(&mut self, count: usize) {
        self.registers.clear();
        self.registers.resize(count, RegisterState::default());
        self.is_fenced = false;
    }

    pub(crate) fn fence(&mut self) {
        self.is_fenced = true;
        self.registers.iter_mut().for_each(|state| state.written = None);
    }

    /// All of `groups` groups but the last `keep` are complete.
    pub(crate) fn wait(&mut self, groups: u32, keep: u32) {
        let is_due = |flight: &Flight| u64::from(flight.group) + u64::from(keep) < groups.into();
        for state in &mut self.registers {
            state.flight = state.flight.filter(|flight| !is_due(flight));
        }
    }

    /// A register copy, which carries the value in flight along. Returns the flight whose value it overwrites.
    pub(crate) fn copy(&mut self, to: usize, from: usize) -> Option<Flight> {
        let lost = self.registers[to].flight.filter(|flight| !flight.is_copied && to != from);
        self.registers[to] = self.registers[from];
        if let Some(flight) = &mut self.registers[from].flight {
            flight.is_copied = true;
        }
        if let Some(flight) = &mut self.registers[to].flight {
            flight.is_copied = false;
        }
        lost
    }
}
