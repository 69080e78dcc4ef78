//! What a number covers, as parts of a machine that contain one another: which numbers must not be added up, and the sum of
//! those that may.
use std::fmt;

use serde::Serialize;
use thiserror::Error;

use crate::MeterInstance;

/// A part of a machine whose power is measured as one. Packages go by the number in their zone's name: `0`, `0-die-1`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "part", content = "of", rename_all = "snake_case")]
pub enum PowerScope {
    /// Nothing tells what is measured.
    #[default]
    Unknown,
    /// The whole machine, as its supply sees it.
    Machine,
    /// What a battery gives, which is the whole machine while it discharges.
    Battery(String),
    /// The platform, as the processor's firmware sees it (psys).
    Platform,
    /// One processor package: its cores and what is around them, but not its memory.
    Package(String),
    /// The cores of a package.
    Cores(String),
    /// The rest of a package, mostly built-in graphics.
    Uncore(String),
    /// The memory at a package.
    Memory(String),
}

/// How the parts behind two numbers lie to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// One and the same.
    Same,
    /// The first holds the second.
    Contains,
    /// The first is in the second.
    Within,
    /// They have nothing in common.
    Apart,
    /// Nobody can tell.
    Unclear,
}

impl PowerScope {
    /// How this part lies to another one.
    #[must_use]
    pub fn relation(&self, other: &PowerScope) -> Relation {
        match (self, other) {
            (PowerScope::Unknown, _) | (_, PowerScope::Unknown) | (PowerScope::Machine, PowerScope::Machine) => {
                Relation::Unclear
            }
            _ if self == other => Relation::Same,
            _ if self.holds(other) => Relation::Contains,
            _ if other.holds(self) => Relation::Within,
            _ if self.feeds_all() && other.feeds_all() => Relation::Unclear,
            _ => Relation::Apart,
        }
    }

    fn feeds_all(&self) -> bool {
        matches!(self, PowerScope::Machine | PowerScope::Battery(_))
    }

    fn holds(&self, other: &PowerScope) -> bool {
        match (self, other) {
            (PowerScope::Machine | PowerScope::Battery(_), other) => !other.feeds_all(),
            (PowerScope::Platform, other) => !other.feeds_all() && *other != PowerScope::Platform,
            (PowerScope::Package(package), PowerScope::Cores(of) | PowerScope::Uncore(of)) => {
                package == of || is_die_of(of, package)
            }
            (PowerScope::Package(package), PowerScope::Package(of))
            | (PowerScope::Cores(package), PowerScope::Cores(of))
            | (PowerScope::Uncore(package), PowerScope::Uncore(of))
            | (PowerScope::Memory(package), PowerScope::Memory(of)) => is_die_of(of, package),
            _ => false,
        }
    }
}

/// Whether `0-die-1` is named and `0`.
fn is_die_of(die: &str, package: &str) -> bool {
    die.strip_prefix(package).is_some_and(|rest| rest.starts_with("-die-"))
}

impl MeterInstance {
    /// How what it covers lies to what another one covers.
    #[must_use]
    pub fn relation(&self, other: &MeterInstance) -> Relation {
        let all = || self.read().iter().flat_map(|own| other.read().iter().map(|it| own.scope.relation(&it.scope)));
        if all().all(|relation| relation == Relation::Apart) {
            return Relation::Apart;
        }
        if all().any(|relation| relation == Relation::Unclear) {
            return Relation::Unclear;
        }
        let (holds, is_held) = (self.holds_all(other), other.holds_all(self));
        match (holds, is_held) {
            (true, true) => Relation::Same,
            (true, false) => Relation::Contains,
            (false, true) => Relation::Within,
            (false, false) => Relation::Unclear,
        }
    }

    /// Whether each part of another one is in a part of this.
    fn holds_all(&self, other: &MeterInstance) -> bool {
        let held = |part: &MeterInstance| {
            let relation = |own: &MeterInstance| own.scope.relation(&part.scope);
            self.read().iter().any(|own| matches!(relation(own), Relation::Same | Relation::Contains))
        };
        other.read().iter().all(held)
    }
}

/// Why some numbers are not added up.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SumError {
    /// Two of them share a part of the machine.
    #[error("{first} and {second} cannot be added up: {why}")]
    Overlap {
        /// Boundary of one.
        first: String,
        /// Boundary of the other.
        second: String,
        /// What they share.
        why: SharedParts,
    },
    /// There is nothing to add up.
    #[error("a sum takes two meters or more")]
    TooFew,
}

/// What two numbers share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedParts(Relation);

impl fmt::Display for SharedParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Relation::Same => "they measure the same part",
            Relation::Contains => "the first contains the second",
            Relation::Within => "the second contains the first",
            Relation::Apart | Relation::Unclear => "nothing shows that they measure different parts",
        })
    }
}

/// One meter that is the sum of several whose parts have nothing in common; its boundary names them all.
///
/// # Errors
/// [`SumError`] when two of them overlap, or nobody can tell that they do not.
pub fn sum(parts: &[&MeterInstance]) -> Result<MeterInstance, SumError> {
    let [first, _, ..] = parts else { return Err(SumError::TooFew) };
    for (i, part) in parts.iter().enumerate() {
        for other in &parts[i + 1..] {
            let relation = part.relation(other);
            if relation != Relation::Apart {
                let (first, second) = (part.boundary.clone(), other.boundary.clone());
                return Err(SumError::Overlap { first, second, why: SharedParts(relation) });
            }
        }
    }
    let joined = |of: fn(&MeterInstance) -> &str| parts.iter().map(|it| of(it)).collect::<Vec<_>>().join(" + ");
    let mut total = MeterInstance::new(first.meter, joined(|it| &it.boundary), joined(|it| &it.source), first.kind);
    total.parts = parts.iter().flat_map(|part| part.read()).cloned().collect();
    total.notes.push(format!("the sum of {} meters that share no part", total.parts.len()));
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    fn of(scope: PowerScope) -> MeterInstance {
        let kind = Kind::Counter { wrap: None };
        MeterInstance { scope, ..MeterInstance::new("powercap", "x".into(), "/x".into(), kind) }
    }

    #[test]
    fn parts_contain_one_another() {
        let zero = || "0".to_owned();
        let one = || "1".to_owned();
        let package = PowerScope::Package(zero());
        for (a, b, relation) in [
            (&package, PowerScope::Cores(zero()), Relation::Contains),
            (&package, PowerScope::Uncore(zero()), Relation::Contains),
            (&package, PowerScope::Cores(one()), Relation::Apart),
            (&package, PowerScope::Memory(zero()), Relation::Apart),
            (&package, PowerScope::Package(one()), Relation::Apart),
            (&package, PowerScope::Package(zero()), Relation::Same),
            (&package, PowerScope::Platform, Relation::Within),
            (&package, PowerScope::Battery("BAT0".into()), Relation::Within),
            (&package, PowerScope::Unknown, Relation::Unclear),
            (&package, PowerScope::Package("0-die-1".into()), Relation::Contains),
            (&package, PowerScope::Cores("0-die-1".into()), Relation::Contains),
            (&package, PowerScope::Package("01".into()), Relation::Apart),
            (&PowerScope::Memory(zero()), PowerScope::Memory("0-die-1".into()), Relation::Contains),
            (&PowerScope::Machine, PowerScope::Platform, Relation::Contains),
            (&PowerScope::Machine, PowerScope::Machine, Relation::Unclear),
            (&PowerScope::Machine, PowerScope::Battery("BAT0".into()), Relation::Unclear),
            (&PowerScope::Battery("BAT1".into()), PowerScope::Battery("BAT0".into()), Relation::Unclear),
            (&PowerScope::Platform, PowerScope::Memory(zero()), Relation::Contains),
            (&PowerScope::Cores(zero()), PowerScope::Uncore(zero()), Relation::Apart),
        ] {
            assert_eq!(a.relation(&b), relation, "{a:?} {b:?}");
            let back = match relation {
                Relation::Contains => Relation::Within,
                Relation::Within => Relation::Contains,
                same => same,
            };
            assert_eq!(b.relation(a), back, "{b:?} {a:?}");
        }
    }

    #[test]
    fn only_what_shares_nothing_is_added_up() {
        let [zero, one] = ["0", "1"].map(|n| of(PowerScope::Package(n.into())));
        let total = sum(&[&zero, &one]).unwrap();
        assert_eq!((total.boundary.as_str(), total.source.as_str(), total.parts.len()), ("x + x", "/x + /x", 2));
        for (other, why) in [
            (of(PowerScope::Platform), "the second contains the first"),
            (of(PowerScope::Cores("0".into())), "the first contains the second"),
            (of(PowerScope::Unknown), "nothing shows that they measure different parts"),
            (zero.clone(), "they measure the same part"),
        ] {
            let error = sum(&[&zero, &one, &other]).unwrap_err();
            assert_eq!(error.to_string(), format!("x and x cannot be added up: {why}"));
        }
        assert_eq!(sum(&[&zero]), Err(SumError::TooFew));
    }
}
