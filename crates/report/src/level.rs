//! Levels as they can be shown: the interval of one, and those of a metric by setting.
use powerband_record::Level;

use crate::Model;

/// The interval of a level, where it has both ends.
pub(crate) fn interval(level: &Level) -> Option<(f64, f64)> {
    level.low.zip(level.high).filter(|(low, high)| low.is_finite() && high.is_finite())
}

/// The levels of a metric that can be shown, by setting.
pub(crate) fn levels(model: &Model, place: usize) -> Vec<(u32, &Level)> {
    let compared = |setting: &u32| model.is_compared(*setting);
    let all = (0..).zip(&model.settings).filter(|(setting, _)| compared(setting));
    all.filter_map(|(setting, report)| Some((setting, report.levels.get(place)?.as_ref()?)))
        .filter(|(_, level)| level.typical.is_finite())
        .collect()
}
