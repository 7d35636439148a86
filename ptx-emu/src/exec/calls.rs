//! Calls of functions that are not inlined, and returns from them, lane by lane: lanes with different targets run one after
//! the other.

use super::state::{Fault, Grid, Site, Split, Wait, Warp};
use crate::finding::{FindingKind, plural};
use crate::lanes::{ALL_LANES, LANES, Mask, lanes_of};
use crate::memory::window;
use crate::program::{Action, Call, Function, Passed, Pc, Target};

impl Site {
    /// The lanes of `mask` call.
    pub(super) fn call(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        index: usize,
        mask: Mask,
        call: &Call,
    ) -> Result<(), Fault> {
        let pc = warp.splits[index].pc;
        let addresses = match call.target {
            Target::Pointer(slot) => warp.registers.read::<u64>(slot),
            Target::Function(_) => [0; LANES],
        };
        let mut rest = mask;
        while rest != 0 {
            let first = rest.trailing_zeros() as usize;
            let same =
                lanes_of(rest).filter(|&lane| addresses[lane] == addresses[first]).fold(0, |m, lane| m | 1 << lane);
            rest &= !same;
            let first_thread = warp.number * LANES;
            let fault = |site: &Self, kind, lane, what| site.finding(grid, kind, pc, first_thread + lane, what);
            let function = match call.target {
                Target::Function(function) => function,
                Target::Pointer(_) => self::function(grid, call, addresses[first])
                    .map_err(|what| fault(self, FindingKind::Call, first, what))?,
            };
            for lane in lanes_of(same) {
                if let Some(what) = exceeds(grid, warp, &grid.program.functions[function], call, lane) {
                    return Err(fault(self, FindingKind::Stack, lane, what).into());
                }
                self.enter(grid, warp, lane, (pc, function), call);
            }
            let entry = grid.program.functions[function].entry;
            warp.splits.push(Split { pc: entry, mask: same, wait: Wait::Nothing });
        }
        leave(warp, index, mask);
        show_frames(grid, warp);
        Ok(())
    }

    /// One lane calls: its parameters are copied to the frame.
    fn enter(&mut self, grid: &Grid<'_>, warp: &mut Warp, lane: usize, (pc, index): (Pc, usize), call: &Call) {
        let function = &grid.program.functions[index];
        let callers = warp.stacks[lane].base;
        let stack = &mut warp.stacks[lane];
        stack.push((pc, index), function, &call.saved, &warp.registers, lane);
        let base = stack.base;
        self.checks.local_begins(warp.number, lane, base, function.frame_bytes);
        for (passed, &(offset, bytes)) in call.params.iter().zip(&function.params) {
            self.move_local(grid, warp, lane, address(passed, callers), base + offset, bytes.min(passed.bytes));
        }
    }

    /// The lanes of `mask` return: their results are copied to the callers' variables.
    pub(super) fn ret(&mut self, grid: &Grid<'_>, warp: &mut Warp, index: usize, mask: Mask) {
        let mut returned: Vec<(Pc, Mask)> = vec![];
        for lane in lanes_of(mask) {
            let Some(called) = warp.stacks[lane].calls.last().copied() else { continue };
            let Action::Call(call) = &grid.program.instructions[called.pc].action else { continue };
            let base = warp.stacks[lane].base;
            warp.stacks[lane].pop(&call.saved, &mut warp.registers, lane);
            let callers = warp.stacks[lane].base;
            let function = &grid.program.functions[called.function];
            for (passed, &(offset, bytes)) in call.returns.iter().zip(&function.returns) {
                self.move_local(grid, warp, lane, base + offset, address(passed, callers), bytes.min(passed.bytes));
            }
            match returned.iter_mut().find(|(pc, _)| *pc == called.pc + 1) {
                Some((_, lanes)) => *lanes |= 1 << lane,
                None => returned.push((called.pc + 1, 1 << lane)),
            }
        }
        warp.splits.extend(returned.into_iter().map(|(pc, mask)| Split { pc, mask, wait: Wait::Nothing }));
        leave(warp, index, mask);
        show_frames(grid, warp);
    }

    /// Copies within a thread's local memory, with what the checkers know of it.
    fn move_local(&mut self, grid: &Grid<'_>, warp: &mut Warp, lane: usize, from: u32, to: u32, bytes: u32) {
        let local = &mut warp.local[lane * grid.program.local_bytes as usize..][..grid.program.local_bytes as usize];
        local.copy_within(from as usize..(from + bytes) as usize, to as usize);
        self.checks.local_moves(warp.number, lane, (from, to), bytes);
    }
}

/// The lanes of a split that have called or returned are in others.
fn leave(warp: &mut Warp, index: usize, mask: Mask) {
    let split = &mut warp.splits[index];
    (split.mask, split.pc) = (split.mask & !mask, split.pc + 1);
    if split.mask == 0 {
        warp.splits.swap_remove(index);
    }
}

/// Sets the register that holds the address of each lane's frame.
fn show_frames(grid: &Grid<'_>, warp: &mut Warp) {
    if let Some(slot) = grid.program.frame {
        let bases: [u64; LANES] = std::array::from_fn(|lane| warp.stacks[lane].base.into());
        warp.registers.write(slot, &bases, ALL_LANES);
    }
}

/// The address of a caller's variable, whose frame begins at `base`.
fn address(passed: &Passed, base: u32) -> u32 {
    passed.address.offset as u32 + if passed.address.base.is_some() { base } else { 0 }
}

/// The function at an address, which must take and return what the call passes.
fn function(grid: &Grid<'_>, call: &Call, address: u64) -> Result<usize, String> {
    let index = window::function(address);
    let bytes = |passed: &[Passed]| passed.iter().map(|passed| passed.bytes).collect::<Vec<_>>();
    let passed = (bytes(&call.params), bytes(&call.returns));
    let bytes = |places: &[(u32, u32)]| places.iter().map(|(_, bytes)| *bytes).collect::<Vec<_>>();
    let takes_all = |function: &Function| (bytes(&function.params), bytes(&function.returns)) == passed;
    let found = grid.program.functions.iter().position(|function| Some(function.index) == index && takes_all(function));
    found.ok_or_else(|| match index.and_then(|index| grid.program.image.functions.get(index)) {
        Some(name) => format!("`{name}` is not defined, or takes or returns something else"),
        None => format!("there is no function at {address:#x}"),
    })
}

/// What to say if the stack has no room for a call.
fn exceeds(grid: &Grid<'_>, warp: &Warp, function: &Function, call: &Call, lane: usize) -> Option<String> {
    let (stack, start) = (&warp.stacks[lane], grid.program.stack);
    let size = grid.program.local_bytes - start;
    let frame = (stack.top.next_multiple_of(function.align) - stack.top) as usize + function.frame_bytes as usize;
    let needed = stack.bytes(start) + frame + call.saved.bytes();
    (needed > size as usize).then(|| {
        let (size, depth) = (plural(size, "byte"), plural(stack.calls.len() as u64, "call"));
        format!("the stack of {size} is exceeded: `{}` is called within {depth}", function.name)
    })
}
