//! What all ranks must have the same, so that their collectives fit each other.

use super::Plan;
use crate::accuracy::AccuracyClass;
use crate::problem::{Determinism, Order};
use crate::{Element, Error};

/// An argument of a plan, as ranks compare it.
#[derive(Debug, Clone, Copy)]
pub struct Argument {
    /// Its name.
    pub name: &'static str,
    /// Its value, or the number of it.
    pub value: u64,
    /// The value as text.
    show: fn(u64) -> String,
}

/// Values that ranks exchange, the same in every version: those behind a plan's own are zero.
pub const AGREEMENT: usize = 32;

/// What stands first: the version of this crate, or 0 where a rank has no plan.
const PLAN: Argument = Argument { name: "plan", value: 0, show: plan_of };

const ELEMENTS: [Element; 3] = [Element::F32, Element::F16, Element::Bf16];

impl Plan {
    /// The arguments that all ranks give the same, in the order in which they are compared.
    #[must_use]
    pub fn arguments(&self) -> Vec<Argument> {
        let Self { problem, scheme, .. } = self;
        let [m, n, k] = problem.sizes();
        let element = |wanted| position(&ELEMENTS, &wanted);
        let [a, b, c, _] = problem.views();
        let order = |view: crate::problem::View| {
            let order = view.layout.order(view.name, view.rows, view.columns);
            u64::from(order.is_ok_and(|(order, _)| order == Order::ColumnMajor))
        };
        let number = |name, value: usize| Argument { name, value: value as u64, show: |value| value.to_string() };
        let (grid, blocks, chunks) = (scheme.grid, scheme.blocks, scheme.chunks);
        vec![
            Argument { value: version(), ..PLAN },
            number("m", m),
            number("n", n),
            number("k", k),
            Argument { name: "elements of A and B", value: element(problem.input), show: element_of },
            Argument { name: "elements of C", value: element(problem.output), show: element_of },
            Argument { name: "order of A", value: order(a), show: order_of },
            Argument { name: "order of B", value: order(b), show: order_of },
            Argument { name: "order of C", value: order(c), show: order_of },
            Argument {
                name: "accuracy class",
                value: position(&AccuracyClass::ALL, &problem.class),
                show: |value| name(&AccuracyClass::ALL.map(AccuracyClass::name), value),
            },
            Argument {
                name: "determinism",
                value: u64::from(problem.determinism == Determinism::PerElement),
                show: |value| name(&["per problem", "per element"], value),
            },
            number("rows of the grid", grid.rows),
            number("columns of the grid", grid.columns),
            number("layers of the grid", grid.layers),
            number("block of m", blocks.m),
            number("block of n", blocks.n),
            number("block of k", blocks.k),
            number("chunks of m", chunks.m),
            number("chunks of n", chunks.n),
        ]
    }

    /// Their values, as ranks exchange them. A rank without a plan gives zeros, so that the others need not wait for it.
    #[must_use]
    pub fn agreement(&self) -> [u64; AGREEMENT] {
        let mut values = [0; AGREEMENT];
        values.iter_mut().zip(self.arguments()).for_each(|(value, argument)| *value = argument.value);
        values
    }

    /// Compares the values of all ranks, in their order. All of them find the same.
    ///
    /// # Errors
    /// [`Error::Disagreement`] with the first rank that has another value than rank 0, and with the first such value.
    pub fn check_agreement(&self, of_ranks: &[u64]) -> Result<(), Error> {
        let mut ranks = of_ranks.chunks(AGREEMENT);
        let Some(first) = ranks.next() else { return Ok(()) };
        let arguments = self.arguments();
        for (rank, values) in (1..).zip(ranks) {
            let differs = (0..AGREEMENT).find(|index| first.get(*index) != values.get(*index));
            let Some(index) = differs else { continue };
            // A later version may have more of them.
            let Argument { name, show, .. } = arguments.get(index).copied().unwrap_or(PLAN);
            let [value, expected] = [values, first].map(|of| of.get(index).copied().unwrap_or_default()).map(show);
            return Err(Error::Disagreement { argument: name, rank, value, expected });
        }
        Ok(())
    }
}

/// The version of this crate as a number.
fn version() -> u64 {
    let parts = [env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"), env!("CARGO_PKG_VERSION_PATCH")];
    parts.iter().fold(1, |all, part| all * 1000 + part.parse::<u64>().unwrap_or(0))
}

fn plan_of(version: u64) -> String {
    match version {
        0 => "none".into(),
        _ => format!("of version {}.{}.{}", version / 1_000_000 % 1000, version / 1000 % 1000, version % 1000),
    }
}

fn element_of(value: u64) -> String {
    name(&ELEMENTS.map(Element::name), value)
}

fn order_of(value: u64) -> String {
    name(&["row-major", "column-major"], value)
}

fn position<T: PartialEq>(all: &[T], wanted: &T) -> u64 {
    all.iter().position(|each| each == wanted).unwrap_or(all.len()) as u64
}

fn name(names: &[&str], value: u64) -> String {
    let known = usize::try_from(value).ok().and_then(|index| names.get(index));
    known.map_or_else(|| value.to_string(), |name| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distributed::{Chunks, Grid, Scheme};
    use crate::{Device, Layout, Problem};

    fn plan(problem: &Problem, scheme: &Scheme) -> Plan {
        Plan::new(problem, scheme, 0, &Device::new("NVIDIA H200", (9, 0), 132)).unwrap()
    }

    fn found(given: &Plan, other: &Plan) -> String {
        let ranks = [given.agreement(), given.agreement(), other.agreement()].concat();
        given.check_agreement(&ranks).map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn the_first_argument_that_differs_is_named() {
        let problem = Problem::new(64, 48, 32);
        let scheme = Scheme::row_panels(problem.sizes(), 3);
        let given = plan(&problem, &scheme);
        let with = |problem: &Problem| found(&given, &plan(problem, &scheme));
        assert_eq!(with(&problem), "");
        let rest = ": give all ranks the same arguments";
        assert_eq!(with(&Problem::new(64, 48, 33)), format!("rank 2 has k = 33, rank 0 has 32{rest}"));
        let columns = Layout::column_major(64);
        let by_columns = problem.with_layouts(columns, Layout::row_major(48), Layout::row_major(48));
        let expected = format!("rank 2 has order of A = column-major, rank 0 has row-major{rest}");
        assert_eq!(with(&by_columns), expected);
        let expected = format!("rank 2 has accuracy class = tf32, rank 0 has fp32-strict{rest}");
        assert_eq!(with(&problem.with_accuracy(AccuracyClass::Tf32)), expected);
        let expected = format!("rank 2 has determinism = per element, rank 0 has per problem{rest}");
        assert_eq!(with(&problem.with_determinism(Determinism::PerElement)), expected);
        let halves = problem.with_elements(Element::Bf16, Element::F32).with_accuracy(AccuracyClass::Bf16);
        assert_eq!(with(&halves), format!("rank 2 has elements of A and B = bf16, rank 0 has f32{rest}"));
    }

    #[test]
    fn schemes_are_compared() {
        let problem = Problem::new(64, 48, 32);
        let panels = Scheme::panels([64, 48, 32], Grid { rows: 2, columns: 2, layers: 1 });
        let given = plan(&problem, &panels);
        let text = |scheme: &Scheme| found(&given, &plan(&problem, scheme));
        assert!(text(&Scheme::row_panels([64, 48, 32], 4)).contains("rows of the grid = 4, rank 0 has 2"));
        assert!(text(&Scheme::block_cyclic(2, 2, 8)).contains("block of m = 8, rank 0 has 32"));
        assert!(text(&panels.with_chunks(Chunks { m: 4, n: 2 })).contains("chunks of n = 2, rank 0 has 8"));
    }

    #[test]
    fn a_rank_without_a_plan_is_named() {
        let problem = Problem::new(64, 48, 32);
        let given = plan(&problem, &Scheme::row_panels(problem.sizes(), 2));
        let ranks = [given.agreement(), [0; AGREEMENT]].concat();
        let text = given.check_agreement(&ranks).unwrap_err().to_string();
        assert!(text.starts_with("rank 1 has plan = none, rank 0 has of version "), "{text}");
        assert!(given.arguments().len() <= AGREEMENT);
    }
}
