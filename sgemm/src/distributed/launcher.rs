//! Which rank a process is, by the environment of whoever started it.

use std::env;

use crate::Error;

/// A process among those that a launcher started together: `torchrun`, `mpirun` of Open MPI, `srun`, or whoever sets torchrun's variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launched {
    /// Its number among all.
    pub rank: usize,
    /// All of them.
    pub ranks: usize,
    /// Its number among those of its host.
    pub local_rank: usize,
    /// Where ranks meet: the host of rank 0.
    pub host: String,
    /// The port there. It is none of the launcher's: the agent of `torchrun` listens at `MASTER_PORT`, so that another one is derived from
    /// it.
    pub port: u16,
}

/// The names that a launcher gives to what it says.
struct Names {
    rank: &'static str,
    ranks: &'static str,
    local_rank: &'static str,
    local_ranks: &'static str,
}

const TORCHRUN: Names =
    Names { rank: "RANK", ranks: "WORLD_SIZE", local_rank: "LOCAL_RANK", local_ranks: "LOCAL_WORLD_SIZE" };

const MPIRUN: Names = Names {
    rank: "OMPI_COMM_WORLD_RANK",
    ranks: "OMPI_COMM_WORLD_SIZE",
    local_rank: "OMPI_COMM_WORLD_LOCAL_RANK",
    local_ranks: "OMPI_COMM_WORLD_LOCAL_SIZE",
};

/// Its count of local tasks is a list, such as `4(x2)`: none is checked.
const SRUN: Names = Names { rank: "SLURM_PROCID", ranks: "SLURM_NTASKS", local_rank: "SLURM_LOCALID", local_ranks: "" };

/// Set in steps that `srun` starts, and not in the script of a job, which has the other variables, too.
const STEP: &str = "SLURM_STEP_ID";

/// The hosts of a step, then those of the job, as far as the step says nothing.
const NODES: [&str; 3] = ["SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"];

/// What names the job, so that two jobs on one host meet at two ports.
const JOB: [&str; 4] = ["PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "SLURM_JOB_ID", STEP];

impl Launched {
    /// By the process's environment; `None` where no launcher started it.
    ///
    /// `torchrun` is asked first, then `mpirun`, then `srun`: each can be started by those behind it. `MASTER_ADDR` and `MASTER_PORT`
    /// say where ranks meet for all of them. Without, that is this host where `mpirun` uses no other, and the first host of the step of
    /// `srun`.
    ///
    /// # Errors
    /// [`Error::Launcher`] where something is missing or is a contradiction.
    pub fn from_environment() -> Result<Option<Self>, Error> {
        Self::from_variables(|name| env::var(name).ok())
    }

    /// The same by other variables than those of the process.
    ///
    /// # Errors
    /// As of [`Self::from_environment`].
    ///
    /// ```
    /// use sgemm::distributed::Launched;
    ///
    /// let variables = [("RANK", "3"), ("WORLD_SIZE", "4"), ("LOCAL_RANK", "1"), ("MASTER_ADDR", "n0"), ("MASTER_PORT", "29500")];
    /// let find = |name: &str| variables.iter().find(|(given, _)| *given == name).map(|(_, value)| value.to_string());
    /// let launched = Launched::from_variables(find)?.expect("torchrun");
    /// assert_eq!((launched.rank, launched.ranks, launched.local_rank), (3, 4, 1));
    /// # Ok::<(), sgemm::Error>(())
    /// ```
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, Error> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let has = |names: &[&str]| names.iter().any(|name| variable(name).is_some());
        let (names, host) = if has(&[TORCHRUN.rank, TORCHRUN.ranks]) {
            (TORCHRUN, None)
        } else if has(&[MPIRUN.rank, MPIRUN.ranks]) {
            let counts = [MPIRUN.ranks, MPIRUN.local_ranks].map(variable);
            (MPIRUN, (counts[0].is_some() && counts[0] == counts[1]).then(|| "127.0.0.1".to_owned()))
        } else if has(&[STEP]) {
            (SRUN, NODES.iter().find_map(|name| variable(name)).map(|nodes| first_node(&nodes)))
        } else {
            return Ok(None);
        };
        let rank = number(&variable, names.rank, names.rank)?;
        let ranks = number(&variable, names.ranks, names.rank)?;
        let local_rank = number(&variable, names.local_rank, names.rank)?;
        below(names.rank, rank, names.ranks, ranks)?;
        below(names.local_rank, local_rank, names.ranks, ranks)?;
        if variable(names.local_ranks).is_some() {
            let local_ranks = number(&variable, names.local_ranks, names.rank)?;
            below(names.local_rank, local_rank, names.local_ranks, local_ranks)?;
        }
        let Some(host) = variable("MASTER_ADDR").or(host) else { return Err(missing("MASTER_ADDR", names.rank)) };
        let port = match variable("MASTER_PORT") {
            Some(_) => derived(number(&variable, "MASTER_PORT", names.rank)? as u64),
            None if names.rank == TORCHRUN.rank => return Err(missing("MASTER_PORT", names.rank)),
            None => derived(hash(JOB.iter().filter_map(|name| variable(name)))),
        };
        Ok(Some(Self { rank, ranks, local_rank, host, port }))
    }

    /// The number of this process's device, where it sees so many: the one that has its local rank, or the only one that the launcher lets it
    /// see.
    ///
    /// # Errors
    /// [`Error::Launcher`] where there are too few.
    pub fn ordinal(&self, devices: usize) -> Result<usize, Error> {
        match devices {
            1 => Ok(0),
            devices if self.local_rank < devices => Ok(self.local_rank),
            devices => Err(Error::Launcher {
                reason: format!("local rank {}: this process sees {devices} devices", self.local_rank),
            }),
        }
    }
}

/// A variable that must be there, since `other` is.
fn number(variable: &dyn Fn(&str) -> Option<String>, name: &str, other: &str) -> Result<usize, Error> {
    let Some(value) = variable(name) else { return Err(missing(name, other)) };
    value.parse().map_err(|_| Error::Launcher { reason: format!("{name} = {value} is no number") })
}

fn missing(name: &str, other: &str) -> Error {
    let because = if name == other { "those that come with it are" } else { other };
    let verb = if name == other { "" } else { " is" };
    Error::Launcher { reason: format!("{name} is not set, and {because}{verb}") }
}

fn below(name: &str, value: usize, count_name: &str, count: usize) -> Result<(), Error> {
    if value < count {
        return Ok(());
    }
    Err(Error::Launcher { reason: format!("{name} = {value}, but {count_name} = {count}") })
}

/// Below the ports that systems give to outgoing connections. It differs from a `seed` that is a port, since the count divides no
/// multiple of the first: a port p is its own only where p = 20000 + p mod 12000.
fn derived(seed: u64) -> u16 {
    const FIRST: u16 = 20_000;
    const COUNT: u64 = 12_000;
    FIRST + (seed % COUNT) as u16
}

/// FNV-1a.
fn hash(texts: impl Iterator<Item = String>) -> u64 {
    let bytes = texts.flat_map(String::into_bytes);
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// The first host of a list of Slurm, such as `node[03-05,9],login`.
fn first_node(list: &str) -> String {
    let (mut name, mut rest) = (String::new(), list);
    while let Some(at) = rest.find(['[', ',']) {
        name.push_str(&rest[..at]);
        if rest[at..].starts_with(',') {
            return name;
        }
        let (numbers, behind) = rest[at + 1..].split_once(']').unwrap_or((&rest[at + 1..], ""));
        name.extend(numbers.split(['-', ',']).next());
        rest = behind;
    }
    name + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launched(variables: &[(&str, &str)]) -> Result<Option<Launched>, String> {
        let find =
            |name: &str| variables.iter().find(|(given, _)| *given == name).map(|(_, value)| (*value).to_owned());
        Launched::from_variables(find).map_err(|error| error.to_string())
    }

    fn refused(variables: &[(&str, &str)]) -> String {
        launched(variables).unwrap_err().replace("cannot tell from the environment which rank this is: ", "")
    }

    const TORCH: [(&str, &str); 6] = [
        ("RANK", "5"),
        ("WORLD_SIZE", "8"),
        ("LOCAL_RANK", "1"),
        ("LOCAL_WORLD_SIZE", "4"),
        ("MASTER_ADDR", "10.0.0.1"),
        ("MASTER_PORT", "29500"),
    ];

    const MPI: [(&str, &str); 5] = [
        ("OMPI_COMM_WORLD_RANK", "2"),
        ("OMPI_COMM_WORLD_SIZE", "4"),
        ("OMPI_COMM_WORLD_LOCAL_RANK", "2"),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "4"),
        ("PMIX_NAMESPACE", "prterun-n0-4242@1"),
    ];

    const SLURM: [(&str, &str); 6] = [
        ("SLURM_STEP_ID", "0"),
        ("SLURM_JOB_ID", "77"),
        ("SLURM_PROCID", "3"),
        ("SLURM_NTASKS", "4"),
        ("SLURM_LOCALID", "1"),
        ("SLURM_STEP_NODELIST", "gpu[07-08]"),
    ];

    fn with<'a>(all: &[(&'a str, &'a str)], name: &'a str, value: &'a str) -> Vec<(&'a str, &'a str)> {
        std::iter::once((name, value)).chain(all.iter().copied()).collect()
    }

    fn without<'a>(all: &[(&'a str, &'a str)], name: &str) -> Vec<(&'a str, &'a str)> {
        all.iter().copied().filter(|(given, _)| *given != name).collect()
    }

    #[test]
    fn each_launcher_is_understood() {
        let of_torch = launched(&TORCH).unwrap().unwrap();
        let expected = Launched { rank: 5, ranks: 8, local_rank: 1, host: "10.0.0.1".into(), port: 25500 };
        assert_eq!(of_torch, expected);
        let of_mpi = launched(&MPI).unwrap().unwrap();
        assert_eq!((of_mpi.rank, of_mpi.ranks, of_mpi.local_rank, of_mpi.host.as_str()), (2, 4, 2, "127.0.0.1"));
        let of_slurm = launched(&SLURM).unwrap().unwrap();
        assert_eq!((of_slurm.rank, of_slurm.ranks, of_slurm.local_rank, of_slurm.host.as_str()), (3, 4, 1, "gpu07"));
        // Another job, another port.
        let other = launched(&with(&SLURM, "SLURM_JOB_ID", "78")).unwrap().unwrap();
        assert_ne!(of_slurm.port, other.port);
    }

    #[test]
    fn no_launcher_is_none() {
        assert_eq!(launched(&[]), Ok(None));
        assert_eq!(launched(&[("MASTER_ADDR", "n0"), ("RANK", "")]), Ok(None));
        // The script of a job is no step.
        assert_eq!(launched(&without(&SLURM, "SLURM_STEP_ID")), Ok(None));
    }

    #[test]
    fn one_launcher_may_start_another() {
        let both: Vec<_> = SLURM.iter().chain(&MPI).copied().collect();
        assert_eq!(launched(&both).unwrap().unwrap().rank, 2);
        let all: Vec<_> = both.iter().chain(&TORCH).copied().collect();
        assert_eq!(launched(&all).unwrap().unwrap().rank, 5);
    }

    #[test]
    fn the_address_can_be_given() {
        let given = [("MASTER_ADDR", "n9"), ("MASTER_PORT", "1234")];
        for variables in [&MPI[..], &SLURM[..]] {
            let all: Vec<_> = given.iter().chain(variables).copied().collect();
            let launched = launched(&all).unwrap().unwrap();
            assert_eq!((launched.host.as_str(), launched.port), ("n9", 21234));
        }
    }

    #[test]
    fn what_is_missing_or_contradicts_is_named() {
        for (name, text) in [
            ("RANK", "RANK is not set, and those that come with it are"),
            ("WORLD_SIZE", "WORLD_SIZE is not set, and RANK is"),
            ("LOCAL_RANK", "LOCAL_RANK is not set, and RANK is"),
            ("MASTER_ADDR", "MASTER_ADDR is not set, and RANK is"),
            ("MASTER_PORT", "MASTER_PORT is not set, and RANK is"),
        ] {
            assert_eq!(refused(&without(&TORCH, name)), text);
        }
        assert_eq!(refused(&with(&TORCH, "RANK", "8")), "RANK = 8, but WORLD_SIZE = 8");
        assert_eq!(refused(&with(&TORCH, "LOCAL_RANK", "4")), "LOCAL_RANK = 4, but LOCAL_WORLD_SIZE = 4");
        assert_eq!(refused(&with(&TORCH, "WORLD_SIZE", "x")), "WORLD_SIZE = x is no number");
        // Several hosts of mpirun: it does not say which is the first.
        let several = with(&MPI, "OMPI_COMM_WORLD_LOCAL_SIZE", "3");
        assert_eq!(refused(&several), "MASTER_ADDR is not set, and OMPI_COMM_WORLD_RANK is");
        assert_eq!(refused(&without(&SLURM, "SLURM_NTASKS")), "SLURM_NTASKS is not set, and SLURM_PROCID is");
        assert_eq!(refused(&with(&SLURM, "SLURM_LOCALID", "9")), "SLURM_LOCALID = 9, but SLURM_NTASKS = 4");
    }

    #[test]
    fn the_first_host_of_a_list() {
        for (list, first) in [
            ("n1", "n1"),
            ("n1,n2", "n1"),
            ("n[1-4]", "n1"),
            ("n[03,5-9],m1", "n03"),
            ("r[1-2]n[07-08].x,m", "r1n07.x"),
            ("n[5", "n5"),
        ] {
            assert_eq!(first_node(list), first, "{list}");
        }
    }

    #[test]
    fn the_port_is_never_the_launchers() {
        assert!((0..=u64::from(u16::MAX)).all(|port| u64::from(derived(port)) != port));
    }

    #[test]
    fn a_device_for_each_local_rank() {
        let launched = launched(&TORCH).unwrap().unwrap();
        assert_eq!([launched.ordinal(4), launched.ordinal(1)], [Ok(1), Ok(0)]);
        let error = Launched { local_rank: 3, ..launched }.ordinal(2).unwrap_err();
        assert!(error.to_string().ends_with("local rank 3: this process sees 2 devices"));
    }
}
