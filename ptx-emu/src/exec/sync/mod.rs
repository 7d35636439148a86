//! Synchronisation: barriers of blocks and clusters, mbarriers, convergence of lanes, polling, deadlock.

mod barrier_wait;
mod cluster_barrier;
mod converge;
mod deadlock;
mod departure;
mod mbarrier;
mod polling;
mod registers;
