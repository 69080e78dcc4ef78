//! Metrics as loads and drivers declare them.
use powerband_record::{Better, Metric};

/// A metric that decides.
pub(crate) fn judged(name: &str, better: Better) -> Metric {
    Metric { name: name.into(), better, judged: true, boundary: None }
}

/// Metrics that are shown.
pub(crate) fn shown<const N: usize>(better: Better, names: [impl AsRef<str>; N]) -> std::array::IntoIter<Metric, N> {
    names.map(|name| Metric { judged: false, ..judged(name.as_ref(), better) }).into_iter()
}
