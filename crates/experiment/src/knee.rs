//! The knee of an experiment: which settings are in the quest, when it is settled, and the finding in the journal's words.
use std::sync::Arc;

use powerband_record::{Better, KneeFinding, Started};
use powerband_stats::{Goal, Knee, KneeLook, Quest, Rules, Spending, Table};

/// Seeks the knee on the first judged metric.
pub(crate) struct KneeSeeker {
    metric: String,
    knee: Option<Knee>,
    quest: Quest,
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
        let quest = Quest {
            cost_order: started.cost_order.iter().map(|&setting| setting as usize).collect(),
            larger_is_better: metric.better == Better::Higher,
            goal: Goal::Knee,
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

    pub(crate) fn look(&mut self, table: &Table) {
        if self.knee.is_none() {
            self.knee = Knee::new(self.quest.clone(), self.rules.clone(), Arc::clone(&self.spending)).ok();
        }
        // Too few blocks is no news, and a value without a logarithm is told by the metric's own judge.
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

    pub(crate) fn finding(&self) -> Option<KneeFinding> {
        let look = self.last.as_ref()?;
        let index = |setting: usize| u32::try_from(setting).unwrap_or(u32::MAX);
        Some(KneeFinding {
            metric: self.metric.clone(),
            knee: look.knee.map(index),
            provisional: look.knee.is_none().then(|| index(look.provisional.setting)),
            probability: look.knee.is_none().then_some(look.provisional.probability),
            inferior: look.inferior.iter().copied().map(index).collect(),
            alike: self.alike(look).into_iter().map(index).collect(),
        })
    }
}
