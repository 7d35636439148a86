//! Which threads `--trace` prints: `thread=5`, `warp=1`, `block=2,0/warp=1`, `all`.

use ptx_emu::trace::{Step, Trace, WarpId};

const FORMS: &str = "give thread=T, warp=W, block=B/thread=T, block=B/warp=W or all";

/// Threads of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    All,
    /// x, y, z of a block, and the warp's index in it.
    Warp([u32; 3], u32),
    /// x, y, z of a block, and of a thread in it; one number alone is its index.
    Thread([u32; 3], Thread),
}

/// A thread of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thread {
    Index(u32),
    Position([u32; 3]),
}

impl Selection {
    pub fn parse(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        let (block, which) = match text.split_once('/') {
            Some((block, which)) => (block.strip_prefix("block=").and_then(coordinates), which),
            None => (Some([0; 3]), text),
        };
        let selection = block.and_then(|block| match which.split_once('=')? {
            ("warp", warp) => Some(Self::Warp(block, warp.parse().ok()?)),
            ("thread", thread) => Some(Self::Thread(block, Thread::parse(thread)?)),
            _ => None,
        });
        selection.ok_or_else(|| FORMS.to_owned())
    }

    /// The lanes of a step that are selected.
    pub fn lanes(self, trace: &Trace, step: &Step) -> u32 {
        let is_it = |warp| if step.warp == warp { step.lanes } else { 0 };
        match self {
            Self::All => step.lanes,
            Self::Warp(block, warp) => is_it(WarpId { block, warp }),
            Self::Thread(block, thread) => {
                let index = thread.index(trace.block);
                is_it(WarpId { block, warp: index / 32 }) & 1 << (index % 32)
            }
        }
    }

    /// Whether the launch has such threads; the error says what it has.
    pub fn check(self, grid: [u32; 3], block: [u32; 3]) -> Result<(), String> {
        let (of, inside) = match self {
            Self::All => return Ok(()),
            Self::Warp(of, warp) => (of, warp < block.iter().product::<u32>().div_ceil(32)),
            Self::Thread(of, thread) => (of, thread.is_in(block)),
        };
        let text = |[x, y, z]: [u32; 3]| format!("{x} x {y} x {z}");
        if of.iter().zip(grid).any(|(block, blocks)| *block >= blocks) {
            return Err(format!("the grid has {} blocks", text(grid)));
        }
        if inside { Ok(()) } else { Err(format!("a block has {} threads", text(block))) }
    }
}

impl Thread {
    pub fn parse(text: &str) -> Option<Self> {
        match text.parse() {
            Ok(index) => Some(Self::Index(index)),
            Err(_) => coordinates(text).map(Self::Position),
        }
    }

    /// Its index in a block of that size.
    pub fn index(self, [x, y, _]: [u32; 3]) -> u32 {
        match self {
            Self::Index(index) => index,
            Self::Position([tx, ty, tz]) => tx + x * (ty + y * tz),
        }
    }

    /// Whether a block of that size has it.
    pub fn is_in(self, block: [u32; 3]) -> bool {
        match self {
            Self::Index(index) => index < block.iter().product(),
            Self::Position(position) => position.iter().zip(block).all(|(at, size)| *at < size),
        }
    }
}

/// `X`, `X,Y` or `X,Y,Z`; what is left out is 0.
pub fn coordinates(text: &str) -> Option<[u32; 3]> {
    let parts: Vec<u32> = text.split(',').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    match parts[..] {
        [x] => Some([x, 0, 0]),
        [x, y] => Some([x, y, 0]),
        [x, y, z] => Some([x, y, z]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_and_warps_are_named_with_their_block() {
        let parse = Selection::parse;
        assert_eq!(parse("all"), Ok(Selection::All));
        assert_eq!(parse("warp=3"), Ok(Selection::Warp([0; 3], 3)));
        assert_eq!(parse("thread=37"), Ok(Selection::Thread([0; 3], Thread::Index(37))));
        let in_block = parse("block=1,2/thread=3,4").unwrap();
        assert_eq!(in_block, Selection::Thread([1, 2, 0], Thread::Position([3, 4, 0])));
        for text in ["", "warp", "warp=", "warp=-1", "thread=1,2,3,4", "block=1", "block=x/warp=1", "warp=1/block=0"] {
            assert_eq!(parse(text), Err(FORMS.to_owned()), "{text}");
        }
        assert_eq!(in_block.check([2, 3, 1], [4, 5, 1]), Ok(()));
        assert_eq!(in_block.check([2, 2, 1], [4, 5, 1]), Err("the grid has 2 x 2 x 1 blocks".to_owned()));
        assert_eq!(in_block.check([2, 3, 1], [4, 4, 1]), Err("a block has 4 x 4 x 1 threads".to_owned()));
    }
}
