//! Experiments that ran different loads: nothing between them is a comparison, so each is compared within itself.
use serde_json::Value;

use super::decide::within;
use super::measured::Measured;
use super::{CompareError, Comparison, ComparisonRequest, ComparisonSide, text};
use crate::load;
use powerband_record::InOrder;

/// More experiments than this are not each named in the finding.
const NAMED: usize = 8;

/// Each experiment against its own reference, where they ran different loads; `None` where all ran the same, or do not say.
pub(super) fn differing(
    sides: &[ComparisonSide<'_>],
    ask: &ComparisonRequest,
) -> Option<Result<Comparison, CompareError>> {
    let mut all: Vec<(&Measured, Option<&str>, &Value)> = Vec::new();
    for (sessions, setting) in sides {
        for one in *sessions {
            all.push((one, *setting, &one.origin.as_ref()?.load));
        }
    }
    let differ = all.windows(2).any(|pair| pair[0].2 != pair[1].2);
    differ.then(|| each(&all, ask))
}

fn each(all: &[(&Measured, Option<&str>, &Value)], ask: &ComparisonRequest) -> Result<Comparison, CompareError> {
    let (mut rows, mut findings, mut rate) = (Vec::new(), Vec::new(), 0.0_f64);
    for (one, setting, load) in all {
        let others = match setting.map(|name| one.setting(name)).transpose()? {
            // Its reference is what all of its others are compared with.
            Some(setting) if setting > 0 => vec![setting],
            _ => (1..one.settings.len()).collect(),
        };
        let found = within(one, 0, &others, ask)?;
        findings.push(format!("{} ({}): {}", one.name, load::load(load), text::finding(&found.rows)));
        rate = rate.max(found.alpha);
        rows.extend(found.rows.into_iter().map(|row| super::ComparisonRow {
            setting: format!("{} of {}", row.setting, one.name),
            against: format!("{} of {}", row.against, one.name),
            ..row
        }));
    }
    let mut metrics: Vec<String> = Vec::new();
    for row in &rows {
        if !metrics.contains(&row.metric) {
            metrics.push(row.metric.clone());
        }
    }
    rows.order_by_key(|row| metrics.iter().position(|metric| *metric == row.metric));
    let more = findings.len().saturating_sub(NAMED);
    findings.truncate(NAMED);
    if more > 0 {
        findings.push(format!("and {} more experiments", more));
    }
    let notes = vec!["the error rate is that of each experiment by itself, whose blocks are judged anew at the end: what its own report decided at an earlier look may differ"
        .to_owned()];
    let those: Vec<&Measured> = all.iter().map(|(one, ..)| *one).collect();
    let mut found = Comparison { each_by_itself: true, ..Comparison::new(rows, notes, rate) };
    found.finding = format!("different loads, not comparable with one another: {}", findings.join("; "));
    Ok(found.along(&those))
}
