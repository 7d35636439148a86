//! The emulated machine: one device, whose contexts share its memory.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::env;
use std::sync::atomic::Ordering;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::{CUcontext, CUfunction, CUresult, CUstream};
use ptx_emu::device::{DEVICES, Device};
use ptx_emu::{Checks, GlobalMemory};

use crate::array::Array;
use crate::capture::{Capture, Graph};
use crate::code::{Code, Function};
use crate::copy::is_of_device;
use crate::handles::{Handles, fresh};
use crate::host::HostMemory;
use crate::status::{Answer, require, say, unsupported};

/// What memory holds before it is written: no number, whatever its elements are.
const UNWRITTEN: u32 = u32::MAX;

/// A stream, or one of the two that need no handle.
#[derive(Debug, Default)]
pub struct Stream {
    /// The context in which it was made.
    pub context: usize,
    pub flags: u32,
    pub priority: i32,
    /// The capture that takes what is enqueued.
    pub capture: Option<usize>,
}

/// An event.
#[derive(Debug, Default)]
pub struct Event {
    pub flags: u32,
    /// The device's time when it was recorded, in milliseconds.
    pub time_ms: Option<f64>,
    /// The capture that it was recorded in.
    pub capture: Option<usize>,
}

/// The primary context: its address is the same after a reset, its number another one.
#[derive(Debug)]
pub struct Primary {
    pub address: ContextAddress,
    pub id: usize,
    /// How often it is retained.
    pub retained: u32,
}

/// The machine.
pub struct Machine {
    pub device: &'static Device,
    pub checks: Checks,
    pub memory: GlobalMemory,
    /// Memory of the host that was allocated here, and that which is the device's, too, by address.
    pub host_memory: BTreeMap<usize, HostMemory>,
    managed: BTreeMap<usize, HostMemory>,
    pub arrays: Handles<Array>,
    /// Flags of contexts.
    pub contexts: Handles<u32>,
    pub primary: Option<Primary>,
    pub modules: Handles<Code>,
    pub functions: Handles<Function>,
    pub streams: Handles<Stream>,
    pub default_stream: Stream,
    pub events: Handles<Event>,
    pub captures: Handles<Capture>,
    pub graphs: Handles<Graph>,
    pub executables: Handles<Graph>,
    /// Time that kernels have taken, as modelled, in milliseconds.
    pub now_ms: f64,
    /// What a kernel did wrong, which is not known before something waits for it: until then, nothing is done.
    pub pending: Option<CUresult>,
    /// The same once it is known: every call that needs a context returns it from then on.
    pub failed: Option<CUresult>,
    pub is_initialised: bool,
}

/// A context's handle, as a number that any thread may keep.
pub type ContextAddress = usize;

static MACHINE: LazyLock<Mutex<Machine>> = LazyLock::new(|| Mutex::new(Machine::from_environment()));

thread_local! {
    /// The contexts of this thread, the current one last.
    static CONTEXTS: RefCell<Vec<ContextAddress>> = const { RefCell::new(Vec::new()) };
}

/// The machine, for one thread at a time.
pub fn machine() -> MutexGuard<'static, Machine> {
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The machine, for calls that need a current context.
pub fn in_context() -> Answer<MutexGuard<'static, Machine>> {
    let machine = machine();
    if !machine.is_initialised {
        return Err(CUresult::CUDA_ERROR_NOT_INITIALIZED);
    }
    if current().is_null() {
        return Err(CUresult::CUDA_ERROR_INVALID_CONTEXT);
    }
    machine.failed.map_or(Ok(machine), Err)
}

/// The same for calls that wait for what was enqueued: if that failed, it is known from here on.
pub fn waited() -> Answer<MutexGuard<'static, Machine>> {
    let mut machine = in_context()?;
    machine.failed = machine.pending;
    machine.failed.map_or(Ok(machine), Err)
}

/// This thread's contexts.
pub fn with_contexts<T>(act: impl FnOnce(&mut Vec<ContextAddress>) -> T) -> T {
    CONTEXTS.with_borrow_mut(act)
}

/// The current context, or null.
pub fn current() -> CUcontext {
    with_contexts(|contexts| std::ptr::without_provenance_mut(contexts.last().copied().unwrap_or_default()))
}

impl Machine {
    fn from_environment() -> Self {
        let name = env::var("PTX_EMU_DEVICE").unwrap_or_default();
        let device = Device::find(&name).unwrap_or_else(|| {
            if !name.is_empty() {
                let known: Vec<_> = DEVICES.iter().map(|device| device.slug).collect();
                say(&format!("PTX_EMU_DEVICE is {name:?}: of {}, {} it is", known.join(", "), DEVICES[0].slug));
            }
            &DEVICES[0]
        });
        let checks = match env::var("PTX_EMU_CHECK").as_deref() {
            Ok("all") => Checks::ALL,
            _ => Checks { memory: true, ..Checks::NONE },
        };
        Self {
            device,
            checks,
            memory: GlobalMemory::default(),
            host_memory: BTreeMap::new(),
            managed: BTreeMap::new(),
            arrays: Handles::default(),
            contexts: Handles::default(),
            primary: None,
            modules: Handles::default(),
            functions: Handles::default(),
            streams: Handles::default(),
            default_stream: Stream::default(),
            events: Handles::default(),
            captures: Handles::default(),
            graphs: Handles::default(),
            executables: Handles::default(),
            now_ms: 0.0,
            pending: None,
            failed: None,
            is_initialised: false,
        }
    }

    /// Ends the primary context with what was made in it. What other contexts may have made stays: it is not told apart.
    pub fn reset_primary(&mut self) {
        let Some(primary) = &mut self.primary else { return };
        (primary.id, primary.retained) = (fresh(), 0);
        if self.contexts.is_empty() {
            (self.memory, self.arrays) = Default::default();
            self.managed.clear();
            (self.modules, self.functions) = Default::default();
            (self.streams, self.default_stream, self.events) = Default::default();
            (self.captures, self.graphs, self.executables) = Default::default();
            (self.pending, self.failed) = (None, None);
        }
    }

    /// The stream of a handle. Null, and the constants 1 and 2, are the default streams.
    pub fn stream(&mut self, stream: CUstream) -> Answer<&mut Stream> {
        if stream.addr() <= 2 { Ok(&mut self.default_stream) } else { self.streams.get_mut(stream) }
    }

    /// The function of a handle.
    pub fn function(&mut self, function: CUfunction) -> Answer<&mut Function> {
        self.functions.get_mut(function)
    }

    /// Device memory of so many bytes.
    pub fn allocate(&mut self, bytes: u64) -> Answer<u64> {
        self.check_room(bytes)?;
        self.memory.allocate_filled(bytes, UNWRITTEN).ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)
    }

    /// Memory of so many bytes that the device and the host have at the same address.
    pub fn allocate_managed(&mut self, bytes: usize) -> Answer<u64> {
        self.check_room(bytes as u64)?;
        let memory = HostMemory::new(bytes)?;
        // SAFETY: what drops it, `free` and `reset_primary`, ends the device's allocation before.
        let words = unsafe { memory.words() };
        words.iter().for_each(|word| word.store(UNWRITTEN, Ordering::Relaxed));
        let address = self.memory.map_host(words, bytes as u64).ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
        self.managed.insert(memory.address(), memory);
        Ok(address)
    }

    /// Gives kernels the memory of the host that an address is in, which was allocated here: they have it at the same address.
    pub fn map_host(&mut self, address: u64) -> Answer<u64> {
        let memory =
            holding(&self.host_memory, address).ok_or_else(|| unsupported("mapped memory of the program's own"))?;
        let is_mapped = is_of_device(&self.memory, memory.address() as u64);
        if !is_mapped {
            // SAFETY: `free_host`, which drops it, ends the mapping before.
            let words = unsafe { memory.words() };
            self.memory.map_host(words, memory.bytes() as u64).ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
        }
        Ok(address)
    }

    /// Frees memory of the host that was allocated here.
    pub fn free_host(&mut self, address: usize) -> Answer {
        let memory = self.host_memory.remove(&address).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        // Mapped or not, before the host has it back.
        self.memory.free(address as u64);
        drop(memory);
        Ok(())
    }

    /// Fails where the device has no room for so many bytes.
    fn check_room(&self, bytes: u64) -> Answer {
        require(bytes > 0)?;
        let free = self.device.memory_bytes.saturating_sub(self.memory.allocated_bytes());
        if bytes <= free { Ok(()) } else { Err(CUresult::CUDA_ERROR_OUT_OF_MEMORY) }
    }

    /// The managed memory that an address is in.
    pub fn managed(&self, address: u64) -> Option<&HostMemory> {
        holding(&self.managed, address)
    }

    /// The memory of the host that an address is in, of what was allocated here.
    pub fn of_host(&self, address: u64) -> Option<&HostMemory> {
        holding(&self.host_memory, address)
    }

    /// Frees what was allocated on the device; null is nothing.
    pub fn free(&mut self, address: u64) -> Answer {
        require(address == 0 || self.memory.free(address).is_some())?;
        self.managed.remove(&(address as usize));
        Ok(())
    }

    /// Fails what a capture does not permit, and makes the capture invalid.
    pub fn forbid_in_capture(&mut self) -> Answer {
        let this = std::thread::current().id();
        let mut forbidding = self.captures.values_mut().filter(|capture| capture.forbids(this)).peekable();
        if forbidding.peek().is_none() {
            return Ok(());
        }
        forbidding.for_each(|capture| capture.is_valid = false);
        Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
    }
}

fn holding(memory: &BTreeMap<usize, HostMemory>, address: u64) -> Option<&HostMemory> {
    let address = usize::try_from(address).ok()?;
    let (first, memory) = memory.range(..=address).next_back()?;
    (address - first < memory.bytes()).then_some(memory)
}
