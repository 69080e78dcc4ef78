//! What is known of a machine at the beginning of an experiment, and what of it has changed by the end.
use serde::{Deserialize, Serialize};

use crate::Side;

/// One thing known of a machine, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Fact {
    /// Which machine of the rig.
    #[serde(default, skip_serializing_if = "is_near")]
    pub side: Side,
    /// Of which part: `CPUs`, `clocks`, `network`.
    pub part: String,
    /// What is told.
    pub what: String,
    /// As it stands.
    pub value: String,
}

/// One thing that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactChange {
    /// Which machine of the rig.
    #[serde(default, skip_serializing_if = "is_near")]
    pub side: Side,
    /// Of which part.
    pub part: String,
    /// What.
    pub what: String,
    /// As it was at the beginning; absent = it was not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
    /// As it is at the end; absent = it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is: Option<String>,
}

fn is_near(side: &Side) -> bool {
    *side == Side::Near
}

impl Fact {
    /// The differences from `then` to `now`, in the order of `then`. Of a machine of which now nothing is known (it is lost, or
    /// nobody looked), nothing is said.
    #[must_use]
    pub fn changes(then: &[Fact], now: &[Fact]) -> Vec<FactChange> {
        let known = |side: Side| now.iter().any(|fact| fact.side == side) && then.iter().any(|fact| fact.side == side);
        let same = |a: &Fact, b: &Fact| a.side == b.side && a.part == b.part && a.what == b.what;
        let change = |fact: &Fact, was: Option<&Fact>, is: Option<&Fact>| FactChange {
            side: fact.side,
            part: fact.part.clone(),
            what: fact.what.clone(),
            was: was.map(|fact| fact.value.clone()),
            is: is.map(|fact| fact.value.clone()),
        };
        let was = then.iter().filter(|fact| known(fact.side)).filter_map(|fact| {
            let is = now.iter().find(|other| same(fact, other));
            is.is_none_or(|is| is.value != fact.value).then(|| change(fact, Some(fact), is))
        });
        let new = now.iter().filter(|fact| known(fact.side) && !then.iter().any(|other| same(fact, other)));
        was.chain(new.map(|fact| change(fact, None, Some(fact)))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(what: &str, value: &str) -> Fact {
        Fact { side: Side::Near, part: "clocks".into(), what: what.into(), value: value.into() }
    }

    #[test]
    fn what_changed_came_or_went_is_told_once_and_nothing_else() {
        let then = [fact("governor", "ondemand"), fact("driver", "acpi-cpufreq"), fact("boost", "1")];
        assert_eq!(Fact::changes(&then, &then), []);
        let now = [fact("driver", "acpi-cpufreq"), fact("governor", "performance"), fact("smt", "1")];
        let told: Vec<_> = Fact::changes(&then, &now).into_iter().map(|it| (it.what, it.was, it.is)).collect();
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            told,
            [
                ("governor".to_owned(), some("ondemand"), some("performance")),
                ("boost".to_owned(), some("1"), None),
                ("smt".to_owned(), None, some("1")),
            ]
        );
        assert_eq!(Fact::changes(&then, &[]), [], "of a machine that is lost nothing is said");
        assert_eq!(Fact::changes(&[], &now), [], "nor where nobody looked at the beginning");
    }
}
