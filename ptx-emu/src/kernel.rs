//! Modules, kernels, and launching them.

mod module;
mod traced;

pub use module::Module;

use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use crate::check::GlobalRaces;
use crate::counters::Counters;
use crate::exec::{Grid, Recording, run};
use crate::finding::{Finding, Rank};
use crate::launch::{BlockIndex, Blocks, Constants, Grouping, Launch, Plan, cluster, limits};
use crate::lower::LowerError;
use crate::memory::GlobalMemory;
use crate::program::{ParamInfo, Program};
use crate::syntax::{Frame, LaunchBounds, SourceMap, SyntaxError};

/// The host's cores, which the system is slow to tell.
static CORES: LazyLock<usize> = LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));

/// An error before or during a launch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is not valid PTX.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// The kernel has an unsupported instruction.
    #[error(transparent)]
    Lower(#[from] LowerError),
    /// There is no such kernel.
    #[error("there is no kernel `{name}`; the module has {}", if kernels.is_empty() { "none".to_owned() } else { kernels.join(", ") })]
    NoKernel {
        /// The name asked for.
        name: String,
        /// The module's kernels.
        kernels: Vec<String>,
    },
    /// The launch does not fit the kernel.
    #[error("{0}")]
    Launch(String),
}

/// A kernel of a [`Module`].
///
/// ```
/// use ptx_emu::{Class, FindingKind, GlobalMemory, Launch, Module};
///
/// // Each thread adds 1 to the same word, without a care for the others.
/// let module = Module::parse(
///     ".version 7.0
///      .target sm_80
///      .address_size 64
///      .visible .entry count(.param .u64 total)
///      {
///          .reg .b32 %r<3>;
///          .reg .b64 %rd<2>;
///          ld.param.u64 %rd1, [total];
///          ld.global.u32 %r1, [%rd1];
///          add.s32 %r2, %r1, 1;
///          st.global.u32 [%rd1], %r2;
///          ret;
///      }",
/// )?;
/// let kernel = module.kernel("count")?;
/// assert_eq!((kernel.params().len(), kernel.shared_bytes()), (1, 0));
///
/// let mut memory = GlobalMemory::default();
/// let total = memory.allocate_words([0]);
/// let report = kernel.launch(&mut memory, &Launch::new([1, 1, 1], [64, 1, 1]).argument(total.to_le_bytes()))?;
/// let race = &report.findings[0];
/// assert_eq!((race.kind, race.line), (FindingKind::Race, 11));
/// println!("{race}");
/// assert_eq!(report.counters.of(Class::GlobalLoad), 2); // by two warps
/// # Ok::<(), ptx_emu::Error>(())
/// ```
pub struct Kernel {
    pub(crate) program: Program,
    source: Arc<SourceMap>,
}

/// The report of a launch.
#[derive(Debug, Clone)]
pub struct Report {
    /// Counters, scaled up to the whole grid if a sample ran.
    pub counters: Counters,
    /// Findings, by line.
    pub findings: Vec<Finding>,
    /// The fault that ended the launch early.
    pub fault: Option<Finding>,
    /// What the kernel printed by `printf`, a call's text in one piece.
    pub output: String,
    /// The blocks of the sample; empty if all ran.
    pub sample: Vec<BlockIndex>,
    /// How many blocks ran.
    pub blocks_run: u64,
    /// How many blocks the grid has.
    pub blocks: u64,
    /// Whether it was stopped: results and counters are incomplete then.
    pub stopped: bool,
}

impl Report {
    /// Whether the enabled checkers found nothing but remarks.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.rank().is_none_or(|rank| rank == Rank::Remark)
    }

    /// Its fault, and its findings that are no remarks.
    pub fn failures(&self) -> impl Iterator<Item = &Finding> {
        self.fault.iter().chain(self.findings.iter().filter(|finding| finding.rank != Rank::Remark))
    }

    /// The gravest rank of its findings; that of a fault is [`Rank::Error`]. `None` if there are none.
    #[must_use]
    pub fn rank(&self) -> Option<Rank> {
        self.findings.iter().chain(&self.fault).map(|finding| finding.rank).min()
    }
}

impl Kernel {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.program.name
    }

    /// Its parameters.
    #[must_use]
    pub fn params(&self) -> &[ParamInfo] {
        &self.program.params
    }

    /// Its launch bounds.
    #[must_use]
    pub fn bounds(&self) -> &LaunchBounds {
        &self.program.bounds
    }

    /// Static shared memory of a block, in bytes.
    #[must_use]
    pub fn shared_bytes(&self) -> u32 {
        self.program.shared_bytes
    }

    /// Local memory of a thread, in bytes, its stack aside.
    #[must_use]
    pub fn local_bytes(&self) -> u32 {
        self.program.local_without_stack()
    }

    /// The most 32-bit registers of a thread that are live at once.
    #[must_use]
    pub fn live_registers(&self) -> u32 {
        self.program.registers
    }

    /// The registers that some path through the kernel reads before it writes them, whether or not a launch takes it; a write
    /// under a predicate is none. All of them, where a kernel is too large to tell.
    pub fn undefined_registers(&self) -> impl Iterator<Item = &str> {
        self.program.undefined.iter().map(|name| &**name)
    }

    /// Where a line of the PTX comes from, by the compiler's `.loc`: the place itself, then the calls of what was inlined there, up to the
    /// kernel's own code. Nothing where the compiler did not say.
    #[must_use]
    pub fn source(&self, line: u32) -> Vec<Frame<'_>> {
        self.source.frames(line)
    }

    /// Runs the kernel.
    ///
    /// # Errors
    /// [`Error::Launch`] where the launch does not fit the kernel. What the kernel itself does wrong is in the report.
    pub fn launch(&self, memory: &mut GlobalMemory, launch: &Launch) -> Result<Report, Error> {
        Ok(self.run(memory, launch, None)?.0)
    }

    /// Runs the kernel, and records it if told so.
    fn run(
        &self,
        memory: &mut GlobalMemory,
        launch: &Launch,
        recording: Option<Recording>,
    ) -> Result<(Report, Option<Recording>), Error> {
        let (params, cluster) = self.check(launch)?;
        memory.map_module(&self.program.image);
        let constants = Constants::new(&self.program.image, memory, launch).map_err(|text| self.refuse(&text))?;
        if self.program.uses_workspace() {
            memory.set_workspace();
        }
        if self.program.uses_heap() {
            memory.set_heap();
        }
        let grid = Grid {
            program: &self.program,
            memory,
            params: &params,
            constants: &constants,
            grid: launch.grid,
            block: launch.block,
            cluster,
            dynamic_shared: launch.dynamic_shared_bytes,
            sm_count: launch.sm_count,
            resident_clusters: limits::resident_clusters(&self.program, launch, limits::product(cluster)) as usize,
            checks: launch.checks,
            global_races: launch.checks.global_races.then(|| GlobalRaces::new(self.program.global_granule)),
            wide_atomics: Mutex::new(()),
            output: Mutex::default(),
            max_instructions: launch.max_instructions,
            stop: launch.stop.as_deref(),
            recording,
        };
        // Clusters are sampled, run and counted whole.
        let clusters = std::array::from_fn(|dimension| launch.grid[dimension] / cluster[dimension]);
        let plan = Plan::new(launch.blocks, clusters);
        let threads = if launch.threads == 0 { *CORES } else { launch.threads };
        // A thread without a cluster would only cost its start.
        let threads = threads.min(clusters.into_iter().map(|count| count as usize).fold(1, usize::saturating_mul));
        let outcome = run(&grid, &plan, threads);
        let blocks = launch.grid.into_iter().map(u64::from).product();
        let blocks_run = outcome.classes.iter().map(|class| class.blocks).sum();
        let size: u64 = cluster.into_iter().map(u64::from).product();
        let factor = |class: usize, run: u64| match plan.population(class) {
            _ if run == 0 => 0.0,
            Some(clusters) => (clusters * size) as f64 / run as f64,
            None => 1.0,
        };
        let scaled = outcome.classes.iter().enumerate().map(|(index, class)| (factor(index, class.blocks), class));
        let counters = Counters::new(&self.program, scaled);
        let mut findings = outcome.findings;
        sort(&mut findings);
        let recording = grid.recording;
        let is_full = recording.as_ref().is_some_and(Recording::is_full);
        let stopped = is_full || launch.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Acquire));
        let output = grid.output.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (fault, sample) = (outcome.fault, outcome.blocks);
        Ok((Report { counters, findings, fault, output, sample, blocks_run, blocks, stopped }, recording))
    }

    fn refuse(&self, text: &str) -> Error {
        Error::Launch(format!("{} cannot be launched: {text}", self.program.name))
    }

    /// The parameters as bytes and the cluster dimensions, if the launch is valid.
    fn check(&self, launch: &Launch) -> Result<(Vec<u8>, [u32; 3]), Error> {
        let Program { params, bounds, .. } = &self.program;
        let fail = |text: String| Err(self.refuse(&text));
        if let Err(text) = limits::check_sizes(&self.program, launch) {
            return fail(text);
        }
        let ([x, y, z], threads) = (launch.block, limits::product(launch.block));
        if bounds.required_threads.is_some_and(|required| required != launch.block) {
            return fail(format!("its .reqntid is not {x} x {y} x {z}"));
        }
        if bounds.max_threads.is_some_and(|most| threads > limits::product(most)) {
            return fail(format!("{threads} threads a block are more than its .maxntid"));
        }
        let cluster = match cluster::of_launch(bounds, launch) {
            Ok(cluster) => cluster,
            Err(text) => return fail(text),
        };
        if let Err(text) = limits::check_memory(&self.program, launch, limits::product(cluster)) {
            return fail(text);
        }
        if let Blocks::Sample { grouping: Grouping::StreamK { blocks, groups, tiles, columns }, .. } = launch.blocks {
            let [x, y, z] = launch.grid;
            let all_tiles = x.checked_sub(blocks).and_then(|others| others.checked_add(tiles)).unwrap_or(0);
            if all_tiles == 0 || columns == 0 || all_tiles % columns != 0 || y * z != 1 || cluster != [1; 3] {
                return fail(format!("{blocks} blocks, then rows of {columns}, do not fit a grid of {x} x {y} x {z}"));
            }
            if groups == 0 || blocks % groups != 0 {
                return fail(format!("{blocks} blocks are not {groups} groups of equal size"));
            }
        }
        if params.len() != launch.arguments.len() {
            return fail(format!("it takes {} arguments, {} are given", params.len(), launch.arguments.len()));
        }
        let mut bytes = vec![0; self.program.param_bytes as usize];
        for (index, (param, argument)) in params.iter().zip(&launch.arguments).enumerate() {
            if argument.len() != param.bytes as usize {
                let (number, given) = (index + 1, argument.len());
                return fail(format!("argument {number} has {} bytes, {given} are given", param.bytes));
            }
            bytes[param.offset as usize..][..argument.len()].copy_from_slice(argument);
        }
        Ok((bytes, cluster))
    }
}

/// Sorts findings by line, and keeps the gravest of each kind for each pair of lines, that of the first block.
fn sort(findings: &mut Vec<Finding>) {
    let lines = |f: &Finding| (f.line.min(f.other.unwrap_or(f.line)), f.line.max(f.other.unwrap_or(f.line)), f.kind);
    findings.sort_by_cached_key(|finding| {
        let ([x, y, z], [bx, by, bz]) = (finding.thread.thread, finding.thread.block);
        (lines(finding), finding.rank, [bz, by, bx, z, y, x], finding.line, finding.what.clone())
    });
    findings.dedup_by(|a, b| lines(a) == lines(b));
    findings.sort_by_key(|finding| (finding.line, finding.kind));
}
