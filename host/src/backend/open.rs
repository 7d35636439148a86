//! Which backend, and how to come by it.

use std::time::Duration;

use super::Backend;
use super::cuda::CudaBackend;
use super::emulator::{BUDGET, EmulatorBackend, MODELS, Model};
use crate::{Error, PtxSource, Stop};

/// A backend as the command line names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendChoice {
    /// A CUDA device where there is one, the emulator elsewhere.
    Auto,
    /// A CUDA device.
    Cuda,
    /// The project's PTX emulator, on the CPU.
    Emulator,
}

/// What a backend is opened with.
#[derive(Debug, Clone)]
pub struct Options {
    /// The CUDA device, counted as the driver counts, from 0.
    pub device_ordinal: usize,
    /// Where kernels come from.
    pub ptx: PtxSource,
    /// Whether a CUDA device gets all that a step launches in one piece, as a CUDA graph.
    pub graphs: bool,
    /// The device that the emulator stands for.
    pub model: &'static Model,
    /// How long the emulator may run one kernel on one problem before it leaves blocks out; `None` runs all of them.
    pub budget: Option<Duration>,
    /// Once it is raised, nothing is prepared, run or timed any more, and what goes on then ends with [`Error::Interrupted`].
    pub stop: Stop,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            device_ordinal: 0,
            ptx: PtxSource::BuiltIn,
            graphs: false,
            model: &MODELS[0],
            budget: Some(BUDGET),
            stop: Stop::default(),
        }
    }
}

/// A backend that is ready.
pub struct Opened {
    /// The backend.
    pub backend: Box<dyn Backend>,
    /// Why it is not CUDA, where that would have been the choice.
    pub no_cuda: Option<Error>,
}

/// Opens a backend.
///
/// ```
/// use host::backend::{BackendChoice, Options, open};
/// use host::measure::kernels;
/// use host::verify::Coverage;
/// use host::{Kernel, Operands, Problem};
///
/// let problem = Problem::new(33, 17, 20)?;
/// let kernel = Kernel::Step(kernels::find("coalesced")?);
/// // All blocks, however long that takes.
/// let mut backend = open(BackendChoice::Emulator, Options { budget: None, ..Options::default() })?.backend;
/// backend.upload(&Operands::random(&problem)?)?;
/// assert_eq!(backend.run(kernel, &problem)?, Coverage::Whole { blocks: Some(2) });
/// let Operands { a, b, c } = backend.download()?;
/// let sum: f32 = (0..20).map(|p| a.get(32, p) * b.get(p, 16)).sum();
/// assert!((c.get(32, 16) - sum).abs() < 1e-5);
/// # Ok::<(), host::Error>(())
/// ```
///
/// # Errors
/// [`Error::NoDriver`] or [`Error::NoDevice`] where there is no such device, [`Error::Cuda`] where it cannot be used. The
/// automatic choice fails only where there are devices, but not the one that was asked for.
pub fn open(choice: BackendChoice, options: Options) -> Result<Opened, Error> {
    let no_cuda = match choice {
        BackendChoice::Emulator => None,
        BackendChoice::Auto | BackendChoice::Cuda => {
            match CudaBackend::new(options.device_ordinal, options.ptx.clone(), options.graphs) {
                Ok(backend) => {
                    let backend = Box::new(backend.with_stop(options.stop));
                    return Ok(Opened { backend, no_cuda: None });
                }
                Err(error) if choice == BackendChoice::Cuda => return Err(error),
                Err(error @ Error::NoDevice { count: 1.., .. }) => return Err(error),
                Err(error) => Some(error),
            }
        }
    };
    let Options { ptx, model, budget, stop, .. } = options;
    Ok(Opened { backend: Box::new(EmulatorBackend::new(ptx, model, budget).with_stop(stop)), no_cuda })
}
