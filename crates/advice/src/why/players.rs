//! Who the gain is shared among: knobs in which start and winner differ, and the settings between the two.

use crate::Space;

/// With at most this many players every setting between start and winner is run; with more, the winner with one restored.
const MAX_RUN_WHOLE: usize = 3;

/// Which players have the winner's values; the others have the start's. At most 32 players.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subset(u32);

impl Subset {
    /// The start.
    pub const NONE: Self = Self(0);

    /// These players.
    #[must_use]
    pub fn of(players: &[usize]) -> Self {
        Self(players.iter().fold(0, |bits, player| bits | bit(*player)))
    }

    /// The winner: all of so many players.
    #[must_use]
    pub fn all(players: usize) -> Self {
        Self((0..players).fold(0, |bits, player| bits | bit(player)))
    }

    /// Whether the player has the winner's values.
    #[must_use]
    pub fn has(self, player: usize) -> bool {
        self.0 & bit(player) != 0
    }

    /// The same with this player too.
    #[must_use]
    pub fn with(self, player: usize) -> Self {
        Self(self.0 | bit(player))
    }

    /// The same without this player.
    #[must_use]
    pub fn without(self, player: usize) -> Self {
        Self(self.0 & !bit(player))
    }

    /// How many players.
    #[must_use]
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether this is the start.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// All subsets of so many players (at most 6 are ever enumerated), the start first; none for more players than 16.
    pub(super) fn subsets_of(self, players: usize) -> impl Iterator<Item = Self> {
        let end = if players <= 16 { self.0 + 1 } else { 0 };
        (0..end).map(Self)
    }
}

/// Nothing for a player beyond the 32nd: [`Players`] makes no more.
fn bit(player: usize) -> u32 {
    u32::try_from(player).ok().and_then(|shift| 1_u32.checked_shl(shift)).unwrap_or(0)
}

impl std::fmt::Display for Subset {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<String> = (0..32).filter(|player| self.has(*player)).map(|player| player.to_string()).collect();
        write!(out, "{{{}}}", names.join(", "))
    }
}

/// The knobs in which a start and a winner differ. One that is inactive in either of the two counts together with the knob
/// that makes it active, because it cannot be turned alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Players {
    /// The factors of each player, ascending; a player's first factor decides its place.
    pub factors: Vec<Vec<usize>>,
}

impl Players {
    /// Of a start that has a level of each factor.
    #[must_use]
    pub fn between(space: &Space, start: &[Option<u16>], winner: &[Option<u16>]) -> Self {
        let differing: Vec<usize> =
            (0..space.factors.len()).filter(|factor| start[*factor] != winner[*factor]).collect();
        let leads = |factor: usize| start[factor].is_some() && winner[factor].is_some();
        let strength = |leader: usize, factor: usize| {
            let sides = [(start[leader], start[factor]), (winner[leader], winner[factor])];
            governs(space, leader, factor, |level, active| {
                sides.iter().all(|(of_leader, of_factor)| *of_leader != Some(level) || of_factor.is_some() == active)
            })
        };
        Self::grouped(&differing, leads, strength)
    }

    /// Of a start that is none of the points (an adaptive mode, a value between two levels), `found` at these levels as far
    /// as it is at one: every knob active at the winner and not found there is a player. One that is inactive at some point
    /// that agrees with the winner in all other knobs found there counts together with what makes it active.
    #[must_use]
    pub fn unplaced(space: &Space, found: &[Option<u16>], winner: &[Option<u16>]) -> Self {
        let factors = 0..space.factors.len();
        let (active, same): (Vec<usize>, Vec<usize>) =
            factors.filter(|factor| winner[*factor].is_some()).partition(|factor| found[*factor] != winner[*factor]);
        let agrees = |point: &&Vec<Option<u16>>| same.iter().all(|factor| point[*factor] == winner[*factor]);
        let leads = |factor: usize| space.points.iter().filter(agrees).all(|point| point[factor].is_some());
        let strength = |leader: usize, factor: usize| governs(space, leader, factor, |_, _| true);
        Self::grouped(&active, leads, strength)
    }

    /// Factors that lead become players; each other joins the leader that governs it best, or becomes a player itself where
    /// there is none.
    fn grouped(among: &[usize], leads: impl Fn(usize) -> bool, strength: impl Fn(usize, usize) -> usize) -> Self {
        let mut factors: Vec<Vec<usize>> = Vec::new();
        let leaders: Vec<usize> = among.iter().copied().filter(|factor| leads(*factor)).collect();
        factors.extend(leaders.iter().map(|leader| vec![*leader]));
        for &factor in among.iter().filter(|factor| !leaders.contains(factor)) {
            let best = (0..leaders.len()).rev().max_by_key(|place| strength(leaders[*place], factor));
            match best {
                Some(place) => factors[place].push(factor),
                None => factors.push(vec![factor]),
            }
        }
        // 32 players fit a subset; what comes behind them is counted with the last.
        while factors.len() > 32 {
            let last = factors.pop().unwrap_or_default();
            factors[31].extend(last);
        }
        factors.iter_mut().for_each(|one| one.sort_unstable());
        factors.sort();
        Self { factors }
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.factors.len()
    }

    /// Whether start and winner are the same.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.factors.is_empty()
    }

    /// The subsets to run next to start and winner, once each at least and best in the blocks that confirm the winner: all
    /// for up to three players, the winner with one of them restored for more.
    #[must_use]
    pub fn to_measure(&self) -> Vec<Subset> {
        let all = Subset::all(self.len());
        if self.len() <= MAX_RUN_WHOLE {
            return all.subsets_of(self.len()).filter(|subset| !subset.is_empty() && *subset != all).collect();
        }
        (0..self.len()).map(|player| all.without(player)).collect()
    }

    /// The levels at a subset.
    #[must_use]
    pub fn levels(&self, subset: Subset, start: &[Option<u16>], winner: &[Option<u16>]) -> Vec<Option<u16>> {
        let mut levels = start.to_vec();
        for (_, factors) in self.factors.iter().enumerate().filter(|(player, _)| subset.has(*player)) {
            factors.iter().for_each(|factor| levels[*factor] = winner[*factor]);
        }
        levels
    }

    /// The levels at a subset where the others are left as found, whatever that is: none.
    #[must_use]
    pub fn alone(&self, subset: Subset, winner: &[Option<u16>]) -> Vec<Option<u16>> {
        self.levels(subset, &vec![None; winner.len()], winner)
    }

    /// The point of the space at a subset, where it has one: a machine may refuse a combination.
    #[must_use]
    pub fn point(&self, space: &Space, subset: Subset, start: usize, winner: usize) -> Option<usize> {
        let levels = self.levels(subset, &space.points[start], &space.points[winner]);
        space.points.iter().position(|point| *point == levels)
    }
}

/// The points to run next to `start` and `winner` so that the gain can be explained. Combinations the space does not have
/// are left out.
#[must_use]
pub fn hybrids(space: &Space, start: usize, winner: usize) -> Vec<usize> {
    let players = Players::between(space, &space.points[start], &space.points[winner]);
    players.to_measure().into_iter().filter_map(|subset| players.point(space, subset, start, winner)).collect()
}

/// At how many points the level of `leader` says whether `factor` is active: the majority at that level decides, and 0 when
/// that contradicts what `agrees` knows of a level.
fn governs(space: &Space, leader: usize, factor: usize, agrees: impl Fn(u16, bool) -> bool) -> usize {
    let mut by_level = vec![(0_usize, 0_usize); space.factors[leader].levels()];
    for point in &space.points {
        if let Some(level) = point[leader] {
            let (active, inactive) = &mut by_level[usize::from(level)];
            if point[factor].is_some() { *active += 1 } else { *inactive += 1 }
        }
    }
    let agreed = (0_u16..)
        .zip(&by_level)
        .all(|(level, (active, inactive))| active == inactive || agrees(level, active > inactive));
    if agreed { by_level.iter().map(|(active, inactive)| *active.max(inactive)).sum() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Factor, FactorKind};

    fn factor(name: &str, kind: FactorKind) -> Factor {
        Factor { name: name.to_owned(), kind, switch_s: 0.01 }
    }

    /// Governor (ondemand 0, userspace 1), a frequency for userspace alone, coalescing.
    fn governed() -> Space {
        let factors = vec![
            factor("freq", FactorKind::Number(vec![1.0, 2.0])),
            factor("governor", FactorKind::Category(2)),
            factor("rx-usecs", FactorKind::Number(vec![2.0, 50.0])),
        ];
        let mut points = Vec::new();
        for delay in [0, 1] {
            points.push(vec![None, Some(0), Some(delay)]);
            points.extend([0, 1].map(|freq| vec![Some(freq), Some(1), Some(delay)]));
        }
        Space { factors, points }
    }

    #[test]
    fn a_frequency_counts_with_its_governor() {
        let space = governed();
        let (start, winner) = (0, 4);
        assert_eq!(space.points[winner], [Some(0), Some(1), Some(1)]);
        let players = Players::between(&space, &space.points[start], &space.points[winner]);
        assert_eq!(players.factors, [vec![0, 1], vec![2]]);
        let hybrids: Vec<_> = hybrids(&space, start, winner).into_iter().map(|point| &space.points[point]).collect();
        assert_eq!(hybrids, [&[Some(0), Some(1), Some(0)], &[None, Some(0), Some(1)]]);
        // Where both run userspace the frequency stands alone.
        let players = Players::between(&space, &space.points[1], &space.points[5]);
        assert_eq!(players.factors, [[0], [2]]);
        let unplaced = |found: &[Option<u16>]| Players::unplaced(&space, found, &space.points[winner]).factors;
        assert_eq!(unplaced(&[None; 3]), [vec![0, 1], vec![2]]);
        // Found under userspace with another delay than any searched, the frequency stands alone; what is as it was is out.
        assert_eq!(unplaced(&[Some(1), Some(1), None]), [[0], [2]]);
        assert_eq!(unplaced(&[None, Some(0), Some(1)]), [[0, 1]]);
    }

    #[test]
    fn more_than_three_are_put_back_one_by_one() {
        let factors: Vec<Factor> = (0..5).map(|n| factor(&n.to_string(), FactorKind::Names(2))).collect();
        let points: Vec<Vec<Option<u16>>> =
            (0..32_u16).map(|bits| (0..5).map(|n| Some(bits >> n & 1)).collect()).collect();
        let space = Space { factors, points };
        assert_eq!(hybrids(&space, 0, 31), [30, 29, 27, 23, 15]);
        assert_eq!(hybrids(&space, 0, 7), [1, 2, 3, 4, 5, 6]);
        assert_eq!(hybrids(&space, 0, 4), []);
        assert_eq!(hybrids(&space, 9, 9), []);
        // A combination the machine refuses is no point, and is not asked for.
        let mut without = space.clone();
        without.points.remove(5);
        assert_eq!(hybrids(&without, 0, 6), [1, 2, 3, 4, 5]);
    }
}
