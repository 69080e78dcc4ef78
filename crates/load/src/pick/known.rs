//! A number of a tool whose output is known: read like the numbers that a user asks for, but one that has several matches or a
//! word after it that is no unit is an error at once, because no trial before it shows what is meant.
use powerband_record::unit_of;
use regex_lite::Regex;
use serde_json::Value;
use serde_json_path::JsonPath;

use super::matches::{Take, counting, places, summed_up, taken_match};
use super::reading::{Place, Reading, is_time};
use super::unit::known;

/// A number that a known tool prints.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// Name, its unit last.
    pub(crate) name: &'a str,
    /// Unit of the number if the output has none next to it.
    pub(crate) unit: Option<&'a str>,
    pub(crate) take: Take,
}

impl Wanted<'_> {
    /// The number by a pattern, in the first of some texts that matches; `None` if none does.
    ///
    /// # Errors
    /// Why what matches is not surely a number, in words that follow the tool's name.
    pub(crate) fn in_text(&self, pattern: &Regex, texts: &[&str]) -> Result<Option<f64>, String> {
        let places = texts.iter().map(|text| places(pattern, text)).find(|places| !places.is_empty());
        let found = places.unwrap_or_default().into_iter().map(|place| {
            let text = place.text.get(place.group.clone()).unwrap_or_default();
            self.read(&place).map_err(|why| format!("printed '{text}' for {}, {why}", self.name))
        });
        self.one_of(found.collect())
    }

    /// The number at a JSON path; `None` if the document has nothing there.
    ///
    /// # Errors
    /// As for [`Wanted::in_text`].
    pub(crate) fn in_json(&self, path: &JsonPath, document: &Value) -> Result<Option<f64>, String> {
        let read = |node: &Value| {
            let read = match (node.as_f64(), node.as_str()) {
                (Some(value), _) => self.in_unit(Reading::plain(value)),
                (None, Some(text)) => self.read(&Place::alone(text)),
                _ => Err("which is no number".into()),
            };
            read.map_err(|why| format!("printed {node} for {}, {why}", self.name))
        };
        self.one_of(path.query(document).all().into_iter().filter(|node| !node.is_null()).map(read).collect())
    }

    fn read(&self, place: &Place<'_>) -> Result<f64, String> {
        let read = Reading::of(place, is_time(self.name), None)?;
        match read.unknown_unit() {
            Some(word) => Err(format!("and '{word}' after it is no unit")),
            None => self.in_unit(read),
        }
    }

    fn in_unit(&self, read: Reading) -> Result<f64, String> {
        read.or_in(self.unit.and_then(known)).in_unit_of(self.name)
    }

    fn one_of(&self, found: Vec<Result<f64, String>>) -> Result<Option<f64>, String> {
        if self.take.is_none() && found.len() > 1 {
            return Err(format!(
                "printed more than one {}, and it is unclear which counts; let it print one result",
                self.name
            ));
        }
        let take = taken_match(self.take);
        let values = counting(take, found).into_iter().collect::<Result<Vec<f64>, String>>()?;
        Ok((!values.is_empty()).then(|| summed_up(take, &values)))
    }
}

/// The largest value that a metric can have, by the unit in its name: what is measured of single packets, requests and wake-ups
/// passes within a run of so many s, no network carries more than 100 Tbit/s, and a share has 100 %.
pub(crate) fn most(name: &str, run_s: f64) -> f64 {
    /// Larger rates are slips of a tool.
    const MAX_BIT_S: f64 = 1e14;
    match known(unit_of(name)) {
        Some(unit) if unit.base == "s" => run_s / unit.factor,
        Some(unit) if unit.base == "bit/s" => MAX_BIT_S / unit.factor,
        _ if name.ends_with("lost_percent") => 100.0,
        _ => f64::MAX,
    }
}
