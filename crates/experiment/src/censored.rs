//! Trials that gave nothing because of their load, by setting. Where a setting has more or fewer of them than the reference, what
//! is left of it is no fair sample: of runs that are killed when they take too long, the quick ones are left.
use powerband_record::Void;
use powerband_stats::exact::shares_alike;

/// Chance of calling shares of void trials different that are alike, of all settings together.
const ALPHA: f64 = 0.05;

/// Void and all trials in blocks, by setting.
pub(crate) struct Censored(Vec<(u32, u32)>);

impl Censored {
    pub(crate) fn new(settings: usize) -> Self {
        Censored(vec![(0, 0); settings])
    }

    /// A trial of a setting, with what made it void.
    pub(crate) fn take(&mut self, setting: usize, void: Option<&Void>) {
        let by_load = match void {
            None => 0,
            Some(Void::LoadFailed { .. } | Void::NoMetric { .. } | Void::Lossy { .. }) => 1,
            // Other programs void trials whatever these would have measured.
            Some(_) => return,
        };
        if let Some((void, all)) = self.0.get_mut(setting) {
            (*void, *all) = (*void + by_load, *all + 1);
        }
    }

    /// The difference of a setting's share of void trials from the reference's, where that is more than chance.
    pub(crate) fn against_reference(&self, setting: usize) -> Option<&'static str> {
        let (reference, own) = (*self.0.first()?, *self.0.get(setting)?);
        let others = self.0.len().saturating_sub(1).max(1) as f64;
        let share = |(void, all): (u32, u32)| f64::from(void) / f64::from(all.max(1));
        let word = if share(own) > share(reference) { "more void trials" } else { "fewer void trials" };
        (shares_alike(own, reference) <= ALPHA / others).then_some(word)
    }

    /// A caveat for each setting that differs from the reference.
    pub(crate) fn notes(&self, labels: &[String]) -> impl Iterator<Item = String> {
        (1..self.0.len()).filter_map(|setting| {
            self.against_reference(setting)?;
            let ((void, all), (void_of_reference, all_of_reference)) = (self.0[setting], self.0[0]);
            // A setting that gave nothing at all was left out.
            (void < all).then(|| format!(
                "{} gave nothing in {void} of {all} trials, {} in {void_of_reference} of {all_of_reference}: the others are no \
                 fair sample, so it is called neither better nor the same",
                labels[setting], labels[0]
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_that_differ_by_more_than_chance_are_noted() {
        let mut trials = Censored::new(3);
        let killed = Void::LoadFailed { why: "killed".into() };
        for trial in 0..40 {
            trials.take(0, None);
            trials.take(1, (trial % 4 == 0).then_some(&killed));
            trials.take(2, (trial == 0).then_some(&killed));
            trials.take(2, Some(&Void::Suspended { for_ns: 1 }));
        }
        assert_eq!([1, 2].map(|setting| trials.against_reference(setting)), [Some("more void trials"), None]);
        let labels = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(trials.notes(&labels).count(), 1);
    }
}
