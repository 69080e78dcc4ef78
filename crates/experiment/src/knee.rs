//! The knee of an experiment: which settings are in the quest, when it is settled, and the finding in the journal's words.
use std::sync::Arc;

use powerband_record::{Better, KneeFinding, SettingVerdict, Started, Verdict};
use powerband_stats::{Knee, KneeGoal, KneeLook, KneeSearch, Rules, Scale, Spending, Table};

/// Next to a "same" whose difference was shown as well.
pub(crate) const BELOW_MARGIN: &str = "significant, but below the margin";

/// Seeks the knee on the first judged metric.
pub(crate) struct KneeSeeker {
    metric: String,
    knee: Option<Knee>,
    quest: KneeSearch,
    rules: Rules,
    spending: Arc<Spending>,
    last: Option<KneeLook>,
}

impl KneeSeeker {
    /// `None` when no cost order was given.
    pub(crate) fn new(started: &Started, spending: &Arc<Spending>) -> Option<Self> {
        let metric = started.metrics.first()?;
        if started.cost_order.is_empty() {
            return None;
        }
        let quest = KneeSearch {
            cost_order: started.cost_order.iter().map(|&setting| setting as usize).collect(),
            larger_is_better: metric.better == Better::Higher,
            goal: KneeGoal::Knee,
            seed: started.seed,
        };
        let rules = Rules { alpha: started.alpha, margin: started.margin, ..Rules::default() };
        Some(KneeSeeker {
            metric: metric.name.clone(),
            knee: None,
            quest,
            rules,
            spending: Arc::clone(spending),
            last: None,
        })
    }

    /// Looks at the table on the scale, and with the margin, that its metric is judged by.
    pub(crate) fn look(&mut self, table: &Table, (scale, margin): (Scale, f64)) {
        if self.rules.scale != scale {
            self.knee = None;
        }
        (self.rules.scale, self.rules.margin) = (scale, margin);
        if self.knee.is_none() {
            self.knee = Knee::new(self.quest.clone(), self.rules.clone(), Arc::clone(&self.spending)).ok();
        }
        // Too few blocks is no news, and what else prevents a verdict is noted with the metric.
        if let Some(Ok(look)) = self.knee.as_mut().map(|knee| knee.look(table)) {
            self.last = Some(look);
        }
    }

    /// Settings alike with the knee among those still in the race.
    fn alike(&self, look: &KneeLook) -> Vec<usize> {
        let Some(knee) = look.knee else { return Vec::new() };
        let mut alike = look.pairs.alike_with(knee);
        alike.retain(|setting| !look.inferior.contains(setting));
        alike
    }

    /// Whether the knee is known, and of every setting left whether it is like the knee.
    pub(crate) fn complete(&self) -> bool {
        self.last.as_ref().is_some_and(|look| {
            let left = self.quest.cost_order.iter().filter(|setting| !look.inferior.contains(setting)).count();
            look.knee.is_some() && self.alike(look).len() == left
        })
    }

    /// A difference from the reference that was claimed, and by now is shown to lie within the margin: "same" then, as the
    /// knee's comparison of pairs says. The table and the knee must not contradict one another.
    pub(crate) fn reconcile(&self, verdicts: &mut [SettingVerdict]) {
        let Some(look) = &self.last else { return };
        for verdict in verdicts.iter_mut().filter(|it| it.metric == self.metric) {
            let differs = matches!(verdict.verdict, Verdict::Better | Verdict::Worse);
            let setting = verdict.setting as usize;
            let contrast = look.pairs.contrast(setting, 0).filter(|_| differs && look.pairs.within_margin(setting, 0));
            let Some(contrast) = contrast else { continue };
            // Inside the margin is the interval at the level of the two one-sided tests.
            let level = self.spending.nominal(
                self.rules.spend,
                self.rules.same_level(1),
                self.rules.first_look(),
                contrast.blocks,
            );
            let (low, high) = contrast.interval(2.0 * level);
            verdict.verdict = Verdict::Same;
            verdict.change = self.rules.shown(contrast.effect);
            (verdict.low, verdict.high) = (Some(self.rules.shown(low)), Some(self.rules.shown(high)));
            (verdict.blocks, verdict.decided_at) = (contrast.blocks, Some(look.blocks));
            verdict.notes.push(BELOW_MARGIN.to_owned());
        }
    }

    /// What is found, with the verdicts against the reference: the knee is named, and settings are called alike with it, only
    /// where their own verdict is decided and not worse.
    pub(crate) fn finding(&self, verdicts: &[SettingVerdict]) -> Option<KneeFinding> {
        let look = self.last.as_ref()?;
        let index = |setting: usize| u32::try_from(setting).unwrap_or(u32::MAX);
        let holds = |setting: &usize| {
            let decided = |it: &SettingVerdict| matches!(it.verdict, Verdict::Same | Verdict::Better);
            let mine = |it: &&SettingVerdict| it.metric == self.metric && it.setting == index(*setting);
            *setting == 0 || verdicts.iter().find(mine).is_some_and(decided)
        };
        // All but the costliest lose. Where that is the reference, the verdicts against it have to say so as well.
        let costliest = look.knee.filter(|knee| Some(knee) == self.quest.cost_order.last());
        let others = || (1..=verdicts.len()).filter(|setting| holds(setting));
        let none = costliest.is_some_and(|knee| knee != 0 || others().next().is_none());
        let knee = look.knee.filter(|knee| costliest.is_none() && holds(knee));
        let likely = look.knee.unwrap_or(look.provisional.setting);
        let open = knee.is_none() && !none;
        let probability = (likely == look.provisional.setting).then_some(look.provisional.probability);
        Some(KneeFinding {
            metric: self.metric.clone(),
            knee: knee.map(index),
            provisional: open.then(|| index(likely)),
            probability: probability.filter(|_| open),
            inferior: look.inferior.iter().copied().map(index).collect(),
            alike: self.alike(look).into_iter().filter(|alike| knee.is_some() && holds(alike)).map(index).collect(),
            none,
        })
    }
}
