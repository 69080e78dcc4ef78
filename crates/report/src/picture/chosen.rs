//! Which settings and sites a picture shows that has not room for all of them, and how it says so.
use std::cmp::Ordering;

use powerband_record::{Better, InOrder};

use crate::Model;
use crate::courses::CourseSite;

/// What is drawn, in its order, and a sentence about what is not; empty where all is.
pub(super) struct Chosen<T> {
    pub(super) kept: Vec<T>,
    pub(super) told: String,
}

/// Where a load has several stretches, which one: `, at_50`.
pub(super) fn stretch(site: &CourseSite) -> String {
    site.stretch.as_ref().map(|name| format!(", {name}")).unwrap_or_default()
}

/// What a reader has to know of lines that have fewer corners than there are readings.
pub(super) fn folded(together: usize) -> String {
    match together {
        1 => String::new(),
        more => format!(" Each column covers up to {more} readings, from the least to the most of them."),
    }
}

/// At most `most` settings of `all`: the reference, and those that come off best in the first judged metric.
pub(super) fn settings(model: &Model, all: &[u32], most: usize) -> Chosen<u32> {
    if all.len() <= most {
        return Chosen { kept: all.to_vec(), told: String::new() };
    }
    let judged = model.judged().next();
    let typical = |setting: u32| {
        let level = model.settings.get(setting as usize)?.levels.get(judged?.0)?.as_ref()?;
        level.typical.is_finite().then_some(level.typical)
    };
    let better = |one: f64, other: f64| match judged.map(|(_, metric)| metric.better) {
        Some(Better::Lower) => one.total_cmp(&other),
        _ => other.total_cmp(&one),
    };
    let mut ranked = all.to_vec();
    ranked.order_by(|one, other| match (*one == 0, *other == 0, typical(*one), typical(*other)) {
        (true, ..) => Ordering::Less,
        (_, true, ..) => Ordering::Greater,
        (.., Some(one), Some(other)) => better(one, other),
        (.., one, other) => other.is_some().cmp(&one.is_some()),
    });
    ranked.truncate(most);
    let reference = ranked.first() == Some(&0);
    let others = ranked.len() - usize::from(reference);
    ranked.sort_unstable();
    let who = match (reference, judged) {
        (true, Some((_, metric))) => format!("the reference and the {others} best in {}", metric.name),
        (false, Some((_, metric))) => format!("the {others} best in {}", metric.name),
        (_, None) => format!("the first {most}"),
    };
    Chosen { kept: ranked, told: format!(" Of {} settings, {who} are drawn.", all.len()) }
}

/// At most `most` sites of `all`: those with the highest scores, which is what `whose` says.
pub(super) fn sites<T: Copy>(all: &[T], most: usize, score: impl Fn(T) -> f64, whose: &str) -> Chosen<T> {
    if all.len() <= most {
        return Chosen { kept: all.to_vec(), told: String::new() };
    }
    let mut ranked: Vec<(usize, f64)> = all.iter().map(|site| score(*site)).enumerate().collect();
    ranked.order_by(|one, other| other.1.total_cmp(&one.1));
    ranked.truncate(most);
    ranked.order_by_key(|(place, _)| *place);
    let kept = ranked.iter().filter_map(|(place, _)| all.get(*place).copied()).collect();
    Chosen { kept, told: format!(" Of {} {whose} are drawn.", all.len()) }
}
