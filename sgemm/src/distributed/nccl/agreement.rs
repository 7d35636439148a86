//! What ranks tell each other before the first collective of a plan.

use crate::Error;
use crate::distributed::plan::Plan;

/// Values of each rank: the same number in every version of this crate.
pub const VALUES: usize = 32;

/// The first of them.
const VERSION: &str = "the version of sgemm, as a number";

/// What a rank says of its plan: the version, and [`Plan::arguments`]. Of none it says zeros.
pub fn message(plan: Option<&Plan>) -> [u64; VALUES] {
    let mut values = [0; VALUES];
    if let Some(plan) = plan {
        let own = arguments(plan).map(|(_, value)| value);
        values.iter_mut().zip(own).for_each(|(place, value)| *place = value);
    }
    values
}

/// Compares what all ranks said, in their order. All that have a plan find the same.
///
/// # Errors
/// [`Error::Collective`] with the first rank that has no plan; [`Error::Disagreement`] with the first that has another value than rank 0,
/// and with the first such value.
pub fn check(plan: &Plan, of_ranks: &[u64]) -> Result<(), Error> {
    let ranks: Vec<_> = of_ranks.chunks_exact(VALUES).collect();
    let Some(first) = ranks.first() else { return Ok(()) };
    if let Some(rank) = ranks.iter().position(|values| values[0] == 0) {
        let (what, reason) = ("plan".into(), "it could not make its own, and says why".into());
        return Err(Error::Collective { rank, what, reason });
    }
    for (rank, values) in ranks.iter().enumerate() {
        let Some(index) = (0..VALUES).find(|index| first[*index] != values[*index]) else { continue };
        let argument = arguments(plan).nth(index).map_or(VERSION, |(name, _)| name);
        return Err(Error::Disagreement { argument, ranks: [0, rank], values: [first[index], values[index]] });
    }
    Ok(())
}

fn arguments(plan: &Plan) -> impl Iterator<Item = (&'static str, u64)> {
    std::iter::once((VERSION, version())).chain(plan.arguments())
}

/// 1001002 of 1.1.2; never 0.
fn version() -> u64 {
    let parts = [env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"), env!("CARGO_PKG_VERSION_PATCH")];
    parts.iter().fold(0, |all, part| all * 1000 + part.parse::<u64>().unwrap_or_default()).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distributed::Scheme;
    use crate::{Device, Problem};

    fn plan(problem: &Problem) -> Plan {
        let scheme = Scheme::row_panels(problem.sizes(), 3);
        Plan::new(problem, &scheme, 0, &Device::new("NVIDIA H200", (9, 0), 132)).unwrap()
    }

    #[test]
    fn the_first_rank_that_differs_is_named_with_argument_and_values() {
        let (given, other) = (plan(&Problem::new(64, 48, 32)), plan(&Problem::new(64, 48, 33)));
        assert!(given.arguments().len() < VALUES);
        let of = |plan| message(Some(plan));
        assert_eq!(check(&given, &[of(&given), of(&given)].concat()), Ok(()));
        let error = check(&other, &[of(&given), of(&given), of(&other)].concat()).unwrap_err();
        assert_eq!(error.to_string(), "rank 0 was given k = 32, rank 2 33: they must be the same");
    }

    #[test]
    fn another_version_and_a_rank_without_a_plan_are_named() {
        let given = plan(&Problem::new(64, 48, 32));
        let own = message(Some(&given));
        let mut later = own;
        later[0] += 1;
        let text = check(&given, &[own, later].concat()).unwrap_err().to_string();
        assert!(text.starts_with("rank 0 was given the version of sgemm, as a number = "), "{text}");
        let mut longer = own;
        longer[VALUES - 1] = 1;
        assert!(matches!(check(&given, &[own, longer].concat()), Err(Error::Disagreement { argument: VERSION, .. })));
        let text = check(&given, &[own, message(None)].concat()).unwrap_err().to_string();
        assert_eq!(text, "rank 1, plan: it could not make its own, and says why");
    }
}
