//! A backend of plain loops on the CPU, right or wrong on purpose: it shows that the contract holds for a right kernel
//! and fails for wrong ones, without a GPU.

use host::backend::{Backend, Conditions, Device, Kernel};
use host::verify::Coverage;
use host::verify::element::round;
use host::{Error, Matrix, Operands, Problem};

/// A mistake that kernels make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    /// C is overwritten, whatever beta is.
    IgnoresBeta,
    /// beta\*C is added where beta is 0, too.
    ReadsCAtBeta0,
    /// A and B are read where alpha is 0, too.
    ReadsInputsAtAlpha0,
    /// The last product of each sum is left out.
    ForgetsLastProduct,
    /// One element more is written in each row.
    WritesPastRow,
    /// Rows of C are taken to follow each other without a gap.
    IgnoresLdc,
    /// Rows of B are taken to lie as far apart as those of A.
    TakesLdaForLdb,
    /// The last column is left as it was.
    SkipsLastColumn,
    /// Values of A that are not normal count as 0.
    FlushesSubnormals,
    /// Values of A are split into hi and lo and added up again, which makes NaN of infinity.
    SplitsInfinities,
    /// The first launch alone computes anything.
    WorksOnce,
    /// Launches after the first one leave out the last product of each sum.
    ForgetsLastProductLater,
}

impl Mistake {
    /// Mistakes that show where numbers are at the ends of f32, or are none.
    pub const OF_RANGE: [Self; 2] = [Self::FlushesSubnormals, Self::SplitsInfinities];

    /// Mistakes that the first launch does not make.
    pub const LATER: [Self; 2] = [Self::WorksOnce, Self::ForgetsLastProductLater];

    /// Every other mistake.
    pub const ALL: [Self; 8] = [
        Self::IgnoresBeta,
        Self::ReadsCAtBeta0,
        Self::ReadsInputsAtAlpha0,
        Self::ForgetsLastProduct,
        Self::WritesPastRow,
        Self::IgnoresLdc,
        Self::TakesLdaForLdb,
        Self::SkipsLastColumn,
    ];
}

/// Runs every kernel as the same three loops.
#[derive(Debug)]
pub struct CpuBackend {
    device: Device,
    operands: Option<Operands>,
    mistake: Option<Mistake>,
    /// Since the operands were uploaded.
    launches: u32,
}

impl CpuBackend {
    /// A backend that makes this mistake, or none.
    #[must_use]
    pub fn new(mistake: Option<Mistake>) -> Self {
        let device = Device {
            name: "CPU".to_owned(),
            compute_capability: (9, 0),
            sm_count: 1,
            max_clock_mhz: 1000,
            l2_bytes: 0,
            memory_bytes: 1 << 32,
            driver: String::new(),
            cuda: String::new(),
            cublas: None,
        };
        Self { device, operands: None, mistake, launches: 0 }
    }

    fn launch(&mut self, problem: &Problem) {
        let mistake = match self.mistake {
            Some(Mistake::ForgetsLastProductLater) if self.launches > 0 => Some(Mistake::ForgetsLastProduct),
            mistake => mistake,
        };
        let is_idle = mistake == Some(Mistake::WorksOnce) && self.launches > 0;
        if let Some(operands) = self.operands.as_mut().filter(|_| !is_idle) {
            sgemm(problem, operands, mistake);
        }
        self.launches += 1;
    }

    /// The same backend, on a device with so much memory.
    #[must_use]
    pub fn with_memory_bytes(mut self, memory_bytes: u64) -> Self {
        self.device.memory_bytes = memory_bytes;
        self
    }
}

impl Backend for CpuBackend {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn device(&self) -> &Device {
        &self.device
    }

    fn is_modelled(&self) -> bool {
        false
    }

    fn conditions(&self) -> Option<Conditions> {
        None
    }

    fn prepare(&mut self, kernel: Kernel) -> Result<(), Error> {
        match kernel {
            Kernel::Step(_) => Ok(()),
            Kernel::Cublas(_) => Err(Error::NoCublas { reason: "this is a CPU".to_owned() }),
        }
    }

    fn upload(&mut self, operands: &Operands) -> Result<(), Error> {
        (self.operands, self.launches) = (Some(operands.clone()), 0);
        Ok(())
    }

    fn run(&mut self, _kernel: Kernel, problem: &Problem) -> Result<Coverage, Error> {
        self.launch(problem);
        Ok(Coverage::Whole { blocks: None })
    }

    fn restore(&mut self, c: &Matrix) -> Result<(), Error> {
        self.operands.as_mut().ok_or_else(missing)?.c = c.clone();
        Ok(())
    }

    fn download(&mut self) -> Result<Operands, Error> {
        self.operands.clone().ok_or_else(missing)
    }

    fn time(
        &mut self,
        _kernel: Kernel,
        problem: &Problem,
        warmup: u32,
        iterations: u32,
        launched: &mut dyn FnMut(),
    ) -> Result<Vec<f32>, Error> {
        (0..warmup).for_each(|_| self.launch(problem));
        let times = (0..iterations).map(|i| {
            self.launch(problem);
            launched();
            1.0 + i as f32
        });
        Ok(times.collect())
    }
}

fn missing() -> Error {
    Error::Emulator { what: "use the operands".into(), reason: "none were uploaded".into() }
}

/// C = alpha\*A\*B + beta\*C on the whole buffers, so that a mistake can reach what lies beside the elements.
fn sgemm(problem: &Problem, operands: &mut Operands, mistake: Option<Mistake>) {
    let wrong = |which| mistake == Some(which);
    let Problem { gemm: sgemm::Product { m, n, k, .. }, alpha, beta, .. } = *problem;
    let [lda, ldb, ldc] = [problem.lda, problem.ldb, problem.ldc].map(|ld| ld as usize);
    let (m, mut n, mut k) = (m as usize, n as usize, k as usize);
    let ldb = if wrong(Mistake::TakesLdaForLdb) { lda } else { ldb };
    let ldc = if wrong(Mistake::IgnoresLdc) { n } else { ldc };
    if wrong(Mistake::ForgetsLastProduct) {
        k = k.saturating_sub(1);
    }
    if wrong(Mistake::SkipsLastColumn) {
        n = n.saturating_sub(1);
    }
    if wrong(Mistake::WritesPastRow) {
        n += 1;
    }
    let reads_inputs = alpha != 0.0 || wrong(Mistake::ReadsInputsAtAlpha0);
    let reads_c = (beta != 0.0 || wrong(Mistake::ReadsCAtBeta0)) && !wrong(Mistake::IgnoresBeta);
    for i in 0..m {
        let mut sums = vec![0.0f32; n];
        for p in (0..k).filter(|_| reads_inputs) {
            let a = match at(&operands.a, i * lda + p) {
                a if wrong(Mistake::FlushesSubnormals) && a.is_subnormal() => 0.0,
                a if wrong(Mistake::SplitsInfinities) => {
                    let high = f32::from_bits(a.to_bits() & !0xfff);
                    high + (a - high)
                }
                a => a,
            };
            sums.iter_mut().enumerate().for_each(|(j, sum)| *sum += a * at(&operands.b, p * ldb + j));
        }
        for (j, sum) in sums.into_iter().enumerate() {
            let old = if reads_c { beta * at(&operands.c, i * ldc + j) } else { 0.0 };
            let offset = operands.c.interior_offset();
            let element = operands.c.element();
            operands.c.as_mut_slice()[offset + i * ldc + j] = round(element, alpha * sum + old);
        }
    }
}

/// The element at this distance from element (0, 0); NaN outside of the buffer.
fn at(matrix: &Matrix, distance: usize) -> f32 {
    matrix.as_slice().get(matrix.interior_offset() + distance).copied().unwrap_or(f32::NAN)
}
