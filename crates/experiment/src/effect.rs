//! What a setting came to on the machines, as the rehearsal read it: drivers round values, clamp them or ignore them, and then
//! settings that ask for different things are one and the same.
use powerband_knob::{Applied, KnobError, Landed};
use powerband_record::{Setting, Side, placed};

/// A knob at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
struct At {
    side: Side,
    knob: String,
    site: String,
    asked: String,
    reads: String,
    /// What reads there, for people.
    shown: String,
}

/// Of two settings that came to the same, the one that is not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    First,
    Second,
}

/// What a setting came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Effect {
    all: Vec<At>,
    /// Something of it cannot be read, is not in force yet, or is held down just now: that may change.
    open: bool,
    /// Everything reads as before, and something was to.
    unchanged: bool,
    /// How many places read as a nearby value.
    clamped: usize,
}

impl Effect {
    /// Of what was applied, by side.
    pub(crate) fn of(in_force: &[(Side, Applied)]) -> Effect {
        let mut effect = Effect::default();
        let (mut clamped, mut moved) = (0, false);
        for (side, applied) in in_force {
            for reached in &applied.sites {
                let is_clamped = matches!(reached.landed, Landed::Clamped { .. });
                effect.open |= !is_clamped && !matches!(reached.landed, Landed::Applied | Landed::Already);
                clamped += usize::from(is_clamped);
                moved |= reached.reads_back.as_deref() != reached.before.as_deref().map(str::trim);
                effect.all.push(At {
                    side: *side,
                    knob: reached.named.name.clone(),
                    site: reached.site.name.clone(),
                    asked: reached.asked.typed(),
                    reads: reached.reads_back.clone().unwrap_or_default(),
                    shown: match &reached.landed {
                        Landed::Clamped { to } => to.clone(),
                        _ => reached.asked.to_string(),
                    },
                });
            }
        }
        effect.unchanged = clamped > 0 && !moved;
        effect.clamped = clamped;
        effect
    }

    /// Of a setting that was not applied because the driver ignores its value, where it sets nothing else.
    pub(crate) fn ignored(error: &KnobError, assignments: usize) -> Option<Effect> {
        let (side, error) = match error {
            KnobError::On { side, error } => (*side, &**error),
            error => (Side::Near, error),
        };
        let KnobError::Ignored { knob, site, asked, reads } = error else { return None };
        let (knob, site, asked, reads) = (knob.clone(), site.clone(), asked.clone(), reads.trim().to_owned());
        let at = At { side, knob, site, asked, shown: reads.clone(), reads };
        (assignments == 1).then(|| Effect { all: vec![at], open: false, unchanged: true, clamped: 1 })
    }

    /// Whether both came to the same values at the same places, although they do not ask for the same.
    pub(crate) fn became(&self, other: &Effect) -> bool {
        let alike = |(one, other): (&At, &At)| {
            (one.side, &one.knob, &one.site, &one.reads) == (other.side, &other.knob, &other.site, &other.reads)
        };
        !self.open
            && !other.open
            && self != other
            && self.all.len() == other.all.len()
            && self.all.iter().zip(&other.all).all(alike)
    }

    /// Why a setting that came to `other` need not be compared, where it became the same as this one's, which is called `label`.
    pub(crate) fn equal(&self, label: &str, other: &Effect) -> Option<String> {
        self.became(other).then(|| format!("equal to {label}: both became {}", self.words(std::slice::from_ref(other))))
    }

    /// Which of two that came to the same is left, and why: the one that got less of what it asks for, or else the second.
    pub(crate) fn left(&self, other: &Effect, labels: [&str; 2]) -> Option<(Left, String)> {
        if other.clamped < self.clamped {
            return other.equal(labels[1], self).map(|why| (Left::First, why));
        }
        self.equal(labels[0], other).map(|why| (Left::Second, why))
    }

    /// Whether it changed nothing, although it asks for something.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.unchanged && !self.open
    }

    /// The values it came to where others asked for something else, each with the knob and where: `64 (nic.rx-frames at eth0)`.
    /// All of them where there are no others.
    fn words(&self, others: &[Effect]) -> String {
        let mut all: Vec<(String, &str, Vec<&str>)> = Vec::new();
        let differs = |place: usize| others.iter().any(|other| other.all[place].asked != self.all[place].asked);
        for (_, at) in self.all.iter().enumerate().filter(|(place, _)| others.is_empty() || differs(*place)) {
            let knob = format!("{}{}", at.side.prefix(), at.knob);
            match all.iter_mut().find(|(other, reads, _)| *other == knob && *reads == at.shown) {
                Some((_, _, sites)) => sites.push(&at.site),
                None => all.push((knob, &at.shown, vec![&at.site])),
            }
        }
        let words = all.iter().map(|(knob, reads, sites)| match sites[..] {
            [site] => format!("{reads} ({})", placed(knob, site)),
            _ => format!("{reads} ({knob} at {} targets)", sites.len()),
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

/// The settings that are not compared, with why: each came to what one that is compared came to, or left everything as the
/// baseline has it. Of settings that came to the same, the first that got what it asks for is compared, or the reference, or else
/// the first. `may` says whether two settings do not differ in anything else.
///
/// # Errors
/// Why there is nothing to compare, where only the first is left.
pub(crate) fn repeated(
    settings: &[Setting],
    effects: &[Effect],
    may: impl Fn(usize, usize) -> bool,
) -> Result<Vec<(u32, String)>, String> {
    let is_baseline = settings.first().is_some_and(|first| first.assignments.is_empty());
    let why = |at: usize| {
        if is_baseline && effects[at].is_unchanged() && may(0, at) {
            return Some(format!("equal to the baseline: it became {}", effects[at].words(&[])));
        }
        let rank = |it: &usize| (*it > 0, effects[*it].clamped, *it);
        let equal = (0..effects.len()).filter(|&it| it == at || (may(it, at) && effects[it].became(&effects[at])));
        let compared = equal.min_by_key(rank).filter(|&it| it != at)?;
        effects[compared].equal(&settings[compared].label(), &effects[at])
    };
    let left: Vec<(u32, String)> =
        (1..effects.len()).filter_map(|at| Some((u32::try_from(at).ok()?, why(at)?))).collect();
    if left.is_empty() || left.len() + 1 < effects.len() {
        return Ok(left);
    }
    let asking = if is_baseline { &effects[1..] } else { effects };
    Err(all_alike(asking).unwrap_or_else(|| match asking {
        [one] => format!("nothing to compare: {} became {}, as it was", settings[1].label(), one.words(&[])),
        _ => {
            let each: Vec<&str> = left.iter().map(|(_, why)| why.as_str()).collect();
            format!("nothing to compare: {}", each.join("; "))
        }
    }))
}

/// Why there is nothing to compare, where several effects are one and the same.
pub(crate) fn all_alike(effects: &[Effect]) -> Option<String> {
    let (first, others) = effects.split_first()?;
    let alike = !others.is_empty() && others.iter().all(|other| first.became(other));
    let all = if others.len() == 1 { "both".to_owned() } else { format!("all {}", effects.len()) };
    alike.then(|| format!("nothing to compare: {all} became {}", first.words(others)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(values: &[(&str, &str, &str)]) -> Effect {
        let at = |(knob, asked, reads): &(&str, &str, &str)| At {
            side: Side::Near,
            knob: (*knob).to_owned(),
            site: "eth0".to_owned(),
            asked: (*asked).to_owned(),
            reads: (*reads).to_owned(),
            shown: (*reads).to_owned(),
        };
        Effect { all: values.iter().map(at).collect(), ..Effect::default() }
    }

    #[test]
    fn what_asks_for_different_values_and_reads_the_same_is_the_same() {
        let (ten, hundred) = (effect(&[("nic.rx-usecs", "10", "0")]), effect(&[("nic.rx-usecs", "100", "0")]));
        assert!(ten.became(&hundred));
        assert!(!ten.became(&ten), "an experiment may compare a setting with itself");
        assert!(!ten.became(&effect(&[("nic.tx-usecs", "100", "0")])) && !ten.became(&effect(&[])));
        assert!(!ten.became(&Effect { open: true, ..hundred.clone() }));
    }

    /// What is left of `SETTING became VALUE before BEFORE` of a parameter, the first a baseline where it sets nothing.
    fn left(all: &[(&str, &str)]) -> Result<Vec<(u32, String)>, String> {
        let settings: Vec<Setting> = all.iter().map(|(asked, _)| Setting::parse(asked).unwrap()).collect();
        let of = |(asked, reads): &(&str, &str)| match asked.split_once('=') {
            Some((knob, asked)) => Effect { unchanged: *reads == "7", ..effect(&[(knob, asked, reads)]) },
            None => Effect::default(),
        };
        repeated(&settings, &all.iter().map(of).collect::<Vec<_>>(), |_, _| true)
    }

    #[test]
    fn what_comes_to_what_another_came_to_is_not_compared() {
        let scenes: [&[(&str, &str)]; 6] = [
            &[("", ""), ("x=5", "5"), ("x=100", "64"), ("x=200", "64"), ("x=8", "7")],
            &[("", ""), ("x=10", "0"), ("x=100", "0")],
            &[("", ""), ("x=8", "7"), ("x=9", "7")],
            &[("", ""), ("x=8", "7")],
            &[("x=1", "3"), ("x=2", "3"), ("x=4", "3")],
            &[("x=3", "3"), ("x=3", "3")],
        ];
        let told = scenes.map(|scene| format!("{scene:?}\n    {:?}\n", left(scene)));
        insta::assert_snapshot!("left", told.concat());
    }

    #[test]
    fn of_settings_that_came_to_the_same_the_one_that_got_what_it_asks_for_is_compared() {
        let left = |all: &[(&str, bool)]| {
            let settings: Vec<Setting> = all.iter().map(|(asked, _)| Setting::parse(asked).unwrap()).collect();
            let of = |(asked, clamped): &(&str, bool)| match asked.split_once('=') {
                Some((knob, asked)) => Effect { clamped: usize::from(*clamped), ..effect(&[(knob, asked, "64")]) },
                None => Effect::default(),
            };
            repeated(&settings, &all.iter().map(of).collect::<Vec<_>>(), |_, _| true).unwrap()
        };
        let why = |it: u32, label: &str| (it, format!("equal to {label}: both became 64 (x at eth0)"));
        let exact_between = left(&[("", false), ("x=100", true), ("x=64", false), ("x=200", true)]);
        assert_eq!(exact_between, [why(1, "x=64"), why(3, "x=64")]);
        let none_exact = left(&[("", false), ("x=100", true), ("x=200", true)]);
        assert_eq!(none_exact, [why(2, "x=100")]);
        let as_reference = left(&[("x=100", true), ("x=64", false), ("y=64", false)]);
        assert_eq!(as_reference, [why(1, "x=100")], "the reference is always measured");
    }

    #[test]
    fn places_that_read_the_same_are_counted() {
        let mut two =
            effect(&[("nic.rx-frames", "100", "64"), ("nic.rx-frames", "100", "64"), ("nic.tx-usecs", "3", "4")]);
        two.all[1].site = "eth1".to_owned();
        two.all[2].side = Side::Far;
        assert_eq!(two.words(&[]), "64 (nic.rx-frames at 2 targets), 4 (far/nic.tx-usecs at eth0)");
    }
}
