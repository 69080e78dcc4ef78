//! Rehearsing a search cheaply: every level of every factor once, not every setting; what is refused twice is refused for
//! all settings that have it.
use std::collections::BTreeSet;

use powerband_record::SearchPlan;

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
/// refused, and all with a level that is refused beside other levels as well. An error ends it.
///
/// # Errors
/// What `refuses` fails with.
pub(crate) fn refused_levels<E>(
    plan: &SearchPlan,
    mut refuses: impl FnMut(u32) -> Result<Option<String>, E>,
) -> Result<Vec<(u32, String)>, E> {
    let mut refused: Vec<(u32, String)> = Vec::new();
    for (setting, new) in picked(plan) {
        let Some(why) = refuses(setting)? else { continue };
        refused.push((setting, why));
        for level in new {
            let having: Vec<u32> = (1..)
                .zip(&plan.points)
                .filter(|(other, point)| {
                    point.get(level.0) == Some(&level.1) && !refused.iter().any(|(known, _)| known == other)
                })
                .map(|(other, _)| other)
                .collect();
            // The one farthest away in the list differs in the most.
            let Some(&witness) = having.last() else { continue };
            if let Some(why) = refuses(witness)? {
                refused.extend(having.into_iter().map(|other| (other, why.clone())));
            }
        }
    }
    refused.sort_by_key(|(setting, _)| *setting);
    Ok(refused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use powerband_record::{Better, SearchGoal};

    fn plan(points: Vec<Vec<Option<u16>>>) -> SearchPlan {
        let goal = SearchGoal { name: "power_w".into(), better: Better::Lower, known: Vec::new(), found: None };
        let noise = std::collections::BTreeMap::new();
        SearchPlan {
            goal,
            requirements: Vec::new(),
            safe: None,
            factors: Vec::new(),
            points,
            found_at: None,
            found: Vec::new(),
            between: Vec::new(),
            only_held: false,
            noise,
        }
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
    }
}
