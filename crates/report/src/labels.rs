//! Labels of settings in a row: what they share is said once.

/// Joins labels: `500, 550 and 600 MHz`, `freq=500MHz, 550MHz and 600MHz`, `a, b, c and 4 others`.
pub(crate) fn join_labels(labels: &[String], most: usize) -> String {
    let shown = if labels.len() > most + 1 { &labels[..most] } else { labels };
    let others = labels.len() - shown.len();
    let mut shown: Vec<String> = shown.to_vec();
    if shown.len() > 1 {
        share_knob(&mut shown);
        if others == 0 {
            share_unit(&mut shown);
        }
    }
    if others > 0 {
        return format!("{} and {others} others", shown.join(", "));
    }
    match shown.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// A number and a word behind one blank: the word stays with the last only.
fn share_unit(labels: &mut [String]) {
    let unit = |label: &String| match label.split_once(' ') {
        Some((number, unit)) if number.parse::<f64>().is_ok() && !unit.contains(' ') => Some(unit.to_owned()),
        _ => None,
    };
    let Some(first) = labels.first().and_then(unit) else { return };
    if labels.iter().all(|label| unit(label).as_ref() == Some(&first))
        && let Some((_, most)) = labels.split_last_mut()
    {
        for label in most {
            label.truncate(label.len() - first.len() - 1);
        }
    }
}

/// One knob to several values: the knob stays with the first only.
fn share_knob(labels: &mut [String]) {
    if let Some(knob) = one_knob(labels.iter().map(String::as_str)) {
        for label in &mut labels[1..] {
            label.drain(..=knob.len());
        }
    }
}

/// The knob that all these labels set, and nothing else.
pub(crate) fn one_knob<'l>(labels: impl IntoIterator<Item = &'l str>) -> Option<String> {
    shared_knobs(labels).filter(|knobs| knobs.len() == 1)?.pop()
}

/// The knobs that all these labels set, in one order, and nothing else.
pub(crate) fn shared_knobs<'l>(labels: impl IntoIterator<Item = &'l str>) -> Option<Vec<String>> {
    let knobs = |label: &'l str| -> Option<Vec<&'l str>> {
        let knob = |word: &'l str| word.split_once('=').filter(|(_, value)| !value.contains('=')).map(|(knob, _)| knob);
        label.split(' ').map(knob).collect()
    };
    let mut all = labels.into_iter().map(knobs);
    let first = all.next()??;
    all.all(|knobs| knobs.as_ref() == Some(&first)).then(|| first.into_iter().map(str::to_owned).collect())
}

/// A label that sets these knobs without their names; any other as it is.
pub(crate) fn values_alone(label: &str, knobs: &[String]) -> String {
    let words: Vec<&str> = label.split(' ').collect();
    let values = words.iter().zip(knobs).map(|(word, knob)| word.strip_prefix(knob.as_str())?.strip_prefix('='));
    match values.collect::<Option<Vec<&str>>>() {
        Some(values) if words.len() == knobs.len() => values.join(" "),
        _ => label.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knobs_that_all_labels_set_are_said_once() {
        let labels = ["freq=1GHz rx-usecs=10", "freq=2GHz rx-usecs=20"];
        let knobs = shared_knobs(labels).unwrap();
        assert_eq!(knobs, ["freq", "rx-usecs"]);
        assert_eq!(labels.map(|label| values_alone(label, &knobs)), ["1GHz 10", "2GHz 20"]);
        assert_eq!(values_alone("baseline", &knobs), "baseline");
        assert_eq!(shared_knobs(["freq=1GHz rx-usecs=10", "freq=2GHz"]), None);
    }

    #[test]
    fn what_labels_share_is_said_once() {
        for (labels, joined) in [
            (&["500 MHz", "550 MHz", "600 MHz"][..], "500, 550 and 600 MHz"),
            (&["500 MHz", "1 GHz"], "500 MHz and 1 GHz"),
            (&["freq=500MHz", "freq=600MHz"], "freq=500MHz and 600MHz"),
            (&["freq=500MHz", "governor=ondemand"], "freq=500MHz and governor=ondemand"),
            (&["a=1 b=2", "a=2 b=2"], "a=1 b=2 and a=2 b=2"),
            (&["ondemand"], "ondemand"),
            (&["a", "b", "c", "d"], "a, b, c and d"),
            (&["a", "b", "c", "d", "e"], "a, b, c and 2 others"),
            (&[], ""),
        ] {
            let labels: Vec<String> = labels.iter().map(ToString::to_string).collect();
            assert_eq!(join_labels(&labels, 3), joined);
        }
    }
}
