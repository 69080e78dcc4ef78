//! Readings that come in steps: a meter's last digit, a counter's whole numbers.

/// Of so many readings of one setting one at least repeats another before they count as stepped: a quarter.
const REPEATED: usize = 4;
/// Gaps that are whole multiples of the smallest within this share of it.
const WHOLE: f64 = 0.01;
/// Decimals beyond which a number was computed, not read.
const DECIMALS: usize = 6;

/// The step of the readings, a list a setting, and the smallest absolute reading. 0 where they are finer than can be seen.
///
/// Repeated readings of a setting show a step: the smallest gap between those that differ, if the others are multiples of it.
/// Where no setting ever reads differently, the last decimal that any reading has stands for it.
pub(crate) fn step(settings: impl Iterator<Item = Vec<f64>>) -> (f64, f64) {
    let (mut gaps, mut repeated, mut readings) = (Vec::new(), 0, 0);
    let (mut decimals, mut least) = (0, f64::INFINITY);
    for mut values in settings.filter(|values| !values.is_empty()) {
        values.sort_by(f64::total_cmp);
        readings += values.len();
        least = values.iter().fold(least, |least, value| least.min(value.abs()));
        let unlike = gaps.len();
        gaps.extend(values.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.0));
        let distinct = gaps.len() - unlike + 1;
        repeated += values.len() - distinct;
        if gaps.is_empty() {
            decimals = decimals.max(decimals_of(values[0]));
        }
    }
    if repeated * REPEATED < readings || readings == 0 {
        return (0.0, least);
    }
    let Some(smallest) = gaps.iter().copied().reduce(f64::min) else {
        let step = if decimals > DECIMALS || least == 0.0 { 0.0 } else { libm::pow(10.0, -(decimals as f64)) };
        return (step, least);
    };
    let whole = |gap: &f64| (gap / smallest - (gap / smallest).round()).abs() <= WHOLE * gap / smallest;
    (if gaps.iter().all(whole) { smallest } else { 0.0 }, least)
}

/// Decimals of a number as it is written shortest.
fn decimals_of(value: f64) -> usize {
    format!("{value}").split_once('.').map_or(0, |(_, decimals)| decimals.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_seen_in_repeated_readings_and_nowhere_else() {
        let of = |settings: &[&[f64]]| step(settings.iter().map(|values| values.to_vec())).0;
        assert_eq!(of(&[&[12.5, 12.0, 12.5, 13.5], &[12.0, 12.0, 12.5, 11.0]]), 0.5);
        assert_eq!(of(&[&[0.121, 0.122, 0.1234, 0.1291], &[0.3, 0.31, 0.33, 0.32]]), 0.0);
        assert_eq!(of(&[&[12.3, 12.3, 12.3], &[14.0, 14.0, 14.0]]), 0.1);
        assert_eq!(of(&[&[1.0 / 3.0; 3], &[0.25; 3]]), 0.0, "computed");
        assert_eq!(of(&[&[0.0; 4], &[0.0; 4]]), 0.0, "nothing happened");
        assert_eq!(of(&[&[5.0], &[7.0]]), 0.0, "read once");
    }
}
