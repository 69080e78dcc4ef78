//! Wilcoxon's signed ranks, exact: the path that needs no distribution, only the randomised order.

/// One-sided p of "the differences are as likely below as above zero", against "above", exact for any ties.
///
/// Zero differences are left out (they say nothing either way); tied sizes share their mean rank and the null
/// distribution is the one of those very ranks. 1 when nothing remains.
#[must_use]
pub fn p_above(differences: &[f64]) -> f64 {
    let Some(ranked) = Ranked::new(differences) else { return 1.0 };
    ranked.upper_tail(ranked.positive)
}

/// Two-sided exact p.
#[must_use]
pub fn p_two_sided(differences: &[f64]) -> f64 {
    let Some(ranked) = Ranked::new(differences) else { return 1.0 };
    let extreme = ranked.positive.max(ranked.total - ranked.positive);
    (2.0 * ranked.upper_tail(extreme)).min(1.0)
}

/// Hodges and Lehmann's estimate: the median of the means of all pairs (each with itself too); 0 of nothing.
#[must_use]
pub fn hodges_lehmann(differences: &[f64]) -> f64 {
    crate::median::median(&mut walsh(differences))
}

/// Interval by counting Walsh averages, missing with probability `level` at most; infinite where so few differences
/// cannot support the level.
#[must_use]
pub fn interval(differences: &[f64], level: f64) -> (f64, f64) {
    let n = differences.len();
    let sizes: Vec<f64> = (1..=n).map(|rank| rank as f64).collect();
    let Some(ranked) = Ranked::new(&sizes) else { return (f64::NEG_INFINITY, f64::INFINITY) };
    // Doubled ranks: an untied sum of W has weight at 2W.
    let mut cumulative = 0.0;
    let mut cut = 0;
    for w in 0..=n * (n + 1) / 2 {
        cumulative += ranked.weights[2 * w];
        if cumulative > 0.5 * level {
            break;
        }
        cut = w + 1;
    }
    if cut == 0 {
        return (f64::NEG_INFINITY, f64::INFINITY);
    }
    let mut averages = walsh(differences);
    averages.sort_by(f64::total_cmp);
    (averages[cut - 1], averages[averages.len() - cut])
}

fn walsh(differences: &[f64]) -> Vec<f64> {
    let mut averages = Vec::with_capacity(differences.len() * (differences.len() + 1) / 2);
    for (i, a) in differences.iter().enumerate() {
        averages.extend(differences[i..].iter().map(|b| 0.5 * (a + b)));
    }
    averages
}

/// Rank sums in doubled ranks, which are whole even when ties share a rank, and their null distribution.
struct Ranked {
    positive: usize,
    total: usize,
    weights: Vec<f64>,
}

impl Ranked {
    fn new(differences: &[f64]) -> Option<Self> {
        let mut sorted: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
        if sorted.is_empty() {
            return None;
        }
        sorted.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
        let mut positive = 0;
        let mut ranks = Vec::with_capacity(sorted.len());
        let mut start = 0;
        while start < sorted.len() {
            let size = sorted[start].abs();
            let end = start + sorted[start..].iter().take_while(|d| d.abs() == size).count();
            let rank = start + end + 1;
            for d in &sorted[start..end] {
                ranks.push(rank);
                positive += if *d > 0.0 { rank } else { 0 };
            }
            start = end;
        }
        let total: usize = ranks.iter().sum();
        let mut weights = vec![0.0; total + 1];
        weights[0] = 1.0;
        let mut reached = 0;
        for rank in ranks {
            reached += rank;
            for sum in (0..=reached).rev() {
                let without = weights[sum];
                let with = if sum >= rank { weights[sum - rank] } else { 0.0 };
                weights[sum] = 0.5 * (without + with);
            }
        }
        Some(Self { positive, total, weights })
    }

    fn upper_tail(&self, from: usize) -> f64 {
        self.weights[from..].iter().sum::<f64>().min(1.0)
    }
}
