//! What communicators ask NCCL, and what they do with its answers.

use super::super::fake::{self, Fake, REMOTE};
use super::*;

const LONG: Duration = Duration::from_secs(60);

const MESSAGE: Message = Message { send: 0x100, receive: 0x200, count: 40, element: sys::UINT8 };

fn joined(fake: &'static Fake, limit: Duration) -> Result<Comm, Error> {
    let mut id = UniqueId([0; sys::ID_BYTES]);
    let address = fake.raw().expose_provenance().to_ne_bytes();
    id.0.iter_mut().zip(address).for_each(|(place, byte)| *place = byte.cast_signed());
    Comm::init(fake::library(22809), id, 2, 4, Patience::new(limit))
}

fn gather(comm: &Comm, limit: Duration) -> Result<(), Error> {
    // SAFETY: the stand-in reads and writes nothing.
    unsafe { comm.all_gather(MESSAGE, ptr::null_mut(), || "AllGather of chunk 1 of B".into(), Patience::new(limit)) }
}

#[test]
fn calls_are_waited_for_until_the_communicator_is_ready() {
    let fake = Fake::leaked();
    fake.state().states = [IN_PROGRESS; 3].into();
    fake.state().returns = [IN_PROGRESS].into();
    let comm = joined(fake, LONG).unwrap();
    // One that returns success has still to be waited for.
    fake.state().states = [IN_PROGRESS; 5].into();
    gather(&comm, LONG).unwrap();
    assert!(fake.state().states.is_empty());
    drop(comm);
    assert_eq!(fake.calls(), ["init 2", "all gather 40 of 1", "finalize", "destroy"]);
}

#[test]
fn what_fails_is_named_and_aborted_once() {
    let fake = Fake::leaked();
    let comm = joined(fake, LONG).unwrap();
    fake.state().states = [IN_PROGRESS, REMOTE].into();
    let expected = "rank 2, AllGather of chunk 1 of B: remote process exited or there was a network error";
    assert_eq!(gather(&comm, LONG).unwrap_err().to_string(), expected);
    assert!(gather(&comm, LONG).unwrap_err().to_string().ends_with("the communicator has failed before"));
    comm.abort();
    comm.abort();
    assert!(comm.check(|| "product".into()).unwrap_err().to_string().ends_with("the communicator was aborted"));
    drop(comm);
    assert_eq!(fake.calls(), ["init 2", "all gather 40 of 1", "abort"]);
}

#[test]
fn errors_of_calls_and_those_found_later_are_told() {
    let fake = Fake::leaked();
    let comm = joined(fake, LONG).unwrap();
    fake.state().returns = [REMOTE].into();
    assert!(gather(&comm, LONG).unwrap_err().to_string().starts_with("rank 2, AllGather of chunk 1 of B: remote"));
    let fake = Fake::leaked();
    let comm = joined(fake, LONG).unwrap();
    comm.check(|| "product".into()).unwrap();
    fake.state().always = REMOTE;
    assert!(comm.check(|| "product".into()).unwrap_err().to_string().starts_with("rank 2, product: remote process"));
    drop(comm);
    assert_eq!(fake.calls(), ["init 2", "abort"]);
}

#[test]
fn who_never_gets_ready_is_given_up() {
    let fake = Fake::leaked();
    fake.state().always = IN_PROGRESS;
    let error = joined(fake, Duration::from_millis(5)).unwrap_err().to_string();
    assert!(
        error.starts_with("rank 2, set up a communicator of 4 ranks: not done after 0.0 s: another rank"),
        "{error}"
    );
    assert_eq!(fake.calls(), ["init 2", "abort"]);
}

#[test]
fn axes_are_split_without_kernels_where_nccl_can() {
    for (version, policy) in [(22809, sys::CTA_POLICY_ZERO), (22707, sys::UNDEFINED)] {
        let (world, axis) = (Fake::leaked(), Fake::leaked());
        world.state().child = Some(axis);
        // SAFETY: the stand-in lives to the end of the process.
        let comm = unsafe { Comm::borrowed(world.raw(), fake::library(version)) }.unwrap();
        assert_eq!(comm.rank(), 3);
        let of_axis = comm.split(6, 1, 16, Patience::new(LONG)).unwrap();
        assert_eq!(world.state().config, Some((0, 16, policy)));
        // Its own ends, the owner's does not.
        drop(of_axis);
        drop(comm);
        assert_eq!(
            (world.calls(), axis.calls()),
            (vec!["split 6 1".into()], vec!["finalize".into(), "destroy".into()])
        );
    }
}

#[test]
fn a_split_that_gives_nothing_is_an_error() {
    let world = Fake::leaked();
    // SAFETY: as above.
    let comm = unsafe { Comm::borrowed(world.raw(), fake::library(22809)) }.unwrap();
    assert!(comm.split(0, 0, 16, Patience::new(LONG)).unwrap_err().to_string().starts_with("rank 3, divide the"));
    comm.abort();
    drop(comm);
    assert_eq!(world.calls(), ["split 0 0"]);
}
