//! The memory of an emulated device.

use ptx_emu::GlobalMemory;

use crate::Error;
use crate::plan::{Address, Buffer, Buffers, Plan};

/// A word in which nothing is a number, whatever its elements are: what memory holds before it is written.
pub const POISON: u32 = 0x7fc0_7fc0;

/// The memory of an emulated device: allocated, freed, written and read by address, as by calls into the driver. Kernels that access
/// what is not allocated are found out.
///
/// ```
/// use sgemm::Error;
/// use sgemm::emulator::DeviceMemory;
///
/// let mut memory = DeviceMemory::default();
/// let address = memory.allocate(100)?;
/// memory.write(address + 96, &[1, 2, 3, 4])?;
/// let mut last = [0; 2];
/// memory.read(address + 98, &mut last)?;
/// assert_eq!(last, [3, 4]);
/// // No memory is there.
/// let error = memory.write(address + 96, &[0; 5]).unwrap_err();
/// assert_eq!(error, Error::BadAddress { address: address + 96, bytes: 5 });
/// memory.free(address)?;
/// assert!(memory.free(address).is_err());
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Default)]
pub struct DeviceMemory(GlobalMemory);

impl DeviceMemory {
    /// Memory of so many bytes, at a multiple of [`WORKSPACE_ALIGNMENT`](crate::plan::WORKSPACE_ALIGNMENT), that holds [`POISON`].
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] where the host has no room.
    pub fn allocate(&mut self, bytes: u64) -> Result<Address, Error> {
        self.0.allocate_filled(bytes, POISON).ok_or(Error::OutOfMemory { bytes })
    }

    /// Memory that holds these words.
    pub fn allocate_words(&mut self, words: impl IntoIterator<Item = u32>) -> Address {
        self.0.allocate_words(words)
    }

    /// The parts of a plan's workspace, each by itself, so that the checkers know where it ends. Flags are zero. A part without
    /// bytes is at 0.
    ///
    /// # Errors
    /// As of [`Self::allocate`].
    pub fn allocate_parts(&mut self, plan: &Plan) -> Result<Buffers<Address>, Error> {
        let mut parts = Buffers::default();
        for part in Buffer::PARTS {
            let bytes = plan.part_bytes()[part];
            if bytes > 0 {
                parts[part] = self.allocate(bytes)?;
            }
        }
        self.clear_flags(plan, &parts)?;
        Ok(parts)
    }

    /// Writes zeros to the flags of a plan.
    ///
    /// # Errors
    /// [`Error::BadAddress`] where they have no memory.
    pub(super) fn clear_flags(&mut self, plan: &Plan, parts: &Buffers<Address>) -> Result<(), Error> {
        self.write(parts[Buffer::Flags], &vec![0; plan.part_bytes()[Buffer::Flags] as usize])
    }

    /// Frees what was allocated at this address, and gives what it held, as words.
    ///
    /// # Errors
    /// [`Error::BadAddress`] where no memory begins there.
    pub fn free(&mut self, address: Address) -> Result<Vec<u32>, Error> {
        self.0.free(address).ok_or(Error::BadAddress { address, bytes: 0 })
    }

    /// Frees what [`Self::allocate_parts`] allocated.
    ///
    /// # Errors
    /// As of [`Self::free`].
    pub fn free_parts(&mut self, parts: &Buffers<Address>) -> Result<(), Error> {
        let mut used = Buffer::PARTS.into_iter().map(|part| parts[part]).filter(|address| *address != 0);
        used.try_for_each(|address| self.free(address).map(drop))
    }

    /// Copies the bytes to this address, anywhere in what was allocated.
    ///
    /// # Errors
    /// [`Error::BadAddress`] where not all of it is within one allocation: nothing is written then.
    pub fn write(&mut self, address: Address, bytes: &[u8]) -> Result<(), Error> {
        let bad = Error::BadAddress { address, bytes: bytes.len() as u64 };
        if self.0.write(address, bytes) { Ok(()) } else { Err(bad) }
    }

    /// Copies the bytes from this address on.
    ///
    /// # Errors
    /// [`Error::BadAddress`] where not all of it is within one allocation.
    pub fn read(&self, address: Address, bytes: &mut [u8]) -> Result<(), Error> {
        let bad = Error::BadAddress { address, bytes: bytes.len() as u64 };
        if self.0.read_into(address, bytes) { Ok(()) } else { Err(bad) }
    }

    /// Bytes allocated in total.
    #[must_use]
    pub fn allocated_bytes(&self) -> u64 {
        self.0.allocated_bytes()
    }

    /// What kernels are launched on.
    pub fn global(&mut self) -> &mut GlobalMemory {
        &mut self.0
    }
}
