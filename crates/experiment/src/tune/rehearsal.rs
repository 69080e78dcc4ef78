//! Rehearsing a search cheaply: every level of every factor once, not every setting; what is refused next to
//! levels that are accepted is refused for all settings that have it.
use std::collections::{BTreeMap, BTreeSet};

use powerband_record::{InOrder as _, IntoOrdered as _, SearchPlan};

use crate::effect::Left;

/// A level of a factor; no level is one of its own.
type Having = (usize, Option<u16>);

/// Settings, as counted in the experiment, that between them have every level of every factor.
#[must_use]
pub fn cover(plan: &SearchPlan) -> Vec<u32> {
    picked(plan).into_iter().map(|(setting, _)| setting).collect()
}

/// Those settings, each with the levels it is there for.
fn picked(plan: &SearchPlan) -> Vec<(u32, Vec<Having>)> {
    let mut seen: BTreeSet<Having> = BTreeSet::new();
    let mut picked = Vec::new();
    for (setting, point) in (1..).zip(&plan.points) {
        let new: Vec<Having> = levels(point).filter(|level| !seen.contains(level)).collect();
        if !new.is_empty() || picked.is_empty() {
            seen.extend(&new);
            picked.push((setting, new));
        }
    }
    picked
}

fn levels(point: &[Option<u16>]) -> impl Iterator<Item = Having> + '_ {
    point.iter().copied().enumerate()
}

/// The settings a bench refuses, with its reasons, where `refuses` turns one and puts it back: those of the cover that are
/// refused, and all with a level that is refused next to levels that are not. An error ends it.
///
/// # Errors
/// What `refuses` fails with.
pub(crate) fn refused_levels<E>(
    plan: &SearchPlan,
    mut refuses: impl FnMut(u32) -> Result<Option<String>, E>,
) -> Result<Vec<(u32, String)>, E> {
    let of = |setting: u32| levels(&plan.points[setting as usize - 1]);
    let mut refused: BTreeMap<u32, String> = BTreeMap::new();
    let mut accepted: BTreeSet<Having> = BTreeSet::new();
    let mut suspects: Vec<Having> = Vec::new();
    for (setting, new) in picked(plan) {
        match refuses(setting)? {
            None => accepted.extend(of(setting)),
            Some(why) => {
                refused.insert(setting, why);
                suspects.extend(new);
            }
        }
    }
    for level in suspects {
        // One that is accepted next to some others is not refused as such.
        if accepted.contains(&level) {
            continue;
        }
        let has = |setting: &u32| of(*setting).any(|it| it == level) && !refused.contains_key(setting);
        let having: Vec<u32> = (1..).take(plan.points.len()).filter(has).collect();
        let unknown = |setting: u32| of(setting).filter(|it| *it != level && !accepted.contains(it)).count();
        // Next to levels that are accepted; of these the one farthest away in the list differs in the most.
        let Some(&witness) = having.iter().rev().min_by_key(|setting| unknown(**setting)) else { continue };
        let by_level = unknown(witness) == 0 || accepted.is_empty();
        match refuses(witness)? {
            None => accepted.extend(of(witness)),
            Some(why) if by_level => refused.extend(having.into_iter().map(|other| (other, why.clone()))),
            // Another level of it may be the reason; settings that share it are found when they are tried.
            Some(why) => drop(refused.insert(witness, why)),
        }
    }
    Ok(refused.into_iter().collect())
}

/// The settings that are the same as others for a bench, with its reasons, where `same` compares two and says which of them is
/// left: a setting of the cover with an earlier one that differs from it in one level alone, and where these are the same next
/// to other levels as well, all that differ so. Settings that are `refused` are not asked about. An error ends it.
///
/// # Errors
/// What `same` fails with.
pub(crate) fn equal_levels<E>(
    plan: &SearchPlan,
    refused: &[(u32, String)],
    mut same: impl FnMut(u32, u32) -> Result<Option<(Left, String)>, E>,
) -> Result<Vec<(u32, String)>, E> {
    let at = |setting: u32| &plan.points[setting as usize - 1];
    let numbers: BTreeMap<&[Option<u16>], u32> = plan.points.iter().map(Vec::as_slice).zip(1..).into_map();
    let picked: Vec<(u32, Vec<Having>)> =
        picked(plan).into_iter().filter(|(setting, _)| refused.iter().all(|(known, _)| known != setting)).collect();
    let mut left: BTreeMap<u32, String> = BTreeMap::new();
    for (place, (setting, new)) in picked.iter().enumerate() {
        for &(factor, level) in new {
            let differs_in = |other: u32| levels(at(other)).zip(levels(at(*setting))).filter(|(a, b)| a != b).count();
            let earlier = picked[..place].iter().map(|(other, _)| *other);
            let mut earlier: Vec<u32> =
                earlier.filter(|other| at(*other).get(factor) != Some(&level) && differs_in(*other) == 1).collect();
            earlier.order_by_key(|other| left.contains_key(other));
            let mut found = None;
            for other in earlier {
                if let Some((which, why)) = same(other, *setting)? {
                    found = Some((other, which, why));
                    break;
                }
            }
            let Some((other, which, why)) = found else { continue };
            let (kept, gone) = if which == Left::Second { (other, *setting) } else { (*setting, other) };
            let pairs = (1..).zip(&plan.points).filter(|(_, point)| point.get(factor) == at(gone).get(factor));
            let pairs: Vec<(u32, u32)> = pairs
                .filter_map(|(twin, point)| {
                    let mut point = point.clone();
                    point[factor] = at(kept)[factor];
                    Some((*numbers.get(point.as_slice())?, twin))
                })
                .filter(|(_, twin)| *twin != gone)
                .collect();
            left.insert(gone, why);
            // The two farthest away in the list differ from the first two in the most.
            if let Some(&(counterpart, twin)) = pairs.last()
                && let Some((Left::Second, why)) = same(counterpart, twin)?
            {
                left.extend(pairs.into_iter().map(|(_, twin)| (twin, why.clone())));
            }
            if gone == *setting {
                break;
            }
        }
    }
    Ok(left.into_iter().filter(|(setting, _)| refused.iter().all(|(known, _)| known != setting)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(points: Vec<Vec<Option<u16>>>) -> SearchPlan {
        let goal = serde_json::json!({"name": "power_w", "better": "lower"});
        let plan = serde_json::json!({"goal": goal, "requirements": [], "factors": [], "points": points});
        serde_json::from_value(plan).unwrap()
    }

    fn grid(a: u16, b: u16) -> SearchPlan {
        plan((0..a).flat_map(|i| (0..b).map(move |j| vec![Some(i), Some(j)])).collect())
    }

    #[test]
    fn each_level_is_turned_once_and_not_every_setting() {
        let plan = grid(50, 100);
        let cover = cover(&plan);
        assert_eq!(cover.len(), 149);
        for level in (0..50).map(|i| (0, Some(i))).chain((0..100).map(|j| (1, Some(j)))) {
            assert!(cover.iter().any(|&setting| plan.points[setting as usize - 1][level.0] == level.1));
        }
    }

    #[test]
    fn a_level_that_is_refused_takes_its_settings_along_and_a_combination_only_itself() {
        let plan = grid(4, 3);
        let at = |setting: u32| plan.points[setting as usize - 1].clone();
        let level = refused_levels(&plan, |setting| Ok::<_, ()>((at(setting)[0] == Some(2)).then(|| "no".to_owned())));
        let level: Vec<u32> = level.unwrap_or_default().into_iter().map(|(setting, _)| setting).collect();
        assert_eq!(level, [7, 8, 9]);
        let one = refused_levels(&plan, |setting| Ok::<_, ()>((setting == 1).then(|| "no".to_owned())));
        assert_eq!(one, Ok(vec![(1, "no".to_owned())]));
        // The last level of one factor is refused, and the first setting for a reason of its own.
        let refuses = |setting: u32| at(setting)[1] == Some(2) || setting == 1;
        let both = refused_levels(&plan, |setting| Ok::<_, ()>(refuses(setting).then(|| "no".to_owned())));
        let both: Vec<u32> = both.unwrap_or_default().into_iter().map(|(setting, _)| setting).collect();
        assert_eq!(both, [1, 3, 6, 9, 12]);
    }

    #[test]
    fn a_level_that_is_the_same_as_another_takes_its_settings_along_and_a_combination_only_itself() {
        let plan = grid(4, 3);
        let at = |setting: u32| plan.points[setting as usize - 1].clone();
        let asked = std::cell::Cell::new(0);
        let same = |one: u32, other: u32| {
            asked.set(asked.get() + 1);
            let rounded = |setting: u32| (at(setting)[0].map(|level| level.min(2)), at(setting)[1]);
            Ok::<_, ()>((rounded(one) == rounded(other)).then(|| (Left::Second, format!("as {one}"))))
        };
        // Levels 2 and 3 of the first factor are one: settings 10 to 12 are 7 to 9.
        let left: Vec<u32> = equal_levels(&plan, &[], same).unwrap().into_iter().map(|(setting, _)| setting).collect();
        assert_eq!(left, [10, 11, 12]);
        assert!(asked.get() < 12, "{}", asked.get());
        let one = equal_levels(&plan, &[], |one, other| {
            Ok::<_, ()>((one == 1 && other == 2).then(|| (Left::Second, "no".to_owned())))
        });
        assert_eq!(one, Ok(vec![(2, "no".to_owned())]));
        let refused = [(10, "refused".to_owned())];
        assert_eq!(equal_levels(&plan, &refused, same), Ok(Vec::new()));
    }

    #[test]
    fn of_levels_that_are_the_same_the_one_that_is_reached_exactly_is_kept() {
        // Levels 0, 1 and 2 of both factors come to 2; only 2 asks for that.
        for plan in [grid(4, 1), grid(4, 4)] {
            let at = |setting: u32| plan.points[setting as usize - 1].clone();
            let came =
                |setting: u32| at(setting).iter().map(|level| level.map(|level| level.max(2))).collect::<Vec<_>>();
            let missed = |setting: u32| at(setting).iter().flatten().filter(|level| **level < 2).count();
            let same = |one: u32, other: u32| {
                let which = if missed(other) < missed(one) { Left::First } else { Left::Second };
                Ok::<_, ()>((came(one) == came(other)).then(|| (which, String::new())))
            };
            let left = equal_levels(&plan, &[], same).unwrap();
            let kept = (1..=plan.points.len() as u32).filter(|setting| left.iter().all(|(gone, _)| gone != setting));
            let kept: Vec<Vec<u16>> = kept.map(|setting| at(setting).into_iter().flatten().collect()).collect();
            let expected: &[&[u16]] =
                if plan.points.len() == 4 { &[&[2, 0], &[3, 0]] } else { &[&[2, 2], &[2, 3], &[3, 2], &[3, 3]] };
            assert_eq!(kept, expected);
        }
    }
}
