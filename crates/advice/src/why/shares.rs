//! Shares of a gain from the values of subsets: Shapley's, and what single knobs restored say.

use super::Subset;
use std::collections::BTreeMap;

/// The metric's logarithm at each subset that is known.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    values: BTreeMap<Subset, f64>,
}

impl Table {
    pub(super) fn set(&mut self, subset: Subset, value: f64) {
        self.values.insert(subset, value);
    }

    /// Not a number where the subset is not known.
    pub(super) fn get(&self, subset: Subset) -> f64 {
        self.values.get(&subset).copied().unwrap_or(f64::NAN)
    }
}

/// What turning each player lowers, averaged over all orders in which the players can be turned one after the other.
/// Needs all subsets.
pub(super) fn shapley(players: usize, table: &Table) -> Vec<f64> {
    // |T|! (d − |T| − 1)! / d! = 1 / (d · C(d − 1, |T|)).
    let weight = |size: usize| {
        let choose = (0..size).fold(1.0, |product, k| product * (players - 1 - k) as f64 / (k + 1) as f64);
        1.0 / (players as f64 * choose)
    };
    let all = Subset::all(players);
    let share = |player: usize| -> f64 {
        let others = all.subsets_of(players).filter(|subset| !subset.has(player));
        others.map(|subset| weight(subset.len()) * (table.get(subset) - table.get(subset.with(player)))).sum()
    };
    (0..players).map(share).collect()
}

/// Shares from the effects of restoring one knob of the winner, and the sum of these effects. What the effects leave of
/// the whole is spread evenly: where the knobs do nothing together but by one interaction of all of them, that is exactly
/// Shapley's share.
pub(super) fn put_back_shares(players: usize, table: &Table) -> (Vec<f64>, f64) {
    let all = Subset::all(players);
    let effects: Vec<f64> = (0..players).map(|player| table.get(all.without(player)) - table.get(all)).collect();
    let sum: f64 = effects.iter().sum();
    let rest = (table.get(Subset::NONE) - table.get(all) - sum) / players as f64;
    (effects.into_iter().map(|effect| effect + rest).collect(), sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(players: usize, value: impl Fn(Subset) -> f64) -> Table {
        let mut table = Table::default();
        Subset::all(players).subsets_of(players).for_each(|subset| table.set(subset, value(subset)));
        table
    }

    #[test]
    fn shapley_worked_by_hand() {
        // Three players; only player 0 together with player 1 brings 6, player 2 brings 1 alone.
        let worth = |one: Subset| -(6.0 * f64::from(one.has(0) && one.has(1)) + f64::from(one.has(2)));
        let shares = shapley(3, &table(3, worth));
        for (have, want) in shares.iter().zip([3.0, 3.0, 1.0]) {
            assert!((have - want).abs() < 1e-12, "{shares:?}");
        }
    }

    #[test]
    fn put_back_agrees_with_all_orders_where_knobs_add_up_but_for_one_interaction_of_all() {
        let effects = [0.20, 0.05, -0.02, 0.11, 0.01];
        let worth = |one: Subset| {
            let sum: f64 = (0..5).filter(|player| one.has(*player)).map(|player| effects[player]).sum();
            -sum - if one.len() == 5 { 0.07 } else { 0.0 }
        };
        let table = table(5, worth);
        let (shares, _) = put_back_shares(5, &table);
        for (have, want) in shares.iter().zip(shapley(5, &table)) {
            assert!((have - want).abs() < 1e-12, "{shares:?}");
        }
    }
}
