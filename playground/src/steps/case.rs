//! A step's launches, out of the library's plan.

use gpu_kernels::{Element, Step, TmaBox};
use sgemm::plan::{self, Bindings, Buffer, ModuleKind, Place, Plan, Role};
use sgemm::{AccuracyClass, ModuleSource, Problem};

use super::table::Entry;
use crate::case::{Argument, Case, Launch, Map, Memory, Value};

/// Steps of a trace at most: 0.5 KiB each, and more for those of tensor cores.
const LIMIT: usize = 60_000;

/// The caller's matrices, by name.
const MATRICES: [(Buffer, &str); 3] = [(Buffer::A, "A"), (Buffer::B, "B"), (Buffer::C, "C")];

/// Parts of a workspace, by name.
const PARTS: [(Buffer, &str); 7] = [
    (Buffer::Flags, "flags"),
    (Buffer::Partials, "partial tiles"),
    (Buffer::PlainA, "A, row-major"),
    (Buffer::PlainB, "B, row-major"),
    (Buffer::CopyA, "A, rewritten"),
    (Buffer::CopyB, "B, rewritten"),
    (Buffer::Sums, "sums"),
];

/// The launches of a step on the entry's problem: C = A\*B.
pub(super) fn of(step: &'static Step, entry: &Entry) -> Result<Case, String> {
    let at = |error: sgemm::Error| format!("{}: {error}", step.slug);
    let [m, n, k] = entry.sizes;
    let input = step.precision.input();
    let problem = Problem::new(m, n, k).with_elements(input, step.output);
    let problem = problem.with_accuracy(AccuracyClass::of(step.precision));
    let plan = Plan::new(step, &problem, entry.sm_count).map_err(at)?;
    let bindings = Bindings::new(Default::default(), 1.0, 0.0);
    let launches: Vec<_> = plan.needed(0, &bindings).map(|number| &plan.launches()[number]).collect();

    let source = ModuleSource::BuiltIn;
    let mut modules = vec![squeezed(&source.module_of(step, plan.kernel()).map_err(at)?)];
    if launches.iter().any(|launch| launch.module == ModuleKind::Support) {
        modules.push(squeezed(&source.support(step.target).map_err(at)?));
    }
    let traced = launches.iter().position(|launch| launch.role == Role::Product);
    let pieces = pieces(&plan, input, step.output);
    let memory = pieces.iter().map(|(_, memory)| memory.clone()).collect();
    let launch = |launch: &&plan::Launch| {
        let named = launch.arguments.iter().map(|(name, argument)| {
            Ok(Argument { name: (*name).to_owned(), value: value(*argument, &bindings, &pieces)? })
        });
        let shape = launch.shape;
        Ok::<_, String>(Launch {
            module: usize::from(launch.module == ModuleKind::Support),
            kernel: launch.kernel.to_owned(),
            grid: shape.grid,
            block: shape.block,
            cluster: shape.cluster,
            shared_bytes: shape.dynamic_smem_bytes,
            arguments: named.collect::<Result<_, String>>()?,
        })
    };
    Ok(Case {
        modules,
        memory,
        launches: launches.iter().map(launch).collect::<Result<_, _>>()?,
        traced: traced.ok_or_else(|| format!("{}: its plan has no launch of it", step.slug))?,
        checks: true,
        limit: LIMIT,
    })
}

/// What the plan needs memory for.
fn pieces(plan: &Plan, input: Element, output: Element) -> Vec<(Buffer, Memory)> {
    let [m, n, k] = plan.problem().sizes();
    let matrix = |(buffer, name): (Buffer, &str)| {
        let spec = match buffer {
            Buffer::A => format!("in:{}:{}", type_of(input), m * k),
            Buffer::B => format!("in:{}:{}", type_of(input), k * n),
            _ => format!("out:{}:{}", type_of(output), m * n),
        };
        (buffer, Memory { name: name.to_owned(), spec })
    };
    let part = |(buffer, name): (Buffer, &str)| {
        let words = plan.part_bytes()[buffer].div_ceil(4);
        // Flags are zero before each run; of the rest nothing is read before it is written: NaN, of 16 bits and of 32.
        let fill = if buffer == Buffer::Flags { "zeros" } else { "0x7fc07fc0" };
        (words > 0).then(|| (buffer, Memory { name: name.to_owned(), spec: format!("in:b32:{words}:fill={fill}") }))
    };
    MATRICES.into_iter().map(matrix).chain(PARTS.into_iter().filter_map(part)).collect()
}

fn value(argument: plan::Argument, bindings: &Bindings, pieces: &[(Buffer, Memory)]) -> Result<Value, String> {
    let at = |place: Place| {
        let memory = pieces.iter().position(|(buffer, _)| *buffer == place.buffer);
        let memory = memory.ok_or_else(|| format!("no memory for {:?}", place.buffer))?;
        Ok::<_, String>(crate::Place { memory, offset: place.offset })
    };
    Ok(match argument {
        plan::Argument::Place(place) => Value::Pointer(at(place)?),
        plan::Argument::TensorMap(map) => Value::Map(described(&map, at(map.at)?)),
        plan::Argument::Null => Value::Spec("u64:0".to_owned()),
        other => Value::Spec(match other.value(bindings) {
            plan::Value::U32(value) => format!("u32:{value}"),
            plan::Value::U64(value) => format!("u64:{value}"),
            plan::Value::F32(value) => format!("f32:{value:?}"),
            plan::Value::Address(_) | plan::Value::TensorMap(_) => return Err("an address without a place".to_owned()),
        }),
    })
}

/// A tensor map in numbers.
fn described(map: &plan::TensorMap<Place>, at: crate::Place) -> Map {
    let TmaBox { element, extent, .. } = map.tma_box;
    let (count, stride) = map.batch.unwrap_or((1, 0));
    let rank = if map.batch.is_some() { 3 } else { 2 };
    let strides = [map.ld, stride].map(|elements| elements * u64::from(element.bytes()));
    Map {
        at,
        element: type_of(element).to_owned(),
        dims: [map.columns.into(), map.rows.into(), count.into()][..rank].to_vec(),
        strides: strides[..rank - 1].to_vec(),
        copied: [extent.cols, extent.rows, 1][..rank].to_vec(),
        swizzle: map.tma_box.swizzle_bytes(),
    }
}

fn type_of(element: Element) -> &'static str {
    match element {
        Element::F32 => "f32",
        Element::F16 => "f16",
        Element::Bf16 => "bf16",
    }
}

/// The text without lines that are empty after another such line: what is left of the target's other kernels.
fn squeezed(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.dedup_by(|line, before| line.is_empty() && before.is_empty());
    lines.join("\n")
}
