//! Plans on addresses of an emulated device's memory, whoever allocated what is there.

#![cfg(all(feature = "emulator", feature = "sm80", feature = "sm90"))]

use sgemm::emulator::{Arguments, DeviceMemory, Emulator, Model};
use sgemm::gpu_kernels::runnable;
use sgemm::plan::{Address, Bindings, Buffer, Plan};
use sgemm::{AccuracyClass, BiasPer, Epilogue, Error, Layout, Problem};

const SIZES: [usize; 3] = [70, 50, 40];
const FACTORS: [f32; 2] = [1.5, -0.5];

/// Few SMs, so that stream-K has tiles to share.
fn emulator() -> Emulator {
    Emulator::new(Model { sm_count: 3, ..*Model::find("h200").unwrap() })
}

/// Stream-K; TMA with both operands rewritten; a post-pass with a bias.
fn plans() -> Vec<Plan> {
    let [m, n, k] = SIZES;
    let plain = Problem::new(m, n, k);
    let stream_k = runnable().find(|step| step.has_many_splits()).unwrap();
    let tf32 = runnable().find(|step| step.slug == "tf32").unwrap();
    let by_columns = plain.with_layouts(Layout::column_major(m), Layout::column_major(k), Layout::row_major(n));
    let bias = Epilogue { bias: Some(BiasPer::Row), ..Epilogue::default() };
    let plan = |problem: &Problem| emulator().plan(problem, u64::MAX).unwrap();
    let plans = vec![
        Plan::new(stream_k, &plain, 3).unwrap(),
        Plan::new(tf32, &by_columns.with_accuracy(AccuracyClass::Tf32), 3).unwrap(),
        plan(&plain.with_epilogue(bias)),
    ];
    assert!(plans[0].part_bytes()[Buffer::Flags] > 0 && plans[1].part_bytes()[Buffer::CopyB] > 0);
    plans
}

fn numbers(elements: usize, seed: usize) -> Vec<f32> {
    (0..elements).map(|i| ((i * 7 + seed) % 11) as f32 - 5.0).collect()
}

/// A, B, C and the bias.
fn operands() -> [Vec<f32>; 4] {
    let [m, n, k] = SIZES;
    [numbers(m * k, 1), numbers(k * n, 2), numbers(m * n, 3), numbers(m, 4)]
}

/// Operands in memory of their own, and a workspace in one piece that holds anything.
fn bound(plan: &Plan, memory: &mut DeviceMemory) -> Bindings {
    let [a, b, c, bias] = operands().map(|operand| memory.allocate_words(operand.into_iter().map(f32::to_bits)));
    let addresses = plan.part_bytes().at(memory.allocate(plan.workspace_bytes()).unwrap());
    let addresses = addresses.with(Buffer::A, a).with(Buffer::B, b).with(Buffer::C, c).with(Buffer::Bias, bias);
    Bindings::new(addresses, FACTORS[0], FACTORS[1])
}

fn floats(memory: &DeviceMemory, address: Address, elements: usize) -> Vec<f32> {
    let mut bytes = vec![0; elements * 4];
    memory.read(address, &mut bytes).unwrap();
    bytes.chunks(4).map(|word| f32::from_le_bytes(word.try_into().unwrap())).collect()
}

#[test]
fn a_run_on_addresses_gives_what_one_on_slices_does() {
    let emulator = emulator();
    for plan in plans() {
        let mut memory = DeviceMemory::default();
        let bindings = bound(&plan, &mut memory);
        let [a, b, c, bias] = operands();
        let mut expected = c;
        for turn in 0..2 {
            let arguments = Arguments::new(FACTORS[0], &a, &b, FACTORS[1], &mut expected);
            let has_bias = plan.problem().extents().unwrap()[4] > 0;
            emulator.run(&plan, if has_bias { arguments.with_bias(&bias) } else { arguments }).unwrap();
            emulator.run_raw(&plan, &bindings, &mut memory).unwrap();
            let found = floats(&memory, bindings.addresses[Buffer::C], expected.len());
            assert_eq!(found, expected, "{}, run {turn}", plan.step().slug);
            let flags = plan.part_bytes()[Buffer::Flags] as usize / 4;
            assert_eq!(
                floats(&memory, bindings.addresses[Buffer::Flags], flags),
                vec![0.0; flags],
                "cleared, and left so"
            );
        }
        assert_eq!(floats(&memory, bindings.addresses[Buffer::A], a.len()), a);
    }
}

#[test]
fn a_bad_address_is_an_error_that_says_which() {
    let emulator = emulator();
    for plan in plans() {
        let slug = plan.step().slug;
        let run = |change: &dyn Fn(&mut Bindings, &mut DeviceMemory)| {
            let mut memory = DeviceMemory::default();
            let mut bindings = bound(&plan, &mut memory);
            change(&mut bindings, &mut memory);
            let error = emulator.run_raw(&plan, &bindings, &mut memory).unwrap_err();
            assert_eq!(error.to_string().lines().count(), 1, "{slug}: {error}");
            error
        };
        let at = |buffer, address: Address| run(&|bindings, _| bindings.addresses[buffer] = address);
        for operand in [Buffer::A, Buffer::B, Buffer::C] {
            for address in [0, 0x1000, u64::MAX - 15, 1 << 63] {
                let error = at(operand, address);
                assert!(matches!(error, Error::Emulated { .. }), "{slug}: {operand:?} at {address:#x}: {error}");
            }
            let freed = run(&|bindings, memory| drop(memory.free(bindings.addresses[operand]).unwrap()));
            assert!(matches!(freed, Error::Emulated { .. }), "{slug}: {operand:?}: {freed}");
            // 16 bytes further on, the last elements are no longer there.
            let short = run(&|bindings, _| bindings.addresses[operand] += 16);
            assert!(matches!(short, Error::Emulated { .. }), "{slug}: {operand:?}: {short}");
        }
        assert_eq!(at(Buffer::A, 0x1004), Error::Alignment { operand: "A", address: 0x1004, bytes: 16 });
        assert_eq!(at(Buffer::C, 0x1002), Error::Alignment { operand: "C", address: 0x1002, bytes: 4 });
        for part in Buffer::PARTS.into_iter().filter(|part| plan.part_bytes()[*part] > 0) {
            let error = at(part, 0x1000);
            let is_right = match part {
                Buffer::Flags => error == Error::BadAddress { address: 0x1000, bytes: plan.part_bytes()[part] },
                _ => matches!(error, Error::Emulated { .. }),
            };
            assert!(is_right, "{slug}: {part:?}: {error}");
        }
    }
}

#[test]
fn memory_that_is_not_there_is_not_read_written_or_freed() {
    let mut memory = DeviceMemory::default();
    let address = memory.allocate(10).unwrap();
    let bad = |address, bytes| Err(Error::BadAddress { address, bytes });
    assert_eq!(memory.write(address + 8, &[1, 2]), Ok(()));
    assert_eq!(memory.write(address + 8, &[3, 4, 5]), bad(address + 8, 3));
    assert_eq!(memory.read(address - 1, &mut [0; 2]), bad(address - 1, 2));
    let mut last = [0; 3];
    assert_eq!((memory.read(address + 7, &mut last), last), (Ok(()), [0x7f, 1, 2]));
    assert_eq!(memory.free(address + 4), Err(Error::BadAddress { address: address + 4, bytes: 0 }));
    assert_eq!(memory.free(address).map(|words| words.len()), Ok(3));
    assert_eq!(memory.free(address), Err(Error::BadAddress { address, bytes: 0 }));
    assert_eq!((memory.read(address, &mut [0]), memory.allocated_bytes()), (bad(address, 1), 0));
    assert_eq!(memory.allocate(u64::MAX), Err(Error::OutOfMemory { bytes: u64::MAX }));
    assert_eq!(memory.allocate(1 << 62), Err(Error::OutOfMemory { bytes: 1 << 62 }));
}
