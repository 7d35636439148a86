//! Devices of which a plan does not have all SMs: other work holds them, or a limit is set. Plans are made for all of them, as a library
//! makes them that knows of neither. They give the bits that they give alone, and they end.
//!
//! The only tests with `unsafe` code: cudarc has nothing safe for these.

mod green;
pub mod raw;
mod spinner;

use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use sgemm::cuda::{Gemm, Loaded, Modules};
use sgemm::plan::Plan;
use sgemm::{Determinism, ModuleSource, Problem};

use super::library::{Device, random};
use green::Part;
use raw::Memory;
use spinner::Spinner;

/// SMs that are left to a plan beside other work.
const LEFT: u32 = 2;

/// SMs of a limit, before the device rounds them up.
const LIMIT: u32 = 8;

/// What takes longer has hung, and holds the device.
const PATIENCE: Duration = Duration::from_secs(30);

/// What counts on blocks of its own grid to run at the same time, or in an order, and what does not.
fn plans(device: &Device) -> Result<Vec<Plan>, Failed> {
    let known = device.handle.device();
    let of_steps = [
        // Tiles of a partial wave and a full one; any number of splits of each tile; clusters of 8 and of 2 blocks; persistent blocks.
        ("stream-k", Problem::new(2560, 2560, 1000)),
        ("stream-k/128x64t-many", Problem::new(512, 512, 2048)),
        ("split-k/32x64x8", Problem::new(300, 512, 2048)),
        ("tma-multicast", Problem::new(1024, 1024, 512)),
        ("fp16x3", Problem::new(1024, 1024, 1024)),
    ];
    let mut plans = Vec::new();
    for (slug, problem) in of_steps {
        let step = gpu_kernels::find(slug).ok_or_else(|| format!("there is no step {slug}"))?;
        if known.runs(step) {
            plans.push(Plan::new(step, &problem, known.sm_count)?);
        }
    }
    for m in [1, 1500] {
        let problem = Problem::new(m, 1000, 2000).with_determinism(Determinism::PerElement);
        plans.push(device.handle.plan(&problem)?.plan().clone());
    }
    Ok(plans)
}

/// A plan, what it multiplies, and what it makes of that with the device to itself.
struct Known {
    gemm: Gemm,
    memory: Memory,
    expected: Vec<f32>,
}

impl Known {
    fn new(device: &Device, plan: Plan) -> Result<Self, Failed> {
        let Device { handle, stream } = device;
        let gemm = handle.load(plan)?;
        let [a, b, ..] = gemm.problem().extents()?;
        let mut memory = Memory::new(stream, gemm.plan(), &random(a), &random(b))?;
        let mut workspace = handle.workspace(stream, gemm.workspace_bytes())?;
        let Memory { a, b, c, .. } = &mut memory;
        gemm.run(stream, 1.0, a, b, 0.0, c, &mut workspace)?;
        let expected = stream.clone_dtoh(c)?;
        if expected.iter().all(|element| *element == 0.0) {
            return Err(format!("{} leaves C as it was", gemm.kernel().slug).into());
        }
        stream.memset_zeros(c)?;
        stream.synchronize()?;
        Ok(Self { gemm, memory, expected })
    }

    /// What it is called in messages.
    fn name(&self) -> String {
        let [m, n, k] = self.gemm.problem().sizes();
        format!("{} of {m}x{n}x{k}", self.gemm.kernel().slug)
    }

    fn check(&self, device: &Device) -> Result<(), String> {
        let found = device.stream.clone_dtoh(&self.memory.c).map_err(|error| error.to_string())?;
        let mut pairs = found.iter().zip(&self.expected);
        match pairs.position(|(one, other)| one.to_bits() != other.to_bits()) {
            None => Ok(()),
            Some(at) => Err(format!("element {at} is {}, and {} alone", found[at], self.expected[at])),
        }
    }
}

/// Other work holds all SMs but two.
pub fn others_hold_sms() -> Result<(), Failed> {
    let Device { handle, .. } = Device::new()?;
    let device = Device { stream: handle.context().new_stream()?, handle };
    let Device { handle, stream } = &device;
    let mut spinner = Spinner::new(handle.context())?;
    let held = handle.device().sm_count.saturating_sub(LEFT).max(1);
    let mut found = Vec::new();
    for plan in plans(&device)? {
        let mut known = Known::new(&device, plan)?;
        let mut workspace = handle.workspace(stream, known.gemm.workspace_bytes())?;
        stream.synchronize()?;
        let others = spinner.start(held)?;
        let Memory { a, b, c, .. } = &mut known.memory;
        known.gemm.run(stream, 1.0, a, b, 0.0, c, &mut workspace)?;
        let done = stream.record_event(None)?;
        let (name, start) = (known.name(), Instant::now());
        if others.try_is_complete()? {
            found.push(format!("{name}: the other work ended before this began"));
        }
        wait(&name, || Ok(done.try_is_complete()?))?;
        let (time, when) = (start.elapsed(), if others.try_is_complete()? { "after" } else { "beside" });
        println!("{name}: done {when} the work that held {held} SMs, {:.1} ms after it was queued", milliseconds(time));
        wait(&name, || Ok(others.try_is_complete()?))?;
        found.extend(known.check(&device).err().map(|error| format!("{name}: {error}")));
    }
    if found.is_empty() { Ok(()) } else { Err(found.join("\n").into()) }
}

/// A limit leaves few SMs, for good.
pub fn a_limit_on_sms() -> Result<(), Failed> {
    let device = Device::new()?;
    let Some(part) = Part::new(device.handle.context(), LIMIT)? else {
        println!("skipped: this driver has no green contexts");
        return Ok(());
    };
    let all = plans(&device)?.into_iter().map(|plan| Known::new(&device, plan)).collect::<Result<Vec<_>, _>>()?;
    // SAFETY: the part's context is current, and outlives the modules, which are dropped before it.
    let modules = part.within(|| unsafe { Modules::new(ModuleSource::BuiltIn) })??;
    let mut found = Vec::new();
    for known in &all {
        let (name, start) = (known.name(), Instant::now());
        let outcome = run_on(&part, &modules, known).map_err(|error| format!("{error:?}"));
        println!("{name}: {:.1} ms on {} SMs, with loading", milliseconds(start.elapsed()), part.sm_count);
        let outcome = outcome.and_then(|()| known.check(&device));
        found.extend(outcome.err().map(|error| format!("{name}: {error}")));
    }
    if found.is_empty() { Ok(()) } else { Err(found.join("\n").into()) }
}

/// Runs a plan on a part of the device, and waits until it is done.
fn run_on(part: &Part, modules: &Modules, known: &Known) -> Result<(), Failed> {
    let bindings = known.memory.bindings(known.gemm.plan());
    part.within(|| {
        let loaded = Loaded::new(modules, known.gemm.plan().clone())?;
        // SAFETY: the context of the modules is current, and the stream is one of it. The memory was made for the plan; it and what is
        // loaded live until the stream is idle, and where that takes too long, the process ends.
        unsafe {
            loaded.clear_flags(part.stream, &bindings)?;
            loaded.run(part.stream, &bindings)?;
        }
        wait(&known.name(), || part.is_idle())
    })?
}

/// Asks again and again. What hangs would hang whoever waits for the device, and all that is dropped does: the process ends then.
fn wait(name: &str, mut is_done: impl FnMut() -> Result<bool, Failed>) -> Result<(), Failed> {
    let start = Instant::now();
    while !is_done()? {
        if start.elapsed() > PATIENCE {
            eprintln!("{name} is not done after {PATIENCE:?}: it hangs");
            std::process::abort();
        }
        std::hint::spin_loop();
    }
    Ok(())
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
