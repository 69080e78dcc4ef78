//! Attempts of a node of a fleet: a task that was lost runs again, and one of its experiments counts.
use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::row::Summary;

/// What counts of these, in their order: of the experiments of one node of one fleet the one that is complete, else the one with the
/// most blocks, and the earliest attempt of equals. The others are kept and are read by their numbers.
pub(crate) fn counting(all: Vec<Summary>) -> Vec<Summary> {
    let rank = |one: &Summary| {
        let complete = one.reason.as_ref().is_some_and(|reason| reason.is_complete());
        let attempt = one.fleet.as_ref().map_or(0, |task| task.attempt);
        (complete, one.counts.blocks, Reverse(attempt), Reverse(one.id))
    };
    let mut best = BTreeMap::new();
    for one in &all {
        let Some(task) = &one.fleet else { continue };
        let best = best.entry((task.fleet.clone(), task.node.clone())).or_insert_with(|| rank(one));
        *best = rank(one).max(*best);
    }
    let counts = |one: &Summary| match &one.fleet {
        Some(task) => best.get(&(task.fleet.clone(), task.node.clone())) == Some(&rank(one)),
        None => true,
    };
    all.into_iter().filter(counts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(id: i64, node: Option<(&str, &str, u32)>, blocks: u32, reason: &str) -> Summary {
        let fleet = node.map(|(fleet, node, attempt)| {
            serde_json::json!({"fleet": fleet, "node": node, "position": 0, "nodes": 2, "attempt": attempt})
        });
        let reason = if reason.is_empty() { serde_json::Value::Null } else { reason.into() };
        let summary = serde_json::json!({
            "id": id, "started_unix_s": 1, "host": "h", "fleet": fleet, "state": "ended", "reason": reason, "settings": 2,
            "blocks": blocks, "trials": 0, "voids": 0, "decided": 0, "open": 0
        });
        serde_json::from_value(summary).unwrap()
    }

    #[test]
    fn the_complete_attempt_of_a_node_supersedes_the_others() {
        let all = vec![
            one(1, Some(("f", "n1", 0)), 9, ""),
            one(2, None, 3, "stopped"),
            one(3, Some(("f", "n1", 2)), 4, "blocks"),
            one(4, Some(("f", "n1", 1)), 4, "blocks"),
            one(5, Some(("f", "n2", 0)), 3, "stopped"),
            one(6, Some(("f", "n2", 1)), 5, "stopped"),
            one(7, Some(("g", "n1", 0)), 1, ""),
            one(8, None, 3, "blocks"),
        ];
        let ids: Vec<i64> = counting(all).iter().map(|one| one.id).collect();
        assert_eq!(ids, [2, 4, 6, 7, 8]);
    }
}
