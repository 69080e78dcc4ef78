//! Looks at a fleet while it runs: after waves of nodes, in the order that was drawn before the start and in no other.
//!
//! Nodes that finish early may be faster, and what a setting does may depend on that. A look at whichever nodes finished
//! first errs in up to every case; a look at the first nodes of a drawn order does not.

use super::holds::{Bounds, holds};
use super::mean::{Mean, mean};
use super::within::{Effects, NodeEffect};
use crate::mixed::Contrast;
use crate::predict::{Forecast, Prediction, predict};
use crate::rules::Rules;
use crate::spending::Spending;
use crate::verdict::Claim;
use serde::{Deserialize, Serialize};

/// Nodes of the first looks.
const FIRST: [u32; 14] = [3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64];
/// Fewest nodes of which anything is claimed.
pub const FIRST_LOOK: u32 = FIRST[0];
/// Level of "holds on 90 % of nodes" for a level of 1: it keeps the nominal rate in simulation.
pub const HOLDS_FACTOR: f64 = 0.7;

/// Ends of the waves of a fleet of so many nodes: 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, then a quarter more each
/// time, and all of them.
pub fn ends(nodes: u32) -> impl Iterator<Item = u32> {
    let later = std::iter::successors(FIRST.last().copied(), |end| end.checked_add(end / 4)).skip(1);
    FIRST.into_iter().chain(later).take_while(move |end| *end < nodes).chain((nodes > 0).then_some(nodes))
}

/// What is claimed of 90 % of the nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Most {
    /// The effect is above zero.
    Higher,
    /// The effect is below zero.
    Lower,
}

/// One setting at the latest look.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SettingStanding {
    /// What is claimed of the mean effect. A claim stays.
    pub claim: Claim,
    /// Nodes at the look that claimed it.
    pub claimed_at: Option<u32>,
    /// Mean effect at the latest look, on all nodes of it that measured the setting.
    pub mean: Option<Mean>,
    /// The two-sided p a look at these nodes asks of a difference; 0 before the first look.
    pub level: f64,
    /// The one-sided p it asks of "same".
    pub same_level: f64,
    /// What was claimed of 90 % of the nodes, by normal effects, and at how many. A claim stays.
    pub most: Option<(Most, u32)>,
    /// Effects that 90 % of nodes reach, at the level of the latest look.
    pub bounds: Option<Bounds>,
    /// Whether 90 % of nodes are not lower, and not higher, by more than the margin, once claimed.
    pub most_within: (bool, bool),
    /// When an open setting would be decided, in nodes.
    pub predicted: Option<Prediction>,
}

impl SettingStanding {
    const OPEN: Self = Self {
        claim: Claim::Open,
        claimed_at: None,
        mean: None,
        level: 0.0,
        same_level: 0.0,
        most: None,
        bounds: None,
        most_within: (false, false),
        predicted: None,
    };

    /// Interval of the mean effect, valid at every look at once; none before the first look.
    #[must_use]
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.mean.filter(|_| self.level > 0.0).map(|mean| mean.interval(self.level))
    }
}

/// All settings at the latest look.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FleetLook {
    /// Positions of the order that it uses, all of whose nodes are finished or given up.
    pub positions: u32,
    /// By setting, in the order given.
    pub settings: Vec<SettingStanding>,
}

/// Looks at a fleet after each of its waves, from the first to the latest that is complete.
///
/// `ended` says by position of the drawn order whether the node is finished or given up; `settings` has by setting and
/// position what was measured. A node that is lost measured nothing, or a part. The answer depends on these alone and not on
/// when it is asked for, so it may be computed anew each time.
#[must_use]
pub fn look(ended: &[bool], settings: &[Vec<Option<NodeEffect>>], rules: &Rules, spending: &Spending) -> FleetLook {
    let nodes = u32::try_from(ended.len()).unwrap_or(u32::MAX);
    let complete = ended.iter().take_while(|ended| **ended).count();
    let mut look = FleetLook { positions: 0, settings: vec![SettingStanding::OPEN; settings.len()] };
    for end in ends(nodes).filter(|end| *end as usize <= complete) {
        look.positions = end;
        for (standing, measured) in look.settings.iter_mut().zip(settings) {
            let effects = Effects::new(measured.iter().take(end as usize).flatten().copied().collect());
            update(standing, &effects, settings.len(), rules, spending);
        }
        claim(&mut look.settings, rules, spending);
    }
    let different = look.settings.iter().filter(|setting| setting.claim.is_difference()).count();
    for setting in &mut look.settings {
        finish(setting, (settings.len(), different), rules, spending);
    }
    look
}

/// Nodes that may be compared: those of the mean, from the first look on.
fn counted_nodes(setting: &SettingStanding) -> Option<(Mean, u32)> {
    setting.mean.filter(|mean| mean.nodes >= FIRST_LOOK).map(|mean| (mean, mean.nodes))
}

/// Takes in the nodes of one more wave for one of `settings` settings, and claims what is claimed of 90 % of nodes.
fn update(setting: &mut SettingStanding, effects: &Effects, settings: usize, rules: &Rules, spending: &Spending) {
    setting.mean = mean(effects);
    let Some((mean, nodes)) = counted_nodes(setting) else { return };
    let nominal = |alpha: f64| spending.nominal(rules.spend, alpha, FIRST_LOOK, nodes);
    setting.same_level = nominal(rules.same_level_of_t(settings));
    let level = nominal(rules.same_level_of_t(1));
    setting.bounds = holds(effects, &mean, HOLDS_FACTOR * level);
    let Some(bounds) = setting.bounds else { return };
    let margin = rules.margin_on_scale();
    if setting.most.is_none() && bounds.above > 0.0 {
        setting.most = Some((Most::Higher, nodes));
    } else if setting.most.is_none() && bounds.below < 0.0 {
        setting.most = Some((Most::Lower, nodes));
    }
    setting.most_within.0 |= bounds.above > -margin;
    setting.most_within.1 |= bounds.below < margin;
}

/// Claims differences by Holm's steps, and "same" within the margin.
fn claim(settings: &mut [SettingStanding], rules: &Rules, spending: &Spending) {
    let before: Vec<bool> = settings.iter().map(|setting| !setting.claim.is_open()).collect();
    loop {
        let different = settings.iter().filter(|setting| setting.claim.is_difference()).count();
        let alpha = rules.difference_level_of_t(settings.len() - different);
        let level = |nodes: u32| spending.nominal(rules.spend, alpha, FIRST_LOOK, nodes);
        let open = settings.iter_mut().filter(|setting| setting.claim.is_open());
        let ratio = |setting: &SettingStanding| {
            let (mean, nodes) = counted_nodes(setting)?;
            Some(mean.p() / level(nodes))
        };
        let best = open
            .filter_map(|setting| Some((ratio(setting)?, setting)))
            .min_by(|(one, _), (other, _)| one.total_cmp(other));
        let Some((_, setting)) = best.filter(|(ratio, _)| *ratio <= 1.0) else { break };
        let Some((mean, nodes)) = counted_nodes(setting) else { break };
        setting.claim = if mean.effect > 0.0 { Claim::Higher } else { Claim::Lower };
        setting.claimed_at = Some(nodes);
    }
    let margin = rules.margin_on_scale();
    for (setting, before) in settings.iter_mut().zip(before) {
        let Some((mean, nodes)) = counted_nodes(setting).filter(|_| !before) else { continue };
        if mean.p_same(margin) <= setting.same_level {
            setting.claim = if setting.claim.is_difference() { Claim::SameButDifferent } else { Claim::Same };
            setting.claimed_at = Some(nodes);
        }
    }
}

/// Level and prediction after the latest look, of so many settings, so many of which are claimed to differ.
fn finish(setting: &mut SettingStanding, (settings, different): (usize, usize), rules: &Rules, spending: &Spending) {
    let Some((mean, nodes)) = counted_nodes(setting) else { return };
    let difference = rules.difference_level_of_t(settings - different);
    setting.level = spending.nominal(rules.spend, difference, FIRST_LOOK, nodes);
    if !setting.claim.is_open() {
        return;
    }
    let contrast = Contrast::of_one(nodes, mean.effect, mean.standard_error, mean.df);
    let margin = rules.margin_on_scale();
    let same = rules.same_level_of_t(settings);
    setting.predicted =
        predict(&contrast, &Forecast { spending, spend: rules.spend, first: FIRST_LOOK, difference, same, margin });
}
