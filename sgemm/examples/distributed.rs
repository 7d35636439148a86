//! C = A\*B over several GPUs, one process for each, under any launcher: `torchrun --no-python --nproc-per-node 2 PROGRAM`, `mpirun -n 2
//! PROGRAM`, `srun -n 2 PROGRAM`. Alone it is the only rank.

use sgemm::Problem;
use sgemm::cuda::{Handle, open, open_driver};
use sgemm::cudarc::driver::CudaContext;
use sgemm::distributed::nccl::{Communicator, GRACE, Reduction};
use sgemm::distributed::{Launched, Scheme};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let alone = Launched { rank: 0, ranks: 1, local_rank: 0, host: "127.0.0.1".into(), port: 0 };
    let launched = Launched::from_environment()?.unwrap_or(alone);
    let Ok(()) = open_driver().inspect_err(|error| println!("{error}")) else { return Ok(()) };
    let devices = usize::try_from(CudaContext::device_count()?)?;
    let context = open(launched.ordinal(devices)?)?;
    let handle = Handle::new(&context)?;
    let communicator = match Communicator::launched(&handle, &launched, GRACE) {
        Err(error @ (sgemm::Error::NoNccl { .. } | sgemm::Error::NcclTooOld { .. })) => {
            println!("{error}");
            return Ok(());
        }
        communicator => communicator?,
    };

    // Every rank has its rows of A, B and C, in panels.
    let (m, n, k) = (1000, 500, 200);
    let problem = Problem::new(m, n, k);
    let scheme = Scheme::row_panels([m, n, k], communicator.ranks());
    let mut gemm = communicator.plan(&problem, &scheme)?;
    let share = *gemm.plan().share();
    let elements = |[rows, columns]: [usize; 2]| (rows * columns).max(1);
    let stream = context.default_stream();
    let a = stream.clone_htod(&vec![1.0_f32; elements(share.a)])?;
    let b = stream.clone_htod(&vec![2.0_f32; elements(share.b)])?;
    let mut c = stream.alloc_zeros::<f32>(elements(share.c))?;
    gemm.run(&stream, 1.0, &a, &b, 0.0, &mut c)?;
    gemm.wait(GRACE)?;

    let [rows, columns] = share.c;
    let own: f64 = stream.clone_dtoh(&c)?[..rows * columns].iter().map(|element| f64::from(*element)).sum();
    let mut sum = [own];
    communicator.all_reduce(Reduction::Sum, &mut sum)?;
    assert_eq!(sum, [400.0 * (m * n) as f64]);
    let by = if gemm.uses_copy_engines() { "copy engines" } else { "kernels" };
    println!("rank {} of {}: gathered by {by} of NCCL {}", launched.rank, launched.ranks, communicator.nccl_version());
    Ok(())
}
