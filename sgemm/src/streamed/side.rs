//! The panels of an operand on a GPU: where they are, and what brings them. GPUs that need the same ones read them from the host together,
//! each a piece, and have the other pieces from each other.

use gpu_kernels::Ab;

use super::part::Part;
use super::slots::Slots;
use super::task::{PeerTask, Work};
use crate::plan::Buffer;

/// GPUs that need the same panels of an operand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group {
    /// The number of the first one, and from each to the next.
    pub first: usize,
    pub step: usize,
    pub count: usize,
    /// Which of them this one is: it uploads the piece of that number.
    pub own: usize,
}

impl Group {
    /// Of a GPU that uploads all of its panels.
    pub fn alone(gpu: usize) -> Self {
        Self { first: gpu, step: 1, count: 1, own: 0 }
    }

    /// The number of a member's GPU.
    pub const fn gpu(&self, member: usize) -> usize {
        self.first + member * self.step
    }

    /// The others, each GPU's next one first, such that all are read from at once.
    pub fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let Self { own, count, .. } = *self;
        (1..count).map(move |next| (own + next) % count)
    }
}

/// Where the panels of an operand are.
pub(super) struct Side {
    pub buffer: Buffer,
    pub slots: Slots,
    pub group: Group,
    /// Where slots begin.
    pub first: u64,
    /// Bytes of a slot, and of the panel in it as it arrives: what is made of that follows.
    pub bytes: [u64; 2],
    /// What was brought, in this order.
    pub loads: Vec<Load>,
}

/// A panel that is brought to a slot.
pub(super) struct Load {
    pub slot: usize,
    /// The load that brought what was there before.
    pub before: Option<usize>,
    /// The upload of the own piece, and the copies of those that other members of the group have: none of an empty piece.
    pub upload: Option<usize>,
    pub received: Vec<Option<usize>>,
}

impl Side {
    pub fn place(&self, slot: usize) -> u64 {
        self.first + slot as u64 * self.bytes[0]
    }
}

/// A part whose tasks know none of another GPU's yet.
pub(super) struct Built {
    pub part: Part,
    pub sides: Ab<Side>,
}

/// The parts of GPUs of which some share panels: each was built alone, with the same products in the same order, so that loads of a number
/// bring the same panel to the same slot on all GPUs of a group.
///
/// A copy waits for the upload of the piece on the other GPU, and what overwrites a piece waits for the copies of it. So no GPU waits for
/// itself through others: order all tasks by the number of the product that they are listed for, then by what they do (upload of
/// a piece of A, copies of the others, the same of B, upload of C, product), then by the GPU. Each part lists its tasks in that order, and each
/// task waits only for tasks before it in that order. The first task of it that is not done yet is therefore the next one of its
/// queue and of its part's list, and nothing keeps it from running.
pub(super) fn join(built: Vec<Built>) -> Vec<Part> {
    let mut waits = Vec::new();
    let mut sources = Vec::new();
    for (gpu, Built { sides, .. }) in built.iter().enumerate() {
        for which in [Buffer::A, Buffer::B] {
            let side = of(sides, which);
            for (number, load) in side.loads.iter().enumerate() {
                let members = || side.group.others().map(|member| (member, side.group.gpu(member)));
                for (member, peer) in members() {
                    let Some(receive) = load.received[member] else { continue };
                    let theirs = of(&built[peer].sides, which);
                    let upload = theirs.loads[number].upload.map(|task| PeerTask { gpu: peer, task });
                    waits.push((gpu, receive, upload));
                    sources.push((gpu, receive, theirs.place(load.slot)));
                }
                // The first copy stands for those behind it.
                let first = side.group.others().find_map(|member| load.received[member]);
                for writer in load.upload.into_iter().chain(first) {
                    let copies = members().filter_map(|(_, peer)| {
                        let before = &of(&built[peer].sides, which).loads[load.before?];
                        before.received[side.group.own].map(|task| PeerTask { gpu: peer, task })
                    });
                    waits.extend(copies.map(|copy| (gpu, writer, Some(copy))));
                }
            }
        }
    }
    let mut parts: Vec<Part> = built.into_iter().map(|built| built.part).collect();
    parts.iter_mut().flat_map(|part| &mut part.tasks).for_each(|task| task.after_peers.clear());
    for (gpu, task, before) in waits {
        parts[gpu].tasks[task].after_peers.extend(before);
    }
    for (gpu, task, slot) in sources {
        if let Work::Receive(copy) = &mut parts[gpu].tasks[task].work {
            copy.source += slot;
        }
    }
    parts
}

/// The side of an operand.
fn of(sides: &Ab<Side>, which: Buffer) -> &Side {
    if which == Buffer::A { &sides.a } else { &sides.b }
}
