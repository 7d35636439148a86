//! How the processes of a launcher find each other: rank 0 hands the communicator's id to the others.
//!
//! NCCL has a way of its own: with `NCCL_COMM_ID=host:port` in the environment of all processes, rank 0 listens there. That is for a
//! whole process, so that a second communicator would use the same port; it does not say who is missing; and a program cannot set it
//! once it has threads. So that variable is left to users, and here ranks meet at a socket of our own, with a deadline.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::Duration;

use super::launcher::Launched;
use super::patience::Patience;
use crate::Error;

/// What a rank says first: this, its rank, and how many it takes there to be.
const GREETING: u64 = u64::from_le_bytes(*b"sgemm-01");

/// Bytes of that.
const HELLO_BYTES: usize = 16;

/// From one attempt to reach rank 0 to the next.
const PAUSE: Duration = Duration::from_millis(20);

/// How long a connection that is there may say nothing: it is no rank's then.
const SILENCE: Duration = Duration::from_secs(2);

/// Rank 0 makes a value once all are there, and all have it then.
pub(super) fn meet<const N: usize>(
    launched: &Launched,
    patience: Patience,
    make: impl FnOnce() -> Result<[u8; N], Error>,
) -> Result<[u8; N], Error> {
    if launched.rank > 0 {
        return ask(launched, patience);
    }
    let value = make()?;
    let listener = TcpListener::bind((own_address(&launched.host), launched.port));
    let listener =
        listener.map_err(|error| failed(launched, format!("it cannot listen at {}: {error}", at(launched))))?;
    let others = gather(launched, &listener, patience)?;
    for mut other in others {
        // Whoever has ended meanwhile is missed by the communicator.
        let _ = other.write_all(&value);
    }
    Ok(value)
}

/// Waits for the connections of all others.
fn gather(launched: &Launched, listener: &TcpListener, patience: Patience) -> Result<Vec<TcpStream>, Error> {
    let mut streams: Vec<Option<TcpStream>> = (1..launched.ranks).map(|_| None).collect();
    let broken = |error: io::Error| failed(launched, format!("it cannot listen at {}: {error}", at(launched)));
    listener.set_nonblocking(true).map_err(broken)?;
    while streams.iter().any(Option::is_none) {
        match listener.accept() {
            Ok((stream, _)) => {
                let Ok((stream, rank, ranks)) = greeted(stream) else { continue };
                if ranks != launched.ranks {
                    let reason = format!("rank {rank} takes there to be {ranks} ranks, rank 0 {}", launched.ranks);
                    return Err(failed(launched, reason));
                }
                match rank.checked_sub(1).and_then(|index| streams.get_mut(index)) {
                    Some(place @ None) => *place = Some(stream),
                    _ => return Err(failed(launched, format!("there are two of rank {rank}"))),
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if !patience.pause() {
                    return Err(failed(launched, absent(launched, &streams, patience)));
                }
            }
            Err(error) => return Err(broken(error)),
        }
    }
    Ok(streams.into_iter().flatten().collect())
}

/// Who did not come.
fn absent(launched: &Launched, streams: &[Option<TcpStream>], patience: Patience) -> String {
    let ranks: Vec<_> = (1..).zip(streams).filter(|(_, stream)| stream.is_none()).collect();
    let first = ranks.iter().take(4).map(|(rank, _)| rank.to_string());
    let list = first.collect::<Vec<_>>().join(", ");
    let more = if ranks.len() > 4 { format!(" and {} more", ranks.len() - 4) } else { String::new() };
    let waited = patience.waited().as_secs_f64();
    format!("of {} ranks, {list}{more} did not come to {} within {waited:.1} s", launched.ranks, at(launched))
}

/// Reads what a rank says first.
fn greeted(mut stream: TcpStream) -> io::Result<(TcpStream, usize, usize)> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(SILENCE))?;
    let mut hello = [0; HELLO_BYTES];
    stream.read_exact(&mut hello)?;
    let word = |at: usize| u32::from_le_bytes([hello[at], hello[at + 1], hello[at + 2], hello[at + 3]]);
    if hello[..8] != GREETING.to_le_bytes() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok((stream, word(8) as usize, word(12) as usize))
}

/// Asks rank 0, until it is there.
fn ask<const N: usize>(launched: &Launched, patience: Patience) -> Result<[u8; N], Error> {
    let mut hello = [0; HELLO_BYTES];
    let word = |value: usize| u32::try_from(value).unwrap_or(u32::MAX).to_le_bytes();
    hello[..8].copy_from_slice(&GREETING.to_le_bytes());
    hello[8..12].copy_from_slice(&word(launched.rank));
    hello[12..].copy_from_slice(&word(launched.ranks));
    loop {
        match connect(launched, patience) {
            Ok(mut stream) => {
                let mut value = [0; N];
                let left = patience.left().max(Duration::from_millis(1));
                let answer = stream
                    .set_read_timeout(Some(left))
                    .and_then(|()| stream.write_all(&hello))
                    .and_then(|()| stream.read_exact(&mut value));
                let ended = |error: io::Error| match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => failed(
                        launched,
                        format!("rank 0 still waits for others after {:.1} s", patience.waited().as_secs_f64()),
                    ),
                    _ => failed(launched, format!("rank 0 at {} has ended, and says why", at(launched))),
                };
                return answer.map(|()| value).map_err(ended);
            }
            Err(error) if !patience.pause_for(PAUSE) => {
                let waited = patience.waited().as_secs_f64();
                return Err(failed(
                    launched,
                    format!("rank 0 did not answer at {} within {waited:.1} s: {error}", at(launched)),
                ));
            }
            Err(_) => {}
        }
    }
}

fn connect(launched: &Launched, patience: Patience) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in (launched.host.as_str(), launched.port).to_socket_addrs()? {
        let limit = patience.left().clamp(Duration::from_millis(1), SILENCE);
        match TcpStream::connect_timeout(&address, limit) {
            // While nobody listens, a port that systems also give to outgoing connections can connect to itself.
            Ok(stream) if is_itself(&stream)? => {}
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn is_itself(stream: &TcpStream) -> io::Result<bool> {
    let ends: [SocketAddr; 2] = [stream.local_addr()?, stream.peer_addr()?];
    Ok(ends[0] == ends[1])
}

/// Where rank 0 listens: on this machine alone where all ranks are here. A name may be one of a loopback address on its own host, and not
/// elsewhere: so it is not asked for.
fn own_address(host: &str) -> IpAddr {
    match host.parse::<IpAddr>() {
        Ok(address) if address.is_loopback() => address,
        Ok(IpAddr::V6(_)) => IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED),
        _ if host == "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
        _ => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    }
}

fn at(launched: &Launched) -> String {
    format!("{}:{}", launched.host, launched.port)
}

fn failed(launched: &Launched, reason: String) -> Error {
    Error::Collective { rank: launched.rank, what: "start".into(), reason }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// A port that nobody has.
    fn free() -> u16 {
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
    }

    fn launched(rank: usize, ranks: usize, port: u16) -> Launched {
        Launched { rank, ranks, local_rank: rank, host: "127.0.0.1".into(), port }
    }

    fn all(each: &[Launched], limit: Duration) -> Vec<Result<[u8; 5], Error>> {
        let meet = |launched: &Launched| meet(launched, Patience::new(limit), || Ok(*b"hello"));
        thread::scope(|scope| {
            let threads: Vec<_> = each.iter().map(|launched| scope.spawn(move || meet(launched))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn all_have_what_rank_0_makes() {
        let port = free();
        let ranks: Vec<_> = (0..5).map(|rank| launched(rank, 5, port)).collect();
        assert!(all(&ranks, LONG).iter().all(|found| *found == Ok(*b"hello")));
        // The port is free again, for another communicator.
        assert_eq!(all(&[launched(0, 1, port)], LONG), [Ok(*b"hello")]);
    }

    #[test]
    fn who_is_missing_is_named() {
        let port = free();
        let found = all(&[launched(0, 4, port), launched(2, 4, port)], Duration::from_millis(300));
        let [zero, two] = [0, 1].map(|index: usize| found[index].clone().unwrap_err().to_string());
        let expected = format!("rank 0, start: of 4 ranks, 1, 3 did not come to 127.0.0.1:{port} within ");
        assert!(zero.starts_with(&expected), "{zero}");
        assert!(two.starts_with("rank 2, start: rank 0 "), "{two}");
    }

    #[test]
    fn without_rank_0_the_others_end() {
        let port = free();
        let error = all(&[launched(1, 2, port)], Duration::from_millis(50)).remove(0).unwrap_err().to_string();
        assert!(error.starts_with(&format!("rank 1, start: rank 0 did not answer at 127.0.0.1:{port}")), "{error}");
    }

    #[test]
    fn other_counts_and_double_ranks_are_refused() {
        let port = free();
        let found = all(&[launched(0, 2, port), launched(1, 3, port)], LONG);
        let text = found[0].clone().unwrap_err().to_string();
        assert_eq!(text, "rank 0, start: rank 1 takes there to be 3 ranks, rank 0 2");
        assert!(found[1].clone().unwrap_err().to_string().ends_with("has ended, and says why"));
        let port = free();
        let found = all(&[launched(0, 3, port), launched(1, 3, port), launched(1, 3, port)], LONG);
        assert!(found[0].clone().unwrap_err().to_string().ends_with("there are two of rank 1"));
    }
}
