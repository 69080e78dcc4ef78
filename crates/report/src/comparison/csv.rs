//! A table made elsewhere: the columns `setting`, `block`, `session`, and a metric each for the others.
use std::collections::BTreeMap;

use powerband_record::{CsvRows, Metric};

use super::measured::Measured;
use super::{CompareError, Trial};

/// Columns that are no metrics.
const SETTING: &str = "setting";
const BLOCK: &str = "block";
const SESSION: &str = "session";

/// A table as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Csv {
    name: String,
    columns: Vec<String>,
    /// With the number of their line.
    rows: Vec<(usize, Vec<String>)>,
}

impl Csv {
    /// Reads fields between commas, in quotes where they hold one, the first line being the columns' names.
    ///
    /// # Errors
    /// [`CompareError::Table`]: no line of data, a line of another length, a quote that is not closed, two columns of one name.
    pub fn parse(name: &str, text: &str) -> Result<Self, CompareError> {
        let wrong = |line: usize, why: String| CompareError::Table { place: format!("{name} line {line}"), why };
        let CsvRows { columns, rows } = CsvRows::parse(text).map_err(|error| wrong(error.line, error.why))?;
        if rows.is_empty() {
            let why = "there is nothing to compare; write a line of names (setting,block,real_s) and a line a trial";
            return Err(wrong(1, why.into()));
        }
        Ok(Csv { name: name.to_owned(), columns, rows })
    }

    /// Two tables as one of two settings, with the columns that both have. Blocks of the same name are the same block.
    ///
    /// # Errors
    /// [`CompareError::Table`] when one has settings of its own.
    pub fn joined(sides: [(&Csv, &str); 2]) -> Result<Self, CompareError> {
        let [(first, _), (second, _)] = sides;
        for (csv, _) in sides {
            if csv.columns.iter().any(|column| column == SETTING) {
                let why = "it has a column of settings, and of two files each is a setting; give it alone".into();
                return Err(CompareError::Table { place: format!("{} line 1", csv.name), why });
            }
        }
        let common: Vec<&String> = first.columns.iter().filter(|column| second.columns.contains(column)).collect();
        let mut rows = Vec::new();
        for (csv, label) in sides {
            let places: Vec<usize> =
                common.iter().filter_map(|column| csv.columns.iter().position(|it| it == *column)).collect();
            let row = |row: &Vec<String>| -> Vec<String> {
                std::iter::once(label.to_owned()).chain(places.iter().map(|&place| row[place].clone())).collect()
            };
            rows.extend(csv.rows.iter().map(|(line, fields)| (*line, row(fields))));
        }
        let columns = std::iter::once(SETTING.to_owned()).chain(common.into_iter().cloned()).collect();
        Ok(Csv { name: format!("{} and {}", first.name, second.name), columns, rows })
    }

    /// The columns that are metrics.
    pub fn metrics(&self) -> impl Iterator<Item = &str> {
        let is_metric = |name: &&str| ![SETTING, BLOCK, SESSION].contains(name);
        self.columns.iter().map(String::as_str).filter(is_metric)
    }

    /// The measurements of these metrics.
    ///
    /// # Errors
    /// [`CompareError::Table`]: a metric that is no column, a value that is no number, no column of settings.
    pub fn measured(&self, metrics: &[Metric]) -> Result<Measured, CompareError> {
        let column = |name: &str| self.columns.iter().position(|column| column == name);
        let wrong = |line: usize, why: String| CompareError::Table { place: format!("{} line {line}", self.name), why };
        let places: Vec<(usize, &Metric)> = metrics
            .iter()
            .map(|metric| {
                let known = || self.metrics().collect::<Vec<_>>().join(", ");
                let missing = || wrong(1, format!("there is no column '{}'; there are: {}", metric.name, known()));
                column(&metric.name).map(|place| (place, metric)).ok_or_else(missing)
            })
            .collect::<Result<_, _>>()?;
        let Some(of_setting) = column(SETTING) else {
            let why = "there is no column 'setting'; add one, or give two files, one a side";
            return Err(wrong(1, why.into()));
        };
        let (mut settings, mut blocks, mut sessions) = (Names::default(), Names::default(), Names::default());
        let mut trials = Vec::new();
        for (line, row) in &self.rows {
            let mut values = BTreeMap::new();
            for &(place, metric) in &places {
                let text = row[place].trim();
                if text.is_empty() {
                    continue;
                }
                let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
                let no_number = || wrong(*line, format!("'{text}' is no number for {}", metric.name));
                values.insert(metric.name.clone(), value.ok_or_else(no_number)?);
            }
            let told = |name: &str| column(name).map(|place| row[place].trim()).filter(|text| !text.is_empty());
            let session = told(SESSION).map(|text| sessions.number(text));
            // A block's number may come again in another session.
            let block =
                told(BLOCK).map(|text| blocks.number(&format!("{}\u{0}{text}", told(SESSION).unwrap_or_default())));
            trials.push(Trial { setting: settings.number(row[of_setting].trim()), block, session, ran: None, values });
        }
        Ok(Measured {
            name: self.name.clone(),
            origin: None,
            settings: settings.0.into_iter().map(|label| (label.clone(), label)).collect(),
            metrics: metrics.to_vec(),
            trials,
            failed: BTreeMap::new(),
            rules: None,
            robust: false,
            mean: false,
            randomised: false,
            looked_at_once: false,
        })
    }
}

/// Names in the order in which they first came.
#[derive(Default)]
struct Names(Vec<String>);

impl Names {
    fn number(&mut self, name: &str) -> usize {
        let found = self.0.iter().position(|known| known == name);
        found.unwrap_or_else(|| {
            self.0.push(name.to_owned());
            self.0.len() - 1
        })
    }
}
